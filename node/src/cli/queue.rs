//! `campanile queue ls, get, put, rm, pause, resume`: how much waits for workers, and what limits them.

use serde_json::{Value, json};

use super::Io;
use super::args::{Format, QueueArgs, QueueCommand, QueuePutArgs};
use super::cell::{self, at};
use super::failure::Failure;
use super::list::{Column, Kind, pairs};
use super::schedule::separate;
use super::session::{connect, print_list, print_one, remove_each};
use crate::client::{Answer, Call, Client, Condition};

static QUEUES: Kind = Kind {
    plural: "queues",
    columns: &[
        Column { title: "NAME", cell: |queue| at(queue, "/name") },
        Column { title: "STATE", cell: |queue| state(queue).to_owned() },
        Column { title: "WAITING", cell: |queue| at(queue, "/depth") },
        Column { title: "LEASED", cell: |queue| at(queue, "/leased") },
        Column { title: "OLDEST", cell: |queue| at(queue, "/oldest_at") },
        Column { title: "MAX", cell: |queue| at(queue, "/max_in_flight") },
        Column { title: "PER KEY", cell: |queue| at(queue, "/max_in_flight_per_key") },
        Column { title: "RATE", cell: rate },
        Column { title: "NOTE", cell: |queue| at(queue, "/paused/note") },
    ],
    name: |queue| at(queue, "/name"),
};

pub(super) async fn run(args: QueueArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let format = args.output.format;
    match args.command {
        QueueCommand::Ls { limit } => {
            print_list(&client, Call::get("/v1/queues"), limit, &QUEUES, format, io).await
        }
        QueueCommand::Get { names } => get(&client, &names, format, io).await,
        QueueCommand::Put(args) => put(&client, args, format, io).await,
        QueueCommand::Rm { names } => {
            remove_each(&client, &names, path_of, format, io, |name| {
                format!("removed the limits of {name}; its firings stay")
            })
            .await
        }
        QueueCommand::Pause { name, note } => {
            let call = Call::post(format!("{}/pause", path_of(&name)), json!({ "note": note }));
            let answer = client.send(&call).await?;
            print_one(io, format, &answer.body, &name, |io, queue| {
                let (leased, name) = (at(queue, "/leased"), cell::plain(&name));
                Ok(writeln!(io.out, "paused {name}, {leased} leased firings go on")?)
            })
        }
        QueueCommand::Resume { name } => {
            let call = Call::post(format!("{}/resume", path_of(&name)), json!({}));
            let answer = client.send(&call).await?;
            print_one(io, format, &answer.body, &name, |io, queue| {
                Ok(writeln!(io.out, "resumed {name}, {} firings wait", at(queue, "/depth"))?)
            })
        }
    }
}

/// The path of a queue. A checked name needs no escaping.
fn path_of(name: &str) -> String {
    format!("/v1/queues/{name}")
}

async fn get(client: &Client, names: &[String], format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    for (place, name) in names.iter().enumerate() {
        let answer = client.send(&Call::get(path_of(name))).await?;
        if place > 0 {
            separate(io, format)?;
        }
        print_one(io, format, &answer.body, name, |io, _| Ok(pairs(io, overview(&answer))?))?;
    }
    Ok(())
}

/// A queue for people; a limit that it does not have is left out.
fn overview(answer: &Answer) -> Vec<(&'static str, String)> {
    let queue = &answer.body;
    let paused = match queue.get("paused").filter(|paused| paused.is_object()) {
        Some(paused) => {
            format!("since {} by {}: {}", at(paused, "/at"), at(paused, "/by"), at(paused, "/note"))
        }
        None => String::new(),
    };
    let updated = match queue.get("updated_at").filter(|at| at.is_string()) {
        Some(instant) => format!("{} by {}", cell::text(instant), at(queue, "/updated_by")),
        None => "never: it has the default limits".to_owned(),
    };
    let rows = [
        ("Name", at(queue, "/name")),
        ("Paused", paused),
        ("Waiting", at(queue, "/depth")),
        ("Oldest", at(queue, "/oldest_at")),
        ("Opens", at(queue, "/opens_at")),
        ("Leased", at(queue, "/leased")),
        ("At most leased", at(queue, "/max_in_flight")),
        ("At most per key", at(queue, "/max_in_flight_per_key")),
        ("Rate", rate(queue)),
        ("Updated", updated),
        ("ETag", answer.etag.clone().unwrap_or_default()),
    ];
    rows.into_iter().filter(|(_, text)| !matches!(text.as_str(), "" | cell::NOTHING)).collect()
}

async fn put(client: &Client, args: QueuePutArgs, format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    let mut body = json!({});
    if let Some(most) = args.max_in_flight {
        body["max_in_flight"] = most.into();
    }
    if let Some(most) = args.max_in_flight_per_key {
        body["max_in_flight_per_key"] = most.into();
    }
    if let Some(rate) = args.rate {
        body["rate"] = json!({ "count": rate.count, "per": rate.per.to_string() });
    }
    let condition = args.if_match.map_or(Condition::None, Condition::Unchanged);
    let answer = client.send(&Call::put(path_of(&args.name), body).only_if(condition)).await?;
    print_one(io, format, &answer.body, &args.name, |io, queue| {
        let done = if answer.status == 201 { "created" } else { "put" };
        Ok(writeln!(io.out, "{done} {}: {}", args.name, limits(queue))?)
    })
}

/// What limits it now, all of it: a put replaces what its caller may have forgotten.
fn limits(queue: &Value) -> String {
    let most = match at(queue, "/max_in_flight").as_str() {
        cell::NOTHING => "any number leased at once".to_owned(),
        most => format!("at most {most} leased at once"),
    };
    let rate = match rate(queue).as_str() {
        cell::NOTHING => "at any rate".to_owned(),
        rate => format!("{rate} at the fastest"),
    };
    format!("{most}, {} per key, {rate}", at(queue, "/max_in_flight_per_key"))
}

fn state(queue: &Value) -> &'static str {
    if queue.get("paused").is_some_and(Value::is_object) { "paused" } else { "open" }
}

/// As `put` takes it.
fn rate(queue: &Value) -> String {
    match queue.get("rate").filter(|rate| rate.is_object()) {
        Some(rate) => format!("{}/{}", at(rate, "/count"), at(rate, "/per")),
        None => cell::NOTHING.to_owned(),
    }
}
