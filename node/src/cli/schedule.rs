//! `campanile schedule ls, get, rm, pause, resume, next`, and the way to the larger ones.

use campanile_core::cron::instant_text;
use campanile_core::definition::ScheduleName;
use campanile_core::time::Timestamp;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::args::{Format, ScheduleArgs, ScheduleCommand, ScheduleState, Sort};
use super::cell::{self, at};
use super::failure::Failure;
use super::list::{Column, Kind, pairs};
use super::session::{connect, name_of, path_of, print_list, print_one, tell_warnings};
use super::{Io, apply, backfill, create, diff, mark, preview, put, revisions, trigger};
use crate::client::{Call, Client};

static SCHEDULES: Kind = Kind {
    plural: "schedules",
    columns: &[
        Column { title: "NAME", cell: name_of },
        Column { title: "STATE", cell: |schedule| at(schedule, "/status/state") },
        Column { title: "NEXT", cell: |schedule| at(schedule, "/status/next/0") },
        Column { title: "LAST", cell: last },
        Column { title: "WHEN", cell: |schedule| at(schedule, "/status/text") },
    ],
    name: name_of,
};

pub(super) async fn run(args: ScheduleArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let format = args.output.format;
    match args.command {
        ScheduleCommand::Ls { namespace, label, state, query, sort, limit, as_of } => {
            let call = ls(namespace, &label, state, query, sort).query_if("as_of", as_of);
            print_list(&client, call, limit, &SCHEDULES, format, io).await
        }
        ScheduleCommand::Get { names, as_of } => get(&client, &names, as_of, format, io).await,
        ScheduleCommand::Put { files, if_match, dry_run } => {
            let mode = if dry_run { put::Mode::Dry } else { put::Mode::Real };
            put::run(&client, &files, if_match, mode, format, io).await
        }
        ScheduleCommand::Apply { set, dry_run } => {
            apply::run(&client, &set.files, set.label, dry_run, format, io).await
        }
        ScheduleCommand::Diff { set } => diff::run(&client, &set.files, set.label, format, io).await,
        ScheduleCommand::Create(args) => create::run(&client, &args, format, io).await,
        ScheduleCommand::Rm { names } => rm(&client, &names, format, io).await,
        ScheduleCommand::Pause { name, note, until } => {
            let body = pause_body(note, until);
            act(&client, &name, "pause", body, "paused", format, io).await
        }
        ScheduleCommand::Resume { name, catch_up } => {
            act(&client, &name, "resume", resume_body(catch_up), "resumed", format, io).await
        }
        ScheduleCommand::Trigger(args) => trigger::run(&client, args, format, io).await,
        ScheduleCommand::Backfill(args) => backfill::create(&client, args, format, io).await,
        ScheduleCommand::Mark(args) => mark::run(&client, args, format, io).await,
        ScheduleCommand::Revisions(args) => revisions::run(&client, args, format, io).await,
        ScheduleCommand::Next { name, count, after } => {
            let call = Call::get(format!("{}/next", path_of(&name))).query("count", &count);
            let answer = client.send(&call.query_if("after", after.map(instant_text))).await?;
            preview::print(io, format, &answer.body)
        }
    }
}

fn ls(
    namespace: Option<String>,
    labels: &[(String, String)],
    state: Option<ScheduleState>,
    query: Option<String>,
    sort: Sort,
) -> Call {
    let word = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    let mut call = Call::get("/v1/schedules")
        .query_if("namespace", namespace)
        .query_if("state", state.and_then(|state| word(state.to_possible_value())))
        .query_if("q", query);
    for (key, value) in labels {
        call = call.query("label", &format!("{key}={value}"));
    }
    match sort {
        Sort::Name => call,
        Sort::Next => call.query("sort", "next"),
    }
}

async fn get(
    client: &Client,
    names: &[ScheduleName],
    as_of: Option<String>,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    for (place, name) in names.iter().enumerate() {
        let call = Call::get(path_of(name)).query_if("as_of", as_of.as_ref());
        let answer = client.send(&call).await?;
        if place > 0 {
            separate(io, format)?;
        }
        print_one(io, format, &answer.body, name.as_str(), |io, schedule| {
            pairs(io, overview(schedule, answer.etag.as_deref()))?;
            // In the other forms they stand in the data.
            tell_warnings(io, name.as_str(), schedule.pointer("/status/warnings"));
            Ok(())
        })?;
    }
    Ok(())
}

/// What stands between two documents of one stream.
pub(super) fn separate(io: &mut Io<'_>, format: Format) -> std::io::Result<()> {
    match format {
        Format::Table => writeln!(io.out),
        Format::Yaml => writeln!(io.out, "---"),
        Format::Json | Format::Jsonl | Format::Name => Ok(()),
    }
}

