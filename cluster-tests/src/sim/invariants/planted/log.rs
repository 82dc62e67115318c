//! What is wrong with the log itself: its time, its epochs, what it refuses, the machine that it makes, its copies.

use campanile_core::command::{Body, Tick};
use campanile_core::definition::Policy;
use campanile_core::event::{Event, Row};
use campanile_core::id::{Epoch, LogIndex, NodeId, Term};
use campanile_core::machine::Machine;
use campanile_core::reply::{Rejection, Reply};
use campanile_core::time::Span;

use super::super::Findings;
use super::super::handmade::{Handmade, every, instant};
use super::super::machine::Sound;
use super::super::{Invariant, SAMPLE};

#[test]
fn time_that_runs_back_is_found() {
    let mut history = Handmade::plain();
    let last = history.made.last_mut().unwrap();
    last.command.at = last.command.at - Span::from_secs(5);
    history.assert_found("log time is monotone", "the one before of");
    history.assert_found("log time is monotone", "the machine shows");
    history.assert_found("log time is monotone", "has a row of");
}

#[test]
fn entries_that_come_in_another_order_are_found() {
    let mut history = Handmade::plain();
    history.made.swap(3, 4);
    history.assert_found("log time is monotone", "follows entry");
}

#[test]
fn an_epoch_that_is_not_the_index_of_its_entry_is_found() {
    let mut history = Handmade::new();
    let Event::LeaderEpoch { epoch, .. } = &mut history.made[0].rows[0].event else { unreachable!() };
    *epoch = Epoch(9);
    history.assert_found("epochs are monotone", "told Some(9)");
}

#[test]
fn a_term_that_falls_and_one_with_two_leaders_are_found() {
    let mut history = Handmade::new();
    history.take_office(2);
    history.take_office(3);
    let mut two = Handmade::new();
    two.take_office(2);
    for (history, term, words) in [(&mut history, 1, "took office in term 1"), (&mut two, 1, "led in term 1")]
    {
        let last = history.made.last_mut().unwrap();
        let Body::LeaderEpoch(office) = &mut last.command.body else { unreachable!() };
        office.term = Term(term);
        assert_ne!(office.node, NodeId(1));
        history.assert_found("epochs are monotone", words);
    }
}

/// A cluster whose second leader has taken a command of the first.
fn taken_from_a_deposed_leader() -> Handmade {
    let mut history = Handmade::plain();
    history.take_office(2);
    history.moment = 70_000;
    let tick = history.planner.tick(&history.machine, history.now()).unwrap();
    history.commit(Body::Tick(tick));
    history.made.last_mut().unwrap().command.epoch = Epoch(1);
    history
}

#[test]
fn a_command_of_a_stale_epoch_that_is_taken_is_found() {
    taken_from_a_deposed_leader().assert_found("epochs are monotone", "of epoch 1 was taken in epoch");
}

#[test]
fn a_refusal_that_changes_something_is_found() {
    let mut history = taken_from_a_deposed_leader();
    let last = history.made.last_mut().unwrap();
    last.reply = Reply::Rejected(Rejection::StaleEpoch(Epoch(1)));
    history.assert_found("a refusal changes nothing", "and told Fired");
    history.assert_found("a refusal changes nothing", "and changed the machine");
}

#[test]
fn a_refusal_that_is_one_is_nothing_wrong() {
    let mut history = Handmade::plain();
    history.take_office(2);
    let reply = history.commit_as(1, Body::Tick(Tick::default()));
    assert!(matches!(reply, Reply::Rejected(Rejection::StaleEpoch(_))));
    let mut property = super::super::refused::Refused;
    assert!(history.judge(&mut property).is_clean());
}

/// A machine that took the word of a proposer who says that the next instant is the one that just fired.
fn torn() -> Machine {
    let mut history = Handmade::with(every(10, Policy::default()));
    history.moment = 10_000;
    let mut tick = history.planner.tick(&history.machine, history.now()).unwrap();
    tick.on_time[0].next_at = tick.on_time[0].nominal;
    history.commit(Body::Tick(tick));
    history.machine
}

#[test]
fn a_machine_that_makes_no_sense_is_found_at_a_sampled_entry_and_told_once() {
    let mut history = Handmade::plain();
    let torn = torn();
    let last = history.made.last_mut().unwrap();
    (last.index, last.after) = (SAMPLE * 2, torn.clone());
    history.machine = torn;
    let found: Findings = history.judge(&mut Sound::default());
    assert_eq!(found.count, 1, "{found:#?}");
    history.assert_found("the machine makes sense", "at entry 512");
}

#[test]
fn more_than_a_bound_allows_is_found() {
    let mut history = Handmade::plain();
    let (made, _) = history.find(|event| matches!(event, Event::Fired { .. }));
    let Body::Tick(tick) = &mut made.command.body else { unreachable!() };
    tick.on_time = vec![tick.on_time[0]; 10_000];
    history.assert_found("everything has a bound", "10000 instants in a tick");
    let mut history = Handmade::plain();
    let (made, place) = history.find(|event| matches!(event, Event::Settled { .. }));
    let Event::Settled { report: Some(report), .. } = &mut made.rows[place].event else { unreachable!() };
    report.output = "x".repeat(20_000).into();
    history.assert_found("everything has a bound", "bytes of output");
}

/// What is wrong with a ledger.
type Doctor = fn(&mut Vec<(u64, Row)>);

#[test]
fn a_ledger_that_differs_lacks_or_has_more_is_found() {
    let history = Handmade::plain();
    let rows = history.rows();
    let cases: [(&str, Doctor); 5] = [
        ("where the log has", |rows| rows[3].1.at = instant(1)),
        ("where the log has", |rows| drop(rows.remove(3))),
        ("rows of entries", |rows| rows.push(rows.last().unwrap().clone())),
        ("lacks entry 1", |rows| drop(rows.drain(..3))),
        ("where the log has", |rows| rows[4].0 += 1),
    ];
    for (words, doctor) in cases {
        let mut history = Handmade::plain();
        let mut other = rows.clone();
        doctor(&mut other);
        history.ledgers = Some([(1, rows.clone()), (2, other)].into());
        history.assert_found("equal ledgers", words);
    }
}

#[test]
fn a_ledger_that_is_behind_or_has_dropped_its_front_is_nothing_wrong() {
    let mut history = Handmade::plain();
    let dropped = Event::LedgerDropped { before: LogIndex(3) };
    let last = history.made.last_mut().unwrap();
    last.rows.push(Row { at: last.command.at, event: dropped });
    let rows = history.rows();
    let front = rows.iter().filter(|(index, _)| *index >= 3).cloned().collect();
    let behind = rows.iter().filter(|(index, _)| *index <= 5).cloned().collect();
    history.ledgers = Some([(1, front), (2, behind), (3, Vec::new())].into());
    let mut property = super::super::ledgers::Ledgers;
    let found = history.judge(&mut property);
    assert!(found.is_clean(), "{}: {found:#?}", property.name());
}
