//! When there was last a leader in office, as far as this node knows: the evidence of a gap between leaders.
//!
//! A leader that was elected and never took office could commit nothing, so its heartbeats count for nothing here. Times are
//! kept on the monotonic clock: a wall clock that was set meanwhile would make a gap, or hide one. Must not decide what a
//! gap is; the machine does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

use campanile_core::id::{Epoch, Term};
use campanile_core::machine::Machine;
use campanile_core::time::{Span, Timestamp};

use crate::view::View;

/// What this node knows of leaders in office.
#[derive(Debug)]
pub struct Reign {
    view: Arc<View>,
    seen: Mutex<Option<Instant>>,
}

impl Reign {
    /// Nobody was heard yet.
    #[must_use]
    pub fn new(view: Arc<View>) -> Self {
        Self { view, seen: Mutex::default() }
    }

    /// The leader of that term was there at that moment: it was heard, or a majority answered it.
    pub fn note(&self, term: Term, at: Instant) {
        if self.view.machine().office().term != term {
            return;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = (*seen).max(Some(at));
    }

    /// Since when nobody is in office, for an entry that is stamped `at`; `None` before the first office ever. Never before
    /// the log's last entry: a node that has heard nobody since it started knows no better.
    #[must_use]
    pub fn leaderless_since(&self, at: Timestamp, machine: &Machine) -> Option<Timestamp> {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        since(at, seen.map(|seen| seen.elapsed()), machine)
    }
}

fn since(at: Timestamp, silence: Option<Duration>, machine: &Machine) -> Option<Timestamp> {
    if machine.epoch() == Epoch(0) {
        return None;
    }
    let millis = |silence: Duration| u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
    let heard = silence.map(|silence| at - Span::from_millis(millis(silence)));
    Some(heard.unwrap_or(machine.clock()).max(machine.clock()).min(at))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use campanile_core::command::{Body, Command, LeaderEpoch};
    use campanile_core::id::{LogIndex, NodeId};

    use super::*;

    /// Somebody has taken office in that term at that moment.
    fn machine(term: u64, at: i64) -> Machine {
        let mut machine = Machine::default();
        let (node, term) = (NodeId(1), Term(term));
        let body = Body::LeaderEpoch(LeaderEpoch {
            node,
            incarnation: 1,
            term,
            ledger: None,
            leaderless_since: None,
        });
        machine.apply(LogIndex(1), &Command { at: Timestamp::from_millis(at), epoch: Epoch(0), body });
        machine
    }

    fn told(at: i64, silence: Option<u64>, machine: &Machine) -> Option<i64> {
        since(Timestamp::from_millis(at), silence.map(Duration::from_millis), machine)
            .map(Timestamp::as_millis)
    }

    #[test]
    fn a_gap_begins_when_the_last_leader_was_heard_and_never_before_the_logs_last_entry() {
        let machine = machine(3, 50_000);
        assert_eq!(told(60_000, Some(4_000), &machine), Some(56_000));
        assert_eq!(told(60_000, Some(40_000), &machine), Some(50_000));
        assert_eq!(
            told(60_000, None, &machine),
            Some(50_000),
            "the log is all that is known after a restart"
        );
        assert_eq!(told(60_000, Some(0), &machine), Some(60_000));
        assert_eq!(told(60_000, Some(4_000), &Machine::default()), None, "there was no leader before");
    }

    #[test]
    fn only_a_leader_in_office_counts() {
        let reign = Reign::new(Arc::new(View::new(machine(3, 50_000))));
        reign.note(Term(4), Instant::now());
        assert_eq!(*reign.seen.lock().unwrap(), None, "it was elected and never took office");
        let heard = Instant::now();
        reign.note(Term(3), heard);
        reign.note(Term(3), heard.checked_sub(Duration::from_secs(9)).unwrap());
        assert_eq!(*reign.seen.lock().unwrap(), Some(heard), "it does not run back");
    }
}
