//! The machine: decides what each command of the log means, the same on every replica.
//!
//! [`Machine::apply`] is one match with a line an arm; each family of commands has a file of its own over
//! [`crate::state`]. It must not know a clock, a zone, randomness or IO: those questions were answered by the proposer.
//! A refusal is a [`Reply`]; a broken invariant is a panic, which stops the node while the others go on.

mod backfill;
mod calendar;
mod cancel;
mod chain;
mod cycle;
mod decide;
mod format;
mod keeping;
mod leader;
mod lease;
mod mark;
mod overlap;
mod queue;
mod rerun;
mod schedule;
mod set;
mod settle;
mod tick;
mod trigger;
mod work;

use std::ops::Deref;

use crate::command::{Body, Command, Request};
use crate::event::{Event, Row};
use crate::firing::Decided;
use crate::id::LogIndex;
use crate::mutant::{self, Mutant};
use crate::reply::{Rejection, Reply};
use crate::state::State;

/// The replicated machine. Reads as its [`State`]; only [`Machine::apply`] changes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    state: State,
}

impl Deref for Machine {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl Machine {
    pub(crate) fn of(state: State) -> Self {
        Self { state }
    }

    /// Applies the entry at `index` and says what it answers and what has happened.
    ///
    /// # Panics
    /// When `index` was applied before or an invariant is broken: a defect, the node must stop.
    pub fn apply(&mut self, index: LogIndex, command: &Command) -> (Reply, Vec<Row>) {
        self.pass(index);
        if let Err(rejection) = self.admit(command) {
            return (Reply::Rejected(rejection), Vec::new());
        }
        let state = &mut self.state;
        state.clock = command.at;
        state.requests.forget_until(command.at);
        let mut turn = Turn {
            moment: Decided { at: command.at, index, epoch: command.epoch },
            state,
            events: Vec::new(),
            places: 0,
            chained: 0,
        };
        let reply = turn.once(&command.body);
        let at = command.at;
        (reply, turn.events.into_iter().map(|event| Row { at, event }).collect())
    }

    /// Passes an entry that carries no command (a blank one, a change of membership).
    ///
    /// # Panics
    /// When `index` was applied before.
    pub fn pass(&mut self, index: LogIndex) {
        assert!(index > self.state.applied, "entry {index} comes after {}", self.state.applied);
        self.state.applied = index;
    }

    /// Only the leader in office may propose, and the log's time never runs back.
    fn admit(&self, command: &Command) -> Result<(), Rejection> {
        let takes_office = matches!(command.body, Body::LeaderEpoch(_));
        let is_stale = command.epoch != self.state.office.epoch && !mutant::is_on(Mutant::NoEpochCheck);
        if !takes_office && is_stale {
            return Err(Rejection::StaleEpoch(self.state.office.epoch));
        }
        if command.at < self.state.clock {
            return Err(Rejection::ClockBehind(self.state.clock));
        }
        Ok(())
    }
}

/// One command being decided: the moment of the log, the state, and what has happened so far.
struct Turn<'a> {
    moment: Decided,
    state: &'a mut State,
    events: Vec<Event>,
    /// How many leases this entry has given.
    places: usize,
    /// How many firings are to follow what ended in this entry.
    chained: u32,
}

