//! The judge judged: a clean record is clean, and each fault, planted into it, is found as what it is. Faults of decisions
//! are planted where `verify` is tested (`core/tests/verify/plant.rs`); here it has said that all is well.

mod delivery;

mod proven;

use serde_json::{Value, json};

use super::*;
use crate::receiver::Call;

const START: i64 = 1_800_000_000_000;

/// Three instants of one every-second schedule, each fired, begun, delivered and settled; then `spoil` has its way.
fn record(spoil: impl FnOnce(&mut Vec<Value>, &mut Vec<Call>)) -> Verdict {
    record_of(Promise::Delivered, spoil)
}

/// The same of receivers that keep another promise.
fn record_of(promise: Promise, spoil: impl FnOnce(&mut Vec<Value>, &mut Vec<Call>)) -> Verdict {
    let mut rows = vec![defined()];
    let mut calls = Vec::new();
    for second in 1..=3 {
        rows.extend([fired(second), begun(second, 1), settled(second)]);
        calls.push(call(second, 1));
    }
    spoil(&mut rows, &mut calls);
    judge(&evidence(&rows, calls, promise))
}

/// Two nodes with these rows, which `verify` finds clean.
fn evidence(rows: &[Value], calls: Vec<Call>, promise: Promise) -> Evidence {
    let ledger = ledger(rows);
    let position = ledger.last().expect("rows");
    let until = Timestamp::from_millis(START + 3_500);
    let said = ["node 1", "node 2", "an export"].map(|of| proven::clean(of, &ledger)).into();
    Evidence { ledgers: vec![(1, ledger.clone()), (2, ledger)], position, said, calls, until, promise }
}

fn ledger(rows: &[Value]) -> Ledger {
    let rows = rows.iter().zip(1..).map(|(row, index)| {
        let mut row = row.clone();
        row["position"] = json!(format!("{index}.0"));
        row["hash"] = json!("0".repeat(32));
        Row::of(&row).expect("a row")
    });
    Ledger { rows: rows.collect() }
}

fn at(millis: i64) -> String {
    campanile_core::cron::instant_text(Timestamp::from_millis(START + millis))
}

fn defined() -> Value {
    let spec = json!({ "every": "1s", "anchor": "1970-01-01T00:00:00Z" });
    let definition = json!({ "specs": [spec], "start_at": null, "end_at": null });
    json!({ "at": at(200), "type": "defined", "uid": "7", "schedule": "default/a", "definition": definition })
}

fn row(second: i64, after: i64, kind: &str) -> Value {
    let (at, nominal) = (at(second * 1000 + after), at(second * 1000));
    json!({ "at": at, "type": kind, "firing": format!("frg_{second}"), "uid": "7", "nominal": nominal, "kind": "scheduled" })
}

fn fired(second: i64) -> Value {
    row(second, 2, "fired")
}

fn begun(second: i64, attempt: u32) -> Value {
    let mut row = row(second, 5, "begun");
    row["attempt"] = json!(attempt);
    row["fencing_token"] = json!(second * 10 + i64::from(attempt));
    row
}

fn settled(second: i64) -> Value {
    let mut row = row(second, 9, "settled");
    row["attempt"] = json!(1);
    row["outcome"] = json!("succeeded");
    row["state"] = json!("succeeded");
    row
}

fn call(second: i64, attempt: u32) -> Call {
    Call {
        received_at: Timestamp::from_millis(START + second * 1000 + 6),
        path: "/".into(),
        firing: format!("frg_{second}"),
        schedule: "default/a".into(),
        nominal: Some(Timestamp::from_millis(START + second * 1000)),
        attempt,
        fencing_token: second as u64 * 10 + u64::from(attempt),
        kind: "scheduled".into(),
        node: "1".into(),
        answered: Some(200),
        asked_to_wait: None,
        is_fenced: false,
    }
}

#[track_caller]
fn assert_found(verdict: &Verdict, faults: &[Fault]) {
    let found: BTreeSet<Fault> = verdict.findings.iter().map(|finding| finding.fault).collect();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), faults, "{verdict}");
}

#[test]
fn a_clean_record_is_clean_and_counted() {
    let verdict = record(|_, _| {});
    assert_found(&verdict, &[]);
    let Counts { fired, begun, calls, schedules, repeated, .. } = verdict.counts;
    assert_eq!((fired, begun, calls, schedules, repeated), (3, 3, 3, 1, 0));
}

#[test]
fn what_arrives_before_its_instant_is_early() {
    assert_found(
        &record(|_, calls| {
            calls[1].nominal = Some(Timestamp::from_millis(START + 2_007));
        }),
        &[Fault::Early],
    );
}

#[test]
fn a_call_that_no_begin_allowed_is_found() {
    assert_found(&record(|_, calls| calls.push(call(2, 2))), &[Fault::Unbegun]);
    assert_found(&record(|_, calls| calls[1].fencing_token += 1), &[Fault::Unbegun]);
    assert_found(&record(|rows, _| rows[5]["at"] = json!(at(2_007))), &[Fault::Unbegun]);
}

#[test]
fn a_token_that_does_not_grow_is_found() {
    assert_found(
        &record(|rows, calls| {
            rows[8]["fencing_token"] = json!(21);
            calls[2].fencing_token = 21;
        }),
        &[Fault::Backward],
    );
}

#[test]
fn a_firing_that_no_receiver_took_is_undelivered() {
    assert_found(&record(|_, calls| calls[1].answered = Some(503)), &[Fault::Undelivered]);
    assert_found(&record(|_, calls| calls[1].answered = None), &[Fault::Undelivered]);
}

#[test]
fn a_second_call_of_a_firing_is_told_and_allowed() {
    let verdict = record(|rows, calls| {
        rows.insert(6, begun(2, 2));
        calls.push(call(2, 2));
    });
    assert_found(&verdict, &[]);
    assert_eq!(verdict.counts.repeated, 1);
}

#[test]
fn nodes_whose_rows_differ_are_parted() {
    let whole = [defined(), fired(1), begun(1, 1), settled(1)];
    let one = ledger(&whole);
    let shorter = ledger(&whole[..3]);
    let mut other = whole.clone();
    other[3]["state"] = json!("failed");
    for other in [shorter, ledger(&other)] {
        let position = one.last().expect("rows");
        let until = Timestamp::from_millis(START + 1_500);
        let evidence = Evidence {
            ledgers: vec![(1, one.clone()), (2, other)],
            position,
            said: vec![proven::clean("node 1", &one)],
            calls: vec![call(1, 1)],
            until,
            promise: Promise::Delivered,
        };
        assert_found(&judge(&evidence), &[Fault::Parted]);
    }
}
