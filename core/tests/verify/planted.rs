//! Faults planted into a good story, one a row of a table, and what the verifier must say of each.

use campanile_core::command::{Body, Restate};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap, instant_text};
use campanile_core::definition::Target;
use campanile_core::event::{Event, Row, SkipReason};
use campanile_core::firing::FiringId;
use campanile_core::id::{Epoch, FencingToken, Revision, Uid};
use campanile_core::series::{NoCalendars, Series, Texts};
use campanile_core::spec::{CronSpec, Spec};
use campanile_core::time::{Span, Timestamp};
use campanile_core::verify::{Fault, MAX_OFFENDERS, Scope, Verifier};

use crate::ledger::{Ledger, hear, verify, verify_in};
use crate::story::{Story, every, of_specs, s};

type Plant = fn(&mut Ledger);

/// What is done to the story, what it makes of it, and which instant it is about.
const PLANTED: &[(&str, Plant, Fault, Option<u64>)] = &[
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

const SECOND: Span = Span::from_secs(1);

#[test]
fn every_planted_fault_is_named() {
    let story = Story::told();
    let clean = verify(&story);
    assert!(clean.is_clean(), "{:#?}", clean.offenders);
    let mut silent = Vec::new();
    for (what, plant, fault, nominal) in PLANTED {
        let mut ledger = story.clone();
        plant(&mut ledger);
        let verdict = verify(&ledger);
        let nominal = nominal.map(s);
        let is_it = |offender: &&campanile_core::verify::Offender| {
            offender.fault == *fault && (nominal.is_none() || offender.nominal == nominal)
        };
        if !verdict.offenders.iter().any(|offender| is_it(&offender)) || verdict.counts.of(*fault) == 0 {
            silent.push(format!("{what}: wanted {fault:?} at {nominal:?}, got {:#?}", verdict.offenders));
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

#[test]
fn a_sentence_names_schedule_instant_and_what_was_expected() {
    let mut ledger = Story::told();
    ledger.remove(fired(&ledger, 20));
    let verdict = verify(&ledger);
    let first = verdict.offenders.iter().find(|offender| offender.fault == Fault::Missing).unwrap();
    let place = first.place.map(|place| place.index);
    assert_eq!(place, Some(ledger[fired(&ledger, 30)].0), "the row that passed over it shows it");
    assert_eq!(
        first.detail,
        "default/a at 2026-01-01T12:00:20Z was never decided: it neither fired nor was skipped, and a later one was decided"
    );
    let mut ledger = Story::told();
    fire_in_pause(&mut ledger);
    let detail = &verify(&ledger).offenders[0].detail;
    assert!(detail.contains("the schedule was paused then"), "{detail}");
}

#[test]
fn counts_are_whole_and_offenders_bounded() {
    let mut story = Story::begin(every(1));
    (2..400).for_each(|at| story.tick(s(at)));
    let clean = verify(&story.rows).counts;
    assert_eq!((clean.schedules, clean.decided, clean.fired, clean.undelivered), (1, 398, 398, 398));
    story.rows.retain(|(_, row)| !matches!(row.event, Event::Fired { firing, .. } if is_even(firing)));
    let verdict = verify(&story.rows);
    assert_eq!(verdict.counts.missing, 199);
    assert_eq!(verdict.offenders.len(), MAX_OFFENDERS);
}

fn is_even(firing: FiringId) -> bool {
    firing.nominal.as_millis() % 2_000 == 0
}

#[test]
fn an_instant_is_pending_before_it_is_missing_and_a_new_leader_gets_time() {
    let mut story = Story::begin(every(10));
    story.tick(s(10));
    story.check(s(45));
    let with = |story: &Story, until| verify_in(Scope { until, ..Scope::default() }, &story.rows).counts;
    let soon = with(&story, Some(s(45)));
    assert_eq!((soon.missing, soon.pending), (0, 3), "20, 30 and 40 have come, and nobody is late yet");
    story.check(s(90));
    let late = with(&story, Some(s(95)));
    assert_eq!((late.missing, late.pending), (2, 6), "20 and 30 are more than a minute ago");
    story.lead(s(95));
    let led = with(&story, Some(s(150)));
    assert_eq!((led.missing, led.pending), (2, 12), "the new leader has had less than a minute");
    let led = with(&story, Some(s(160)));
    assert_eq!(led.missing, 9, "it has had its minute");
}

#[test]
fn a_cut_end_is_no_fault_and_shows_what_was_not_delivered() {
    let mut ledger = Story::told();
    ledger.truncate(begun(&ledger, 170) + 1);
    let verdict = verify(&ledger);
    assert!(verdict.is_clean(), "{:#?}", verdict.offenders);
    assert_eq!(verdict.counts.undelivered, 1);
}

#[test]
fn a_ledger_without_its_beginning_is_a_phantom_unless_it_is_said_so() {
    let mut story = Story::begin(every(10));
    story.tick(s(10));
    story.tick_and_work(s(20));
    story.tick(s(30));
    story.commit(s(35), Body::Restate(Restate { after: None, most: 10 }));
    story.tick_and_work(s(40));
    story.tick_and_work(s(50));
    let place = find(&story.rows, |event| matches!(event, Event::Restating { .. }));
    let behind = &story.rows[place..];
    let mut verifier = Verifier::new(Scope { patience: Span::ZERO, ..Scope::default() });
    verifier.begins_midway();
    hear(&mut verifier, behind);
    let verdict = verifier.finish();
    assert!(verdict.is_clean(), "{:#?}", verdict.offenders);
    assert_eq!((verdict.counts.fired, verdict.counts.schedules), (2, 1));
    // The firing of 30 was live: its lease and its end stand behind rows that are gone.
    assert!(verify(behind).counts.phantom > 0);
    let mut cut = behind.to_vec();
    cut.remove(fired(&cut, 40));
    let mut verifier = Verifier::new(Scope::default());
    verifier.begins_midway();
    hear(&mut verifier, &cut);
    assert_eq!(verifier.finish().counts.missing, 1, "what is told again is judged from there on");
}

#[test]
fn long_skips_are_counted_as_stepping_counts_them() {
    let cron = |text: &str, zone: &str| {
        Spec::Cron(Box::new(CronSpec {
            text: text.into(),
            time_zone: zone.into(),
            day_match: DayMatch::Any,
            dst_gap: DstGap::RunAfter,
            dst_overlap: DstOverlap::First,
        }))
    };
    let second = Spec::Every { every: SECOND, anchor: Timestamp::EPOCH };
    for specs in [
        vec![second.clone()],
        vec![cron("*/7 * * * * *", "Europe/Berlin")],
        vec![cron("*/40 2,14 * * * *", "America/New_York"), second],
        vec![cron("30 */2 * * * *", "Asia/Kolkata"), cron("10 * * * * *", "UTC")],
    ] {
        let definition = of_specs(specs);
        assert!(matches!(definition.target, Target::Webhook(_)));
        let series = Series::of(&definition, &NoCalendars, &mut Texts::default()).unwrap();
        let mut story = Story::begin(definition);
        story.tick(s(200_000));
        let place = find(&story.rows, |event| matches!(event, Event::Skipped { .. }));
        let Event::Skipped { from, to, count, .. } = story.rows[place].1.event else { unreachable!() };
        let next = |at: &Timestamp| series.next(*at).map(|occurrence| occurrence.at);
        let stepped = std::iter::successors(Some(from), next).take_while(|at| *at <= to).count() as u64;
        assert!(stepped > 1_000, "{} to {}", instant_text(from), instant_text(to));
        assert_eq!(count, stepped);
        assert!(verify(&story.rows).is_clean());
        for wrong in [count - 1, count + 1] {
            if let Event::Skipped { count, .. } = &mut story.rows[place].1.event {
                *count = wrong;
            }
            assert!(!verify(&story.rows).is_clean(), "{wrong} for {count}");
        }
    }
}

fn find(ledger: &Ledger, is_it: fn(&Event) -> bool) -> usize {
    ledger.iter().position(|(_, row)| is_it(&row.event)).unwrap()
}

fn last(ledger: &Ledger, is_it: fn(&Event) -> bool) -> usize {
    ledger.iter().rposition(|(_, row)| is_it(&row.event)).unwrap()
}

fn fired(ledger: &Ledger, at: u64) -> usize {
    let is_it = |row: &Row| matches!(row.event, Event::Fired { firing, .. } if firing.nominal == s(at));
    ledger.iter().position(|(_, row)| is_it(row)).unwrap()
}

fn begun(ledger: &Ledger, at: u64) -> usize {
    let is_it = |row: &Row| matches!(row.event, Event::Begun { firing, .. } if firing.nominal == s(at));
    ledger.iter().position(|(_, row)| is_it(row)).unwrap()
}

fn settled(ledger: &Ledger, at: u64) -> usize {
    let is_it = |row: &Row| matches!(row.event, Event::Settled { firing, .. } if firing.nominal == s(at));
    ledger.iter().position(|(_, row)| is_it(row)).unwrap()
}

fn skipped(ledger: &Ledger, at: u64) -> usize {
    let is_it = |row: &Row| matches!(row.event, Event::Skipped { from, .. } if from == s(at));
    ledger.iter().position(|(_, row)| is_it(row)).unwrap()
}

fn is_defined(event: &Event) -> bool {
    matches!(event, Event::Defined { .. })
}

fn is_paused(event: &Event) -> bool {
    matches!(event, Event::Paused { .. })
}

fn is_resumed(event: &Event) -> bool {
    matches!(event, Event::Resumed { .. })
}

fn is_mark_set(event: &Event) -> bool {
    matches!(event, Event::MarkSet { .. })
}

fn is_epoch(event: &Event) -> bool {
    matches!(event, Event::LeaderEpoch { .. })
}

/// The same again, so many rows later, at the time of its new place.
fn copy(ledger: &mut Ledger, place: usize, later: usize) {
    let (index, at) = (ledger[place + later].0, ledger[place + later].1.at);
    let row = Row { at, ..ledger[place].1.clone() };
    ledger.insert(place + later + 1, (index, row));
}

fn swap(ledger: &mut Ledger, one: usize, other: usize) {
    ledger.swap(one, other);
}

fn at(ledger: &mut Ledger, place: usize, to: Timestamp) {
    ledger[place].1.at = to;
}

fn nominal(ledger: &mut Ledger, place: usize, to: Timestamp) {
    if let Event::Fired { firing, .. } = &mut ledger[place].1.event {
        firing.nominal = to;
    }
}

fn other_revision(ledger: &mut Ledger, place: usize) {
    if let Event::Fired { revision, .. } = &mut ledger[place].1.event {
        *revision = Revision(7);
    }
}

fn other_uid(ledger: &mut Ledger, place: usize) {
    if let Event::Fired { firing, .. } = &mut ledger[place].1.event {
        firing.uid = Uid(7_777);
    }
}

/// The firing of 20, in the entry of the pause, as one of 40.
fn fire_in_pause(ledger: &mut Ledger) {
    let place = find(ledger, is_paused);
    let mut row = Row { at: s(45), ..ledger[fired(ledger, 20)].1.clone() };
    if let Event::Fired { firing, .. } = &mut row.event {
        firing.nominal = s(40);
    }
    ledger.insert(place + 1, (ledger[place].0, row));
}

fn forget_removal(ledger: &mut Ledger) {
    ledger.remove(fired(ledger, 200));
    let end = ledger.last_mut().unwrap();
    end.1.event = Event::QueueDeleted { name: "q".into(), by: "ann".into() };
}

fn count(ledger: &mut Ledger, place: usize, to: u64) {
    if let Event::Skipped { count, .. } = &mut ledger[place].1.event {
        *count = to;
    }
}

fn from(ledger: &mut Ledger, place: usize, begin: Timestamp) {
    if let Event::Skipped { from, count, .. } = &mut ledger[place].1.event {
        (*from, *count) = (begin, *count - 1);
    }
}

fn to(ledger: &mut Ledger, place: usize, end: Timestamp) {
    if let Event::Skipped { to, .. } = &mut ledger[place].1.event {
        *to = end;
    }
}

fn reason(ledger: &mut Ledger, place: usize, other: SkipReason) {
    if let Event::Skipped { reason, .. } = &mut ledger[place].1.event {
        *reason = other;
    }
}

fn finish(ledger: &mut Ledger, place: usize) {
    let (index, row) = ledger[place].clone();
    let uid = row.event.uid().unwrap();
    ledger.insert(place + 1, (index, Row { event: Event::Finished { uid }, ..row }));
}

fn token(ledger: &mut Ledger, place: usize, of: usize) {
    let Event::Begun { lease: older, .. } = ledger[of].1.event.clone() else { return };
    if let Event::Begun { lease, .. } = &mut ledger[place].1.event {
        lease.fencing_token = FencingToken(older.fencing_token.0);
    }
}

fn epoch(ledger: &mut Ledger, place: usize) {
    if let Event::LeaderEpoch { epoch, .. } = &mut ledger[place].1.event {
        *epoch = Epoch(0);
    }
}
