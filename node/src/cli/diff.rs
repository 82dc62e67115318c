//! What would change, for people: in fields and in ticks. `campanile schedule diff`, and every dry run.

use std::path::PathBuf;

use serde_json::Value;

use super::Io;
use super::apply::{self, Set};
use super::args::Format;
use super::cell::{self, at};
use super::document;
use super::failure::{Exit, Failure};
use crate::client::Client;

/// So many ticks of one schedule are printed; the other forms have all.
const TICKS_SHOWN: usize = 8;

/// Says what applying files would change; exit code 1 when something would.
pub(super) async fn run(
    client: &Client,
    files: &[PathBuf],
    prune: Option<(String, String)>,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let set = Set::read(io, files, prune)?;
    let would = apply::ask(client, &set, true, io).await?;
    print_set(io, format, &would)?;
    let diffs = would.get("diffs").and_then(Value::as_array).is_some_and(|diffs| !diffs.is_empty());
    if diffs { Err(Failure::Said(Exit::Failed)) } else { Ok(()) }
}

/// Prints what applying a set would change.
pub(super) fn print_set(io: &mut Io<'_>, format: Format, would: &Value) -> Result<(), Failure> {
    let diffs = would.get("diffs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match format {
        Format::Json => writeln!(io.out, "{}", document::json(would)?)?,
        Format::Yaml => write!(io.out, "{}", document::yaml(would)?)?,
        Format::Jsonl => diffs.iter().try_for_each(|diff| writeln!(io.out, "{diff}"))?,
        Format::Name => diffs.iter().try_for_each(|diff| writeln!(io.out, "{}", at(diff, "/schedule")))?,
        Format::Table => {
            for diff in diffs {
                print(io, &at(diff, "/schedule"), diff)?;
            }
            let unchanged = would.get("unchanged").and_then(Value::as_array).map_or(0, Vec::len);
            if unchanged > 0 {
                io.say(&format!("{unchanged} unchanged"));
            }
        }
    }
    Ok(())
}

/// Prints what would change of one schedule.
pub(super) fn print(io: &mut Io<'_>, name: &str, diff: &Value) -> Result<(), Failure> {
    let change = at(diff, "/change");
    let (sign, colour) = match change.as_str() {
        "created" => ("+", GREEN),
        "pruned" => ("-", RED),
        "changed" => ("~", YELLOW),
        _ => ("=", ""),
    };
    let head = format!("{sign} {} {change}", cell::plain(name));
    writeln!(io.out, "{}", paint(io, colour, &head))?;
    if change == "unchanged" {
        return Ok(());
    }
    for field in list(diff, "/fields") {
        let pointer = at(field, "/pointer");
        let [from, to] = ["/from", "/to"].map(|side| value(field.pointer(side)));
        let line = match (from, to) {
            (None, Some(to)) => format!("    {pointer}: {to}"),
            (Some(from), None) => format!("    {pointer}: {from} removed"),
            (from, to) => {
                format!("    {pointer}: {} -> {}", from.unwrap_or_default(), to.unwrap_or_default())
            }
        };
        writeln!(io.out, "{line}")?;
    }
    if change != "pruned" {
        writeln!(io.out, "    {}", at(diff, "/text"))?;
    }
    ticks(io, diff.get("ticks"))
}

/// The instants that come and go, in their order.
pub(super) fn ticks(io: &mut Io<'_>, ticks: Option<&Value>) -> Result<(), Failure> {
    let Some(ticks) = ticks.filter(|ticks| ticks.is_object()) else {
        writeln!(io.out, "    ticks: too many schedules to look at each")?;
        return Ok(());
    };
    let (removed, added) = (list(ticks, "/removed"), list(ticks, "/added"));
    let mut moves: Vec<(String, &str, &str, String)> = Vec::new();
    for (items, sign, colour) in [(removed, "-", RED), (added, "+", GREEN)] {
        moves.extend(items.iter().map(|tick| (at(tick, "/nominal"), sign, colour, at(tick, "/local"))));
    }
    moves.sort();
    writeln!(
        io.out,
        "    ticks until {}: {} removed, {} added, {} kept",
        at(ticks, "/until"),
        removed.len(),
        added.len(),
        at(ticks, "/kept")
    )?;
    for (nominal, sign, colour, local) in moves.iter().take(TICKS_SHOWN) {
        let line = paint(io, colour, &format!("{sign} {nominal}  {local}"));
        writeln!(io.out, "      {line}")?;
    }
    if moves.len() > TICKS_SHOWN {
        writeln!(io.out, "      … {} more", moves.len() - TICKS_SHOWN)?;
    }
    Ok(())
}

const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// In colour, when a person looks at the data and colours are understood.
fn paint(io: &Io<'_>, colour: &str, text: &str) -> String {
    if io.terminal && !colour.is_empty() { io.paint(colour, text) } else { text.to_owned() }
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// As it is written in JSON, so that a text and a number differ; nothing for `null`.
fn value(value: Option<&Value>) -> Option<String> {
    value.filter(|value| !value.is_null()).map(|value| cell::plain(&value.to_string()))
}
