//! `campanile import`: schedules on standard output, what could not be carried over on standard error.
//!
//! One frame for every format: read, tell, then print or put. What a format means is in `crate::import`.

use campanile_core::cron::known_zone;
use campanile_core::definition::ScheduleName;
use serde_json::json;

use super::args::{Connect, Format, ImportArgs, ImportCommand, ImportCrontabArgs, ImportFrom};
use super::cell::plain;
use super::failure::{Exit, Failure};
use super::files::Document;
use super::put::{Mode, put_each};
use super::session::{connect, path_of, read_file};
use super::{Io, document};
use crate::client::{Call, Condition};
use crate::import::{Found, Import, Remark, Settings, Unreadable, Weight, crontab, dkron, k8s};

pub(super) async fn run(args: ImportArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    match &args.command {
        ImportCommand::Crontab(crontab) => {
            let options = crontab_options(crontab, io);
            let read = |text: &[u8]| Ok(crontab::read(text, &options));
            carry(&args.connect, &crontab.from, "command lines", read, io).await
        }
        ImportCommand::K8s(k8s) => {
            let settings = settings(&k8s.from, Some(&k8s.url), io);
            carry(&args.connect, &k8s.from, "CronJobs", |text| k8s::read(text, &settings), io).await
        }
        ImportCommand::Dkron(dkron) => {
            let settings = settings(&dkron.from, dkron.url.as_ref(), io);
            carry(&args.connect, &dkron.from, "jobs", |text| dkron::read(text, &settings), io).await
        }
    }
}

/// Reads a file by `read` and does with what came of it as the flags say. `things` are what the file is made of.
async fn carry(
    connection: &Connect,
    from: &ImportFrom,
    things: &str,
    read: impl FnOnce(&[u8]) -> Result<Import, Unreadable>,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    check(from)?;
    let text = read_file(io, &from.file)?;
    let file = from.file.display().to_string();
    let mut import = read(&text).map_err(|why| unreadable(&file, &why))?;
    if import.schedules.is_empty() && import.remarks.is_empty() {
        return Err(Failure::usage(format!("{file}: there is nothing to import"), ""));
    }
    bound_attempts(&mut import, from);
    for remark in &import.remarks {
        tell(io, &file, remark);
    }
    let (count, lost) = (import.schedules.len(), import.lost());
    io.say(&format!("{}: {count} {things} carried over, {lost} not", plain(&file)));
    tell_attempts(&import, io);
    let strictly_lost = from.strict && lost > 0;
    if from.apply && !strictly_lost {
        apply(connection, &file, import, io).await?;
    } else if !from.apply {
        print(io, &import)?;
    }
    if strictly_lost { Err(Failure::Said(Exit::Failed)) } else { Ok(()) }
}

fn check(from: &ImportFrom) -> Result<(), Failure> {
    if let Some(Err(bad)) = from.namespace.as_ref().map(|namespace| ScheduleName::new(namespace, "x")) {
        return Err(Failure::usage(format!("--namespace {}", bad.why), ""));
    }
    if let Some(zone) = from.tz.as_ref().filter(|zone| !known_zone(zone)) {
        return Err(Failure::usage(format!("--tz {zone:?} is not a time zone"), "such as Europe/Berlin"));
    }
    Ok(())
}

fn crontab_options(args: &ImportCrontabArgs, io: &Io<'_>) -> crontab::Options {
    crontab::Options {
        namespace: args.from.namespace.clone().unwrap_or_else(|| "default".to_owned()),
        url: args.url.clone(),
        time_zone: args.from.tz.clone().unwrap_or_else(|| "UTC".to_owned()),
        system: args.system,
        labels: args.from.label.iter().cloned().collect(),
        now: io.now,
    }
}

fn settings(from: &ImportFrom, url: Option<&String>, io: &Io<'_>) -> Settings {
    Settings {
        namespace: from.namespace.clone(),
        url: url.cloned(),
        time_zone: from.tz.clone(),
        labels: from.label.iter().cloned().collect(),
        now: io.now,
    }
}

fn unreadable(file: &str, why: &Unreadable) -> Failure {
    let place = why.place.map(|place| {
        let column = place.column.map(|column| format!(":{column}")).unwrap_or_default();
        format!("{}{column}:", place.line)
    });
    Failure::usage(format!("{file}:{} {}", place.unwrap_or_default(), why.detail), "")
}

fn bound_attempts(import: &mut Import, from: &ImportFrom) {
    let Some(limit) = from.attempt_timeout else { return };
    for webhook in import.schedules.iter_mut().filter_map(|found| found.draft.webhook_mut()) {
        webhook.timeout.get_or_insert_with(|| limit.to_string());
    }
}

/// What runs for minutes elsewhere would be given up, and tried again, beside itself.
fn tell_attempts(import: &Import, io: &mut Io<'_>) {
    let webhooks = import.schedules.iter().filter_map(|found| found.draft.webhook());
    let bare = webhooks.filter(|webhook| webhook.timeout.is_none()).count();
    if bare > 0 {
        let note = io.paint("36", "note:");
        io.say(&format!("{note} {bare} of them do not say how long an attempt may take: it is 30s then"));
        io.say("  hint: --attempt-timeout 15m, or answer at once and run the rest behind it");
    }
}

/// A stream of YAML documents, each under what it was.
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
    let (paused, running): (Vec<Found>, Vec<Found>) =
        import.schedules.into_iter().partition(|found| found.paused);
    put_each(&client, &documents(file, running)?, &Condition::None, Mode::Real, Format::Table, io).await?;
    // Each is paused as soon as it is there, and none is put once one could not be.
    for document in documents(file, paused)? {
        put_each(&client, std::slice::from_ref(&document), &Condition::None, Mode::Real, Format::Table, io)
            .await?;
        let body = json!({ "note": "it did not run where it was imported from" });
        client.send(&Call::post(format!("{}/pause", path_of(&document.name)), body)).await?;
        writeln!(io.out, "paused {}", document.name)?;
    }
    Ok(())
}

fn documents(file: &str, schedules: Vec<Found>) -> Result<Vec<Document>, Failure> {
    let document = |found: Found| {
        let name = ScheduleName::new(&found.draft.namespace, &found.draft.name).map_err(|bad| {
            Failure::usage(format!("line {}: the {} {}", found.line, bad.segment, bad.why), "")
        })?;
        Ok(Document { origin: format!("{file}, line {}", found.line), name, body: found.draft.to_json() })
    };
    schedules.into_iter().map(document).collect()
}

/// `crontab:12:3: left out: …`, as compilers write it, so that editors jump there.
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
