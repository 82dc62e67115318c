//! What `campanile verify` says is taken as what it is, and must be one and the same.

use super::*;

/// A clean verdict of this ledger.
pub(super) fn clean(of: &str, ledger: &Ledger) -> Said {
    let head =
        ledger.rows.last().map(|row| json!({ "position": row.json["position"], "hash": row.json["hash"] }));
    let verdict = json!({
        "clean": true, "decided": 3, "fired": 3, "skipped": {}, "missing": 0, "doubled": 0, "phantom": 0, "early": 0,
        "unbegun": 0, "disorder": 0, "pending": 0, "unverified": 0, "offenders": [], "chain": { "head": head },
    });
    Said { of: of.to_owned(), verdict }
}

/// A record without a fault, after `spoil` has had its way with what was said of it.
fn said(spoil: impl FnOnce(&mut Vec<Said>)) -> Verdict {
    let mut evidence =
        evidence(&[defined(), fired(1), begun(1, 1), settled(1)], vec![call(1, 1)], Promise::Delivered);
    spoil(&mut evidence.said);
    judge(&evidence)
}

/// The same said of every ledger.
fn said_by_all(field: &str, value: &Value) -> Verdict {
    said(|said| said.iter_mut().for_each(|one| one.verdict[field] = value.clone()))
}

#[test]
fn each_offender_of_verify_is_found_once_and_as_what_it_is() {
    let words = [
        ("missing", Fault::Missing),
        ("doubled", Fault::Doubled),
        ("phantom", Fault::Phantom),
        ("early", Fault::Early),
        ("unbegun", Fault::Unbegun),
        ("disorder", Fault::Backward),
        ("chain", Fault::Broken),
    ];
    for (word, fault) in words {
        let offender = json!({ "fault": word, "detail": "default/a did it" });
        let verdict = said_by_all("offenders", &json!([offender]));
        assert_found(&verdict, &[fault]);
        assert_eq!(verdict.findings.len(), 1);
        assert!(verdict.findings[0].detail.contains("default/a did it"), "{verdict}");
    }
}

#[test]
fn what_verify_calls_pending_is_missing_when_the_test_is_over() {
    assert_found(&said_by_all("pending", &json!(2)), &[Fault::Missing]);
}

#[test]
fn a_verdict_that_is_not_clean_and_names_nothing_is_broken() {
    assert_found(&said_by_all("clean", &json!(false)), &[Fault::Broken]);
}

#[test]
fn an_export_of_which_verify_says_another_thing_is_parted() {
    assert_found(&said(|said| said[2].verdict["decided"] = json!(4)), &[Fault::Parted]);
}

#[test]
fn a_verdict_that_ends_with_another_row_than_the_ledger_is_parted() {
    for (field, value) in [("position", "4.1"), ("hash", "f".repeat(32).as_str())] {
        assert_found(&said(|said| said[1].verdict["chain"]["head"][field] = json!(value)), &[Fault::Parted]);
    }
}
