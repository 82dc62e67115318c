//! What the ledger knows of one schedule at one instant: which incarnation, which definition, how it stood, and what was
//! decided.
//!
//! Every question is a look-up in the index or a bisection: nothing here grows with the ledger. It finds facts; what they
//! mean is told by `service::explain`.

mod decided;
mod standing;

use std::sync::Arc;

use campanile_core::definition::{Definition, ScheduleName};
use campanile_core::event::SkipReason;
use campanile_core::firing::FiringId;
use campanile_core::id::Uid;
use campanile_core::machine::Machine;
use campanile_core::time::Timestamp;
use campanile_storage::ledger::Position;

pub(in crate::service) use decided::WORTH_A_WORD;

use super::places::changes_of;
use super::{Records, Telling};
use crate::problem::Problem;
use crate::wire::firing::{Decided, Firing};

/// Everything that is known.
#[derive(Debug)]
pub(in crate::service) struct Account {
    /// The incarnation in force, or the one that came next.
    pub(in crate::service) uid: Uid,
    /// Whether it was created after the instant, when, and by whom.
    pub(in crate::service) created_later: Option<(Timestamp, String)>,
    /// Rows of before this moment may be gone.
    pub(in crate::service) known_since: Timestamp,
    /// The definition in force.
    pub(in crate::service) definition: Option<InForce>,
    /// How it stood just before the decision, or at the instant when there is none.
    pub(in crate::service) standing: Standing,
    /// When it was finished last, if it is.
    pub(in crate::service) finished_at: Option<Timestamp>,
    /// Everything that fired with this nominal.
    pub(in crate::service) firings: Vec<Firing>,
    /// What the first run waited for by the overlap rule, and when that ended.
    pub(in crate::service) held_by: Option<(FiringId, Timestamp)>,
    /// The run of skips that covers it.
    pub(in crate::service) skip: Option<Skip>,
    /// Whether every run of skips that may cover it was looked at.
    pub(in crate::service) searched: bool,
    /// Everything up to here had been decided before.
    pub(in crate::service) mark: Option<Timestamp>,
    /// The gap between leaders between the instant and its decision.
    pub(in crate::service) gap: Option<Gap>,
    /// The leader that decided it, when it took office after the instant.
    pub(in crate::service) new_leader: Option<(Timestamp, u64)>,
    /// Something fired by hand, by a backfill or by another firing in the same minute.
    pub(in crate::service) neighbour: Option<FiringId>,
}

/// A definition in force.
#[derive(Debug, Clone)]
pub(in crate::service) struct InForce {
    pub(in crate::service) revision: u32,
    pub(in crate::service) definition: Arc<Definition>,
    pub(in crate::service) by: String,
    /// When it was committed; `None` when retention has passed that, and it was only told again.
    pub(in crate::service) since: Option<Timestamp>,
    pub(in crate::service) mark: Timestamp,
}

/// How a schedule stood.
#[derive(Debug, Clone, Default)]
pub(in crate::service) struct Standing {
    pub(in crate::service) state: Stood,
    pub(in crate::service) since: Option<Timestamp>,
    pub(in crate::service) by: Option<String>,
    pub(in crate::service) note: Option<String>,
    pub(in crate::service) until: Option<Timestamp>,
}

/// The states of a schedule, and that it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::service) enum Stood {
    #[default]
    Active,
    Paused,
    Parked,
    Finished,
    Deleted,
}

impl Stood {
    /// Its word.
    pub(in crate::service) const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Parked => "parked",
            Self::Finished => "finished",
            Self::Deleted => "deleted",
        }
    }
}

/// A run of skips that covers the instant.
#[derive(Debug, Clone)]
pub(in crate::service) struct Skip {
    pub(in crate::service) reason: SkipReason,
    pub(in crate::service) revision: u32,
    pub(in crate::service) from: Timestamp,
    pub(in crate::service) to: Timestamp,
    pub(in crate::service) count: u64,
    pub(in crate::service) decided: Decided,
    /// What ran then, or fires in its stead.
    pub(in crate::service) firing: Option<FiringId>,
    /// Who set the mark, and to where.
    pub(in crate::service) skipped_ahead: Option<(String, Timestamp)>,
}

/// A gap between leaders.
#[derive(Debug, Clone, Copy)]
pub(in crate::service) struct Gap {
    pub(in crate::service) position: Position,
    pub(in crate::service) from: Timestamp,
    pub(in crate::service) to: Timestamp,
}

impl Records {
    /// What is known of the schedule of that name at `at`; `None` when no schedule ever had it, as far as the ledger reaches
    /// back. On a blocking thread.
    ///
    /// # Errors
    /// `not_ready` while the index is built again; `internal` when the ledger cannot be read.
    pub(in crate::service) fn account(
        &self,
        machine: &Machine,
        name: &ScheduleName,
        at: Timestamp,
    ) -> Result<Option<Account>, Problem> {
        self.caught_up()?;
        let mut telling = Telling::new(self, machine);
        let Some((uid, created_later)) = telling.incarnation(name, at)? else { return Ok(None) };
        // Up to this entry the schedule stood as it did at that instant.
        let then = self.last_until(changes_of(uid), at)?;
        let firings = telling.firings_at(uid, at)?;
        let is_planned = |firing: &Firing| matches!(&*firing.kind, "scheduled" | "catch_up");
        let (skip, searched) =
            if firings.iter().any(is_planned) { (None, true) } else { telling.skip_over(uid, at)? };
        let decided =
            firings.first().map(|firing| &firing.decided).or(skip.as_ref().map(|skip| &skip.decided));
        let (index, decided_at) =
            decided.map_or((then, None), |decided| (decided.index.saturating_sub(1), Some(decided.at.0)));
        let revision =
            firings.first().map(|firing| firing.revision).or(skip.as_ref().map(|skip| skip.revision));
        let definition = telling.in_force(uid, revision, at, index)?;
        let since = definition.as_ref().map(|definition| definition.mark);
        Ok(Some(Account {
            uid,
            created_later,
            known_since: self.reaches_back_to(machine)?,
            standing: self.stood(uid, index)?,
            finished_at: Some(self.stood(uid, u64::MAX)?)
                .filter(|now| now.state == Stood::Finished)
                .and_then(|now| now.since),
            held_by: firings.first().map(|first| telling.held_by(uid, first)).transpose()?.flatten(),
            mark: telling.mark_before(uid, at, index)?.max(since),
            gap: self.gap_over(at, decided_at.unwrap_or(machine.clock()))?,
            new_leader: decided.map(|decided| self.taken_since(decided.index, at)).transpose()?.flatten(),
            neighbour: telling.neighbour(uid, at)?,
            definition,
            firings,
            skip,
            searched,
        }))
    }
}
