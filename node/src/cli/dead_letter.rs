//! `campanile dead-letter ls, rerun, discard`: firings that came to nothing and wait for somebody to look at them.

use std::time::Duration;

use campanile_core::cron::instant_text;
use serde_json::{Value, json};

use super::Io;
use super::args::{Chosen, DeadLetterArgs, DeadLetterCommand, Format, LetterFilter};
use super::cell::at;
use super::failure::{Exit, Failure};
use super::list::{Column, Kind};
use super::session::{connect, print_list, print_one};
use crate::client::{Call, Client};

const PATH: &str = "/v1/dead_letters";
/// A node does as many as it can in ten seconds and then answers; asking another one before that gains nothing.
const PATIENCE: Duration = Duration::from_secs(12);

static LETTERS: Kind = Kind {
    plural: "dead letters",
    columns: &[
        Column { title: "ENDED", cell: |letter| at(letter, "/ended_at") },
        Column { title: "SCHEDULE", cell: |letter| at(letter, "/schedule") },
        Column { title: "STATE", cell: |letter| at(letter, "/state") },
        Column { title: "NOMINAL", cell: |letter| at(letter, "/nominal") },
        Column { title: "QUEUE", cell: |letter| at(letter, "/queue") },
        Column { title: "ATTEMPTS", cell: |letter| at(letter, "/attempts") },
        Column { title: "STATUS", cell: |letter| at(letter, "/status") },
        Column { title: "FIRING", cell: |letter| at(letter, "/firing") },
        Column { title: "ERROR", cell: |letter| at(letter, "/error") },
    ],
    name: |letter| at(letter, "/firing"),
};

pub(super) async fn run(args: DeadLetterArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let format = args.output.format;
    match args.command {
        DeadLetterCommand::Ls { filter, limit } => {
            let named = fields(&filter).into_iter();
            let call = named.fold(Call::get(PATH), |call, (name, value)| call.query_if(name, value));
            print_list(&client, call, Some(limit), &LETTERS, format, io).await
        }
        DeadLetterCommand::Rerun { chosen, max, overlap } if chosen.firings.is_empty() => {
            let mut body = body_of(&chosen);
            body["max"] = max.into();
            if let Some(overlap) = overlap {
                body["overlap"] = overlap.into();
            }
            rerun_many(&client, body, format, io).await
        }
        DeadLetterCommand::Rerun { chosen, overlap, .. } => {
            rerun_each(&client, &chosen.firings, overlap.as_deref(), format, io).await
        }
        DeadLetterCommand::Discard { chosen } if chosen.firings.is_empty() => {
            discard_many(&client, body_of(&chosen), format, io).await
        }
        DeadLetterCommand::Discard { chosen } => discard_each(&client, &chosen.firings, format, io).await,
    }
}

/// A filter as the API names its parts.
fn fields(filter: &LetterFilter) -> [(&'static str, Option<String>); 6] {
    [
        ("schedule", filter.schedule.as_ref().map(ToString::to_string)),
        ("namespace", filter.namespace.clone()),
        ("queue", filter.queue.clone()),
        ("state", filter.state.clone()),
        ("after", filter.after.map(instant_text)),
        ("before", filter.before.map(instant_text)),
    ]
}

/// The body that means those: everything only when everything was said.
fn body_of(chosen: &Chosen) -> Value {
    let mut body = json!({});
    for (name, value) in fields(&chosen.filter) {
        if let Some(value) = value {
            body[name] = value.into();
        }
    }
    if chosen.all {
        body["all"] = true.into();
    }
    body
}

async fn rerun_many(client: &Client, body: Value, format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    let call = Call::post(format!("{PATH}/rerun"), body).patience(PATIENCE);
    let done = client.send(&call).await?.body;
    print_rerun(io, format, &done)?;
    let refused = list(&done, "refused");
    for letter in refused {
        io.say(&format!("{} stays: {}", at(letter, "/firing"), at(letter, "/why")));
    }
    tell_left(io, &done);
    if refused.is_empty() { Ok(()) } else { Err(Failure::Said(Exit::Failed)) }
}

/// Goes on after a refusal, tells in the end what was done in the same form as for many, and fails as the first refusal.
async fn rerun_each(
    client: &Client,
    firings: &[String],
    overlap: Option<&str>,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let body = overlap.map_or_else(|| json!({}), |overlap| json!({ "overlap": overlap }));
    let (mut rerun, mut refused, mut first) = (Vec::new(), Vec::new(), None);
    for firing in firings {
        let call = Call::post(format!("/v1/firings/{firing}/rerun"), body.clone());
        match client.send(&call).await {
            Ok(answer) => rerun.push(json!({ "firing": firing, "as": answer.body["id"] })),
            Err(error) => {
                let (why, failure) = (error.to_string(), Failure::Api(error));
                io.say(&format!("{firing}:"));
                failure.tell(io);
                first.get_or_insert(failure.exit());
                // No answer is no refusal, and the next one would have none either.
                if matches!(failure.exit(), Exit::Unreachable | Exit::TimedOut | Exit::Auth | Exit::Usage) {
                    break;
                }
                refused.push(json!({ "firing": firing, "why": why }));
            }
        }
    }
    let left = firings.len() - rerun.len() - refused.len();
    print_rerun(io, format, &json!({ "rerun": rerun, "refused": refused, "left": left }))?;
    first.map_or(Ok(()), |exit| Err(Failure::Said(exit)))
}

/// What runs again, as what. `-o name` names the new firings: they are what one waits for.
fn print_rerun(io: &mut Io<'_>, format: Format, done: &Value) -> Result<(), Failure> {
    let rerun = list(done, "rerun");
    match format {
        Format::Name => rerun.iter().try_for_each(|one| writeln!(io.out, "{}", at(one, "/as")))?,
        _ => print_one(io, format, done, "", |io, _| {
            for one in rerun {
                writeln!(io.out, "{} runs again as {}", at(one, "/firing"), at(one, "/as"))?;
            }
            Ok(())
        })?,
    }
    if format == Format::Table && rerun.is_empty() {
        io.say("nothing runs again");
    }
    Ok(())
}

async fn discard_many(client: &Client, body: Value, format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    let call = Call::post(format!("{PATH}/discard"), body).patience(PATIENCE);
    let done = client.send(&call).await?.body;
    // Which they were is not answered, so that there is no name to print.
    if format != Format::Name {
        print_one(io, format, &done, "", |io, done| {
            Ok(writeln!(io.out, "discarded {}", at(done, "/discarded"))?)
        })?;
    }
    tell_left(io, &done);
    Ok(())
}

async fn discard_each(
    client: &Client,
    firings: &[String],
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    for firing in firings {
        client.send(&Call::delete(format!("{PATH}/{firing}"))).await?;
        let value = json!({ "firing": firing, "discarded": true });
        print_one(io, format, &value, firing, |io, _| Ok(writeln!(io.out, "discarded {firing}")?))?;
    }
    Ok(())
}

fn tell_left(io: &mut Io<'_>, done: &Value) {
    match done.get("left").and_then(Value::as_u64) {
        None | Some(0) => {}
        Some(left) => io.say(&format!("{left} more are left: the same command goes on with them")),
    }
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
