//! What is wrong with the decisions of instants.

use campanile_core::definition::{CatchUp, CatchUpMode, Overlap, Policy};
use campanile_core::event::{Event, SkipReason};
use campanile_core::firing::Kind;
use campanile_core::id::{Revision, Run};
use campanile_core::plan::ResumeFrom;
use campanile_core::time::Span;

use super::super::handmade::{Handmade, every, instant};

const fn is_fired(event: &Event) -> bool {
    matches!(event, Event::Fired { .. })
}

/// A firing of that kind is told of the instant at `moment` instead of its own.
fn fire_instead(history: &mut Handmade, at: u64, kind: Kind) {
    let (made, place) = history.find(is_fired);
    let Event::Fired { firing, kind: was, .. } = &mut made.rows[place].event else { unreachable!() };
    (firing.nominal, *was) = (instant(at), kind);
}

fn catching_up(mode: CatchUpMode) -> Handmade {
    let catch_up = CatchUp { mode, window: Some(Span::from_secs(600)) };
    Handmade::with(every(10, Policy { catch_up, ..Policy::default() }))
}

#[test]
fn an_instant_that_fires_twice_is_found() {
    let mut history = Handmade::plain();
    let (made, place) = history.find(is_fired);
    let row = made.rows[place].clone();
    history.made.last_mut().unwrap().rows.push(row);
    history.assert_found("one firing per identity", "again");
    history.assert_found("instants fire in order", "after");
    history.assert_found("no phantom", "its mark is");
    history.assert_found("verify agrees", "Doubled");
}

#[test]
fn a_firing_that_no_instant_asks_for_is_found() {
    let mut history = Handmade::plain();
    fire_instead(&mut history, 9_999, Kind::Scheduled);
    history.assert_found("no phantom", "is no instant of revision 1");
    history.assert_found("verify agrees", "Phantom");
}

#[test]
fn a_decision_by_a_revision_that_is_not_in_force_is_found() {
    let mut history = Handmade::plain();
    let (made, place) = history.find(is_fired);
    let Event::Fired { revision, .. } = &mut made.rows[place].event else { unreachable!() };
    *revision = Revision(7);
    history.assert_found("no phantom", "by revision 7");
}

#[test]
fn a_skip_that_ends_at_no_instant_is_found() {
    let mut history = catching_up(CatchUpMode::None);
    history.tick_at(120_000);
    let (made, place) = history.find(|event| matches!(event, Event::Skipped { .. }));
    let Event::Skipped { to, .. } = &mut made.rows[place].event else { unreachable!() };
    *to = *to - Span::from_secs(1);
    history.assert_found("no phantom", "is no instant");
}

#[test]
fn a_mark_that_moves_back_is_found() {
    let mut history = Handmade::plain();
    let (made, _) = history.find(is_fired);
    std::mem::swap(&mut made.before, &mut made.after);
    history.assert_found("instants fire in order", "moved the mark");
}

#[test]
fn instants_that_fire_out_of_order_are_found() {
    let mut history = Handmade::with(every(10, Policy::default()));
    history.tick_at(25_000);
    let rows = &mut history.made.last_mut().unwrap().rows;
    assert_eq!(rows.len(), 2);
    rows.swap(0, 1);
    history.assert_found("instants fire in order", "after");
}

#[test]
fn a_firing_before_its_instant_is_found_by_the_logs_time_and_by_true_time() {
    let mut history = Handmade::plain();
    fire_instead(&mut history, 20_000, Kind::Scheduled);
    history.assert_found("never early", "entry 3 at");
    let mut history = Handmade::plain();
    for made in &mut history.made {
        made.now = made.now - Span::from_secs(90);
    }
    history.assert_found("never early", "entry 3 is of");
    let mut history = Handmade::plain();
    history.story.sends[5].firing.nominal = instant(130_000);
    history.assert_found("never early", "left at");
}

#[test]
fn an_instant_that_is_decided_late_is_found_unless_nobody_could() {
    let late = || {
        let mut history = Handmade::with(every(10, Policy::default()));
        history.tick_at(10_000);
        history.tick_at(115_000);
        history
    };
    late().assert_found("complete within the lateness bound", "due at 20000, was decided at 115000");
    let mut excused = late();
    excused.story.outages.push((22_000, 40_000));
    let mut property = super::super::complete::Complete::new(super::super::Bounds::default());
    assert!(excused.judge(&mut property).is_clean());
    // An outage that was over long before excuses nothing.
    let mut other = late();
    other.story.outages.push((0, 1_000));
    other.assert_found("complete within the lateness bound", "was decided at 115000");
}

