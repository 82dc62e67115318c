//! Ledgers made by hand, each with one thing wrong.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use campanile_core::definition::{Definition, ScheduleName, Target, Webhook};
use campanile_core::event::SkipReason;
use campanile_core::id::{Revision, Run};

use super::super::habit::Rhythm;
use super::super::zones::{FROM, MINUTE, ZONES};
use super::*;

const UID: Uid = Uid(7);

/// Daily at 02:30 in Berlin, in the week in which that is jumped over; the days are those on which it is due.
fn habit() -> Habit {
    Habit { rhythm: Rhythm::Daily(150), zone: &ZONES[1] }
}

fn begin() -> Timestamp {
    Timestamp::from_millis(FROM + 27 * 24 * 60 * MINUTE)
}

fn due(nth: usize) -> Timestamp {
    std::iter::successors(Some(begin()), |at| Some(habit().after(*at))).nth(nth).unwrap()
}

fn defined() -> Row {
    let target = Target::Webhook(Box::new(Webhook::new("http://receiver/")));
    let event = Event::Defined {
        uid: UID,
        name: ScheduleName::parse("quiet/job-0000").unwrap(),
        revision: Revision(1),
        definition: Arc::new(Definition::new(Vec::new(), target)),
        mark: begin(),
        by: "ann".into(),
    };
    Row { at: begin(), event }
}

fn fired(nominal: Timestamp, at: Timestamp) -> Row {
    let firing = FiringId { uid: UID, nominal, run: Run(0) };
    Row { at, event: Event::Fired { firing, revision: Revision(1), kind: Kind::Scheduled } }
}

/// On time.
fn on_time(nominal: Timestamp) -> Row {
    fired(nominal, nominal + Span::from_millis(3))
}

/// What is found when these follow its definition, and five days have passed.
fn found(rows: impl IntoIterator<Item = Row>) -> Vec<&'static str> {
    let mut account = Account::new(0, vec![habit()], std::iter::once("quiet/job-0000".to_owned()));
    let (mut found, now) = (Findings::default(), due(5) + Span::from_secs(3_600));
    for (index, row) in (1..).zip(std::iter::once(defined()).chain(rows)) {
        account.hear(Position::new(index, 0), &row, now, &mut found);
    }
    account.is_whole(now, &mut found);
    found.told.iter().map(|(name, _)| *name).collect()
}

#[test]
fn a_ledger_that_is_right_is_called_right() {
    assert_eq!(found((1..=5).map(due).map(on_time)), [""; 0]);
}

#[test]
fn an_instant_that_is_left_out_is_missing() {
    assert_eq!(found([1, 2, 4, 5].map(due).map(on_time)), [MISSING]);
    assert_eq!(found((1..=4).map(due).map(on_time)), [MISSING]);
    let skipped = Event::Skipped {
        uid: UID,
        revision: Revision(1),
        reason: SkipReason::TooLate,
        from: due(5),
        to: due(5),
        count: 1,
    };
    let skips = Row { at: due(5), event: skipped };
    assert_eq!(found((1..=5).map(due).map(on_time).chain([skips])), [MISSING]);
}

#[test]
fn an_instant_that_fires_again_is_doubled() {
    assert_eq!(found([1, 2, 2, 3, 4, 5].map(due).map(on_time)), [DOUBLED]);
}

#[test]
fn what_fires_before_its_time_is_early_and_long_after_it_late() {
    let of = |third: Row| {
        let [first, second, fourth, fifth] = [1, 2, 4, 5].map(due).map(on_time);
        found([first, second, third, fourth, fifth])
    };
    assert_eq!(of(fired(due(3), due(3) - Span::from_millis(1))), [EARLY]);
    assert_eq!(of(fired(due(3), due(3) + LATEST + Span::from_millis(1))), [LATE]);
}

#[test]
fn an_instant_of_a_clock_that_was_not_put_forward_is_not_asked_for() {
    // 02:30 does not exist on the third day: it is due at three, and not at 02:30 of winter.
    let winter = due(2) + Span::from_secs(24 * 3_600);
    assert_ne!(winter, due(3));
    let [first, second, fourth, fifth] = [1, 2, 4, 5].map(due).map(on_time);
    assert_eq!(found([first, second, on_time(winter), fourth, fifth]), [UNASKED, MISSING]);
}
