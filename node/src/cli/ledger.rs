//! `campanile ledger tail, export`: facts in the order of the log.

mod segments;

use serde_json::Value;

use super::Io;
use super::args::{ExportFormat, FactFilter, Format, LedgerArgs, LedgerCommand, LedgerFormat};
use super::cell::{at, fields};
use super::failure::Failure;
use super::list::{Column, Kind, List};
use super::session::connect;
use crate::client::{self, Call, Client, Error, LedgerEvent};

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
        LedgerCommand::Export { after, filter, format: ExportFormat::Segments } => {
            if after.is_some() || !filter.takes_all() {
                return Err(Failure::usage(
                    "an export in segments has every fact that is kept",
                    "leave out --after, --type and --schedule, or write JSON lines with -o jsonl",
                ));
            }
            segments::export(&client, io).await
        }
        LedgerCommand::Export { after, filter, format: ExportFormat::Jsonl } => {
            let mut list = List::new(&ROWS, Format::Jsonl);
            Wanted { client: &client, filter }.print_after(after, &mut list, io).await?;
            Ok(list.end(io)?)
        }
        LedgerCommand::Tail { lines, after, filter, follow, format } => {
            let format = if format == LedgerFormat::Jsonl { Format::Jsonl } else { Format::Table };
            let mut list = List::new(&ROWS, format);
            let wanted = Wanted { client: &client, filter };
            let position = match after {
                Some(after) => wanted.print_after(Some(after), &mut list, io).await?,
                None => wanted.print_newest(lines, &mut list, io).await?,
            };
            if follow { wanted.print_stream(position, &mut list, io).await } else { Ok(list.end(io)?) }
        }
    }
}

/// The facts that are asked for, and who is asked.
struct Wanted<'a> {
    client: &'a Client,
    filter: FactFilter,
}

/// A page of them.
struct Facts {
    rows: Vec<Value>,
    /// Where the next one begins.
    next: Option<String>,
    /// How far the node that answered had applied.
    applied: Option<u64>,
}

impl Wanted<'_> {
    /// Prints the newest of them, and gives a position behind which others come.
    async fn print_newest(
        &self,
        lines: usize,
        list: &mut List,
        io: &mut Io<'_>,
    ) -> Result<Option<String>, Failure> {
        let (newest, end) = self.newest(lines).await?;
        list.page(io, &newest[newest.len().saturating_sub(lines)..])?;
        // What came of entries up to the end is printed, and of later ones up to the last that is.
        let last = newest.last().and_then(position_of).filter(|last| end < index_of(last));
        Ok(last.or(end.map(|end| end.to_string())))
    }

    /// Prints rows as they are decided, until there is an error that no moment mends.
    async fn print_stream(
        &self,
        after: Option<String>,
        list: &mut List,
        io: &mut Io<'_>,
    ) -> Result<(), Failure> {
        let schedule = self.filter.schedule.as_ref().map(ToString::to_string);
        let mut stream =
            self.client.follow(client::Wanted { after, types: self.filter.types.clone(), schedule });
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

    /// Prints every one of them behind a position, and gives the position up to which they are printed.
    async fn print_after(
        &self,
        mut position: Option<String>,
        list: &mut List,
        io: &mut Io<'_>,
    ) -> Result<Option<String>, Failure> {
        loop {
            let Facts { rows, next, .. } = self.page(position.as_deref(), PAGE).await?;
            list.page(io, &rows)?;
            position = next.clone().or(rows.last().and_then(position_of)).or(position);
            if next.is_none() {
                return Ok(position);
            }
        }
    }

    /// At least the `wanted` newest of them, if there are as many, and the last log entry of which all are among them: looks
    /// back from the end, ever further. Rows are numbered by the log, in which not every entry makes a row and one entry
    /// makes many.
    async fn newest(&self, wanted: usize) -> Result<(Vec<Value>, Option<u64>), Failure> {
        let Some(end) = self.page(None, 1).await?.applied else {
            return Ok((self.all_after(None, wanted).await?, None));
        };
        let mut back = (wanted as u64).max(16);
        loop {
            let start = end.saturating_sub(back);
            let found = match self.all_after((start > 0).then(|| format!("{start}.0")), wanted).await {
                Err(Error::Problem(problem)) if problem.code == "watch_expired" => None,
                found => Some(found?),
            };
            match found {
                Some(rows) if rows.len() >= wanted || start == 0 => return Ok((rows, Some(end))),
                Some(_) => back = back.saturating_mul(4),
                // Retention has been there: what is left is all there is.
                None => return Ok((self.all_after(None, wanted).await?, Some(end))),
            }
        }
    }

    /// The last `wanted` of those behind a position, or a page of them more.
    async fn all_after(&self, mut position: Option<String>, wanted: usize) -> Result<Vec<Value>, Error> {
        let mut kept: Vec<Value> = Vec::new();
        loop {
            let Facts { rows, next, .. } = self.page(position.as_deref(), PAGE).await?;
            if rows.len() + kept.len() > wanted + PAGE {
                kept.drain(..kept.len().saturating_sub(wanted));
            }
            kept.extend(rows);
            if next.is_none() {
                return Ok(kept);
            }
            position = next;
        }
    }

    async fn page(&self, after: Option<&str>, limit: usize) -> Result<Facts, Error> {
        let types = self.filter.types.join(",");
        let call = Call::get("/v1/ledger")
            .query("limit", &limit)
            .query_if("after", after)
            .query_if("type", (!types.is_empty()).then_some(types))
            .query_if("schedule", self.filter.schedule.as_ref());
        let mut answer = self.client.send(&call).await?;
        let Some(Value::Array(rows)) = answer.body.get_mut("items").map(Value::take) else {
            return Err(Error::Unusable("the node's answer is no list of facts".into()));
        };
        let next = answer.body["next_page_token"].as_str().map(str::to_owned);
        Ok(Facts { rows, next, applied: answer.applied_index })
    }
}

fn position_of(row: &Value) -> Option<String> {
    row.get("position").and_then(Value::as_str).map(str::to_owned)
}

/// The log entry of a row.
fn index_of(position: &str) -> Option<u64> {
    position.split('.').next()?.parse().ok()
}
