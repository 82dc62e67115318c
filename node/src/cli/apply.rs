//! `campanile schedule apply`: the schedules of files, all or none of them.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::args::Format;
use super::failure::Failure;
use super::files::{Document, read_all};
use super::session::tell_warnings;
use super::{Io, cell, diff, document};
use crate::client::{Call, Client, Error};

/// What is applied.
pub(super) struct Set {
    documents: Vec<Document>,
    prune: Option<(String, String)>,
}

impl Set {
    /// Reads it from files and directories.
    pub(super) fn read(
        io: &mut Io<'_>,
        files: &[PathBuf],
        prune: Option<(String, String)>,
    ) -> Result<Self, Failure> {
        Ok(Self { documents: read_all(io, files)?, prune })
    }

    fn body(&self, dry_run: bool) -> Value {
        let schedules: Vec<&Value> = self.documents.iter().map(|document| &document.body).collect();
        let mut body = json!({ "schedules": schedules, "dry_run": dry_run });
        if let Some((key, value)) = &self.prune {
            body["prune_label"] = json!({ key: value });
        }
        body
    }

    /// A place in the body as a place in the files: `billing.yaml, schedule 3 (billing/run) /specs/0/cron`.
    fn place(&self, pointer: &str) -> Option<String> {
        let rest = pointer.strip_prefix("/schedules/")?;
        let (place, rest) = rest.split_once('/').map_or((rest, ""), |(place, rest)| (place, rest));
        let document = self.documents.get(place.parse::<usize>().ok()?)?;
        let pointer = if rest.is_empty() { String::new() } else { format!(" /{rest}") };
        Some(format!("{} ({}){pointer}", document.origin, document.name))
    }
}

pub(super) async fn run(
    client: &Client,
    files: &[PathBuf],
    prune: Option<(String, String)>,
    dry_run: bool,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let set = Set::read(io, files, prune)?;
    let applied = ask(client, &set, dry_run, io).await?;
    if dry_run { diff::print_set(io, format, &applied) } else { print(io, format, &applied) }
}

/// Applies, or asks what applying would do. Flaws and warnings are told with their files.
pub(super) async fn ask(
    client: &Client,
    set: &Set,
    dry_run: bool,
    io: &mut Io<'_>,
) -> Result<Value, Failure> {
    match client.send(&Call::post("/v1/apply", set.body(dry_run))).await {
        Ok(mut answer) => {
            if let Some(Value::Array(warnings)) = answer.body.get_mut("warnings") {
                let mut told = warnings.clone();
                for warning in &mut told {
                    let place = warning.get("pointer").and_then(Value::as_str).and_then(|at| set.place(at));
                    if let Some(place) = place {
                        warning["pointer"] = place.into();
                    }
                }
                tell_warnings(io, "", Some(&Value::Array(told)));
            }
            Ok(answer.body)
        }
        Err(Error::Problem(mut problem)) => {
            for error in &mut problem.errors {
                if let Some(place) = set.place(&error.pointer) {
                    error.pointer = place;
                }
            }
            Err(Error::Problem(problem).into())
        }
        Err(other) => Err(other.into()),
    }
}

fn print(io: &mut Io<'_>, format: Format, applied: &Value) -> Result<(), Failure> {
    match format {
        Format::Json => return Ok(writeln!(io.out, "{}", document::json(applied)?)?),
        Format::Yaml => return Ok(write!(io.out, "{}", document::yaml(applied)?)?),
        Format::Jsonl => return Ok(writeln!(io.out, "{applied}")?),
        Format::Table | Format::Name => {}
    }
    for change in ["created", "changed", "unchanged", "pruned"] {
        for name in applied.get(change).and_then(Value::as_array).into_iter().flatten() {
            let name = cell::text(name);
            match format {
                Format::Name => writeln!(io.out, "{name}")?,
                _ => writeln!(io.out, "{change} {name}")?,
            }
        }
    }
    Ok(())
}
