//! `campanile schedule backfill` and `campanile backfill ls, get, cancel`: ranges of instants that are gone through again.

use std::time::{Duration, Instant};

use campanile_core::cron::instant_text;
use serde_json::{Value, json};

use super::Io;
use super::args::{BackfillArgs, BackfillCommand, FillArgs, Format};
use super::cell::{self, at, plain};
use super::failure::{Exit, Failure};
use super::list::{Column, Kind, pairs};
use super::progress::Progress;
use super::session::{connect, duration, print_list, print_one};
use crate::client::{Call, Client};

const PATH: &str = "/v1/backfills";
const FIRST_LOOK: Duration = Duration::from_millis(100);
const SLOWEST_LOOK: Duration = Duration::from_secs(1);

static BACKFILLS: Kind = Kind {
    plural: "backfills",
    columns: &[
        Column { title: "BACKFILL", cell: |backfill| at(backfill, "/id") },
        Column { title: "SCHEDULE", cell: |backfill| at(backfill, "/schedule") },
        Column { title: "STATE", cell: |backfill| at(backfill, "/state") },
        Column { title: "DONE", cell: percent },
        Column { title: "FIRED", cell: |backfill| at(backfill, "/fired") },
        Column { title: "LIVE", cell: |backfill| at(backfill, "/live") },
        Column { title: "FAILED", cell: |backfill| at(backfill, "/failed") },
        Column { title: "AFTER", cell: |backfill| at(backfill, "/after") },
        Column { title: "UNTIL", cell: |backfill| at(backfill, "/until") },
    ],
    name: |backfill| at(backfill, "/id"),
};

pub(super) async fn run(args: BackfillArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let format = args.output.format;
    match args.command {
        BackfillCommand::Ls { schedule, state, limit } => {
            let call = Call::get(PATH)
                .query_if("schedule", schedule.as_ref().map(|name| name.as_str()))
                .query_if("state", state);
            print_list(&client, call, Some(limit), &BACKFILLS, format, io).await
        }
        BackfillCommand::Get { id } => {
            let backfill = client.send(&Call::get(path_of(&id)?)).await?.body;
            print_one(io, format, &backfill, &id, |io, backfill| Ok(pairs(io, overview(backfill))?))
        }
        BackfillCommand::Cancel { id } => {
            let backfill = client.send(&Call::delete(path_of(&id)?)).await?.body;
            print_one(io, format, &backfill, &id, |io, backfill| {
                Ok(writeln!(io.out, "{} is {}", plain(&id), at(backfill, "/state"))?)
            })
        }
    }
}

/// Counts first, so that what is about to happen is on the screen before it does.
pub(super) async fn create(
    client: &Client,
    args: FillArgs,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let mut body = body_of(&args);
    body["dry_run"] = true.into();
    let counts = client.send(&Call::post(PATH, body.clone())).await?.body;
    if args.dry_run {
        return print_one(io, format, &counts, args.name.as_str(), |io, counts| {
            Ok(writeln!(io.out, "{}", counted(counts))?)
        });
    }
    io.say(&counted(&counts));
    body["dry_run"] = false.into();
    let call = Call::post(PATH, body).key(args.idempotency_key);
    let mut backfill = client.send(&call).await?.body;
    let id = at(&backfill, "/id");
    if args.wait {
        backfill = ended(client, &id, duration(args.wait_timeout), io).await?;
    }
    print_one(io, format, &backfill, &id, |io, backfill| {
        if args.wait { Ok(pairs(io, overview(backfill))?) } else { Ok(writeln!(io.out, "{id}")?) }
    })?;
    if args.wait { judge(&backfill, io) } else { Ok(()) }
}

fn body_of(args: &FillArgs) -> Value {
    let mut body = json!({ "schedule": args.name.as_str(), "after": instant_text(args.after) });
    if let Some(until) = args.until {
        body["until"] = instant_text(until).into();
    }
    if args.again {
        body["again"] = true.into();
    }
    if let Some(overlap) = &args.overlap {
        body["overlap"] = overlap.clone().into();
    }
    if let Some(pace) = args.pace {
        body["pace"] = pace.to_string().into();
    }
    if let Some(max_live) = args.max_live {
        body["max_live"] = max_live.into();
    }
    body
}

