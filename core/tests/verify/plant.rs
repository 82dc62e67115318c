//! What can be done to the rows of the good story, and which fault at which instant it makes of it.

use campanile_core::event::{Event, Row, SkipReason};
use campanile_core::id::{Epoch, FencingToken, Revision, Uid};
use campanile_core::time::{Span, Timestamp};
use campanile_core::verify::Fault;

use crate::ledger::Ledger;
use crate::story::s;

const SECOND: Span = Span::from_secs(1);

pub type Plant = fn(&mut Ledger);

/// What is done to the story, what it makes of it, and which instant it is about.
pub const PLANTED: &[(&str, Plant, Fault, Option<u64>)] = &[
    ("a firing is taken out", |l| drop(l.remove(fired(l, 20))), Fault::Missing, Some(20)),
    (
        "the last firing before the edit is taken out",
        |l| drop(l.remove(fired(l, 170))),
        Fault::Missing,
        Some(170),
    ),
    (
        "the last firing before the removal is taken out",
        |l| drop(l.remove(fired(l, 200))),
        Fault::Missing,
        Some(200),
    ),
    ("a firing is told twice", |l| copy(l, fired(l, 20), 1), Fault::Doubled, Some(20)),
    ("a firing is told again much later", |l| copy(l, fired(l, 20), 12), Fault::Doubled, Some(20)),
    ("what fired is skipped as well", |l| skip_as_well(l), Fault::Doubled, Some(20)),
    ("a firing has another instant", |l| nominal(l, fired(l, 20), s(20) - SECOND), Fault::Phantom, Some(19)),
    (
        "and the one that it had is gone",
        |l| nominal(l, fired(l, 20), s(20) - SECOND),
        Fault::Missing,
        Some(20),
    ),
    ("a firing is of another revision", |l| other_revision(l, fired(l, 20)), Fault::Phantom, Some(20)),
    ("a firing is of nobody", |l| other_uid(l, fired(l, 20)), Fault::Phantom, Some(20)),
    ("a firing is decided before it comes", |l| at(l, fired(l, 20), s(19)), Fault::Early, Some(20)),
    ("a firing of a pause", |l| fire_in_pause(l), Fault::Phantom, Some(40)),
    ("two firings change places", |l| swap(l, fired(l, 20), fired(l, 30)), Fault::Disorder, None),
    ("the skip of a pause is taken out", |l| drop(l.remove(skipped(l, 40))), Fault::Missing, Some(40)),
    ("a skip counts too few", |l| count(l, skipped(l, 40), 2), Fault::Missing, Some(40)),
    ("a skip counts too many", |l| count(l, skipped(l, 40), 4), Fault::Phantom, Some(40)),
    ("a skip begins too late", |l| from(l, skipped(l, 40), s(50)), Fault::Missing, Some(40)),
    ("a skip ends between two instants", |l| to(l, skipped(l, 40), s(61)), Fault::Phantom, Some(40)),
    ("a skip reaches beyond its moment", |l| to(l, skipped(l, 40), s(70)), Fault::Early, Some(70)),
    ("a skip is told twice", |l| copy(l, skipped(l, 40), 3), Fault::Doubled, Some(40)),
    (
        "a skip has another reason",
        |l| reason(l, skipped(l, 140), SkipReason::PausedGap),
        Fault::Phantom,
        Some(140),
    ),
    ("the skip ahead is taken out", |l| drop(l.remove(find(l, is_mark_set))), Fault::Phantom, Some(140)),
    ("what is skipped ahead is taken out", |l| drop(l.remove(skipped(l, 140))), Fault::Missing, Some(140)),
    ("the definition is taken out", |l| drop(l.remove(find(l, is_defined))), Fault::Phantom, Some(10)),
    ("the edit is taken out", |l| drop(l.remove(last(l, is_defined))), Fault::Phantom, Some(180)),
    ("the pause is taken out", |l| drop(l.remove(find(l, is_paused))), Fault::Disorder, None),
    ("the resume is taken out", |l| drop(l.remove(find(l, is_resumed))), Fault::Phantom, Some(40)),
    ("the removal is taken out, and its decision", |l| forget_removal(l), Fault::Missing, Some(200)),
    ("a schedule is finished too early", |l| finish(l, fired(l, 80)), Fault::Missing, Some(90)),
    ("a lease is taken out", |l| drop(l.remove(begun(l, 20))), Fault::Unbegun, Some(20)),
    ("a lease is given twice", |l| copy(l, begun(l, 20), 0), Fault::Disorder, Some(20)),
    ("a lease of nothing that is live", |l| copy(l, begun(l, 20), 12), Fault::Phantom, Some(20)),
    ("a lease is given before its instant", |l| at(l, begun(l, 20), s(19)), Fault::Early, Some(20)),
    ("an end is told twice", |l| copy(l, settled(l, 20), 5), Fault::Doubled, Some(20)),
    ("an end is told before its lease", |l| swap(l, begun(l, 20), settled(l, 20)), Fault::Unbegun, Some(20)),
    ("a fencing token falls", |l| token(l, begun(l, 30), begun(l, 20)), Fault::Disorder, None),
    ("an epoch falls", |l| epoch(l, last(l, is_epoch)), Fault::Disorder, None),
    ("the log's time falls", |l| at(l, fired(l, 80), s(1)), Fault::Disorder, None),
];

pub fn find(ledger: &Ledger, is_it: fn(&Event) -> bool) -> usize {
    ledger.iter().position(|(_, row)| is_it(&row.event)).unwrap()
}

pub fn last(ledger: &Ledger, is_it: fn(&Event) -> bool) -> usize {
    ledger.iter().rposition(|(_, row)| is_it(&row.event)).unwrap()
}

