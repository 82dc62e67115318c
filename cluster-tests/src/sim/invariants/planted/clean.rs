//! Histories in which everything is right, with all that a property might take for wrong: edits, pauses, removals, failovers,
//! outages, retries, clocks that are ahead, and what users ask for.

use std::sync::Arc;

use campanile_core::attempt::Verdict;
use campanile_core::backfill::BackfillPlan;
use campanile_core::command::{Body, CreateBackfill, StepBackfill};
use campanile_core::definition::{CatchUp, CatchUpMode, Delivery, Overlap, Policy};
use campanile_core::firing::FiringId;
use campanile_core::id::{Run, Uid};
use campanile_core::plan::{Instead, Past, ResumeFrom};
use campanile_core::reply::Reply;
use campanile_core::time::{Span, Timestamp};

use super::super::all;
use super::super::handmade::{Handmade, every, instant, queued, request, wanted};

#[track_caller]
fn assert_all_silent(history: &Handmade) {
    for mut property in all() {
        let found = history.judge(&mut *property);
        assert!(found.is_clean(), "{}: {found:#?}", property.name());
    }
}

#[test]
fn a_quiet_minute_has_nothing_wrong() {
    assert_all_silent(&Handmade::plain());
}

#[test]
fn names_of_properties_differ() {
    let mut names: Vec<&str> = all().iter().map(|property| property.name()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn edits_pauses_and_removals_are_nothing_wrong() {
    let mut history = Handmade::with(every(10, Policy::default()));
    history.tick_at(10_000);
    history.deliver();
    // Each of them decides in its own entry what was due before.
    history.moment = 21_000;
    history.put("n/a", every(7, Policy::default()), None);
    history.moment = 32_000;
    history.pause("n/a", None);
    history.moment = 95_000;
    history.resume("n/a", ResumeFrom::Now);
    history.tick_at(100_000);
    history.pause("n/a", Some(160_000));
    history.tick_at(175_000);
    history.pause("n/a", None);
    history.moment = 230_000;
    history.resume("n/a", ResumeFrom::Mark);
    history.deliver();
    history.moment += 2_000;
    history.delete("n/a", None);
    history.put("n/a", every(10, Policy::default()), None);
    history.tick_at(240_000);
    history.deliver();
    assert_all_silent(&history);
}

#[test]
fn a_failover_and_an_outage_are_nothing_wrong() {
    let rules = [CatchUpMode::All, CatchUpMode::Latest, CatchUpMode::None];
    let mut history = Handmade::new();
    for (place, mode) in rules.into_iter().enumerate() {
        let catch_up = CatchUp { mode, window: Some(Span::from_secs(600)) };
        history.put(&format!("n/{place}"), every(10, Policy { catch_up, ..Policy::default() }), None);
    }
    history.tick_at(10_000);
    let running = history.begin();
    // Nobody can work for ten minutes; then another one takes office, and is overtaken by the one before.
    history.story.outages.push((12_000, 612_000));
    history.moment = 613_000;
    history.take_office(2);
    let late = history.planner.tick(&history.machine, instant(613_000)).unwrap();
    assert!(matches!(history.commit_as(1, Body::Tick(late)), Reply::Rejected(_)));
    history.tick_at(614_000);
    assert_eq!(history.settle(running[0].0, 1, Verdict::Succeeded), None, "its lease has ended");
    history.tick_at(620_000);
    history.moment = 700_000;
    history.tick_at(700_000);
    history.deliver();
    assert_all_silent(&history);
}

#[test]
fn retries_cancels_and_at_most_once_are_nothing_wrong() {
    let once = Policy { delivery: Delivery::AtMostOnce, ..Policy::default() };
    let mut history = Handmade::with(every(60, Policy::default()));
    history.put("n/once", every(60, once), None);
    history.tick_at(60_000);
    for (verdict, code) in [(Verdict::Retry { not_before: None }, 503), (Verdict::Succeeded, 200)] {
        for (firing, lease) in history.begin() {
            let is_once =
                history.machine.firing(firing).unwrap().definition.policy.delivery == Delivery::AtMostOnce;
            let verdict = match (is_once, verdict) {
                (true, Verdict::Retry { .. }) => Verdict::NotSent,
                (_, verdict) => verdict,
            };
            if verdict != Verdict::NotSent {
                history.send(firing, &lease, code);
            }
            history.settle(firing, lease.attempt.0, verdict);
            // What is said again is answered again.
            history.settle(firing, lease.attempt.0, verdict);
        }
        history.tick_at(history.moment + 5_000);
    }
    assert_eq!(history.machine.live_count(), 0);
    assert_all_silent(&history);
}

#[test]
fn every_overlap_mode_is_nothing_wrong() {
    const MODES: [Overlap; 6] = [
        Overlap::Allow,
        Overlap::Skip,
        Overlap::QueueOne,
        Overlap::QueueAll,
        Overlap::Replace,
        Overlap::Terminate,
    ];
    let mut history = Handmade::new();
    for overlap in MODES {
        let policy = Policy { overlap, queue_limit: 2, ..Policy::default() };
        history.put(&format!("n/{}", overlap.as_str()), every(10, policy), None);
    }
    for moment in (10_000..=90_000).step_by(10_000) {
        history.tick_at(moment);
        if moment % 20_000 == 0 {
            history.deliver();
        }
        history.moment += 1;
        history.trigger("n/queue_all", None);
    }
    assert_all_silent(&history);
}

#[test]
fn queues_and_keys_that_come_again_are_nothing_wrong() {
    let mut history = Handmade::with(queued(10));
    history.tick_at(10_000);
    let leased = history.take(5, Some("t"));
    assert_eq!(history.take(5, Some("t")), leased);
    let [only] = &leased[..] else { panic!("{leased:?}") };
    history.settle(only.firing, 1, Verdict::Succeeded);
    history.moment += 5;
    let first = history.trigger("n/a", Some("k"));
    history.moment += 5;
    assert_eq!(history.trigger("n/a", Some("k")), first);
    history.tick_at(80_000);
    assert_all_silent(&history);
}

struct Nothing;

impl Past for Nothing {
    fn runs(&self, _: Uid, _: Timestamp, _: Timestamp) -> std::collections::BTreeMap<Timestamp, Run> {
        std::collections::BTreeMap::new()
    }
}

#[test]
fn backfills_reruns_and_marks_are_nothing_wrong() {
    let mut history = Handmade::plain();
    let uid = history.machine.named(&super::super::handmade::name("n/a")).unwrap().uid;
    let first = FiringId { uid, nominal: instant(20_000), run: Run(0) };
    let fired = Fired(vec![first]);
    let rerun =
        history.planner.rerun(&history.machine, first, Instead::default(), request(None), &fired).unwrap();
    assert_eq!(history.commit(rerun), Reply::Fired(FiringId { run: Run(1), ..first }));
    let plan = BackfillPlan {
        after: instant(0) - Span::from_secs(100),
        until: instant(0),
        again: false,
        overlap: Overlap::Allow,
        pace: Span::ZERO,
        max_live: 5,
    };
    let (at, wants) = (history.now(), wanted("n/a", None));
    let backfill: Body =
        history.planner.create_backfill(&history.machine, at, wants, plan, &Nothing).unwrap();
    assert!(matches!(backfill, Body::CreateBackfill(CreateBackfill { .. })));
    history.commit(backfill);
    let steps: Vec<StepBackfill> = history.planner.step_backfills(&history.machine, at, &Nothing, 3);
    for step in steps {
        history.commit(Body::StepBackfill(step));
    }
    history.deliver();
    let (at, wants) = (history.now(), wanted("n/a", None));
    let ahead = history.planner.set_mark(&history.machine, at, wants, instant(95_000), &Nothing).unwrap();
    history.commit(ahead);
    history.tick_at(100_000);
    history.deliver();
    assert_all_silent(&history);
}

struct Fired(Vec<FiringId>);

impl Past for Fired {
    fn runs(
        &self,
        uid: Uid,
        after: Timestamp,
        until: Timestamp,
    ) -> std::collections::BTreeMap<Timestamp, Run> {
        let of = self.0.iter().filter(|it| it.uid == uid && it.nominal > after && it.nominal <= until);
        of.map(|firing| (firing.nominal, firing.run)).collect()
    }
}

#[test]
fn a_definition_that_ends_is_nothing_wrong() {
    let mut history = Handmade::new();
    let mut few = every(10, Policy::default());
    few.max_firings = Some(2);
    history.put("n/few", few, None);
    for moment in [10_000, 20_000, 30_000] {
        history.tick_at(moment);
        history.deliver();
    }
    let clone = Arc::clone(history.machine.named(&super::super::handmade::name("n/few")).unwrap());
    assert_eq!(clone.fired, 2);
    assert_all_silent(&history);
}
