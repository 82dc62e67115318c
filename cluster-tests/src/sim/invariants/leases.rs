//! At any place of the log one attempt of a firing runs at most, attempts count up by one, and fencing tokens only grow: index
//! of the Begin × 4096 + place (SEMANTICS §1, §2.3; DESIGN §2).

use std::collections::BTreeMap;

use campanile_core::attempt::Lease;
use campanile_core::event::{Event, Outcome, Row};
use campanile_core::firing::FiringId;
use campanile_core::id::{AttemptNumber, FencingToken, LogIndex};

use super::{Findings, Invariant};
use crate::sim::story::Step;

/// The attempts of the firings that live.
#[derive(Debug, Default)]
pub(super) struct Leases {
    live: BTreeMap<FiringId, Live>,
    token: Option<FencingToken>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Live {
    attempt: AttemptNumber,
    runs: bool,
}

impl Invariant for Leases {
    fn name(&self) -> &'static str {
        "leases exclude each other"
    }

    fn step(&mut self, step: &Step<'_>, found: &mut Findings) {
        for row in step.rows {
            if let Some(wrong) = self.hear(step.index, row) {
                found.add(self.name(), || format!("entry {}: {wrong}", step.index));
            }
        }
    }
}

impl Leases {
    fn hear(&mut self, index: u64, row: &Row) -> Option<String> {
        match &row.event {
            Event::Fired { firing, .. } => {
                self.live.insert(*firing, Live::default());
                None
            }
            Event::Begun { firing, lease } => self.begun(index, *firing, lease),
            Event::Settled { firing, outcome: Outcome::End { .. }, .. } => {
                self.live.remove(firing);
                None
            }
            Event::Settled { firing, .. } => {
                if let Some(live) = self.live.get_mut(firing) {
                    live.runs = false;
                }
                None
            }
            _ => None,
        }
    }

    fn begun(&mut self, index: u64, firing: FiringId, lease: &Lease) -> Option<String> {
        let token = lease.fencing_token;
        let is_newest = self.token.replace(token).is_none_or(|before| before < token);
        let Some(live) = self.live.get_mut(&firing) else {
            return Some(format!("{firing:?} was begun, and is not live"));
        };
        let before = *live;
        *live = Live { attempt: lease.attempt, runs: true };
        if before.runs {
            Some(format!("{firing:?} began attempt {} inside attempt {}", lease.attempt, before.attempt))
        } else if lease.attempt.0 != before.attempt.0 + 1 {
            Some(format!("{firing:?} began attempt {} after attempt {}", lease.attempt, before.attempt))
        } else if !is_newest || token.index() != LogIndex(index) {
            Some(format!(
                "{firing:?} got the token {token}, which is of another entry or older than the last"
            ))
        } else {
            None
        }
    }
}