pub fn fired(ledger: &Ledger, at: u64) -> usize {
    let is_it = |row: &Row| matches!(row.event, Event::Fired { firing, .. } if firing.nominal == s(at));
    ledger.iter().position(|(_, row)| is_it(row)).unwrap()
}

pub fn begun(ledger: &Ledger, at: u64) -> usize {
    let is_it = |row: &Row| matches!(row.event, Event::Begun { firing, .. } if firing.nominal == s(at));
    ledger.iter().position(|(_, row)| is_it(row)).unwrap()
}

pub fn settled(ledger: &Ledger, at: u64) -> usize {
    let is_it = |row: &Row| matches!(row.event, Event::Settled { firing, .. } if firing.nominal == s(at));
    ledger.iter().position(|(_, row)| is_it(row)).unwrap()
}

pub fn skipped(ledger: &Ledger, at: u64) -> usize {
    let is_it = |row: &Row| matches!(row.event, Event::Skipped { from, .. } if from == s(at));
    ledger.iter().position(|(_, row)| is_it(row)).unwrap()
}

pub fn is_defined(event: &Event) -> bool {
    matches!(event, Event::Defined { .. })
}

pub fn is_paused(event: &Event) -> bool {
    matches!(event, Event::Paused { .. })
}

pub fn is_resumed(event: &Event) -> bool {
    matches!(event, Event::Resumed { .. })
}

pub fn is_mark_set(event: &Event) -> bool {
    matches!(event, Event::MarkSet { .. })
}

pub fn is_epoch(event: &Event) -> bool {
    matches!(event, Event::LeaderEpoch { .. })
}

/// The same again, so many rows later, at the time of its new place.
pub fn copy(ledger: &mut Ledger, place: usize, later: usize) {
    let (index, at) = (ledger[place + later].0, ledger[place + later].1.at);
    let row = Row { at, ..ledger[place].1.clone() };
    ledger.insert(place + later + 1, (index, row));
}

pub fn swap(ledger: &mut Ledger, one: usize, other: usize) {
    ledger.swap(one, other);
}

pub fn at(ledger: &mut Ledger, place: usize, to: Timestamp) {
    ledger[place].1.at = to;
}

pub fn nominal(ledger: &mut Ledger, place: usize, to: Timestamp) {
    if let Event::Fired { firing, .. } = &mut ledger[place].1.event {
        firing.nominal = to;
    }
}

pub fn other_revision(ledger: &mut Ledger, place: usize) {
    if let Event::Fired { revision, .. } = &mut ledger[place].1.event {
        *revision = Revision(7);
    }
}

pub fn other_uid(ledger: &mut Ledger, place: usize) {
    if let Event::Fired { firing, .. } = &mut ledger[place].1.event {
        firing.uid = Uid(7_777);
    }
}

/// The skip of the pause, told behind the firing of 20 as one of 20 alone, for an overlap.
pub fn skip_as_well(ledger: &mut Ledger) {
    let mut skip = ledger[skipped(ledger, 40)].1.event.clone();
    if let Event::Skipped { reason, from, to, count, .. } = &mut skip {
        (*reason, *from, *to, *count) = (SkipReason::Overlap, s(20), s(20), 1);
    }
    let place = fired(ledger, 20);
    let (index, at) = (ledger[place].0, ledger[place].1.at);
    ledger.insert(place + 1, (index, Row { at, event: skip }));
}

/// The firing of 20, in the entry of the pause, as one of 40.
pub fn fire_in_pause(ledger: &mut Ledger) {
    let place = find(ledger, is_paused);
    let mut row = Row { at: s(45), ..ledger[fired(ledger, 20)].1.clone() };
    if let Event::Fired { firing, .. } = &mut row.event {
        firing.nominal = s(40);
    }
    ledger.insert(place + 1, (ledger[place].0, row));
}

pub fn forget_removal(ledger: &mut Ledger) {
    ledger.remove(fired(ledger, 200));
    let end = ledger.last_mut().unwrap();
    end.1.event = Event::QueueDeleted { name: "q".into(), by: "ann".into() };
}

pub fn count(ledger: &mut Ledger, place: usize, to: u64) {
    if let Event::Skipped { count, .. } = &mut ledger[place].1.event {
        *count = to;
    }
}

pub fn from(ledger: &mut Ledger, place: usize, begin: Timestamp) {
    if let Event::Skipped { from, count, .. } = &mut ledger[place].1.event {
        (*from, *count) = (begin, *count - 1);
    }
}

pub fn to(ledger: &mut Ledger, place: usize, end: Timestamp) {
    if let Event::Skipped { to, .. } = &mut ledger[place].1.event {
        *to = end;
    }
}

pub fn reason(ledger: &mut Ledger, place: usize, other: SkipReason) {
    if let Event::Skipped { reason, .. } = &mut ledger[place].1.event {
        *reason = other;
    }
}

pub fn finish(ledger: &mut Ledger, place: usize) {
    let (index, row) = ledger[place].clone();
    let uid = row.event.uid().unwrap();
    ledger.insert(place + 1, (index, Row { event: Event::Finished { uid }, ..row }));
}

pub fn token(ledger: &mut Ledger, place: usize, of: usize) {
    let Event::Begun { lease: older, .. } = ledger[of].1.event.clone() else { return };
    if let Event::Begun { lease, .. } = &mut ledger[place].1.event {
        lease.fencing_token = FencingToken(older.fencing_token.0);
    }
}

pub fn epoch(ledger: &mut Ledger, place: usize) {
    if let Event::LeaderEpoch { epoch, .. } = &mut ledger[place].1.event {
        *epoch = Epoch(0);
    }
}
