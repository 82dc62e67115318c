//! What came of the instants of a stretch of time, in sums, with the schedules that somebody should look at.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use campanile_core::firing::{EndState, FiringId, Kind};
use campanile_core::id::Uid;
use campanile_core::machine::Machine;
use campanile_core::time::Span;

use super::Service;
use super::records::counted::{Seen, Stretch};
use super::timeline::Question;
use super::timeline::tally::Tally;
use crate::problem::Problem;
use crate::wire::stats::{FailingSchedule, LateSchedule, Stats};
use crate::wire::time::Instant;

/// How many schedules each list names.
const NAMED: usize = 10;

/// What came of the instants of one schedule.
#[derive(Debug, Default)]
struct Share {
    tally: Tally,
    fired: u64,
    worst: Option<(Span, FiringId)>,
    ended: u64,
    failed: u64,
    last_failed: Option<FiringId>,
}

impl Share {
    fn add(&mut self, seen: Seen, machine: &Machine) {
        match seen {
            Seen::Fired { firing, kind: Kind::Scheduled | Kind::CatchUp, lateness } => {
                self.fired += 1;
                self.worst = self.worst.max(Some((lateness, firing)));
                self.tally.add(seen, machine);
            }
            Seen::Ended { firing, state } => {
                self.ended += 1;
                if matches!(state, EndState::Failed | EndState::TimedOut | EndState::Unknown) {
                    self.failed += 1;
                    self.last_failed = self.last_failed.max(Some(firing));
                }
            }
            Seen::Fired { .. } | Seen::Skipped { .. } | Seen::Open { .. } => {}
        }
    }
}

impl Service {
    /// The sums of a stretch.
    ///
    /// # Errors
    /// `bad_request` for ends that are none.
    pub async fn stats(
        self: &Arc<Self>,
        machine: Arc<Machine>,
        question: Question,
    ) -> Result<Stats, Problem> {
        self.think(move |service| service.stats_now(&machine, &question)).await
    }

    fn stats_now(&self, machine: &Machine, question: &Question) -> Result<Stats, Problem> {
        let (from, to) = question.ends(self.now().max(machine.clock()))?;
        let stretch = Stretch {
            from,
            to,
            namespace: question.namespace.as_deref(),
            uid: None,
            next: question.next.as_deref(),
        };
        let (mut totals, mut shares) = (Tally::default(), BTreeMap::<Uid, Share>::new());
        let counted = self.records().count(machine, &stretch, &mut |seen| {
            totals.add(seen, machine);
            shares.entry(seen.uid()).or_default().add(seen, machine);
        })?;
        Ok(Stats {
            after: Instant(from),
            before: Instant(to),
            totals: totals.counts(),
            schedules: shares.len() as u64,
            late: self.late(machine, &shares)?,
            failing: self.failing(machine, &shares)?,
            complete: counted.complete,
            next: counted.next,
        })
    }

    fn late(&self, machine: &Machine, shares: &BTreeMap<Uid, Share>) -> Result<Vec<LateSchedule>, Problem> {
        let mut all: Vec<(&Uid, &Share)> = shares.iter().filter(|(_, share)| share.worst.is_some()).collect();
        all.sort_by_key(|(uid, share)| (Reverse(share.worst.map(|(lateness, _)| lateness)), **uid));
        all.truncate(NAMED);
        let names = self.records().names_of(machine, all.iter().map(|(uid, _)| **uid))?;
        let told = all.into_iter().zip(names).filter_map(|((uid, share), schedule)| {
            Some(LateSchedule {
                schedule,
                uid: uid.to_string(),
                fired: share.fired,
                lateness: share.tally.lateness()?,
                worst: share.worst?.1.to_string(),
            })
        });
        Ok(told.collect())
    }

    fn failing(
        &self,
        machine: &Machine,
        shares: &BTreeMap<Uid, Share>,
    ) -> Result<Vec<FailingSchedule>, Problem> {
        let mut all: Vec<(&Uid, &Share)> = shares.iter().filter(|(_, share)| share.failed > 0).collect();
        all.sort_by_key(|(uid, share)| (Reverse(share.failed), **uid));
        all.truncate(NAMED);
        let names = self.records().names_of(machine, all.iter().map(|(uid, _)| **uid))?;
        let told = all.into_iter().zip(names).filter_map(|((uid, share), schedule)| {
            Some(FailingSchedule {
                schedule,
                uid: uid.to_string(),
                failed: share.failed,
                of: share.ended,
                last: share.last_failed?.to_string(),
            })
        });
        Ok(told.collect())
    }
}
