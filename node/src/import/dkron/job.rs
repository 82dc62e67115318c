//! One job as a schedule.

use campanile_core::cron::{instant_text, parse_instant};
use campanile_core::definition::ScheduleName;

use super::{executor, tilde};
use crate::client::draft::{Draft, RetryDraft, SpecDraft, TargetDraft};
use crate::import::names::{Names, segment_from};
use crate::import::robfig::{self, Dialect};
use crate::import::tree::Fields;
use crate::import::{Found, Import, Place, Settings, Weight, labels, pause_hint};

/// What Dkron writes about a job.
const SERVER_FIELDS: [&str; 8] =
    ["id", "status", "next", "success_count", "error_count", "last_success", "last_error", "job_name"];
/// The most attempts that core takes.
const MOST_ATTEMPTS: u64 = 1000;
/// How Go writes that there is no instant.
const NO_INSTANT: &str = "0001-01-01T00:00:00Z";

/// Carries one job over.
pub(super) fn carry(mut job: Fields<'_>, settings: &Settings, names: &mut Names, import: &mut Import) {
    job.pass(&SERVER_FIELDS);
    let place = job.place();
    let Some((given, at)) = job.text("name", import) else {
        import.remark(place, Weight::Lost, "the job has no name", "");
        return;
    };
    let Some(wanted) = segment_from(given) else {
        import.remark(at, Weight::Lost, format!("{given:?} is no name"), "");
        return;
    };
    let Some(spec) = when(&mut job, given, settings, import) else { return };
    let Some(run) = executor::read(&mut job, given, settings, import) else { return };

    let name = names.take(settings.namespace.as_deref().unwrap_or("default"), &wanted);
    if name.name() != given {
        let detail =
            format!("the name {given:?} is taken above, or cannot be one; this one is {}", name.name());
        import.remark(at, Weight::Advice, detail, "");
    }
    let mut draft = Draft::new(&name, vec![spec], "");
    draft.target = TargetDraft::Webhook(run.webhook);
    draft.payload = run.payload;
    about(&mut job, settings, &mut draft, import);
    policies(&mut job, &mut draft, import);
    life(&mut job, &mut draft, import);
    let paused = disabled(&mut job, &name, import);
    job.leave("tags", "they choose the agent; here the webhook decides where it runs", import);
    job.leave("processors", "the ledger keeps the outcome of every firing", import);
    job.leave("dependent_jobs", "trigger them from what runs this one", import);
    job.close("", import);
    import.found(Found { line: place.line, source: format!("job {given}"), draft, paused });
}

/// When it runs; `None` after a remark that says why it does not.
fn when(job: &mut Fields<'_>, name: &str, settings: &Settings, import: &mut Import) -> Option<SpecDraft> {
    if let Some((parent, at)) = job.text("parent_job", import) {
        let detail = format!("{name:?} runs after {parent:?}, and such chains are not carried over");
        import.remark(at, Weight::Lost, detail, "trigger it from what runs the other");
        return None;
    }
    let zone = job.text("timezone", import);
    let Some((text, at)) = job.text("schedule", import) else {
        import.remark(job.place(), Weight::Lost, format!("{name:?} has no schedule"), "");
        return None;
    };
    if text == "@manually" {
        let hint =
            "a schedule has instants; one that is far away, such as {\"at\": …}, can be triggered as well";
        import.remark(at, Weight::Lost, format!("{name:?} runs by hand only"), hint);
        return None;
    }
    if let Some(instant) = text.strip_prefix("@at ") {
        return once(instant, at, name, settings, import);
    }
    let hashed = tilde::spell_out(text, name);
    if let Some(hashed) = &hashed {
        let detail = format!("`~` stands for a value made from the name: {text:?} is written as {hashed:?}");
        import.remark(at, Weight::Advice, detail, "Dkron may have chosen another one");
    }
    let text = hashed.as_deref().unwrap_or(text);
    spec(text, at, zone, name, settings, import)
}

/// `@at` an instant: one that is past has run, or never will.
fn once(text: &str, at: Place, name: &str, settings: &Settings, import: &mut Import) -> Option<SpecDraft> {
    match parse_instant(text.trim()) {
        Some(instant) if instant > settings.now => Some(SpecDraft::at(instant)),
        Some(instant) => {
            let detail = format!("{name:?} was to run once, at {}, which is past", instant_text(instant));
            import.remark(at, Weight::Dropped, detail, "");
            None
        }
        None => {
            let hint = "write it like 2026-12-01T08:00:00Z";
            import.remark(at, Weight::Lost, format!("{:?} is no instant", text.trim()), hint);
            None
        }
    }
}

