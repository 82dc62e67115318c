//! An acknowledged write is kept: whoever was told that it is done finds it in the committed log, with that effect and no later
//! than the answer; what certainly was not done has no effect under its key (SEMANTICS §2.5; DESIGN §2, rule 12).
//!
//! Judged of writes to schedules that carry a key, and of leases that were got: what names them in the log.

use std::collections::{BTreeMap, BTreeSet};

use campanile_core::firing::FiringId;
use campanile_core::reply::Reply;
use serde_json::Value;

use super::answers::{Answer, Answers};
use super::{Bounds, Findings, Invariant};
use crate::sim::story::{Call, End, Moment, Outcome, Step};

/// What the log answered.
#[derive(Debug)]
pub(super) struct Kept {
    bounds: Bounds,
    answers: Answers,
}

impl Kept {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, answers: Answers::default() }
    }
}

impl Invariant for Kept {
    fn name(&self) -> &'static str {
        "acknowledged writes are kept"
    }

    fn step(&mut self, step: &Step<'_>, _: &mut Findings) {
        self.answers.hear(step);
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        let mut of_key: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        for call in &end.story.calls {
            let Some(key) = call.key.as_deref() else { continue };
            of_key.entry(key).or_default().push(call);
            if let Some((ended, Outcome::Ok(_, answer))) = &call.ended
                && leaves_a_trace(call, answer)
                && let Some(wrong) = self.wrong(key, call, answer, *ended)
            {
                found.add(self.name(), || told(call, &wrong));
            }
        }
        for (key, calls) in
            of_key.into_iter().filter(|(_, calls)| calls.iter().all(|call| was_not_done(call)))
        {
            if let Some(answer) = self.answers.of(key).find(|answer| answer.told) {
                found.add(self.name(), || {
                    told(calls[0], &format!("entry {} did it: {:?}", answer.index, answer.reply))
                });
            }
        }
    }
}

impl Kept {
    fn wrong(&self, key: &str, call: &Call, body: &Value, ended: Moment) -> Option<String> {
        let first = self.answers.of(key).min_by_key(|answer| answer.index);
        let Some(first) = first else { return Some("is not in the log".into()) };
        if first.seen > ended + self.bounds.watch.as_millis() {
            return Some(format!(
                "was answered before entry {} was committed at {}",
                first.index, first.seen
            ));
        }
        (!is_answer_of(call, body, first)).then(|| format!("is {:?} in entry {}", first.reply, first.index))
    }
}

fn told(call: &Call, what: &str) -> String {
    let Call { method, path, key, asked, ended, .. } = call;
    format!("{method} {path} with key {key:?}, asked at {asked}, ended {ended:?}, {what}")
}

/// Whether such an answer is given only for an entry of the log.
fn leaves_a_trace(call: &Call, answer: &Value) -> bool {
    let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
    let is_dry = query.contains("dry_run=true")
        || call.body.as_ref().is_some_and(|body| body["dry_run"] == Value::Bool(true));
    let is_lease = path.starts_with("/v1/queues/") && path.ends_with("/lease");
    let has_leases = answer.as_array().is_some_and(|leases| !leases.is_empty());
    call.method != "GET" && !is_dry && (path.starts_with("/v1/schedules/") || (is_lease && has_leases))
}

/// Whether the answer says what the log said.
fn is_answer_of(call: &Call, body: &Value, answer: &Answer) -> bool {
    match &answer.reply {
        // It answers with counts. A rewind is a backfill.
        Reply::Schedule(_) | Reply::Backfill(_) if call.path.ends_with("/mark") => true,
        Reply::Schedule(written) => {
            body["uid"].as_str() == Some(&written.uid.to_string())
                && body["revision"].as_u64().is_some_and(|revision| revision >= u64::from(written.revision.0))
        }
        Reply::Deleted(_) => call.method == "DELETE",
        Reply::Fired(firing) => body["id"].as_str() == Some(&firing.to_string()),
        Reply::Leased(leased) => {
            let got: BTreeSet<FiringId> = leased.iter().map(|lease| lease.firing).collect();
            let shown = body.as_array().into_iter().flatten();
            let mut shown = shown.map(|lease| lease["firing"].as_str().and_then(|id| id.parse().ok()));
            shown.all(|firing| firing.is_some_and(|firing| got.contains(&firing)))
        }
        _ => false,
    }
}

/// Whether the caller was told so, by an answer that says nothing else. What was done and is gone by the time of the answer is
/// `not_found`, a worker that cannot be shown what it leased hears a problem, and a defect knows nothing.
fn was_not_done(call: &Call) -> bool {
    match &call.ended {
        Some((_, Outcome::Fail(status, code))) => {
            (*status < 500 || *status == 503) && code != "not_found" && !call.path.ends_with("/lease")
        }
        _ => false,
    }
}
