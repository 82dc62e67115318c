//! What is wrong with leases, settlements and deliveries.

use campanile_core::attempt::{Holder, Verdict};
use campanile_core::command::{Body, PauseQueue};
use campanile_core::definition::{Action, Delivery, Policy};
use campanile_core::event::{Event, Outcome, Row};
use campanile_core::firing::{EndState, Kind};
use campanile_core::id::{AttemptNumber, FencingToken, NodeId};
use campanile_core::time::Span;

use super::super::handmade::{Handmade, every, instant, name, queued, request};

const fn is_begun(event: &Event) -> bool {
    matches!(event, Event::Begun { .. })
}

const fn is_settled(event: &Event) -> bool {
    matches!(event, Event::Settled { .. })
}

/// One firing that failed once and was then accepted.
fn retried(policy: Policy) -> Handmade {
    let mut history = Handmade::with(every(60, policy));
    history.tick_at(60_000);
    let begun = history.begin();
    let (firing, lease) = begun[0].clone();
    history.send(firing, &lease, 503);
    history.settle(firing, 1, Verdict::Retry { not_before: None }).unwrap();
    history.tick_at(history.moment + 2_000);
    history.deliver();
    history
}

#[test]
fn a_token_that_does_not_grow_is_found() {
    let mut history = Handmade::plain();
    let (made, place) = history.find(is_begun);
    let Event::Begun { lease, .. } = &mut made.rows[place].event else { unreachable!() };
    lease.fencing_token = FencingToken(7);
    history.assert_found("leases exclude each other", "got the token 7");
}

#[test]
fn an_attempt_inside_another_or_out_of_turn_or_of_nothing_is_found() {
    let mut history = Handmade::plain();
    let (made, place) = history.find(is_begun);
    let again: Row = made.rows[place].clone();
    made.rows.push(again.clone());
    history.assert_found("leases exclude each other", "inside attempt 1");
    let mut history = Handmade::plain();
    let (made, place) = history.find(is_begun);
    let Event::Begun { lease, .. } = &mut made.rows[place].event else { unreachable!() };
    lease.attempt = AttemptNumber(2);
    history.assert_found("leases exclude each other", "began attempt 2 after attempt 0");
    let mut history = Handmade::plain();
    history.made.last_mut().unwrap().rows.push(again);
    history.assert_found("leases exclude each other", "is not live");
}

#[test]
fn a_report_of_another_attempt_that_counts_is_found() {
    let mut history = Handmade::plain();
    let (made, place) = history.find(is_settled);
    let Event::Settled { attempt, .. } = &mut made.rows[place].event else { unreachable!() };
    *attempt = AttemptNumber(2);
    history.assert_found("settled by the attempt in force", "was settled by attempt 2");
}

#[test]
fn a_report_that_was_taken_and_did_nothing_is_found() {
    let mut history = Handmade::plain();
    let (made, place) = history.find(is_settled);
    made.rows.remove(place);
    history.assert_found("settled by the attempt in force", "and did nothing");
    history.assert_found("every firing ends once", "the machine has lost it");
}

#[test]
fn an_attempt_before_its_wait_is_over_is_found() {
    let mut history = retried(Policy::default());
    let (made, place) = history.find(is_settled);
    let Event::Settled { outcome: Outcome::Retry { at }, .. } = &mut made.rows[place].event else {
        unreachable!()
    };
    *at = instant(100_000);
    history.assert_found("settled by the attempt in force", "to wait until");
}

#[test]
fn a_lease_that_is_ended_before_its_time_is_found() {
    let mut history = Handmade::plain();
    let (made, place) = history.find(is_settled);
    let Event::Settled { report, outcome, .. } = &mut made.rows[place].event else { unreachable!() };
    *report = None;
    *outcome = Outcome::End { state: EndState::Failed, lateness: Span::ZERO };
    history.assert_found("settled by the attempt in force", "and had until");
}

#[test]
fn a_firing_that_ends_twice_is_found() {
    let mut history = Handmade::plain();
    let (made, place) = history.find(is_settled);
    let row = made.rows[place].clone();
    made.rows.push(row);
    history.assert_found("every firing ends once", "which is not live");
}

#[test]
fn a_firing_that_never_fired_and_a_lease_that_nobody_ends_are_found() {
    let mut history = Handmade::with(every(3_600, Policy::default()));
    history.moment = 5_000;
    history.trigger("n/a", None);
    history.begin();
    history.moment = 200_000;
    history.assert_found("every firing ends once", "had until");
    let (made, place) = history.find(|event| matches!(event, Event::Fired { .. }));
    made.rows.remove(place);
    history.assert_found("every firing ends once", "never fired");
}

#[test]
fn a_lease_that_is_over_in_an_outage_is_nothing_wrong() {
    let mut history = Handmade::with(every(3_600, Policy::default()));
    history.moment = 5_000;
    history.trigger("n/a", None);
    history.begin();
    history.moment = 200_000;
    history.story.outages.push((6_000, 190_000));
    let mut property = super::super::ended::Ended::new(super::super::Bounds::default());
    assert!(history.judge(&mut property).is_clean());
}

#[test]
fn a_delivery_without_its_begin_is_found() {
    const PROPERTY: &str = "no delivery without its begin";
    let mut history = Handmade::plain();
    history.story.sends[2].attempt = 2;
    history.assert_found(PROPERTY, "has no lease");
    let mut history = Handmade::plain();
    history.story.sends[2].token += 1;
    history.assert_found(PROPERTY, "has the lease of node 1");
    let mut history = Handmade::plain();
    history.story.sends[2].node = 2;
    history.assert_found(PROPERTY, "has the lease of node 1");
    let mut history = Handmade::plain();
    history.story.sends[2].sent -= 1_000;
    history.assert_found(PROPERTY, "was begun at");
}

