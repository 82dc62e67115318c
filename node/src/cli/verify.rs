//! `campanile verify`: whether ledgers account for every instant: those of the nodes, or one in a file.
//!
//! A file is read here, by the same pass as a node's own; no cluster is asked then.

use std::fs::File;
use std::path::Path;

use campanile_core::cron::instant_text;
use campanile_core::verify::Scope;
use serde_json::{Value, json};

use super::args::{Format, VerifyArgs};
use super::cell::{self, at, fields, plain};
use super::failure::{Exit, Failure};
use super::list::{Column, Kind, List};
use super::progress::Progress;
use super::session::{connect, print_one};
use super::{Io, document};
use crate::client::{Call, Client, Endpoint, Error, Problem};
use crate::verify::{Asked, NotAnArchive, OfArchive, verify};
use crate::wire::verify::Verdict;

/// People are shown so many of the first offenders; the data has more.
const SHOWN: usize = 20;

static OFFENDERS: Kind = Kind {
    plural: "offenders",
    columns: &[
        Column { title: "FAULT", cell: |one| at(one, "/fault") },
        Column { title: "POSITION", cell: |one| at(one, "/position") },
        Column { title: "SCHEDULE", cell: schedule },
        Column { title: "NOMINAL", cell: |one| at(one, "/nominal") },
        Column { title: "WHAT", cell: |one| at(one, "/detail") },
    ],
    name: |one| at(one, "/position"),
};

/// The name, or the incarnation where no row tells a name.
fn schedule(offender: &Value) -> String {
    at(offender, if offender["schedule"].is_null() { "/uid" } else { "/schedule" })
}

pub(super) async fn run(args: VerifyArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let format = args.output.format;
    if let Some(file) = &args.file {
        let verdict = of_file(file, asked(&args), io)?;
        print_one(io, format, &verdict, word(&verdict), |io, verdict| {
            tell(io, &plain(&file.display().to_string()), verdict)
        })?;
        return end(&[verdict]);
    }
    let client = connect(&args.connect)?;
    let nodes = match &args.server {
        Some(server) => vec![client.at(Endpoint::parse(server)?)],
        None if args.only => (0..client.endpoints().len()).map(|place| client.only(place)).collect(),
        None => each_node(&client).await?,
    };
    let mut verdicts = Vec::new();
    for node in nodes {
        let at = node.endpoints()[0].to_string();
        let verdict = match of_node(&node, &args, &at, io).await {
            Ok(verdict) => verdict,
            Err(error) if error.may_pass() => {
                json!({ "address": at, "error": error.to_string() })
            }
            Err(error) => return Err(error.into()),
        };
        if format == Format::Table {
            tell(io, &at, &verdict)?;
        }
        verdicts.push(verdict);
    }
    if format != Format::Table {
        print_all(io, format, &verdicts)?;
    }
    end(&verdicts)
}

/// One thing that is wrong anywhere makes it fail; a node that did not answer is worth a word of its own.
fn end(verdicts: &[Value]) -> Result<(), Failure> {
    if verdicts.iter().any(|verdict| verdict["clean"] == false || holds_nothing(verdict)) {
        return Err(Failure::Said(Exit::Failed));
    }
    if verdicts.iter().any(|verdict| verdict.get("error").is_some()) {
        return Err(Failure::Said(Exit::Unreachable));
    }
    Ok(())
}

/// Nothing is wrong where nothing is, and nothing is proved.
fn holds_nothing(verdict: &Value) -> bool {
    verdict["chain"]["rows"] == 0
}

fn asked(args: &VerifyArgs) -> Asked {
    let namespace = args.namespace.as_deref().map(Into::into);
    let scope = Scope { namespace, after: args.after, until: args.until, ..Scope::default() };
    Asked { scope, heads: args.heads.clone() }
}