fn spec(
    text: &str,
    at: Place,
    zone: Option<(&str, Place)>,
    name: &str,
    settings: &Settings,
    import: &mut Import,
) -> Option<SpecDraft> {
    // Dkron gives a job's zone to its fields, and not to nicknames.
    let nickname = text.starts_with('@');
    if let Some((_, at)) = zone.filter(|_| nickname) {
        let detail = format!("Dkron does not apply the timezone to {text}");
        import.remark(at, Weight::Dropped, detail, "write the six fields, or set time_zone in the schedule");
    }
    let zone = zone.map(|(zone, _)| zone).filter(|_| !nickname).or(settings.time_zone.as_deref());
    let dialect =
        Dialect { scheduler: "Dkron", seconds: true, time_zone: zone.unwrap_or("UTC"), now: settings.now };
    match robfig::read(text, &dialect) {
        Ok(when) => {
            if zone.is_none() && !when.names_zone && !matches!(when.spec, SpecDraft::Every { .. }) {
                let detail =
                    format!("{name:?} has no timezone: read as UTC; Dkron takes that of its machine");
                import.remark(at, Weight::Advice, detail, "--tz names the zone of yours");
            }
            for (detail, hint) in when.advice {
                import.remark(at, Weight::Advice, detail, hint);
            }
            Some(when.spec)
        }
        Err((detail, hint)) => {
            import.remark(at, Weight::Lost, format!("its schedule: {detail}"), hint);
            None
        }
    }
}

fn about(job: &mut Fields<'_>, settings: &Settings, draft: &mut Draft, import: &mut Import) {
    draft.display_name = job.text("displayname", import).map(|(name, _)| name.to_owned());
    let metadata = job.get("metadata").map(|entry| entry.value.entries()).unwrap_or_default();
    let owners = ["owner", "owner_email"].map(|field| job.get(field));
    let owners: Vec<_> =
        owners.into_iter().flatten().filter(|entry| entry.value.text() != Some("")).collect();
    draft.labels = labels::carry("the metadata", metadata.iter().chain(owners), &settings.labels, import);
}

fn policies(job: &mut Fields<'_>, draft: &mut Draft, import: &mut Import) {
    let overlap = match job.text("concurrency", import) {
        None | Some(("allow", _)) => "allow",
        Some(("forbid", _)) => "skip",
        Some((other, at)) => {
            let detail = format!("the concurrency {other:?} is not known; runs may overlap");
            import.remark(at, Weight::Dropped, detail, "known are allow and forbid");
            "allow"
        }
    };
    draft.overlap = Some(overlap.to_owned());
    let retries = job.number("retries", import);
    let attempts = retries.map_or(0, |(retries, _)| retries).saturating_add(1);
    if let Some((retries, at)) = retries.filter(|_| attempts > MOST_ATTEMPTS) {
        let detail = format!("{retries} retries, and there are at most {MOST_ATTEMPTS} attempts");
        import.remark(at, Weight::Dropped, detail, "");
    }
    let max_attempts = u32::try_from(attempts.min(MOST_ATTEMPTS)).unwrap_or(u32::MAX);
    draft.retry = Some(RetryDraft { max_attempts, ..RetryDraft::default() });
}

/// How long the job lives.
fn life(job: &mut Fields<'_>, draft: &mut Draft, import: &mut Import) {
    if let Some((true, at)) = job.flag("ephemeral", import) {
        let detail = "it is ephemeral: Dkron removes it after its first success";
        import.remark(at, Weight::Dropped, detail, "\"max_firings\": 1 ends a schedule after one firing");
    }
    let Some((text, at)) = job.text("expires_at", import).filter(|(text, _)| *text != NO_INSTANT) else {
        return;
    };
    match parse_instant(text) {
        Some(instant) => draft.end_at = Some(instant_text(instant)),
        None => {
            let detail = format!("expires_at {text:?} is no instant, so it is not carried over");
            import.remark(at, Weight::Dropped, detail, "write it like 2026-12-01T08:00:00Z");
        }
    }
}

fn disabled(job: &mut Fields<'_>, name: &ScheduleName, import: &mut Import) -> bool {
    let Some((true, at)) = job.flag("disabled", import) else { return false };
    import.remark(at, Weight::Dropped, "it is disabled, which a definition cannot say", pause_hint(name));
    true
}