fn counted(counts: &Value) -> String {
    format!(
        "{} instants after {} up to {}: {} would fire, {} have fired",
        at(counts, "/instants"),
        at(counts, "/after"),
        at(counts, "/until"),
        at(counts, "/would_fire"),
        at(counts, "/passed"),
    )
}

/// Looks at it, ever less often, until it has ended and nothing of it lives.
async fn ended(client: &Client, id: &str, limit: Duration, io: &mut Io<'_>) -> Result<Value, Failure> {
    let deadline = Instant::now() + limit;
    let (mut wait, mut bar) = (FIRST_LOOK, Progress::default());
    let path = path_of(id)?;
    loop {
        let backfill = match client.send(&Call::get(path.clone())).await {
            Ok(answer) => answer.body,
            Err(error) => {
                bar.clear(io);
                return Err(error.into());
            }
        };
        if at(&backfill, "/state") != "running" && at(&backfill, "/live") == "0" {
            bar.clear(io);
            return Ok(backfill);
        }
        let words = format!("{} fired, {} live", at(&backfill, "/fired"), at(&backfill, "/live"));
        bar.draw(io, backfill["progress"].as_f64().unwrap_or_default(), &words);
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            bar.clear(io);
            let detail = format!("{} has not ended after {}s", plain(id), limit.as_secs());
            let hint = format!("it goes on: campanile backfill get {}", plain(id));
            return Err(Failure::Input { exit: Exit::TimedOut, detail, hint });
        }
        tokio::time::sleep(wait.min(left)).await;
        wait = (wait * 3 / 2).min(SLOWEST_LOOK);
    }
}

fn judge(backfill: &Value, io: &mut Io<'_>) -> Result<(), Failure> {
    let (state, failed) = (at(backfill, "/state"), at(backfill, "/failed"));
    if state != "completed" {
        io.say(&format!("the backfill is {state}: {}", at(backfill, "/reason")));
        return Err(Failure::Said(Exit::Failed));
    }
    if failed != "0" {
        io.say(&format!("{failed} of its firings did not succeed"));
        return Err(Failure::Said(Exit::FiringFailed));
    }
    Ok(())
}

/// An id becomes a segment of a path: what is not shaped like one must not become another path.
fn path_of(id: &str) -> Result<String, Failure> {
    let digits = id.strip_prefix("bkf_").filter(|digits| !digits.is_empty());
    if digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) {
        return Ok(format!("{PATH}/{id}"));
    }
    let hint = "an id is bkf_ and a number, as `campanile backfill ls` shows them";
    Err(Failure::usage(format!("{id:?} is no id of a backfill"), hint))
}

/// A backfill for people.
pub(super) fn overview(backfill: &Value) -> Vec<(&'static str, String)> {
    let rows = [
        ("Backfill", at(backfill, "/id")),
        ("Schedule", at(backfill, "/schedule")),
        ("State", at(backfill, "/state")),
        ("Reason", at(backfill, "/reason")),
        ("Range", format!("after {} up to {}", at(backfill, "/after"), at(backfill, "/until"))),
        (
            "Done",
            format!(
                "{} of {} instants, up to {}",
                percent(backfill),
                at(backfill, "/instants"),
                at(backfill, "/position")
            ),
        ),
        ("Fired", at(backfill, "/fired")),
        ("Passed over", at(backfill, "/passed")),
        ("Skipped", at(backfill, "/skipped")),
        ("Live", format!("{} of at most {}", at(backfill, "/live"), at(backfill, "/max_live"))),
        ("Succeeded", at(backfill, "/succeeded")),
        ("Failed", at(backfill, "/failed")),
        ("Again", at(backfill, "/again")),
        ("Overlap", at(backfill, "/overlap")),
        ("Pace", at(backfill, "/pace")),
        ("Created", format!("{} by {}", at(backfill, "/created_at"), at(backfill, "/created_by"))),
        ("Ended", at(backfill, "/ended_at")),
    ];
    rows.into_iter().filter(|(_, text)| text != cell::NOTHING).collect()
}

fn percent(backfill: &Value) -> String {
    match backfill.get("progress").and_then(Value::as_f64) {
        Some(progress) => format!("{:.0} %", (progress * 100.0).floor()),
        None => cell::NOTHING.to_owned(),
    }
}