fn of_file(path: &Path, asked: Asked, io: &mut Io<'_>) -> Result<Value, Failure> {
    let cannot = |why: String| format!("{} cannot be verified: {why}", path.display());
    let unread =
        |error: std::io::Error| Failure::usage(format!("cannot read {}: {error}", path.display()), "");
    let file = File::open(path).map_err(unread)?;
    let bytes = file.metadata().map_err(unread)?.len();
    let archive = OfArchive::open(file, bytes).map_err(|error| match error {
        NotAnArchive::JsonLines => {
            Failure::usage(cannot(error.to_string()), "export it with `campanile ledger export -o segments`")
        }
        NotAnArchive::Foreign(_) => {
            Failure::usage(cannot(error.to_string()), "what it reads are exports and backups of a cluster")
        }
        NotAnArchive::Flawed(_) => Failure::failed(cannot(error.to_string()), ""),
    })?;
    let mut bar = Progress::default();
    let found = verify(archive, asked, |progress| {
        bar.draw(io, part(progress.done, progress.of), "of the file");
        true
    });
    bar.clear(io);
    let found = found.map_err(|_| Failure::failed("the verification ended early", ""))?;
    Ok(serde_json::to_value(Verdict::of(&found, None)).map_err(std::io::Error::from)?)
}

fn part(done: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { done as f64 / of as f64 }
}

/// A client for each node, by the address that the cluster knows it by.
async fn each_node(client: &Client) -> Result<Vec<Client>, Failure> {
    let cluster = client.send(&Call::get("/v1/cluster").query("consistency", "stale")).await?.body;
    let nodes = cluster.get("nodes").and_then(Value::as_array).cloned().unwrap_or_default();
    let addresses = nodes.iter().filter_map(|node| node["api_address"].as_str()).filter(|it| !it.is_empty());
    let clients: Vec<Client> =
        addresses.map(|address| Ok(client.at(Endpoint::parse(address)?))).collect::<Result<_, Failure>>()?;
    // A cluster that does not say where its nodes answer is asked where the user asks it.
    Ok(if clients.is_empty() { vec![client.only(0)] } else { clients })
}

async fn of_node(client: &Client, args: &VerifyArgs, at: &str, io: &mut Io<'_>) -> Result<Value, Error> {
    let heads = args.heads.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let call = Call::get("/v1/verify")
        .query_if("namespace", args.namespace.as_ref())
        .query_if("after", args.after.map(instant_text))
        .query_if("until", args.until.map(instant_text))
        .query_if("head", (!heads.is_empty()).then_some(heads));
    let mut bar = Progress::default();
    let verdict = client
        .hear(&call, |event, data| match event {
            "progress" => {
                let number = |name: &str| data[name].as_u64().unwrap_or_default();
                let words = format!("of {} rows at {at}", number("of"));
                bar.draw(io, part(number("rows"), number("of")), &words);
                None
            }
            "verdict" => Some(Ok(data)),
            "problem" => {
                let problem: Problem = serde_json::from_value(data).unwrap_or_default();
                Some(Err(Error::Problem(Box::new(problem))))
            }
            _ => None,
        })
        .await;
    bar.clear(io);
    verdict
}

fn print_all(io: &mut Io<'_>, format: Format, verdicts: &[Value]) -> Result<(), Failure> {
    match format {
        Format::Json => writeln!(io.out, "{}", document::json(&Value::Array(verdicts.to_vec()))?)?,
        Format::Yaml => write!(io.out, "{}", document::yaml(&Value::Array(verdicts.to_vec()))?)?,
        Format::Jsonl | Format::Name | Format::Table => {
            for verdict in verdicts {
                print_one(io, format, verdict, word(verdict), |_, _| Ok(()))?;
            }
        }
    }
    Ok(())
}

fn word(verdict: &Value) -> &'static str {
    if verdict["clean"] == true { "clean" } else { "not clean" }
}

