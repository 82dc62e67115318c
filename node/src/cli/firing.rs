//! `campanile firing ls, get, rerun, cancel`: what happened to each decided instant, and orders about one.

use campanile_core::cron::instant_text;
use serde_json::{Value, json};

use super::args::{FiringArgs, FiringCommand, Format, RerunArgs};
use super::cell::{self, at};
use super::failure::Failure;
use super::list::{Column, Kind, pairs};
use super::session::{connect, duration, path_of, payload, print_list, print_one};
use super::{Io, trigger};
use crate::client::{Call, Client};

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
        FiringCommand::Rerun(args) => rerun(&client, args, format, io).await,
        FiringCommand::Cancel { ids } => cancel(&client, &ids, format, io).await,
    }
}

async fn rerun(client: &Client, args: RerunArgs, format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    check_id(&args.id)?;
    let mut body = json!({});
    if let Some(text) = &args.payload {
        body["payload"] = payload(io, text)?;
    }
    if let Some(overlap) = args.overlap {
        body["overlap"] = overlap.into();
    }
    let call = Call::post(format!("/v1/firings/{}/rerun", args.id), body).key(args.idempotency_key);
    let wait = args.wait.then(|| duration(args.wait_timeout));
    trigger::fire(client, &call, wait, "fired once more", format, io).await
}

async fn cancel(client: &Client, ids: &[String], format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    for id in ids {
        check_id(id)?;
        let call = Call::post(format!("/v1/firings/{id}/cancel"), json!({}));
        let firing = client.send(&call).await?.body;
        print_one(io, format, &firing, id, |io, _| Ok(writeln!(io.out, "cancelled {id}")?))?;
    }
    Ok(())
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
        ("Run", at(firing, "/run")),
        ("State", state(firing)),
        ("Reason", at(firing, "/reason")),
        ("Kind", at(firing, "/kind")),
        ("Backfill", at(firing, "/backfill")),
        ("Cause", at(firing, "/cause")),
        ("Decided", decided),
        ("Late", lateness(firing)),
        ("Waits until", at(firing, "/waits_until")),
        ("Asked to stop", at(firing, "/stop_asked_at")),
        ("Not followed", at(firing, "/not_followed/reason")),
        ("Discarded", at(firing, "/discarded/at")),
    ];
    rows.extend(attempts(firing).iter().map(|attempt| ("Attempt", story(attempt))));
    rows.into_iter().filter(|(_, text)| !matches!(text.as_str(), "" | cell::NOTHING)).collect()
}

fn holder(attempt: &Value) -> String {
    match attempt.pointer("/holder/worker").and_then(Value::as_str) {
        Some(worker) => format!("by worker {}", cell::plain(worker)),
        None => format!("on node {}", at(attempt, "/holder/node")),
    }
}

/// One attempt in a line: `1 on node 2, begun …, sent …, failed (503): no room`.
fn story(attempt: &Value) -> String {
    let mut text = format!("{} {}", at(attempt, "/number"), holder(attempt));
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
