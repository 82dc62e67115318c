//! What of the workload was met, by name, and what a sweep has to have met.

use std::collections::BTreeMap;

use crate::sim::story::{Call, Condition, Ended, Outcome, Story};

/// Everything that has to be met in a sweep of worlds.
pub const WANTED: &[&str] = &[
    "schedule created",
    "schedule replaced",
    "schedule patched",
    "schedule deleted",
    "schedule paused",
    "schedule resumed",
    "schedule triggered",
    "mark set",
    "backfill created",
    "backfill cancelled",
    "firing cancelled",
    "firing run again",
    "queue put",
    "queue deleted",
    "queue paused",
    "queue resumed",
    "calendar put",
    "calendar deleted",
    "secret put",
    "set applied",
    "dead letters discarded",
    "dead letters run again",
    "schedule read",
    "schedules listed",
    "firings listed",
    "firing read",
    "next read",
    "revisions read",
    "queue read",
    "backfills listed",
    "dead letters listed",
    "calendars listed",
    "ledger read",
    "cluster read",
    "leases asked for",
    "lease beaten",
    "lease settled",
    "condition held",
    "condition refused",
    "answered at a second try",
    "answered twice under one key",
    "key of another request refused",
    "lease given",
    "lease beaten and settled",
    "settled late and lost",
    "settled twice",
    "settled twice otherwise",
    "two settles raced",
    "two settles raced and one lost",
    "worker fell silent",
    "worker came back and had lost",
    "settled at a second try",
    "asked to retry",
    "failed by its worker",
];

/// Every name of [`WANTED`] as often as it was met.
#[must_use]
pub fn met(story: &Story) -> Vec<&'static str> {
    let mut met: Vec<&'static str> = story.calls.iter().filter_map(operation).collect();
    conditions(story, &mut met);
    keys(story, &mut met);
    leases(story, &mut met);
    met
}

/// What was done, if it was.
fn operation(call: &Call) -> Option<&'static str> {
    let Some((_, Outcome::Ok(status, _))) = &call.ended else { return None };
    let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
    let parts: Vec<&str> = path.trim_start_matches("/v1/").split('/').collect();
    let dry = query.contains("dry_run") || call.body.as_ref().is_some_and(|body| body["dry_run"] == true);
    if dry {
        return None;
    }
    Some(match (call.method, parts.as_slice()) {
        ("PUT", ["schedules", _, _]) if *status == 201 => "schedule created",
        ("PUT", ["schedules", _, _]) => "schedule replaced",
        ("PATCH", ["schedules", _, _]) => "schedule patched",
        ("DELETE", ["schedules", _, _]) => "schedule deleted",
        ("POST", ["schedules", _, _, "pause"]) => "schedule paused",
        ("POST", ["schedules", _, _, "resume"]) => "schedule resumed",
        ("POST", ["schedules", _, _, "trigger"]) => "schedule triggered",
        ("POST", ["schedules", _, _, "mark"]) => "mark set",
        ("POST", ["backfills"]) => "backfill created",
        ("DELETE", ["backfills", _]) => "backfill cancelled",
        ("POST", ["firings", _, "cancel"]) => "firing cancelled",
        ("POST", ["firings", _, "rerun"]) => "firing run again",
        ("PUT", ["queues", _]) => "queue put",
        ("DELETE", ["queues", _]) => "queue deleted",
        ("POST", ["queues", _, "pause"]) => "queue paused",
        ("POST", ["queues", _, "resume"]) => "queue resumed",
        ("PUT", ["calendars", _]) => "calendar put",
        ("DELETE", ["calendars", _]) => "calendar deleted",
        ("PUT", ["secrets", _]) => "secret put",
        ("POST", ["apply"]) => "set applied",
        ("POST", ["dead_letters", "discard"]) => "dead letters discarded",
        ("POST", ["dead_letters", "rerun"]) => "dead letters run again",
        ("GET", ["schedules", _, _]) => "schedule read",
        ("GET", ["schedules"]) => "schedules listed",
        ("GET", ["schedules", _, _, "firings"] | ["firings"]) => "firings listed",
        ("GET", ["firings", _]) => "firing read",
        ("GET", ["schedules", _, _, "next"]) => "next read",
        ("GET", ["schedules", _, _, "revisions"]) => "revisions read",
        ("GET", ["queues", _]) => "queue read",
        ("GET", ["backfills"]) => "backfills listed",
        ("GET", ["dead_letters"]) => "dead letters listed",
        ("GET", ["calendars"]) => "calendars listed",
        ("GET", ["ledger"]) => "ledger read",
        ("GET", ["cluster"]) => "cluster read",
        ("POST", ["queues", _, "lease"]) => "leases asked for",
        ("POST", ["leases", _, "heartbeat"]) => "lease beaten",
        ("POST", ["leases", _, "settle"]) => "lease settled",
        _ => return None,
    })
}

fn conditions(story: &Story, met: &mut Vec<&'static str>) {
    for (place, condition) in &story.conditions {
        match (condition, &story.calls[*place].ended) {
            (Condition::Unchanged(_), Some((_, Outcome::Ok(..)))) => met.push("condition held"),
            (_, Some((_, Outcome::Fail(412, _)))) => met.push("condition refused"),
            _ => {}
        }
    }
}

fn keys(story: &Story, met: &mut Vec<&'static str>) {
    let mut tries: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for call in &story.calls {
        if let (Some(key), Some((_, outcome))) = (&call.key, &call.ended) {
            tries.entry(key).or_default().push(outcome);
        }
    }
    for tries in tries.values() {
        let yes = tries.iter().filter(|outcome| matches!(outcome, Outcome::Ok(..))).count();
        if yes >= 2 {
            met.push("answered twice under one key");
        }
        match tries.as_slice() {
            [Outcome::Unknown, .., Outcome::Ok(..)] => met.push("answered at a second try"),
            [.., Outcome::Fail(_, code)] if code == "idempotency_mismatch" => {
                met.push("key of another request refused");
            }
            _ => {}
        }
    }
}

fn leases(story: &Story, met: &mut Vec<&'static str>) {
    for held in &story.leases {
        met.push("lease given");
        let good: Vec<_> =
            held.settles.iter().filter(|settle| matches!(settle.answer, Outcome::Ok(..))).collect();
        let lost = held.settles.iter().any(|settle| match &settle.answer {
            Outcome::Fail(_, code) => code == "lease_lost",
            _ => false,
        });
        let ended = held.ended.map(|(_, ended)| ended);
        for settle in &good {
            match settle.outcome {
                "retry" => met.push("asked to retry"),
                "failed" => met.push("failed by its worker"),
                _ => {}
            }
            if settle.told > settle.asked + 500 {
                met.push("settled at a second try");
            }
        }
        let otherwise = held.settles.windows(2).any(|two| two[0].outcome != two[1].outcome);
        match (held.manner, ended) {
            ("beating", Some(Ended::Settled)) if !held.beats.is_empty() => {
                met.push("lease beaten and settled");
            }
            ("late", Some(Ended::Lost)) => met.push("settled late and lost"),
            ("twice", Some(_)) if otherwise => met.push("settled twice otherwise"),
            ("twice", Some(_)) => met.push("settled twice"),
            ("racing", Some(_)) => {
                met.push("two settles raced");
                if lost && !good.is_empty() {
                    met.push("two settles raced and one lost");
                }
            }
            ("silent", Some(_)) => met.push("worker fell silent"),
            ("returning", Some(Ended::Lost)) => met.push("worker came back and had lost"),
            _ => {}
        }
    }
}
