//! The bounds that hold for every definition, whoever made it; each flaw with its place and what to do.

use super::name::check_segment;
use super::{
    Action, Definition, Jitter, MAX_DEADLINE, MAX_DEFINITION, MAX_JITTER, MAX_LABELS, MAX_NAME, MAX_PAYLOAD,
    MAX_PRIORITY, MAX_QUEUE, Target, Webhook,
};
use crate::spec::{Exclusion, MAX_EXCLUDED_DATES, MAX_EXCLUSIONS, MAX_SPECS, MIN_EVERY, Spec, Window};
use crate::time::Span;

/// What is wrong with a definition: the field as a JSON pointer of the API, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Where, as a JSON pointer into the schedule.
    pub pointer: String,
    /// What is wrong.
    pub detail: String,
    /// What to write instead.
    pub hint: String,
}

impl Definition {
    /// The bounds that hold for every definition, whoever made it. Cron texts are judged by [`crate::cron`].
    ///
    /// # Errors
    /// Every flaw that was found, in the order of the fields.
    pub fn check(&self) -> Result<(), Vec<Flaw>> {
        let mut flaws = Vec::new();
        let mut flaw = |pointer: &str, detail: String, hint: &str| {
            flaws.push(Flaw { pointer: pointer.to_owned(), detail, hint: hint.to_owned() });
        };
        check_times(&self.specs, &self.exclude, self.window, &mut flaw);
        if self.payload.len() > MAX_PAYLOAD {
            flaw(
                "/payload",
                format!("{} bytes; at most {MAX_PAYLOAD}", self.payload.len()),
                "send a reference to it",
            );
        }
        if self.weight() > MAX_DEFINITION {
            flaw(
                "/",
                format!("the definition is larger than {MAX_DEFINITION} bytes"),
                "shorten texts, headers or payload",
            );
        }
        if self.about.labels.len() > MAX_LABELS {
            flaw("/labels", format!("more than {MAX_LABELS} labels"), "keep those that you select by");
        }
        if self.concurrency_key.as_deref().is_some_and(|key| !(1..=MAX_NAME).contains(&key.len())) {
            flaw("/concurrency_key", "its length".into(), "between 1 and 200 bytes, or null");
        }
        if self.max_firings == Some(0) {
            flaw("/max_firings", "0 would never fire".into(), "leave it out, or pause the schedule");
        }
        self.check_policy(&mut flaw);
        if flaws.is_empty() { Ok(()) } else { Err(flaws) }
    }

    fn check_policy(&self, flaw: &mut impl FnMut(&str, String, &str)) {
        let policy = &self.policy;
        if !(1..=MAX_QUEUE).contains(&policy.queue_limit) {
            flaw("/queue_limit", format!("{} waiting firings", policy.queue_limit), "between 1 and 10000");
        }
        if let Jitter::Fixed(jitter) = policy.jitter
            && jitter > MAX_JITTER
        {
            flaw("/jitter", format!("{jitter} is too long"), "at most 1d, or \"auto\"");
        }
        let retry = &self.policy.retry;
        if !(1..=1000).contains(&retry.max_attempts) {
            flaw("/retry/max_attempts", format!("{} attempts", retry.max_attempts), "between 1 and 1000");
        }
        if !(1..=100).contains(&retry.factor) {
            flaw("/retry/factor", format!("factor {}", retry.factor), "between 1 and 100");
        }
        if retry.max < retry.initial {
            flaw("/retry/max", "shorter than the first wait".into(), "at least retry.initial");
        }
        if self.policy.pause_after_failures == Some(0) {
            flaw("/pause_after_failures", "0 failures".into(), "at least 1, or null");
        }
        if policy.deadline.is_some_and(|deadline| deadline < Span::from_secs(1) || deadline > MAX_DEADLINE) {
            flaw("/deadline", "its length".into(), "between 1s and 30d, or null");
        }
        check_target(&self.target, "/target", flaw);
        for (action, pointer) in [(&self.on_failure, "/on_failure"), (&self.on_success, "/on_success")] {
            if let Some(target) = action.as_deref().and_then(Action::target) {
                check_target(target, pointer, flaw);
            }
        }
    }
}

fn check_target(target: &Target, at: &str, flaw: &mut impl FnMut(&str, String, &str)) {
    match target {
        Target::Webhook(webhook) => check_webhook(webhook, &format!("{at}/webhook"), flaw),
        Target::Queue(target) => {
            if let Err(why) = check_segment(&target.queue) {
                flaw(&format!("{at}/queue/name"), format!("the name of a queue {why}"), "such as \"batch\"");
            }
            if !(-MAX_PRIORITY..=MAX_PRIORITY).contains(&target.priority) {
                flaw(&format!("{at}/queue/priority"), format!("{}", target.priority), "between -100 and 100");
            }
        }
    }
}

fn check_webhook(webhook: &Webhook, at: &str, flaw: &mut impl FnMut(&str, String, &str)) {
    if webhook.timeout < Span::from_millis(100) || webhook.timeout > Span::from_secs(3600) {
        flaw(&format!("{at}/timeout"), format!("{}", webhook.timeout), "between 100ms and 1h");
    }
    if webhook.headers.len() > MAX_LABELS {
        let hint = "send the rest in the payload";
        flaw(&format!("{at}/headers"), format!("more than {MAX_LABELS} headers"), hint);
    }
}

/// The bounds of what says when, shared by definitions and previews; each flaw is told with pointer, detail and hint.
pub fn check_times(
    specs: &[Spec],
    exclude: &[Exclusion],
    window: Window,
    flaw: &mut impl FnMut(&str, String, &str),
) {
    if specs.is_empty() {
        flaw(
            "/specs",
            "a schedule needs at least one spec".into(),
            "add one, such as {\"cron\": \"30 2 * * *\"}",
        );
    }
    if specs.len() > MAX_SPECS {
        flaw(
            "/specs",
            format!("{} specs; at most {MAX_SPECS}", specs.len()),
            "split it into several schedules",
        );
    }
    for (place, spec) in specs.iter().enumerate() {
        let Spec::Every { every, .. } = spec else { continue };
        let pointer = format!("/specs/{place}/every");
        if *every < MIN_EVERY {
            flaw(&pointer, format!("{every} is too short"), "at least 1s");
        } else if !every.as_millis().is_multiple_of(1_000) {
            flaw(&pointer, format!("{every} is no whole number of seconds"), "such as 90s");
        }
    }
    if exclude.len() > MAX_EXCLUSIONS {
        flaw(
            "/exclude",
            format!("{} exclusions; at most {MAX_EXCLUSIONS}", exclude.len()),
            "put dates into one calendar",
        );
    }
    for (place, exclusion) in exclude.iter().enumerate() {
        if let Exclusion::Dates { dates, .. } = exclusion
            && !(1..=MAX_EXCLUDED_DATES).contains(&dates.len())
        {
            flaw(
                &format!("/exclude/{place}/dates"),
                format!("{} dates", dates.len()),
                "between 1 and 366; a calendar holds more",
            );
        }
    }
    if let (Some(start), Some(end)) = (window.start_at, window.end_at)
        && end < start
    {
        flaw("/end_at", "the window ends before it starts".into(), "put end_at after start_at");
    }
}