impl Turn<'_> {
    /// A request that was answered before gets the same answer and does nothing.
    fn once(&mut self, body: &Body) -> Reply {
        let Some(request) = request_of(body) else { return self.act(body) };
        match self.state.requests.recall(request) {
            Err(rejection) => Reply::Rejected(rejection),
            Ok(Some(reply)) => reply,
            Ok(None) => {
                let reply = self.act(body);
                self.state.requests.remember(self.moment.at, request, &reply);
                reply
            }
        }
    }

    fn act(&mut self, body: &Body) -> Reply {
        match body {
            Body::LeaderEpoch(command) => leader::take_office(self, command),
            Body::Tick(command) => tick::tick(self, command),
            Body::Work(command) => work::work(self, command),
            Body::PutSchedule(command) => or_rejected(schedule::put(self, command).map(Reply::Schedule)),
            Body::DeleteSchedule(command) => or_rejected(schedule::delete(self, command)),
            Body::PauseSchedule(command) => or_rejected(schedule::pause(self, command)),
            Body::ResumeSchedule(command) => or_rejected(schedule::resume(self, command)),
            Body::Trigger(command) => or_rejected(trigger::trigger(self, command)),
            Body::AdmitNode(command) => leader::admit_node(self, command),
            Body::Apply(command) => or_rejected(set::apply(self, command)),
            Body::SetMark(command) => or_rejected(mark::set_mark(self, command)),
            Body::Rerun(command) => or_rejected(rerun::rerun(self, command)),
            Body::CancelFiring(command) => or_rejected(cancel::cancel(self, command)),
            Body::CreateBackfill(command) => or_rejected(backfill::create(self, command)),
            Body::StepBackfill(command) => backfill::step(self, command),
            Body::CancelBackfill(command) => or_rejected(backfill::cancel(self, command)),
            Body::PutCalendar(command) => or_rejected(calendar::put(self, command)),
            Body::DeleteCalendar(command) => or_rejected(calendar::delete(self, command)),
            Body::UseZones(command) => calendar::use_zones(self, command),
            Body::Refresh(command) => calendar::refresh(self, command),
            Body::PutQueue(command) => or_rejected(queue::put(self, command)),
            Body::DeleteQueue(command) => or_rejected(queue::delete(self, command)),
            Body::PauseQueue(command) => or_rejected(queue::pause(self, command)),
            Body::ResumeQueue(command) => or_rejected(queue::resume(self, command)),
            Body::PutSecret(command) => or_rejected(queue::put_secret(self, command)),
            Body::DeleteSecret(command) => or_rejected(queue::delete_secret(self, command)),
            Body::DiscardLetters(command) => queue::discard(self, command),
            Body::CheckLedger(end) => keeping::check(self, *end),
            Body::Restate(command) => keeping::restate(self, *command),
            Body::DropLedger(command) => keeping::drop_rows(self, *command),
            Body::SetFormatLevel(level) => format::set_level(self, *level),
        }
    }

    fn tell(&mut self, event: Event) {
        self.events.push(event);
    }
}

fn or_rejected(result: Result<Reply, Rejection>) -> Reply {
    result.unwrap_or_else(Reply::Rejected)
}

/// Who asks, for the commands of users.
fn request_of(body: &Body) -> Option<&Request> {
    match body {
        Body::PutSchedule(command) => Some(&command.request),
        Body::DeleteSchedule(command) => Some(&command.request),
        Body::PauseSchedule(command) => Some(&command.request),
        Body::ResumeSchedule(command) => Some(&command.request),
        Body::Trigger(command) => Some(&command.request),
        Body::AdmitNode(command) => Some(&command.request),
        Body::Apply(command) => Some(&command.request),
        Body::SetMark(command) => Some(&command.request),
        Body::Rerun(command) => Some(&command.request),
        Body::CancelFiring(command) => Some(&command.request),
        Body::CreateBackfill(command) => Some(&command.request),
        Body::CancelBackfill(command) => Some(&command.request),
        Body::PutCalendar(command) => Some(&command.request),
        Body::DeleteCalendar(command) => Some(&command.request),
        Body::PutQueue(command) => Some(&command.request),
        Body::DeleteQueue(command) => Some(&command.request),
        Body::PauseQueue(command) => Some(&command.request),
        Body::ResumeQueue(command) => Some(&command.request),
        Body::PutSecret(command) => Some(&command.request),
        Body::DeleteSecret(command) => Some(&command.request),
        Body::DiscardLetters(command) => Some(&command.request),
        // Each take has a request of its own.
        Body::LeaderEpoch(_)
        | Body::Tick(_)
        | Body::Work(_)
        | Body::StepBackfill(_)
        | Body::UseZones(_)
        | Body::Refresh(_)
        | Body::CheckLedger(_)
        | Body::Restate(_)
        | Body::DropLedger(_)
        | Body::SetFormatLevel(_) => None,
    }
}
