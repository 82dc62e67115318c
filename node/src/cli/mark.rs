//! `campanile schedule mark`: rewind or skip ahead, counted first.

use campanile_core::cron::instant_text;
use serde_json::{Value, json};

use super::Io;
use super::args::{Format, MarkArgs};
use super::cell::at;
use super::failure::{Exit, Failure};
use super::session::{path_of, print_one};
use crate::client::{Call, Client};

/// The longest answer to a question that is read.
const ANSWER: usize = 64;

pub(super) async fn run(
    client: &Client,
    args: MarkArgs,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let order = |dry_run| {
        let body = json!({ "to": instant_text(args.to), "dry_run": dry_run });
        Call::post(format!("{}/mark", path_of(&args.name)), body)
    };
    let counts = client.send(&order(true)).await?.body;
    if args.dry_run {
        return print_one(io, format, &counts, args.name.as_str(), |io, counts| {
            Ok(writeln!(io.out, "{}", counted(counts))?)
        });
    }
    io.say(&counted(&counts));
    if io.terminal && !args.yes && !agrees(io)? {
        io.say("nothing was done");
        return Err(Failure::Said(Exit::Failed));
    }
    let done = client.send(&order(false)).await?.body;
    print_one(io, format, &done, args.name.as_str(), |io, done| Ok(writeln!(io.out, "{}", told(done))?))
}

fn counted(counts: &Value) -> String {
    let (mark, to) = (at(counts, "/mark"), at(counts, "/to"));
    match counts["direction"].as_str() {
        Some("back") => {
            format!("back from {mark} to {to}: {} instants fire again", at(counts, "/fires"))
        }
        _ => format!(
            "ahead from {mark} to {to}: {} instants are skipped, {} that are due fire",
            at(counts, "/skips"),
            at(counts, "/fires")
        ),
    }
}

fn told(done: &Value) -> String {
    let name = at(done, "/schedule");
    match done["backfill"].get("id") {
        Some(_) => format!("{name} fires again by {}", at(done, "/backfill/id")),
        None => format!("the mark of {name} is {}", at(done, "/mark")),
    }
}

/// Asks on standard error, and takes one line of standard input; anything but yes is no.
fn agrees(io: &mut Io<'_>) -> Result<bool, Failure> {
    let _ = io.err.write_all(b"go on? [y/N] ").and_then(|()| io.err.flush());
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < ANSWER && io.input.read(&mut byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    let answer = String::from_utf8_lossy(&line).trim().to_ascii_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}
