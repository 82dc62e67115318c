//! `campanile ledger tail, export`: facts in the order of the log.

mod segments;

use serde_json::Value;

use super::Io;
use super::args::{ExportFormat, Format, LedgerArgs, LedgerCommand, LedgerFormat};
use super::cell::{at, fields};
use super::failure::Failure;
use super::list::{Column, Kind, List};
use super::session::connect;
use crate::client::{Call, Client, LedgerEvent};

/// The most rows of one request.
const PAGE: usize = 1000;

static ROWS: Kind = Kind {
    plural: "facts",
    columns: &[
        Column { title: "POSITION", cell: |row| at(row, "/position") },
        Column { title: "AT", cell: |row| at(row, "/at") },
        Column { title: "TYPE", cell: |row| at(row, "/type") },
        Column { title: "FACT", cell: |row| fields(row, &["position", "at", "type", "hash", "definition"]) },
    ],
    name: |row| at(row, "/position"),
};

pub(super) async fn run(args: LedgerArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    match args.command {
        LedgerCommand::Export { after, format: ExportFormat::Segments } => {
            segments::export(&client, after.is_some(), io).await
        }
        LedgerCommand::Export { after, format: ExportFormat::Jsonl } => {
            let mut list = List::new(&ROWS, Format::Jsonl);
            print_after(&client, after, &mut list, io).await?;
            Ok(list.end(io)?)
        }
        LedgerCommand::Tail { lines, after, follow, format } => {
            let format = if format == LedgerFormat::Jsonl { Format::Jsonl } else { Format::Table };
            tail(&client, lines, after, follow, format, io).await
        }
    }
}

/// Prints the newest rows, then those that come. Ends only at Ctrl-C, or with an error, when it follows.
async fn tail(
    client: &Client,
    lines: usize,
    after: Option<String>,
    follow: bool,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let mut list = List::new(&ROWS, format);
    let mut position = after;
    if position.is_none() {
        let newest = newest(client, lines).await?;
        position = newest.last().and_then(position_of).or(Some("0.0".into()));
        list.page(io, &newest[newest.len().saturating_sub(lines)..])?;
    }
    position = print_after(client, position, &mut list, io).await?;
    if follow { print_stream(client, position, &mut list, io).await } else { Ok(list.end(io)?) }
}

/// Prints rows as they are decided, until there is an error that no moment mends.
async fn print_stream(
    client: &Client,
    after: Option<String>,
    list: &mut List,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let mut stream = client.ledger_stream(after);
    loop {
        match stream.next().await {
            Ok(LedgerEvent::Row { row, .. }) => list.page(io, &[row])?,
            Ok(LedgerEvent::At { .. }) => {}
            Ok(LedgerEvent::Behind { rows }) => {
                io.say(&format!(
                    "about {rows} facts wait to be printed: this is slower than they are decided"
                ));
            }
            Err(error) if error.may_pass() => io.say(&format!("{error}; trying on")),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Prints every row after a position, and gives the position of the last.
async fn print_after(
    client: &Client,
    mut position: Option<String>,
    list: &mut List,
    io: &mut Io<'_>,
) -> Result<Option<String>, Failure> {
    loop {
        let (rows, _) = page(client, position.as_deref(), PAGE).await?;
        list.page(io, &rows)?;
        match rows.last().and_then(position_of) {
            Some(last) if position.as_ref() != Some(&last) => position = Some(last),
            _ => return Ok(position),
        }
    }
}

/// At least the `wanted` newest rows, if there are as many: looks back from the end, ever further. Rows are numbered by
/// the log, in which not every entry makes a row and one entry makes many.
async fn newest(client: &Client, wanted: usize) -> Result<Vec<Value>, Failure> {
    let (_, end) = page(client, None, 1).await?;
    let Some(end) = end else { return all_after(client, None, wanted).await };
    let mut back = (wanted as u64).max(16);
    loop {
        let start = end.saturating_sub(back);
        let rows = all_after(client, (start > 0).then(|| format!("{start}.0")), wanted).await?;
        if rows.len() >= wanted || start == 0 {
            return Ok(rows);
        }
        back = back.saturating_mul(4);
    }
}

/// The last `wanted` rows of those after a position, or a page of them more.
async fn all_after(
    client: &Client,
    mut position: Option<String>,
    wanted: usize,
) -> Result<Vec<Value>, Failure> {
    let mut kept: Vec<Value> = Vec::new();
    loop {
        let (rows, _) = page(client, position.as_deref(), PAGE).await?;
        let Some(last) = rows.last().and_then(position_of) else { return Ok(kept) };
        if rows.len() + kept.len() > wanted + PAGE {
            kept.drain(..kept.len().saturating_sub(wanted));
        }
        kept.extend(rows);
        if position.replace(last) == position {
            return Ok(kept);
        }
    }
}

/// A page of rows after a position, and how far the node that answered had applied.
async fn page(
    client: &Client,
    after: Option<&str>,
    limit: usize,
) -> Result<(Vec<Value>, Option<u64>), Failure> {
    let call = Call::get("/v1/ledger").query("limit", &limit).query_if("after", after);
    let mut answer = client.send(&call).await?;
    match answer.body.get_mut("items").map(Value::take) {
        Some(Value::Array(rows)) => Ok((rows, answer.applied_index)),
        _ => Err(Failure::failed("the node's answer is no list of facts", "")),
    }
}

fn position_of(row: &Value) -> Option<String> {
    row.get("position").and_then(Value::as_str).map(str::to_owned)
}
