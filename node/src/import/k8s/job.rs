//! One `CronJob` as a schedule.

use campanile_core::definition::ScheduleName;
use campanile_core::time::Span;

use super::pod;
use crate::client::draft::{CatchUpDraft, Draft, RetryDraft, SpecDraft};
use crate::import::names::{Names, segment_from};
use crate::import::robfig::{self, Dialect};
use crate::import::tree::Fields;
use crate::import::{Found, Import, LONGEST_ATTEMPT, Settings, Weight, labels, pause_hint};

/// What Kubernetes has when `backoffLimit` is left out.
const BACKOFF_LIMIT: u64 = 6;
/// Its waits between two tries of a job: doubling, between these.
const WAITS: (&str, &str) = ("10s", "6m");
/// The most attempts that core takes.
const MOST_ATTEMPTS: u64 = 1000;

/// What the API server writes about an object.
const SERVER_FIELDS: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "selfLink",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];
pub(super) const HINT_RUNNER: &str = "set it in what runs the containers";
const HINT_HISTORY: &str = "the ledger keeps every firing, for as long as the cluster is told to";

/// Carries one object over, whose `apiVersion` and `kind` have been read.
pub(super) fn carry(mut object: Fields<'_>, settings: &Settings, names: &mut Names, import: &mut Import) {
    object.pass(&["status"]);
    let place = object.place();
    let mut metadata = object.inner("metadata", import);
    let mut spec = object.inner("spec", import);
    object.close("", import);
    let Some((namespace, wanted)) = identity(&mut metadata, settings, import) else { return };
    let Some(when) = when(&mut spec, settings, import) else { return };
    let Some(url) = settings.url_for(place, "what runs is a container", import) else { return };

    let name = names.take(&namespace, &wanted);
    if name.name() != wanted {
        let detail = format!("the name {wanted:?} is taken above, or too long; this one is {}", name.name());
        import.remark(place, Weight::Advice, detail, "");
    }
    let mut draft = Draft::new(&name, vec![when], url);
    about(metadata, settings, &mut draft, import);
    policies(&mut spec, &mut draft, import);
    let mut template = spec.inner("jobTemplate", import);
    let paused = suspended(&mut spec, &name, import);
    spec.leave("successfulJobsHistoryLimit", HINT_HISTORY, import);
    spec.leave("failedJobsHistoryLimit", HINT_HISTORY, import);
    spec.close("", import);

    template.inner("metadata", import).close(HINT_RUNNER, import);
    let mut job = template.inner("spec", import);
    template.close("", import);
    let deadline = active_deadline(&mut job, &mut draft, import);
    retries(&mut job, &mut draft, import);
    draft.payload = Some(pod::payload(&mut job, deadline, import));
    job.close(HINT_RUNNER, import);
    let source = format!("CronJob {name}");
    import.found(Found { line: place.line, source, draft, paused });
}

/// Namespace and name, both checked.
fn identity(metadata: &mut Fields<'_>, settings: &Settings, import: &mut Import) -> Option<(String, String)> {
    let place = metadata.place();
    let namespace = metadata.text("namespace", import).map(|(namespace, _)| namespace);
    let namespace = settings.namespace.as_deref().or(namespace).unwrap_or("default");
    let Some((given, at)) = metadata.text("name", import) else {
        import.remark(place, Weight::Lost, "the CronJob has no name", "give it one in metadata.name");
        return None;
    };
    if let Err(bad) = ScheduleName::new(namespace, "x") {
        import.remark(
            at,
            Weight::Lost,
            format!("the namespace {namespace:?} {}", bad.why),
            "name one with --namespace",
        );
        return None;
    }
    let Some(name) = segment_from(given) else {
        import.remark(at, Weight::Lost, format!("{given:?} is no name"), "");
        return None;
    };
    Some((namespace.to_owned(), name))
}

