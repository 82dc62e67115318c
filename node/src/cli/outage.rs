//! `campanile outage ls, get`: gaps between leaders, and what was late or skipped because of them.

use campanile_core::cron::instant_text;
use serde_json::Value;

use super::Io;
use super::args::{Format, OutageArgs, OutageCommand};
use super::cell::{NOTHING, at, fields};
use super::failure::Failure;
use super::list::{Column, Kind, List, pairs};
use super::session::{connect, print_list, print_one};
use crate::client::{Call, Client};

static OUTAGES: Kind = Kind {
    plural: "outages",
    columns: &[
        Column { title: "ID", cell: |outage| at(outage, "/id") },
        Column { title: "FROM", cell: |outage| at(outage, "/from") },
        Column { title: "TO", cell: |outage| at(outage, "/to") },
        Column { title: "LENGTH", cell: |outage| millis(outage, "/length_ms") },
        Column { title: "LEADER", cell: |outage| at(outage, "/next_leader/node") },
        Column { title: "LATE", cell: late },
        Column { title: "MAX", cell: |outage| millis(outage, "/late/max_ms") },
        Column { title: "SKIPPED", cell: skipped },
    ],
    name: |outage| at(outage, "/id"),
};

static CONCERNED: Kind = Kind {
    plural: "schedules concerned",
    columns: &[
        Column { title: "SCHEDULE", cell: |it| at(it, "/schedule") },
        Column { title: "LATE", cell: |it| at(it, "/late") },
        Column { title: "MAX", cell: |it| millis(it, "/max_ms") },
        Column { title: "SKIPPED", cell: |it| at(it, "/skipped") },
    ],
    name: |it| at(it, "/schedule"),
};

pub(super) async fn run(args: OutageArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let format = args.output.format;
    match args.command {
        OutageCommand::Ls { after, before, limit } => {
            let mut call = Call::get("/v1/outages");
            for (name, instant) in [("after", after), ("before", before)] {
                if let Some(instant) = instant {
                    call = call.query(name, &instant_text(instant));
                }
            }
            print_list(&client, call, Some(limit), &OUTAGES, format, io).await
        }
        OutageCommand::Get { id } => get(&client, &id, format, io).await,
    }
}

async fn get(client: &Client, id: &str, format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    let outage = client.send(&Call::get(format!("/v1/outages/{}", path_part(id)?))).await?.body;
    print_one(io, format, &outage, id, table)
}

/// A position goes into a path: digits and one dot.
fn path_part(id: &str) -> Result<&str, Failure> {
    let is_position = id.split_once('.').is_some_and(|(index, n)| {
        [index, n].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    });
    match is_position {
        true => Ok(id),
        false => {
            Err(Failure::usage(format!("{id:?} is no id of an outage"), "they are like 42.1: see outage ls"))
        }
    }
}

fn table(io: &mut Io<'_>, outage: &Value) -> Result<(), Failure> {
    let rows = [
        ("Outage", at(outage, "/id")),
        ("From", at(outage, "/from")),
        ("To", at(outage, "/to")),
        ("Length", millis(outage, "/length_ms")),
        ("Led before", at(outage, "/previous_leader/node")),
        ("Led after", leader(outage)),
        ("Late firings", late(outage)),
        ("Median", millis(outage, "/late/median_ms")),
        ("Max", millis(outage, "/late/max_ms")),
        ("Skipped", skipped(outage)),
    ];
    pairs(io, rows.into_iter().filter(|(_, text)| text != NOTHING))?;
    let concerned = outage.get("schedules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if !concerned.is_empty() {
        writeln!(io.out)?;
        let mut list = List::new(&CONCERNED, Format::Table);
        list.page(io, concerned)?;
        list.end(io)?;
    }
    match outage.get("more").and_then(Value::as_u64) {
        None | Some(0) => {}
        Some(more) => io.say(&format!("and {more} more schedules")),
    }
    if outage.get("complete") == Some(&Value::Bool(false)) {
        io.say("only the first rows behind it were looked at: there may be more");
    }
    Ok(())
}

fn leader(outage: &Value) -> String {
    let node = at(outage, "/next_leader/node");
    if node == NOTHING {
        return node;
    }
    format!("{node}, term {}, epoch {}", at(outage, "/next_leader/term"), at(outage, "/next_leader/epoch"))
}

fn late(outage: &Value) -> String {
    at(outage, "/late/firings")
}

fn skipped(outage: &Value) -> String {
    outage.get("skipped").map_or_else(
        || NOTHING.to_owned(),
        |skipped| match fields(skipped, &[]) {
            none if none.is_empty() => NOTHING.to_owned(),
            some => some,
        },
    )
}

fn millis(value: &Value, pointer: &str) -> String {
    match value.pointer(pointer).and_then(Value::as_u64) {
        Some(millis) => format!("{millis} ms"),
        None => NOTHING.to_owned(),
    }
}
