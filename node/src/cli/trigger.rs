//! `campanile schedule trigger`: one firing now, and with `--wait` what becomes of it.

use std::time::{Duration, Instant};

use campanile_core::cron::instant_text;
use serde_json::{Value, json};

use super::Io;
use super::args::{Format, TriggerArgs};
use super::cell::{at, plain};
use super::failure::{Exit, Failure};
use super::firing::overview;
use super::list::pairs;
use super::session::{duration, path_of, payload, print_one};
use crate::client::{Call, Client};

/// States that do not change any more.
const SETTLED: [&str; 6] = ["succeeded", "failed", "timed_out", "cancelled", "unknown", "skipped"];
const FIRST_LOOK: Duration = Duration::from_millis(100);
const SLOWEST_LOOK: Duration = Duration::from_secs(2);

pub(super) async fn run(
    client: &Client,
    args: TriggerArgs,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let mut body = json!({});
    if let Some(text) = &args.payload {
        body["payload"] = payload(io, text)?;
    }
    if let Some(overlap) = &args.overlap {
        body["overlap"] = overlap.clone().into();
    }
    if let Some(nominal) = args.nominal {
        body["nominal"] = instant_text(nominal).into();
    }
    let call = Call::post(format!("{}/trigger", path_of(&args.name)), body).key(args.idempotency_key);
    let wait = args.wait.then(|| duration(args.wait_timeout));
    fire(client, &call, wait, &format!("triggered {}", args.name), format, io).await
}

/// Asks for a firing, and with `wait` tells what becomes of it.
pub(super) async fn fire(
    client: &Client,
    call: &Call,
    wait: Option<Duration>,
    done: &str,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let mut firing = client.send(call).await?.body;
    let id = firing.get("id").and_then(Value::as_str).map(str::to_owned);
    let id = id.ok_or_else(|| Failure::failed("the node's answer names no firing", ""))?;
    if let Some(limit) = wait {
        io.say(&format!("{done}, waiting for {}", plain(&id)));
        firing = settled(client, &id, limit).await?;
    }
    print_one(io, format, &firing, &id, |io, firing| {
        if wait.is_some() {
            Ok(pairs(io, overview(firing))?)
        } else {
            Ok(writeln!(io.out, "{}", plain(&id))?)
        }
    })?;
    match at(&firing, "/state").as_str() {
        "succeeded" => Ok(()),
        _ if wait.is_none() => Ok(()),
        state => {
            io.say(&format!("the firing {state}{}", last_error(&firing)));
            Err(Failure::Said(Exit::FiringFailed))
        }
    }
}

/// Looks at the firing, ever less often, until its state does not change any more.
async fn settled(client: &Client, id: &str, limit: Duration) -> Result<Value, Failure> {
    let deadline = Instant::now() + limit;
    let mut wait = FIRST_LOOK;
    loop {
        let firing = client.send(&Call::get(format!("/v1/firings/{id}"))).await?.body;
        if SETTLED.contains(&at(&firing, "/state").as_str()) {
            return Ok(firing);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let detail = format!("{id} is not settled after {}s", limit.as_secs());
            let hint = format!("it goes on: campanile firing get {id}");
            return Err(Failure::Input { exit: Exit::TimedOut, detail, hint });
        }
        tokio::time::sleep(wait.min(left)).await;
        wait = (wait * 3 / 2).min(SLOWEST_LOOK);
    }
}

/// What the last attempt said, for a line.
fn last_error(firing: &Value) -> String {
    let last = firing.get("attempts").and_then(Value::as_array).and_then(|attempts| attempts.last());
    match last.and_then(|last| last.get("error")).and_then(Value::as_str) {
        Some(error) if !error.is_empty() => format!(": {}", plain(error)),
        _ => String::new(),
    }
}
