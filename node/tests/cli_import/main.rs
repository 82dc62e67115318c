//! Imports: what becomes of each line and field of another scheduler, and files whose output is compared whole.

#![allow(clippy::unwrap_used)]

#[path = "../cli_support/mod.rs"]
mod cli_support;
mod crontab;
mod dkron;
mod golden;
mod hostile;
mod k8s;
mod paused;

use campanile::import::{Import, Settings};
use campanile_core::cron::parse_instant;
use serde_json::Value;

/// Settings with a webhook and nothing else.
fn settings() -> Settings {
    Settings {
        namespace: None,
        url: Some("http://run".into()),
        time_zone: None,
        labels: [].into(),
        now: parse_instant("2026-12-01T00:00:00Z").unwrap(),
    }
}

/// What came of one thing: the value at a JSON pointer of its draft, and every remark as `line weight detail`.
fn came_of(import: &Import, pointer: &str) -> (Value, Vec<String>) {
    let draft = import.schedules.first().map(|found| found.draft.to_json());
    let value = draft.and_then(|draft| draft.pointer(pointer).cloned()).unwrap_or_default();
    let remarks = import.remarks.iter();
    (value, remarks.map(|remark| format!("{} {:?} {}", remark.line, remark.weight, remark.detail)).collect())
}

/// Holds a table: a piece of a definition, where in the draft to look, what is there, and a word of a remark.
fn holds(table: &[(&str, &str, Value, &str)], read: impl Fn(&str) -> Import) {
    for (piece, pointer, wanted, word) in table {
        let (value, remarks) = came_of(&read(piece), pointer);
        assert_eq!(&value, wanted, "{piece}: {remarks:#?}");
        let told = remarks.iter().any(|remark| remark.contains(word));
        assert!(told || word.is_empty(), "{piece}: no {word:?} in {remarks:#?}");
    }
}
