//! `campanile verify` has the word on what was decided: missing, doubled, phantom, early. It must say the same of every
//! ledger, and of the rows that are judged here.
//!
//! It gives a healthy leader a minute and calls what has come since `pending`. A test is over only when everything is
//! decided, so here that is missing as well.

use serde_json::Value;

use super::{Fault, Finding};
use crate::ledger::Row;
use crate::proof::Said;

/// What may differ between two moments is left out: where the ledger ends, what has not ended yet, and who was asked.
const SAME: [&str; 13] = [
    "clean",
    "decided",
    "fired",
    "skipped",
    "missing",
    "doubled",
    "phantom",
    "early",
    "unbegun",
    "disorder",
    "pending",
    "unverified",
    "offenders",
];

pub(super) fn check(rows: &[Row], said: &[Said], findings: &mut Vec<Finding>) {
    let (first, others) = said.split_first().expect("a verdict of `campanile verify`");
    take(first, findings);
    for other in others {
        let differ = SAME.into_iter().find(|field| first.verdict[field] != other.verdict[field]);
        if let Some(field) = differ {
            let (left, right) = (&first.verdict[field], &other.verdict[field]);
            let detail = format!("verify: {field} is {left} by {}, and {right} by {}", first.of, other.of);
            findings.push(Finding { fault: Fault::Parted, detail });
        }
    }
    for one in said {
        let head = &one.verdict["chain"]["head"];
        let is_here =
            |row: &Row| row.json["position"] == head["position"] && row.json["hash"] == head["hash"];
        if !rows.iter().rev().any(is_here) {
            let detail = format!("verify: {} ends with {head}, which is no row of the first node", one.of);
            findings.push(Finding { fault: Fault::Parted, detail });
        }
    }
}

/// Everything that it names, and what it must not leave open.
fn take(said: &Said, findings: &mut Vec<Finding>) {
    let Said { of, verdict } = said;
    let before = findings.len();
    let mut find = |fault, what: &str| {
        findings.push(Finding { fault, detail: format!("verify: {of}: {what}") });
    };
    for offender in verdict["offenders"].as_array().into_iter().flatten() {
        let what = offender["detail"].as_str().unwrap_or_default();
        find(fault(&offender["fault"]), what);
    }
    if verdict["pending"] != 0 {
        let (open, until) = (&verdict["pending"], &verdict["until"]);
        find(Fault::Missing, &format!("{open} instants were not decided (pending; judged up to {until})"));
    }
    if verdict["clean"] != true && findings.len() == before {
        let detail = format!("verify: {of}: not clean, and nothing is named: {verdict}");
        findings.push(Finding { fault: Fault::Broken, detail });
    }
}

fn fault(word: &Value) -> Fault {
    match word.as_str().unwrap_or_default() {
        "missing" => Fault::Missing,
        "doubled" => Fault::Doubled,
        "phantom" => Fault::Phantom,
        "early" => Fault::Early,
        "unbegun" => Fault::Unbegun,
        "disorder" => Fault::Backward,
        _ => Fault::Broken,
    }
}

/// A line for the test's output.
pub(super) fn line(said: &Said) -> String {
    let Said { of, verdict } = said;
    let number = |field: &str| format!("{field} {}", verdict[field]);
    let counts = ["decided", "fired", "skipped", "missing", "doubled", "phantom", "early"].map(number);
    let result = if verdict["clean"] == true { "clean" } else { "NOT clean" };
    let head = verdict["chain"]["head"]["position"].as_str().unwrap_or("no row");
    format!("verify, {of}: {result}: {}; chain up to {head}", counts.join(", "))
}
