//! `campanile calendar ls, get, put, rm`: named exclusions, shared by schedules.

use std::path::Path;

use serde_json::Value;

use super::args::{CalendarArgs, CalendarCommand, CalendarPutArgs, Format};
use super::cell::at;
use super::failure::Failure;
use super::list::{Column, Kind, pairs};
use super::session::{connect, print_list, print_one, read_file, remove_each, tell_warnings};
use super::{Io, cell, diff};
use crate::client::{Call, Client, Condition};

static CALENDARS: Kind = Kind {
    plural: "calendars",
    columns: &[
        Column { title: "NAME", cell: |calendar| at(calendar, "/name") },
        Column { title: "DATES", cell: |calendar| at(calendar, "/date_count") },
        Column { title: "SPANS", cell: |calendar| at(calendar, "/span_count") },
        Column { title: "USERS", cell: |calendar| at(calendar, "/users") },
        Column { title: "ZONE", cell: |calendar| at(calendar, "/time_zone") },
        Column { title: "DESCRIPTION", cell: |calendar| at(calendar, "/description") },
    ],
    name: |calendar| at(calendar, "/name"),
};

pub(super) async fn run(args: CalendarArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let format = args.output.format;
    match args.command {
        CalendarCommand::Ls { limit } => {
            print_list(&client, Call::get("/v1/calendars"), limit, &CALENDARS, format, io).await
        }
        CalendarCommand::Get { names } => get(&client, &names, format, io).await,
        CalendarCommand::Put(args) => put(&client, &args, format, io).await,
        CalendarCommand::Rm { names } => {
            remove_each(&client, &names, path_of, format, io, |name| format!("removed {name}")).await
        }
    }
}

fn path_of(name: &str) -> String {
    format!("/v1/calendars/{name}")
}

async fn get(client: &Client, names: &[String], format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    for (place, name) in names.iter().enumerate() {
        let answer = client.send(&Call::get(path_of(name))).await?;
        if place > 0 {
            super::schedule::separate(io, format)?;
        }
        print_one(io, format, &answer.body, name, |io, calendar| {
            Ok(pairs(io, overview(calendar, answer.etag.as_deref()))?)
        })?;
    }
    Ok(())
}

fn overview(calendar: &Value, etag: Option<&str>) -> Vec<(&'static str, String)> {
    let list = |field: &str, show: fn(&Value) -> String| {
        let items = calendar.get(field).and_then(Value::as_array);
        items.map(|items| items.iter().map(show).collect::<Vec<_>>().join(", ")).unwrap_or_default()
    };
    let rows = [
        ("Name", at(calendar, "/name")),
        ("Description", at(calendar, "/description")),
        ("Zone", at(calendar, "/time_zone")),
        ("Dates", list("dates", cell::text)),
        ("Spans", list("spans", |span| format!("{} to {}", at(span, "/from"), at(span, "/to")))),
        ("Users", at(calendar, "/users")),
        ("Updated", format!("{} by {}", at(calendar, "/updated_at"), at(calendar, "/updated_by"))),
        ("ETag", etag.unwrap_or_default().to_owned()),
    ];
    rows.into_iter().filter(|(_, text)| !matches!(text.as_str(), "" | cell::NOTHING)).collect()
}

async fn put(
    client: &Client,
    args: &CalendarPutArgs,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let condition = args.if_match.clone().map_or(Condition::None, Condition::Unchanged);
    let call = call(io, &args.name, &args.file)?
        .only_if(condition)
        .query_if("dry_run", args.dry_run.then_some("true"));
    let answer = client.send(&call).await?;
    let name = &args.name;
    print_one(io, format, &answer.body, name, |io, body| match args.dry_run {
        true => would(io, name, body),
        false => {
            let done = if answer.status == 201 { "created" } else { "put" };
            Ok(writeln!(io.out, "{done} {name}")?)
        }
    })?;
    tell_warnings(io, name, answer.body.get("warnings"));
    for remark in answer.body.get("remarks").and_then(Value::as_array).into_iter().flatten() {
        let line = match remark.get("line").and_then(Value::as_u64) {
            None | Some(0) => String::new(),
            Some(line) => format!(":{line}"),
        };
        io.say(&cell::plain(&format!("{}{line}: {}", args.file.display(), at(remark, "/message"))));
    }
    Ok(())
}

/// The request for a file: iCalendar as it is, YAML or JSON as JSON.
fn call(io: &mut Io<'_>, name: &str, file: &Path) -> Result<Call, Failure> {
    let bytes = read_file(io, file)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{} is not UTF-8 text", file.display()), ""))?;
    let is_ical = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ics"))
        || text
            .trim_start_matches('\u{feff}')
            .trim_start()
            .get(..15)
            .is_some_and(|head| head.eq_ignore_ascii_case("BEGIN:VCALENDAR"));
    if is_ical {
        return Ok(Call::put_text(path_of(name), text, "text/calendar"));
    }
    let body: Value = serde_saphyr::from_str(&text)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display()), ""))?;
    Ok(Call::put(path_of(name), body))
}

fn would(io: &mut Io<'_>, name: &str, body: &Value) -> Result<(), Failure> {
    let sizes = format!("{} dates, {} spans", at(body, "/date_count"), at(body, "/span_count"));
    writeln!(io.out, "{name}: {}, {sizes}", at(body, "/change"))?;
    let (users, looked_at) = (at(body, "/users"), at(body, "/looked_at"));
    let moved = body.get("moved").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    writeln!(io.out, "{users} schedules name it, {looked_at} looked at, ticks of {} move", moved.len())?;
    for schedule in moved {
        writeln!(io.out, "~ {}", at(schedule, "/schedule"))?;
        diff::ticks(io, schedule.get("ticks"))?;
    }
    Ok(())
}
