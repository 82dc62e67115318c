//! The machine as one value that can be written and read: what a snapshot carries. Indexes are not in it.
//!
//! Taking an image is a shallow copy ([`Image::of`] on a clone of the machine, away from apply). A change of
//! any type in it is a new level of [`crate::format`].

use std::sync::Arc;

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::attempt::AttemptEnd;
use crate::backfill::Backfill;
use crate::chain::Chain;
use crate::definition::Definition;
use crate::firing::{Cause, Decided, Firing, FiringId, Kind, Phase};
use crate::format::FormatLevel;
use crate::id::{AttemptNumber, LogIndex, NodeId, Revision};
use crate::invariant;
use crate::letter::Letter;
use crate::machine::Machine;
use crate::mutant::{self, Mutant};
use crate::queue::Queue;
use crate::request::Remembered;
use crate::schedule::Schedule;
use crate::secret::Secret;
use crate::state::{Keeping, NamedCalendar, Office, Rules, State};
use crate::time::Timestamp;

/// A whole machine at one index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    applied: LogIndex,
    clock: Timestamp,
    office: Office,
    next_node: NodeId,
    schedules: Vec<Arc<Schedule>>,
    firings: Vec<Live>,
    requests: Vec<(Arc<str>, Arc<Remembered>)>,
    backfills: Vec<Arc<Backfill>>,
    calendars: Vec<(Arc<str>, Arc<NamedCalendar>)>,
    rules: Rules,
    queues: Vec<(Arc<str>, Arc<Queue>)>,
    secrets: Vec<(Arc<str>, Arc<Secret>)>,
    letters: Vec<Arc<Letter>>,
    chains: Vec<Arc<Chain>>,
    keeping: Keeping,
    format_level: FormatLevel,
}

/// A live firing; its definition only when it is not that of its schedule any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Live {
    id: FiringId,
    kind: Kind,
    revision: Revision,
    definition: Option<Arc<Definition>>,
    decided: Decided,
    payload: Option<Box<str>>,
    cause: Option<Arc<Cause>>,
    overtaken_at: Option<Timestamp>,
    attempt: AttemptNumber,
    last_end: Option<AttemptEnd>,
    stop_asked: Option<Timestamp>,
    phase: Phase,
}

/// An image that no machine can have made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage(pub String);

impl std::fmt::Display for Damage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the image contradicts itself: {}", self.0)
    }
}

impl std::error::Error for Damage {}

impl Image {
    /// The image of a machine.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let state: &State = machine;
        Self {
            applied: state.applied,
            clock: state.clock,
            office: state.office,
            next_node: state.next_node,
            schedules: state.schedules.values().cloned().collect(),
            firings: state.firings.values().map(|firing| Live::of(state, firing)).collect(),
            requests: state
                .requests
                .iter()
                .map(|(key, remembered)| (key.clone(), remembered.clone()))
                .collect(),
            backfills: state.backfills.values().cloned().collect(),
            calendars: named(&state.calendars),
            rules: state.rules.clone(),
            queues: named(&state.queues),
            secrets: named(&state.secrets),
            letters: state.letters.iter().cloned().collect(),
            chains: state.chains().cloned().collect(),
            keeping: state.keeping.clone(),
            format_level: state.format_level,
        }
    }

    /// The last entry that the machine had applied.
    #[must_use]
    pub fn applied(&self) -> LogIndex {
        self.applied
    }

    /// Gives the next node id away: to a node that is founded on this image, so that no node of the cluster which the image
    /// is of, should one still run, takes it for one of its own.
    pub fn admit(&mut self) -> NodeId {
        let node = self.next_node;
        self.next_node = NodeId(node.0 + 1);
        node
    }

    /// The machine that made this, its indexes built anew.
    ///
    /// # Errors
    /// [`Damage`] when no machine can have made it: it must not be started from.
    pub fn into_machine(self) -> Result<Machine, Damage> {
        let mut state = State {
            applied: self.applied,
            clock: self.clock,
            office: self.office,
            next_node: self.next_node,
            calendars: self.calendars.into_iter().collect(),
            rules: self.rules,
            keeping: self.keeping,
            format_level: self.format_level,
            secrets: self.secrets.into_iter().collect(),
            chains: self.chains.into_iter().map(|chain| (chain.id, chain)).collect(),
            ..State::default()
        };
        for (name, queue) in self.queues {
            state.insert_queue(&name, Arc::unwrap_or_clone(queue));
        }
        self.letters.into_iter().for_each(|letter| state.letters.enter(letter));
        for backfill in self.backfills {
            state.insert_backfill(Arc::unwrap_or_clone(backfill));
        }
        for schedule in self.schedules {
            if state.schedules.contains_key(&schedule.uid) || state.names.contains_key(&schedule.name) {
                return Err(Damage(format!("schedule {} is in it twice", schedule.name)));
            }
            state.insert(Arc::unwrap_or_clone(schedule));
        }
        for live in self.firings {
            let firing = live.into_firing(&state)?;
            if state.firings.contains_key(&firing.id) {
                return Err(Damage(format!("firing {} is in it twice", firing.id)));
            }
            state.insert_firing(firing);
        }
        for (key, remembered) in self.requests {
            state.requests.enter(key, Arc::unwrap_or_clone(remembered));
        }
        let machine = Machine::of(state);
        invariant::check(&machine).map_err(Damage)?;
        Ok(machine)
    }
}

/// What stands under names, as a list.
fn named<T>(of: &OrdMap<Arc<str>, Arc<T>>) -> Vec<(Arc<str>, Arc<T>)> {
    of.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl Live {
    fn of(state: &State, firing: &Firing) -> Self {
        let current = state.schedule(firing.id.uid).is_some_and(|schedule| {
            schedule.revision == firing.revision && schedule.definition == firing.definition
        });
        Self {
            id: firing.id,
            kind: firing.kind,
            revision: firing.revision,
            definition: (!current).then(|| firing.definition.clone()),
            decided: firing.decided,
            payload: firing.payload.clone(),
            cause: firing.cause.clone(),
            overtaken_at: firing.overtaken_at,
            attempt: firing.attempt,
            last_end: firing.last_end,
            stop_asked: firing.stop_asked,
            phase: firing.phase.clone(),
        }
    }

    fn into_firing(self, state: &State) -> Result<Firing, Damage> {
        let definition = match (self.definition, state.schedule(self.id.uid)) {
            (Some(definition), _) => definition,
            (None, Some(schedule)) if schedule.revision == self.revision => schedule.definition.clone(),
            _ => return Err(Damage(format!("firing {} has no definition", self.id))),
        };
        let phase = match self.phase {
            Phase::Waiting { .. } if self.attempt.0 > 0 && mutant::is_on(Mutant::RetryWaitInMemory) => {
                Phase::Waiting { until: state.clock }
            }
            phase => phase,
        };
        Ok(Firing {
            id: self.id,
            kind: self.kind,
            revision: self.revision,
            definition,
            decided: self.decided,
            payload: self.payload,
            cause: self.cause,
            overtaken_at: self.overtaken_at,
            attempt: self.attempt,
            last_end: self.last_end,
            stop_asked: self.stop_asked,
            phase,
        })
    }
}