#[test]
fn a_delivery_after_its_lease_is_found_unless_its_node_stood_still() {
    let mut history = Handmade::plain();
    history.story.sends[2].sent += 31_000;
    history.assert_found("no delivery without its begin", "had a lease from 30000 to 60000");
    history.story.stalls.push((2, 0, 100_000));
    history.assert_found("no delivery without its begin", "had a lease");
    history.story.stalls.push((1, 30_001, 61_000));
    let mut property = super::super::sent::Sent::new(super::super::Bounds::default());
    assert!(history.judge(&mut property).is_clean());
}

#[test]
fn a_success_that_no_receiver_accepted_is_found() {
    for doctor in [
        |history: &mut Handmade| drop(history.story.sends.pop()),
        |history: &mut Handmade| history.story.sends[0].arrived = None,
        |history: &mut Handmade| history.story.sends[0].answered = Some(500),
    ] {
        let mut history = Handmade::plain();
        doctor(&mut history);
        history.assert_found("at least once", "which no receiver has accepted");
    }
}

#[test]
fn a_second_send_of_what_is_sent_once_is_found() {
    let once = Policy { delivery: Delivery::AtMostOnce, ..Policy::default() };
    let mut history = Handmade::with(every(60, once.clone()));
    history.tick_at(60_000);
    history.deliver();
    let send = history.story.sends[0].clone();
    history.story.sends.push(send);
    history.assert_found("at most once", "was sent 2 times");

    let mut history = Handmade::with(every(60, once));
    history.tick_at(60_000);
    let (firing, lease) = history.begin()[0].clone();
    history.settle(firing, 1, Verdict::NotSent).unwrap();
    history.send(firing, &lease, 200);
    history.assert_found("at most once", "says that it never left");
    let (made, place) = history.find(is_settled);
    let Event::Settled { report: Some(report), .. } = &mut made.rows[place].event else { unreachable!() };
    report.verdict = Verdict::TimedOut;
    history.assert_found("at most once", "again after Some(TimedOut)");
}

/// Two firings in a queue, leased by one worker; its limits are those.
fn leased(max_in_flight: Option<u32>, key: Option<&str>) -> Handmade {
    let mut of_key = queued(10);
    of_key.concurrency_key = key.map(Into::into);
    let mut history = Handmade::with(of_key);
    history.put_queue(max_in_flight, 2);
    history.tick_at(10_000);
    history.tick_at(20_000);
    history.take(2, None);
    history
}

#[test]
fn more_leases_than_a_queue_allows_are_found() {
    // The machine keeps the limits; a lower one is shown as if it had stood before.
    for (before, after, key, words) in [
        ((Some(2), 2), (Some(1), 2), None, "is one of 2 leased of q, with Some(1)"),
        ((None, 2), (None, 1), Some("k"), "with the key k, at most 1"),
    ] {
        let mut history = leased(before.0, key);
        history.put_queue(after.0, after.1);
        let lowered = history.made.pop().unwrap().after;
        history.made.last_mut().unwrap().after = lowered;
        history.assert_found("queue limits", words);
        let mut property = super::super::queues::Queues;
        assert!(leased(before.0, key).judge(&mut property).is_clean());
    }
}

#[test]
fn a_lease_of_a_paused_queue_and_one_of_the_wrong_kind_of_holder_are_found() {
    let mut history = leased(None, None);
    let pause = PauseQueue { name: "q".into(), note: "".into(), request: request(None) };
    history.commit(Body::PauseQueue(pause));
    let paused = history.made.pop().unwrap().after;
    history.made.last_mut().unwrap().before = paused;
    history.assert_found("queue limits", "which is paused");
    let mut history = leased(None, None);
    let (made, place) = history.find(is_begun);
    let Event::Begun { lease, .. } = &mut made.rows[place].event else { unreachable!() };
    lease.holder = Holder::Node(NodeId(1));
    assert!(history.machine.named(&name("n/a")).is_some());
    history.assert_found("queue limits", "was begun by Node(1)");
}

/// A firing that was accepted, of a schedule that triggers another then, which has done so.
fn followed() -> Handmade {
    let mut history = Handmade::with(every(3_600, Policy::default()));
    let mut first = every(60, Policy::default());
    first.on_success = Some(Box::new(Action::Trigger(name("n/a"))));
    history.put("n/first", first, None);
    history.tick_at(60_000);
    history.deliver();
    history.tick_at(history.moment + 50);
    history
}

#[test]
fn what_follows_twice_or_never_or_for_no_reason_is_found() {
    const PROPERTY: &str = "what follows comes once";
    let is_chained = |event: &Event| matches!(event, Event::Fired { kind: Kind::Chained(_), .. });
    assert!(followed().judge(&mut super::super::followed::Followed::default()).is_clean());
    let mut history = followed();
    let (made, place) = history.find(is_chained);
    let again = made.rows[place].clone();
    made.rows.push(again);
    history.assert_found(PROPERTY, "which asks for nothing more");
    let mut history = followed();
    let (made, place) = history.find(is_chained);
    made.rows.remove(place);
    history.assert_found(PROPERTY, "has not been followed, and nothing waits");
    let mut history = followed();
    let (made, place) = history.find(is_settled);
    made.rows.remove(place);
    history.assert_found(PROPERTY, "which asks for nothing more");
}

#[test]
fn what_is_to_follow_and_waits_is_nothing_wrong() {
    let mut history = followed();
    history.tick_at(120_000);
    history.deliver();
    assert_eq!(history.machine.chains().count(), 1);
    assert!(history.judge(&mut super::super::followed::Followed::default()).is_clean());
}