#[test]
fn an_instant_that_is_never_decided_is_found() {
    let mut history = Handmade::plain();
    history.moment = 150_000;
    history.assert_found("complete within the lateness bound", "was not decided at 150000");
    let mut lost = Handmade::plain();
    let (made, place) =
        lost.find(|event| matches!(event, Event::Fired { firing, .. } if firing.nominal == instant(30_000)));
    made.rows.remove(place);
    lost.assert_found("verify agrees", "Missing");
}

#[test]
fn more_than_the_catch_up_rule_fires_is_found() {
    for (mode, words) in [(CatchUpMode::None, "(None)"), (CatchUpMode::Latest, "(Latest)")] {
        let mut history = catching_up(mode);
        history.tick_at(120_000);
        let rows = &mut history.made.last_mut().unwrap().rows;
        let fired = rows.iter().find(|row| is_fired(&row.event)).unwrap().clone();
        for nominal in [40_000, 50_000] {
            let mut more = fired.clone();
            let Event::Fired { firing, kind, .. } = &mut more.event else { unreachable!() };
            (firing.nominal, *kind) = (instant(nominal), Kind::CatchUp);
            rows.push(more);
        }
        history.assert_found("catch-up rule", words);
    }
}

#[test]
fn what_is_younger_than_the_grace_or_older_than_the_window_is_found() {
    let mut history = catching_up(CatchUpMode::None);
    history.tick_at(120_000);
    let (made, place) =
        history.find(|event| matches!(event, Event::Skipped { reason: SkipReason::TooLate, .. }));
    let Event::Skipped { to, .. } = &mut made.rows[place].event else { unreachable!() };
    *to = instant(100_000);
    history.assert_found("catch-up rule", "no older than the grace");
    let mut history = Handmade::with(every(10, Policy::default()));
    history.tick_at(300_000);
    fire_instead(&mut history, 20_000, Kind::CatchUp);
    history.assert_found("catch-up rule", "with a window of 1m");
    let mut history = Handmade::plain();
    fire_instead(&mut history, 10_000, Kind::CatchUp);
    history.assert_found("catch-up rule", "old");
}

#[test]
fn a_firing_in_a_pause_is_found() {
    let mut history = Handmade::with(every(10, Policy::default()));
    history.tick_at(10_000);
    let fired = history.made.last().unwrap().rows[0].clone();
    history.moment = 15_000;
    history.pause("n/a", None);
    history.moment = 25_000;
    history.resume("n/a", ResumeFrom::Now);
    let paused = history.made.len() - 2;
    history.made[paused].rows.push(fired.clone());
    history.assert_found("nothing fires in a pause", "is not active");
    let mut history = Handmade::with(every(10, Policy::default()));
    history.moment = 5_000;
    history.pause("n/a", Some(25_000));
    history.tick_at(30_000);
    fire_instead(&mut history, 20_000, Kind::Scheduled);
    history.assert_found("nothing fires in a pause", "in a pause that ended");
}

/// The machine keeps the rule of a schedule; a trigger that may overlap stands for what would break it, and the tick before it
/// is shown as if it had left the machine so.
fn with_one_more(overlap: Overlap, ticks: &[u64], trigger: Overlap) -> Handmade {
    let mut history = Handmade::with(every(10, Policy { overlap, ..Policy::default() }));
    ticks.iter().for_each(|moment| history.tick_at(*moment));
    history.moment += 1;
    history.trigger_as("n/a", None, Some(trigger));
    let triggered = history.made.pop().unwrap();
    history.made.last_mut().unwrap().after = triggered.after;
    history
}

#[test]
fn two_that_run_beside_each_other_are_found() {
    with_one_more(Overlap::Skip, &[10_000], Overlap::Allow).assert_found("overlap rule", "runs beside");
}

#[test]
fn more_than_may_wait_are_found() {
    let history = with_one_more(Overlap::QueueOne, &[10_000, 20_000], Overlap::QueueAll);
    history.assert_found("overlap rule", "2 firings of 2 wait, at most 1 may");
}

#[test]
fn an_overlap_of_nothing_is_found() {
    for (overlap, words) in
        [(Overlap::Skip, "nothing of it ran"), (Overlap::Allow, "lets its firings overlap")]
    {
        let mut history = Handmade::with(every(10, Policy { overlap, ..Policy::default() }));
        history.tick_at(10_000);
        let (made, place) = history.find(is_fired);
        let Event::Fired { firing, revision, .. } = made.rows[place].event else { unreachable!() };
        let (from, to) = (firing.nominal, firing.nominal);
        assert_eq!(firing.run, Run(0));
        made.rows[place].event =
            Event::Skipped { uid: firing.uid, revision, reason: SkipReason::Overlap, from, to, count: 1 };
        history.assert_found("overlap rule", words);
    }
}
