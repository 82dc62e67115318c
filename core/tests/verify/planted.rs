//! Faults planted into a good story, one a row of a table, and what the verifier must say of each; and what is no fault.

use campanile_core::command::{Body, Restate};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap, instant_text};
use campanile_core::definition::ScheduleName;
use campanile_core::event::Event;
use campanile_core::firing::FiringId;
use campanile_core::plan::Wanted;
use campanile_core::series::{NoCalendars, Series, Texts};
use campanile_core::spec::{CronSpec, Spec};
use campanile_core::time::{Span, Timestamp};
use campanile_core::verify::{Fault, MAX_OFFENDERS, Offender, Scope, Verifier};

use crate::ledger::{hear, verify, verify_in};
use crate::plant::{PLANTED, begun, find, fire_in_pause, fired};
use crate::story::{Story, every, of_specs, s, wanted};

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
        let is_it = |offender: &&Offender| {
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
fn what_is_told_again_later_is_unverified_until_then() {
    let mut story = Story::begin(every(10));
    let b = Wanted { name: ScheduleName::parse("b").unwrap(), ..wanted() };
    let put = story.planner.put(&story.machine, s(2), b, every(10)).unwrap();
    story.commit(s(2), put);
    story.tick_and_work(s(10));
    story.commit(s(15), Body::Restate(Restate { after: None, most: 1 }));
    story.tick_and_work(s(20));
    let after = story.machine.keeping().restating.map(|under_way| under_way.after);
    assert!(after.is_some(), "b is still to be told");
    story.commit(s(25), Body::Restate(Restate { after, most: 1 }));
    story.tick_and_work(s(30));
    let place = find(&story.rows, |event| matches!(event, Event::Restating { .. }));
    let mut verifier = Verifier::new(Scope { patience: Span::ZERO, ..Scope::default() });
    verifier.begins_midway();
    hear(&mut verifier, &story.rows[place..]);
    let verdict = verifier.finish();
    assert!(verdict.is_clean(), "{:#?}", verdict.offenders);
    let counts = verdict.counts;
    assert_eq!(
        (counts.schedules, counts.fired, counts.unverified),
        (2, 3, 1),
        "b at 20 came before b was told"
    );
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
    let second = Spec::Every { every: Span::from_secs(1), anchor: Timestamp::EPOCH };
    for specs in [
        vec![second.clone()],
        vec![cron("*/7 * * * * *", "Europe/Berlin")],
        vec![cron("*/40 2,14 * * * *", "America/New_York"), second],
        vec![cron("30 */2 * * * *", "Asia/Kolkata"), cron("10 * * * * *", "UTC")],
    ] {
        let definition = of_specs(specs);
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
