//! `campanile import crontab`: schedules on standard output, what could not be carried over on standard error.

use campanile_core::cron::known_zone;
use campanile_core::definition::ScheduleName;

use super::args::{Connect, Format, ImportArgs, ImportCommand, ImportCrontabArgs};
use super::cell::plain;
use super::failure::{Exit, Failure};
use super::put::{Document, put_each};
use super::session::{connect, read_file};
use super::{Io, document};
use crate::client::Condition;
use crate::import::{Import, Remark, Weight, crontab};

pub(super) async fn run(args: ImportArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    match args.command {
        ImportCommand::Crontab(crontab) => import_crontab(&args.connect, &crontab, io).await,
    }
}

async fn import_crontab(
    connection: &Connect,
    args: &ImportCrontabArgs,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    check(args)?;
    let text = read_file(io, &args.file)?;
    let import = crontab::read(&text, &options(args, io));
    let file = args.file.display().to_string();
    for remark in &import.remarks {
        tell(io, &file, remark);
    }
    let (count, lost) = (import.schedules.len(), import.lost());
    io.say(&format!("{}: {count} command lines carried over, {lost} not", plain(&file)));
    let strictly_lost = args.strict && lost > 0;
    if args.apply && !strictly_lost {
        apply(connection, &file, import, io).await?;
    } else if !args.apply {
        print(io, &import)?;
    }
    if strictly_lost { Err(Failure::Said(Exit::Failed)) } else { Ok(()) }
}

fn check(args: &ImportCrontabArgs) -> Result<(), Failure> {
    if let Err(bad) = ScheduleName::new(&args.namespace, "x") {
        return Err(Failure::usage(format!("--namespace {}", bad.why), ""));
    }
    if !known_zone(&args.tz) {
        return Err(Failure::usage(
            format!("--tz {:?} is not a time zone", args.tz),
            "such as Europe/Berlin",
        ));
    }
    Ok(())
}

fn options(args: &ImportCrontabArgs, io: &Io<'_>) -> crontab::Options {
    crontab::Options {
        namespace: args.namespace.clone(),
        url: args.url.clone(),
        time_zone: args.tz.clone(),
        system: args.system,
        labels: args.label.iter().cloned().collect(),
        now: io.now,
    }
}

/// A stream of YAML documents, each under the line that it was.
fn print(io: &mut Io<'_>, import: &Import) -> Result<(), Failure> {
    for (place, found) in import.schedules.iter().enumerate() {
        if place > 0 {
            writeln!(io.out, "---")?;
        }
        writeln!(io.out, "# line {}: {}", found.line, plain(&found.source))?;
        write!(io.out, "{}", document::yaml(&found.draft.to_json())?)?;
    }
    Ok(())
}

async fn apply(connection: &Connect, file: &str, import: Import, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(connection)?;
    let document = |found: crate::import::Found| {
        let name = ScheduleName::new(&found.draft.namespace, &found.draft.name).map_err(|bad| {
            Failure::usage(format!("line {}: the {} {}", found.line, bad.segment, bad.why), "")
        })?;
        Ok(Document { origin: format!("{file}, line {}", found.line), name, body: found.draft.to_json() })
    };
    let documents: Result<Vec<Document>, Failure> = import.schedules.into_iter().map(document).collect();
    put_each(&client, &documents?, &Condition::None, Format::Table, io).await
}

/// `crontab:12:3: lost: …`, as compilers write it, so that editors jump there.
fn tell(io: &mut Io<'_>, file: &str, remark: &Remark) {
    let column = remark.column.map(|column| format!(":{column}")).unwrap_or_default();
    let weight = match remark.weight {
        Weight::Lost => io.paint("1;31", "not carried over:"),
        Weight::Dropped => io.paint("33", "left out:"),
        Weight::Advice => io.paint("36", "note:"),
    };
    io.say(&format!("{}:{}{column}: {weight} {}", plain(file), remark.line, plain(&remark.detail)));
    if !remark.hint.is_empty() {
        io.say(&format!("  hint: {}", plain(&remark.hint)));
    }
}
