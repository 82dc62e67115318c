//! How the time from a nominal to the end of its firing was spent, step by step, and what explains the long ones.

use campanile_core::definition::{Jitter, Overlap, Target};
use campanile_core::time::{Span, Timestamp};

use super::words::when;
use crate::service::records::instant::{Account, Stood, WORTH_A_WORD};
use crate::wire::explain::Hop;
use crate::wire::firing::{Attempt, Firing, Holder};
use crate::wire::time::Instant;

/// The way of the first run; nothing when it did not fire.
pub(super) fn of(account: &Account) -> Vec<Hop> {
    let Some(firing) = account.firings.first() else { return Vec::new() };
    let mut way = Way { last: firing.nominal.0, hops: Vec::new() };
    way.to("decided", None, firing.decided.at.0, |_| why_decided_late(account, firing));
    for (place, attempt) in firing.attempts.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| firing.attempts.get(before));
        let number = Some(attempt.number);
        way.to("begun", number, attempt.begun_at.0, |_| match before {
            None => why_begun_late(account, attempt),
            Some(before) => {
                Some(format!("the wait before attempt {} after {}", attempt.number, ended(before)))
            }
        });
        if let Some(sent_at) = attempt.sent_at {
            way.to("sent", number, sent_at.0, |_| Some("the node that sent it took so long".into()));
        }
        if let Some(settled_at) = attempt.settled_at {
            way.to("settled", number, settled_at.0, |_| Some(why_settled_late(attempt)));
        }
    }
    way.hops
}

struct Way {
    last: Timestamp,
    hops: Vec<Hop>,
}

impl Way {
    /// One more step. The clock of a holder may be behind the log's: then the step took no time.
    fn to(
        &mut self,
        to: &str,
        attempt: Option<u32>,
        at: Timestamp,
        because: impl FnOnce(Span) -> Option<String>,
    ) {
        let took = at.since(self.last);
        self.hops.push(Hop {
            to: to.into(),
            attempt,
            at: Instant(at),
            ms: took.as_millis(),
            because: if took >= WORTH_A_WORD { because(took) } else { None },
        });
        self.last = self.last.max(at);
    }
}

fn why_decided_late(account: &Account, firing: &Firing) -> Option<String> {
    match &*firing.kind {
        "scheduled" | "catch_up" => {}
        "backfill" => return Some("a backfill went through its range then".into()),
        "rerun" => return Some("somebody asked for it again then".into()),
        _ => return None,
    }
    if let Some(gap) = account.gap {
        return Some(format!("no leader was in office from {} to {}", when(gap.from), when(gap.to)));
    }
    if let Some((at, node)) = account.new_leader {
        return Some(format!("node {node} took office only at {}", when(at)));
    }
    if account.standing.state == Stood::Paused {
        return Some("the schedule was paused, and was resumed with catch-up".into());
    }
    Some("the leader did not come to it earlier".into())
}

fn why_begun_late(account: &Account, attempt: &Attempt) -> Option<String> {
    let definition = &account.definition.as_ref()?.definition;
    if let Some((other, at)) = account.held_by
        && matches!(definition.policy.overlap, Overlap::QueueOne | Overlap::QueueAll | Overlap::Replace)
    {
        let rule = definition.policy.overlap.as_str();
        return Some(format!("it waited for {other}, which settled at {} (overlap {rule})", when(at)));
    }
    if definition.policy.jitter != Jitter::default() {
        let most = match definition.policy.jitter {
            Jitter::Auto => "auto".to_owned(),
            Jitter::Fixed(most) => most.to_string(),
        };
        return Some(format!("its dispatch is spread (jitter {most})"));
    }
    Some(match (&definition.target, &attempt.holder) {
        (Target::Queue(target), Holder::Worker(worker)) => {
            format!("it stood in queue {} until {worker} leased it", target.queue)
        }
        (Target::Queue(target), Holder::Node(_)) => format!("it stood in queue {}", target.queue),
        (Target::Webhook(_), _) => "it waited for a node with room to send it".into(),
    })
}

fn why_settled_late(attempt: &Attempt) -> String {
    match (attempt.outcome.as_deref(), &attempt.holder) {
        (Some("timed_out"), _) => "no answer came in time".into(),
        (Some("lease_ended"), Holder::Node(node)) => {
            format!("node {node} said nothing until its lease ended")
        }
        (Some("lease_ended"), Holder::Worker(worker)) => {
            format!("{worker} said nothing until its lease ended")
        }
        (Some("cancelled"), _) => "it was cancelled then".into(),
        (_, Holder::Worker(worker)) => format!("{worker} worked on it"),
        (_, Holder::Node(_)) => "its receiver took so long to answer".into(),
    }
}

/// How an attempt ended, as a cause.
fn ended(attempt: &Attempt) -> String {
    match (attempt.outcome.as_deref(), attempt.status) {
        (Some("failed"), Some(status)) => format!("status {status}"),
        (Some("failed"), None) => "a failure".into(),
        (Some("timed_out"), _) => "no answer in time".into(),
        (Some("lease_ended"), _) => "the end of its lease".into(),
        (Some("broken"), _) => "a broken connection".into(),
        (Some("not_sent"), _) => "no connection".into(),
        _ => format!("attempt {}", attempt.number),
    }
}
