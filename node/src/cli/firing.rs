//! `campanile firing ls, get`: what happened to each decided instant.

use campanile_core::cron::instant_text;
use serde_json::Value;

use super::Io;
use super::args::{FiringArgs, FiringCommand};
use super::cell::{self, at};
use super::failure::Failure;
use super::list::{Column, Kind, pairs};
use super::session::{connect, path_of, print_list, print_one};
use crate::client::Call;

static FIRINGS: Kind = Kind {
    plural: "firings",
    columns: &[
        Column { title: "NOMINAL", cell: |firing| at(firing, "/nominal") },
        Column { title: "SCHEDULE", cell: |firing| at(firing, "/schedule") },
        Column { title: "STATE", cell: state },
        Column { title: "KIND", cell: |firing| at(firing, "/kind") },
        Column { title: "LATE", cell: lateness },
        Column { title: "ATTEMPTS", cell: |firing| attempts(firing).len().to_string() },
        Column { title: "FIRING", cell: |firing| at(firing, "/id") },
        Column { title: "REASON", cell: |firing| at(firing, "/reason") },
    ],
    name: |firing| at(firing, "/id"),
};

pub(super) async fn run(args: FiringArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let format = args.output.format;
    match args.command {
        FiringCommand::Ls { schedule, state, after, before, limit } => {
            let path = schedule
                .map_or_else(|| "/v1/firings".to_owned(), |name| format!("{}/firings", path_of(&name)));
            let call = Call::get(path)
                .query_if("state", state)
                .query_if("after", after.map(instant_text))
                .query_if("before", before.map(instant_text));
            print_list(&client, call, Some(limit), &FIRINGS, format, io).await
        }
        FiringCommand::Get { id } => {
            check_id(&id)?;
            let firing = client.send(&Call::get(format!("/v1/firings/{id}"))).await?.body;
            print_one(io, format, &firing, &id, |io, firing| Ok(pairs(io, overview(firing))?))
        }
    }
}

/// An id becomes a segment of a path: what is not shaped like one must not become another path.
fn check_id(id: &str) -> Result<(), Failure> {
    let plain =
        id.strip_prefix("frg_").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let hint = "an id is frg_ and letters, as `campanile firing ls` shows them";
    if plain { Ok(()) } else { Err(Failure::usage(format!("{id:?} is no firing id"), hint)) }
}

/// The story of a firing for people.
pub(super) fn overview(firing: &Value) -> Vec<(&'static str, String)> {
    let decided = firing.get("decided").map(|decided| cell::fields(decided, &[])).unwrap_or_default();
    let mut rows = vec![
        ("Firing", at(firing, "/id")),
        ("Schedule", at(firing, "/schedule")),
        ("Nominal", at(firing, "/nominal")),
        ("State", state(firing)),
        ("Reason", at(firing, "/reason")),
        ("Kind", at(firing, "/kind")),
        ("Decided", decided),
        ("Late", lateness(firing)),
        ("Waits until", at(firing, "/waits_until")),
    ];
    rows.extend(attempts(firing).iter().map(|attempt| ("Attempt", story(attempt))));
    rows.into_iter().filter(|(_, text)| !matches!(text.as_str(), "" | cell::NOTHING)).collect()
}

/// One attempt in a line: `1 on node 2, begun …, sent …, failed (503): no room`.
fn story(attempt: &Value) -> String {
    let mut text = format!("{} on node {}", at(attempt, "/number"), at(attempt, "/holder"));
    for (field, word) in [("begun_at", "begun"), ("sent_at", "sent"), ("settled_at", "settled")] {
        if let Some(instant) = attempt.get(field).and_then(Value::as_str) {
            text.push_str(&format!(", {word} {}", cell::plain(instant)));
        }
    }
    text.push_str(&format!(
        ", {}",
        attempt.get("outcome").filter(|end| !end.is_null()).map_or("running".into(), cell::text)
    ));
    if let Some(status) = attempt.get("status").filter(|status| !status.is_null()) {
        text.push_str(&format!(" ({})", cell::text(status)));
    }
    for field in ["error", "output"] {
        match attempt.get(field).and_then(Value::as_str) {
            Some(said) if !said.is_empty() => text.push_str(&format!(": {}", cell::plain(said))),
            _ => {}
        }
    }
    text
}

fn attempts(firing: &Value) -> &[Value] {
    firing.get("attempts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The state, and how many instants a row of skipped ones stands for.
fn state(firing: &Value) -> String {
    let text = at(firing, "/state");
    match firing.pointer("/skipped/count").and_then(Value::as_u64) {
        Some(count) if count > 1 => format!("{text} × {count} since {}", at(firing, "/skipped/from")),
        _ => text,
    }
}

fn lateness(firing: &Value) -> String {
    firing
        .get("lateness_ms")
        .and_then(Value::as_u64)
        .map_or_else(|| cell::NOTHING.to_owned(), |late| format!("{late} ms"))
}
