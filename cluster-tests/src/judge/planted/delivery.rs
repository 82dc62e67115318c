//! Faults of delivery, planted.

use campanile_core::time::Span;

use super::*;

/// As [`record`], where receivers may refuse for good.
fn settled_record(spoil: impl FnOnce(&mut Vec<Value>, &mut Vec<Call>)) -> Verdict {
    record_of(Promise::Settled, spoil)
}

#[test]
fn a_firing_that_never_ended_is_unsettled() {
    assert_found(&settled_record(|_, _| {}), &[]);
    assert_found(&settled_record(|rows, _| drop(rows.remove(6))), &[Fault::Unsettled]);
    // An attempt that another follows is no end.
    assert_found(&settled_record(|rows, _| rows[6]["state"] = Value::Null), &[Fault::Unsettled]);
}

#[test]
fn what_was_refused_for_good_is_not_undelivered_and_what_ended_well_is() {
    assert_found(
        &settled_record(|rows, calls| {
            rows[6]["state"] = json!("failed");
            calls[1].answered = Some(500);
        }),
        &[],
    );
    assert_found(&settled_record(|_, calls| calls[1].answered = Some(500)), &[Fault::Undelivered]);
    let cancelled = |rows: &mut Vec<Value>, calls: &mut Vec<Call>| {
        rows[6] = row(2, 9, "cancelled");
        calls[1].answered = None;
    };
    assert_found(&settled_record(cancelled), &[]);
}

#[test]
fn an_older_token_that_a_comparing_receiver_accepted_is_stale() {
    let swapped = |rows: &mut Vec<Value>, calls: &mut Vec<Call>| {
        for call in calls.iter_mut() {
            call.is_fenced = true;
        }
        // The second firing is begun again and settled, and its first attempt arrives only then.
        rows.insert(6, begun(2, 2));
        let mut second = call(2, 2);
        second.is_fenced = true;
        calls.insert(1, second);
    };
    assert_found(&record(swapped), &[Fault::Stale]);
    let verdict = record(|rows, calls| {
        swapped(rows, calls);
        calls[2].answered = Some(412);
    });
    assert_found(&verdict, &[]);
    assert_eq!(verdict.counts.refused, 1);
}

#[test]
fn a_second_call_of_what_was_to_be_sent_at_most_once_is_resent() {
    assert_found(
        &record(|rows, calls| {
            rows[0]["definition"]["delivery"] = json!("at_most_once");
            rows.insert(6, begun(2, 2));
            calls.push(call(2, 2));
        }),
        &[Fault::Resent],
    );
}

#[test]
fn a_receiver_that_is_asked_again_before_it_wanted_is_asked_hastily() {
    let again_after = |wait: u64| {
        record(|rows, calls| {
            calls[1].answered = Some(503);
            calls[1].asked_to_wait = Some(Span::from_millis(1_000));
            rows.insert(6, begun(2, 2));
            let mut second = call(2, 2);
            second.received_at = second.received_at + Span::from_millis(wait);
            calls.push(second);
        })
    };
    assert_found(&again_after(999), &[Fault::Hasty]);
    assert_found(&again_after(1_000), &[]);
}

#[test]
fn a_call_to_another_path_than_the_definitions_is_astray() {
    let defined_with = |path: &str, called: &str| {
        record(|rows, calls| {
            let url = format!("http://127.0.0.1:9{path}");
            rows[0]["definition"]["target"] = json!({ "webhook": { "url": url } });
            calls.iter_mut().for_each(|call| call.path = "/fine".into());
            calls[1].path = called.into();
        })
    };
    assert_found(&defined_with("/fine", "/fine"), &[]);
    assert_found(&defined_with("/fine?again=1", "/fine"), &[]);
    assert_found(&defined_with("/fine", "/elsewhere"), &[Fault::Astray]);
}

#[test]
fn leases_that_ended_by_themselves_and_unknown_ends_are_counted() {
    let verdict = settled_record(|rows, _| {
        rows[6]["outcome"] = json!("lease_ended");
        rows[6]["state"] = json!("unknown");
    });
    assert_found(&verdict, &[]);
    assert_eq!((verdict.counts.leases_ended, verdict.counts.unknown), (1, 1));
}