/// When it runs; `None` after a remark that says why that cannot be known.
fn when(spec: &mut Fields<'_>, settings: &Settings, import: &mut Import) -> Option<SpecDraft> {
    let place = spec.place();
    let zone = spec.text("timeZone", import);
    let Some((text, at)) = spec.text("schedule", import) else {
        import.remark(place, Weight::Lost, "the CronJob has no schedule", "");
        return None;
    };
    let time_zone = zone.map(|(zone, _)| zone).or(settings.time_zone.as_deref());
    let dialect = Dialect {
        scheduler: "Kubernetes",
        seconds: false,
        time_zone: time_zone.unwrap_or("UTC"),
        now: settings.now,
    };
    match robfig::read(text, &dialect) {
        Ok(when) => {
            let needs_zone = !matches!(when.spec, SpecDraft::Every { .. });
            if time_zone.is_none() && !when.names_zone && needs_zone {
                let detail = "it has no timeZone: read as UTC, the usual zone of a controller";
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

fn about(mut metadata: Fields<'_>, settings: &Settings, draft: &mut Draft, import: &mut Import) {
    metadata.pass(&SERVER_FIELDS);
    let entries = metadata.get("labels").map(|entry| entry.value.entries()).unwrap_or_default();
    draft.labels = labels::carry("the label", entries, &settings.labels, import);
    if let Some(annotations) = metadata.get("annotations") {
        let keys: Vec<&str> = annotations.value.entries().iter().map(|entry| entry.key.as_str()).collect();
        let detail = format!("the annotations are not carried over: {}", keys.join(", "));
        import.remark(
            annotations.place,
            Weight::Dropped,
            detail,
            "labels are, and a description can hold any text",
        );
    }
    metadata.close("", import);
}

/// What concerns runs that overlap, and runs that were missed.
fn policies(spec: &mut Fields<'_>, draft: &mut Draft, import: &mut Import) {
    let policy = spec.text("concurrencyPolicy", import);
    let overlap = match policy {
        None | Some(("Allow", _)) => "allow",
        Some(("Forbid", _)) => "skip",
        Some(("Replace", _)) => "replace",
        Some((other, at)) => {
            let detail = format!("the concurrencyPolicy {other:?} is not known; runs may overlap");
            import.remark(at, Weight::Dropped, detail, "known are Allow, Forbid and Replace");
            "allow"
        }
    };
    draft.overlap = Some(overlap.to_owned());
    // Of the runs that it has missed, Kubernetes starts the newest.
    let window = match spec.number("startingDeadlineSeconds", import) {
        Some((seconds, _)) => Span::from_secs(seconds).to_string(),
        None => {
            let detail = "without startingDeadlineSeconds a missed run is made up for however late it is";
            let hint =
                "Kubernetes may give up after 100 missed runs; \"catch_up\": {\"window\": …} sets a bound";
            import.remark(spec.place(), Weight::Advice, detail, hint);
            "unlimited".to_owned()
        }
    };
    draft.catch_up = Some(CatchUpDraft { mode: "latest".to_owned(), window });
}

fn suspended(spec: &mut Fields<'_>, name: &ScheduleName, import: &mut Import) -> bool {
    let Some((true, at)) = spec.flag("suspend", import) else { return false };
    import.remark(at, Weight::Dropped, "it is suspended, which a definition cannot say", pause_hint(name));
    true
}

/// Bounds each attempt, since the webhook answers when the job is done.
fn active_deadline(job: &mut Fields<'_>, draft: &mut Draft, import: &mut Import) -> Option<u64> {
    let (seconds, at) = job.number("activeDeadlineSeconds", import)?;
    let asked = Span::from_secs(seconds.max(1));
    if let Some(webhook) = draft.webhook_mut() {
        webhook.timeout = Some(asked.min(LONGEST_ATTEMPT).to_string());
    }
    let (detail, hint) = if asked > LONGEST_ATTEMPT {
        let detail =
            format!("activeDeadlineSeconds is {asked}, and one attempt takes at most {LONGEST_ATTEMPT}");
        (detail, "what runs the containers has to answer before that")
    } else {
        (
            "activeDeadlineSeconds bounds each attempt here, and all tries of a job together there"
                .to_owned(),
            "",
        )
    };
    let weight = if asked > LONGEST_ATTEMPT { Weight::Dropped } else { Weight::Advice };
    import.remark(at, weight, detail, hint);
    Some(seconds)
}

fn retries(job: &mut Fields<'_>, draft: &mut Draft, import: &mut Import) {
    let given = job.number("backoffLimit", import);
    let attempts = given.map_or(BACKOFF_LIMIT, |(limit, _)| limit).saturating_add(1);
    if let Some((limit, at)) = given.filter(|_| attempts > MOST_ATTEMPTS) {
        let detail = format!("backoffLimit is {limit}, and there are at most {MOST_ATTEMPTS} attempts");
        import.remark(at, Weight::Dropped, detail, "");
    }
    draft.retry = Some(RetryDraft {
        max_attempts: u32::try_from(attempts.min(MOST_ATTEMPTS)).unwrap_or(u32::MAX),
        initial: Some(WAITS.0.to_owned()),
        max: Some(WAITS.1.to_owned()),
    });
}