/// A verdict for people.
fn tell(io: &mut Io<'_>, place: &str, verdict: &Value) -> Result<(), Failure> {
    if let Some(error) = verdict.get("error") {
        let error = plain(error.as_str().unwrap_or_default());
        io.say(&format!("{} {place}: {error}", io.paint("1;31", "not verified:")));
        return Ok(());
    }
    let of_node = verdict.get("node").map(|node| format!("node {node} at ")).unwrap_or_default();
    if holds_nothing(verdict) {
        return tell_nothing(io, &format!("{of_node}{place}"), verdict);
    }
    let result = if verdict["clean"] == true {
        "every instant is accounted for"
    } else {
        "NOT every instant is accounted for"
    };
    let until = verdict["until"].as_str().map(|until| format!(", up to {until}")).unwrap_or_default();
    writeln!(io.out, "{of_node}{place}: {result}{until}")?;
    let count = |name: &str| at(verdict, &format!("/{name}"));
    let skipped = verdict.get("skipped").map(|skipped| fields(skipped, &[])).unwrap_or_default();
    writeln!(
        io.out,
        "  {} schedules: {} instants decided, {} fired; skipped: {}; asked for beside them: {}",
        count("schedules"),
        count("decided"),
        count("fired"),
        if skipped.is_empty() || skipped == "-" { "none" } else { &skipped },
        count("asked"),
    )?;
    let faults = ["missing", "doubled", "phantom", "early", "unbegun", "disorder"];
    let told: Vec<String> = faults.iter().map(|fault| format!("{fault} {}", count(fault))).collect();
    writeln!(io.out, "  {}", told.join(", "))?;
    let open = ["pending", "undelivered", "unverified"].map(|name| format!("{name} {}", count(name)));
    writeln!(io.out, "  not wrong: {}", open.join(", "))?;
    tell_chain(io, &verdict["chain"])?;
    if let Some(differ) = verdict["zones_differ"].as_str() {
        io.say(&format!("{} {}", io.paint("33", "warning:"), plain(differ)));
    }
    tell_offenders(io, verdict)
}

/// Without a row there is no instant to speak of: what became of the rows is the answer.
fn tell_nothing(io: &mut Io<'_>, place: &str, verdict: &Value) -> Result<(), Failure> {
    let (why, remedy) = match verdict["chain"]["broken"]["why"].as_str() {
        Some(why) => (plain(why), "take the export again, or ask another node"),
        None => ("it holds no row".to_owned(), "a node that has just joined has rows in a moment"),
    };
    writeln!(io.out, "{place}: NOTHING was judged: {why}")?;
    io.say(&format!("{} {remedy}", io.paint("1", "hint:")));
    tell_offenders(io, verdict)
}

fn tell_chain(io: &mut Io<'_>, chain: &Value) -> Result<(), Failure> {
    let head = match chain["head"].is_object() {
        true => format!("ends at {}:{}", at(chain, "/head/position"), at(chain, "/head/hash")),
        false => "has no row".to_owned(),
    };
    let state = match chain["ok"] == true {
        true => "whole".to_owned(),
        false => format!("BROKEN at {} places", at(chain, "/breaks")),
    };
    let (rows, compared) = (at(chain, "/rows"), at(chain, "/compared"));
    let given = match at(chain, "/heads").as_str() {
        "0" | cell::NOTHING => String::new(),
        met => format!("; heads that you gave and it reaches: {met}"),
    };
    writeln!(
        io.out,
        "  chain of {rows} rows {state}, {head}; {compared} ends that leaders stated compared{given}"
    )?;
    Ok(())
}

fn tell_offenders(io: &mut Io<'_>, verdict: &Value) -> Result<(), Failure> {
    let offenders = verdict["offenders"].as_array().map(Vec::as_slice).unwrap_or_default();
    if offenders.is_empty() {
        return Ok(());
    }
    let mut list = List::new(&OFFENDERS, Format::Table);
    list.page(io, &offenders[..offenders.len().min(SHOWN)])?;
    list.end(io)?;
    if offenders.len() > SHOWN {
        io.say(&format!("and {} more: -o json names them", offenders.len() - SHOWN));
    }
    Ok(())
}
