//! A tick: what one look at the due index found, decided at its place in the log.
//!
//! A late or repeated tick changes nothing: each part names what it was planned for (revision and mark, attempt, `until`),
//! and what has moved on since is counted as stale and left to the next tick.

use super::{Turn, chain, decide, schedule, settle};
use crate::command::{Decision, Fire, OnTime, PauseEnd, Tick};
use crate::firing::Kind;
use crate::mutant::{self, Mutant};
use crate::reply::{Reply, Ticked};
use crate::schedule::State;
use crate::time::{Span, Timestamp};

pub(super) fn tick(turn: &mut Turn<'_>, command: &Tick) -> Reply {
    let mut ticked = Ticked::default();
    let rules_current = command.rules_at == turn.state.rules_at();
    // First, so that a run whose lease is over does not count against an instant of this very tick.
    for (firing, attempt) in &command.lease_ends {
        if !settle::end_lease(turn, *firing, *attempt) {
            ticked.stale += 1;
        }
    }
    for firing in &command.overdue {
        if !settle::end_overdue(turn, *firing) {
            ticked.stale += 1;
        }
    }
    for item in &*mutant::in_order(&command.on_time, turn.moment.index) {
        fire_on_time(turn, item, rules_current, &mut ticked);
        decide::complete(turn, item.uid);
    }
    for decision in &command.decisions {
        decide_one(turn, decision, &mut ticked);
        decide::complete(turn, decision.uid);
    }
    for end in &command.pause_ends {
        end_pause(turn, end, &mut ticked);
    }
    // Last, since the instants of this very tick leave less room for their identities.
    for item in &command.chains {
        if !(rules_current && chain::fire(turn, item)) {
            ticked.stale += 1;
        }
    }
    Reply::Ticked(ticked)
}

/// The next nominal instant of an active schedule has come.
fn fire_on_time(turn: &mut Turn<'_>, item: &OnTime, rules_current: bool, ticked: &mut Ticked) {
    let current = turn.state.schedule(item.uid).is_some_and(|schedule| {
        rules_current
            && schedule.is_active()
            && schedule.revision == item.revision
            && is_undecided(item.nominal, schedule.mark)
            && item.nominal <= turn.moment.at
    });
    if !current {
        ticked.stale += 1;
        return;
    }
    let next_at = (item.next_at != Timestamp::NEVER).then_some(item.next_at);
    let fire = Fire { nominal: item.nominal, kind: Kind::Scheduled, delay: Span::ZERO };
    decide::fire_nominal(turn, item.uid, &fire, next_at, &[], ticked);
    decide::move_mark(turn, item.uid, item.nominal, next_at);
}

/// The refusal of duplicates: the mark is the truth, whoever proposes what.
fn is_undecided(nominal: Timestamp, mark: Timestamp) -> bool {
    let repeats = cfg!(feature = "plant-duplicates") || mutant::is_on(Mutant::NoDuplicateRefusal);
    nominal > mark || (repeats && nominal == mark)
}

fn decide_one(turn: &mut Turn<'_>, decision: &Decision, ticked: &mut Ticked) {
    let active = turn.state.schedule(decision.uid).is_some_and(|schedule| schedule.is_active());
    if active && decide::is_current(turn, decision) {
        decide::carry_out(turn, decision, ticked);
    } else {
        ticked.stale += 1;
    }
}

fn end_pause(turn: &mut Turn<'_>, end: &PauseEnd, ticked: &mut Ticked) {
    let current = end.until <= turn.moment.at
        && turn.state.schedule(end.uid).is_some_and(
            |schedule| matches!(schedule.state, State::Paused { until: Some(until), .. } if until == end.until),
        );
    if current && decide::is_current(turn, &end.decision) {
        schedule::go_on(turn, &end.decision, "campanile", ticked);
        decide::complete(turn, end.uid);
    } else {
        ticked.stale += 1;
    }
}
