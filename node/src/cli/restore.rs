//! `campanile restore`: what is in a backup, and the data directory of a founder from it. Offline: no node is asked.

use std::error::Error;
use std::fs;
use std::iter::successors;
use std::path::Path;

use serde_json::{Value, json};

use super::Io;
use super::args::{Format, RestoreArgs};
use super::cell::{self, at};
use super::failure::{Exit, Failure};
use super::list::pairs;
use super::progress::Progress;
use super::session::print_one;
use crate::backup::{Contents, Unfit, look, put};

pub(super) fn run(args: &RestoreArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let bytes = fs::metadata(&args.file).map_or(0, |file| file.len());
    let mut progress = Progress::default();
    let seen = |read| reading(&mut progress, io, read, bytes);
    let read = match &args.data {
        None => look(&args.file, seen),
        Some(data) => put(&args.file, data, seen),
    };
    progress.clear(io);
    let contents = read.map_err(|unfit| refused(&args.file, unfit))?;
    let Some(data) = &args.data else {
        return print(io, args.output.format, &contents, &json!({ "file": args.file.display().to_string() }));
    };
    print(io, args.output.format, &contents, &json!({ "data": data.display().to_string() }))?;
    io.say(&format!(
        "start the node whose data_dir is {}: it founds the cluster; start the others with empty ones",
        data.display()
    ));
    Ok(())
}

/// A bar for how far a file was read.
pub(super) fn reading(progress: &mut Progress, io: &mut Io<'_>, read: u64, of: u64) {
    progress.draw(io, read as f64 / of.max(1) as f64, "reading the backup");
}

/// Prints what is in a backup, and where it is.
pub(super) fn print(
    io: &mut Io<'_>,
    format: Format,
    contents: &Contents,
    place: &Value,
) -> Result<(), Failure> {
    let mut value = serde_json::to_value(contents).unwrap_or_default();
    if let (Some(fields), Some(place)) = (value.as_object_mut(), place.as_object()) {
        fields.extend(place.clone());
    }
    let name = contents.index.to_string();
    print_one(io, format, &value, &name, |io, value| Ok(pairs(io, rows(value))?))
}

fn rows(value: &Value) -> Vec<(&'static str, String)> {
    let rows = [
        ("File", at(value, "/file")),
        ("Data directory", at(value, "/data")),
        ("Cluster", at(value, "/note/cluster")),
        ("Made at", at(value, "/note/made_at")),
        ("Made by", by(value)),
        ("Log entry", at(value, "/index")),
        ("Its time", at(value, "/clock")),
        ("Schedules", at(value, "/schedules")),
        ("Firings under way", at(value, "/live_firings")),
        ("Ledger rows", at(value, "/rows")),
        ("Last row", at(value, "/last_row")),
        ("Running hash", at(value, "/hash")),
        ("Bytes", at(value, "/bytes")),
    ];
    rows.into_iter().filter(|(_, text)| text != cell::NOTHING && !text.is_empty()).collect()
}

fn by(value: &Value) -> String {
    match value.pointer("/note/node").and_then(Value::as_u64) {
        Some(node) => format!("node {node}, version {}", at(value, "/note/version")),
        None => String::new(),
    }
}

fn refused(file: &Path, unfit: Unfit) -> Failure {
    match unfit {
        Unfit::NotEmpty { .. } => {
            let hint = "name another directory, or move what is there away";
            Failure::Input { exit: Exit::Conflict, detail: unfit.to_string(), hint: hint.into() }
        }
        Unfit::Unreadable { .. } => Failure::usage(unfit.to_string(), ""),
        Unfit::Trouble(trouble) => {
            // "Staging failed" alone names no disk that is full, no directory that is gone.
            let causes = successors(trouble.source(), |cause| (*cause).source());
            let why: String = causes.map(|cause| format!(": {cause}")).collect();
            Failure::failed(format!("{trouble}{why}"), "")
        }
        unfit => {
            Failure::failed(format!("{}: {unfit}", file.display()), "take another backup of the cluster")
        }
    }
}