/// A schedule for people: what it is, what comes, what was; fields that are not set are left out.
fn overview(schedule: &Value, etag: Option<&str>) -> Vec<(&'static str, String)> {
    let next = schedule.pointer("/status/next").and_then(Value::as_array);
    let next =
        next.map(|next| next.iter().map(cell::text).collect::<Vec<_>>().join(", ")).unwrap_or_default();
    let target = match schedule.pointer("/target/webhook") {
        Some(webhook) => format!("{} {}", at(webhook, "/method"), at(webhook, "/url")),
        None => at(schedule, "/target"),
    };
    let labels = schedule.get("labels").map(|labels| cell::fields(labels, &[])).unwrap_or_default();
    let rows = [
        ("Name", name_of(schedule)),
        ("State", at(schedule, "/status/state")),
        ("Note", at(schedule, "/status/note")),
        ("Until", at(schedule, "/status/until")),
        ("When", at(schedule, "/status/text")),
        ("Specs", specs(schedule)),
        ("Next", next),
        ("Last", last(schedule)),
        ("Failures in a row", at(schedule, "/status/consecutive_failures")),
        ("Running", at(schedule, "/status/running")),
        ("Waiting", at(schedule, "/status/waiting")),
        ("Target", target),
        ("Payload", at(schedule, "/payload")),
        ("Overlap", at(schedule, "/overlap")),
        ("Catch-up", schedule.get("catch_up").map(|value| cell::fields(value, &[])).unwrap_or_default()),
        ("Delivery", at(schedule, "/delivery")),
        ("Retry", schedule.get("retry").map(|value| cell::fields(value, &[])).unwrap_or_default()),
        ("Window", [at(schedule, "/start_at"), at(schedule, "/end_at")].join(" to ")),
        ("Labels", labels),
        ("Description", at(schedule, "/description")),
        ("Revision", at(schedule, "/revision")),
        ("Uid", at(schedule, "/uid")),
        ("Updated", format!("{} by {}", at(schedule, "/updated_at"), at(schedule, "/updated_by"))),
        ("As of", as_of(schedule)),
        ("ETag", etag.unwrap_or_default().to_owned()),
    ];
    rows.into_iter().filter(|(_, text)| !matches!(text.as_str(), "" | cell::NOTHING | "- to -")).collect()
}

/// The moment that an answer tells of, when that is not now.
fn as_of(schedule: &Value) -> String {
    let Some(moment) = schedule.get("as_of") else { return String::new() };
    let gone = if schedule["stands"] == false { "; it has been removed since" } else { "" };
    format!("entry {}, {}{gone}", at(moment, "/index"), at(moment, "/at"))
}

/// The specs as one would write them; options only where they are not the default.
pub(super) fn specs(schedule: &Value) -> String {
    let specs = schedule.get("specs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    specs.iter().map(spec).collect::<Vec<_>>().join("; ")
}

fn spec(spec: &Value) -> String {
    let Some(cron) = spec.get("cron") else {
        let from_epoch = spec.get("anchor").is_some_and(|anchor| anchor == "1970-01-01T00:00:00Z");
        return cell::fields(spec, if from_epoch { &["anchor"] } else { &[] });
    };
    let mut text = format!("{} in {}", cell::text(cron), at(spec, "/time_zone"));
    for (option, usual) in [("day_match", "any"), ("dst_gap", "run_after"), ("dst_overlap", "first")] {
        if let Some(value) = spec.get(option).filter(|value| *value != usual) {
            text.push_str(&format!(", {option} {}", cell::text(value)));
        }
    }
    text
}

/// How the last firing went.
fn last(schedule: &Value) -> String {
    match schedule.pointer("/status/last") {
        Some(last) if last.is_object() => format!("{} {}", at(last, "/state"), at(last, "/nominal")),
        _ => cell::NOTHING.to_owned(),
    }
}

async fn rm(client: &Client, names: &[ScheduleName], format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    for name in names {
        client.send(&Call::delete(path_of(name))).await?;
        let value = json!({ "namespace": name.namespace(), "name": name.name(), "deleted": true });
        print_one(io, format, &value, name.as_str(), |io, _| Ok(writeln!(io.out, "removed {name}")?))?;
    }
    Ok(())
}

fn pause_body(note: Option<String>, until: Option<Timestamp>) -> Value {
    let mut body = json!({});
    if let Some(note) = note {
        body["note"] = note.into();
    }
    if let Some(until) = until {
        body["until"] = instant_text(until).into();
    }
    body
}

/// What is not said is left to the definition.
fn resume_body(catch_up: Option<bool>) -> Value {
    catch_up.map_or_else(|| json!({}), |catch_up| json!({ "catch_up": catch_up }))
}

async fn act(
    client: &Client,
    name: &ScheduleName,
    verb: &str,
    body: Value,
    done: &str,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let answer = client.send(&Call::post(format!("{}/{verb}", path_of(name)), body)).await?;
    print_one(io, format, &answer.body, name.as_str(), |io, _| Ok(writeln!(io.out, "{done} {name}")?))
}
