//! What became of an instant that fired.

use campanile_core::time::Span;

use super::{Case, specs};
use crate::service::explain::words::{long, many, when};
use crate::wire::explain::Hop;
use crate::wire::firing::{Attempt, Firing, Holder};

pub(super) fn tell(case: &Case<'_>, hops: &[Hop], told: &mut Vec<String>) {
    let Some(first) = case.account.firings.first() else { return };
    told.push(decided(case, first));
    told.extend(after_skip(case));
    told.push(outcome(first));
    told.extend(specs::dst_of_nominal(case));
    told.extend(hops.iter().filter_map(slow));
    told.extend(again(&case.account.firings));
    told.extend(case.in_force());
}

fn decided(case: &Case<'_>, firing: &Firing) -> String {
    let (name, at) = (case.name, when(case.at));
    let who = match (firing.decided.node, firing.decided.term) {
        (Some(node), Some(term)) => format!("node {node} (term {term})"),
        _ => "the leader".to_owned(),
    };
    let late = long(Span::from_millis(firing.lateness_ms));
    match &*firing.kind {
        "scheduled" => {
            format!("{name} ran for {at} as scheduled: {who} decided it {late} after that instant.")
        }
        "catch_up" => format!("{name} ran for {at} to catch up: {who} decided it {late} after that instant."),
        "manual" => format!("{name} ran at {at} since somebody triggered it: {who} decided it."),
        "backfill" => format!(
            "{name} ran for {at} in backfill {}: {who} decided it at {}.",
            firing.backfill.as_deref().unwrap_or("of a range"),
            when(firing.decided.at.0)
        ),
        "rerun" => format!(
            "{name} ran for {at} since somebody asked for it again: {who} decided it at {}.",
            when(firing.decided.at.0)
        ),
        "chained" => format!("{name} ran at {at} since firing {} ended: {who} decided it.", cause(firing)),
        _ => format!(
            "{name} told another target at {at} how firing {} ended: {who} decided it.",
            cause(firing)
        ),
    }
}

fn cause(firing: &Firing) -> &str {
    firing.cause.as_deref().unwrap_or("of another schedule")
}

/// It was skipped at first.
fn after_skip(case: &Case<'_>) -> Option<String> {
    let skip = case.account.skip.as_ref()?;
    Some(format!(
        "Before that it had been skipped ({}), as decided at {}.",
        skip.reason.as_str(),
        when(skip.decided.at.0)
    ))
}

fn outcome(firing: &Firing) -> String {
    let attempts = firing.attempts.len() as u64;
    let last = firing.attempts.last();
    let said = match &firing.reason {
        Some(reason) => format!(": {reason}"),
        None => status(last),
    };
    match &*firing.state {
        "succeeded" => format!("It succeeded {}{}.", on(attempts), status(last)),
        "failed" => format!("It failed for good after {}{said}.", many(attempts, "attempt")),
        "timed_out" => format!("It timed out after {}{said}.", many(attempts, "attempt")),
        "cancelled" => format!("It was cancelled{said}."),
        "unknown" => {
            "It was sent once, no answer came, and at most once means that it is not sent again.".into()
        }
        "running" => match last {
            Some(attempt) => {
                format!(
                    "{} works on attempt {} since {}.",
                    holder(attempt),
                    attempt.number,
                    when(attempt.begun_at.0)
                )
            }
            None => "It has begun.".into(),
        },
        "waiting" => match firing.waits_until {
            Some(until) => format!("It waits until {until}{said}."),
            // Its reason is that it waits, and for what.
            None => format!("It {}.", firing.reason.as_deref().unwrap_or("waits")),
        },
        _ => format!("It waits for somebody to begin it{said}."),
    }
}

/// `at the first attempt`.
fn on(attempts: u64) -> String {
    if attempts == 1 { "at the first attempt".to_owned() } else { format!("at attempt {attempts}") }
}

fn status(attempt: Option<&Attempt>) -> String {
    attempt
        .and_then(|attempt| attempt.status)
        .map_or_else(String::new, |status| format!(" (status {status})"))
}

fn holder(attempt: &Attempt) -> String {
    match &attempt.holder {
        Holder::Node(node) => format!("Node {node}"),
        Holder::Worker(worker) => format!("Worker {worker}"),
    }
}

/// A step that took long enough to need a word.
fn slow(hop: &Hop) -> Option<String> {
    let because = hop.because.as_ref()?;
    let took = long(Span::from_millis(hop.ms));
    let step = match (&*hop.to, hop.attempt) {
        ("decided", _) => "until it was decided".to_owned(),
        ("begun", Some(1)) => "until its first attempt began".to_owned(),
        ("begun", Some(number)) => format!("until attempt {number} began"),
        ("sent", Some(number)) => format!("until attempt {number} was sent"),
        (_, Some(number)) => format!("until attempt {number} was settled"),
        (_, None) => return None,
    };
    Some(format!("{took} passed {step}: {because}."))
}

/// Further runs of the same instant.
fn again(firings: &[Firing]) -> Option<String> {
    let last = firings.last().filter(|_| firings.len() > 1)?;
    Some(format!(
        "It was run again {}; the last of them ({}) is {}.",
        many(firings.len() as u64 - 1, "time"),
        last.id,
        last.state
    ))
}
