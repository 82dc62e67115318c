//! `campanile explain NAMESPACE/NAME --at INSTANT`: why a schedule ran, or did not.

use campanile_core::cron::instant_text;
use campanile_core::definition::ScheduleName;
use serde_json::Value;

use super::Io;
use super::args::{ExplainArgs, Format};
use super::cell::{at, plain};
use super::failure::Failure;
use super::list::{Column, Kind, List, pairs};
use super::session::{connect, print_one};
use crate::client::Call;

static HOPS: Kind = Kind {
    plural: "steps",
    columns: &[
        Column { title: "STEP", cell: |hop| at(hop, "/to") },
        Column { title: "ATTEMPT", cell: |hop| at(hop, "/attempt") },
        Column { title: "AT", cell: |hop| at(hop, "/at") },
        Column { title: "TOOK", cell: |hop| format!("{} ms", at(hop, "/ms")) },
        Column { title: "BECAUSE", cell: |hop| at(hop, "/because") },
    ],
    name: |hop| at(hop, "/to"),
};

/// The schedule that is asked about: with `--at` always, without by the form of the text. A pattern has blanks or begins
/// with `@`, and a rule has `=`, which no name has.
///
/// # Errors
/// A text that is no name, with `--at`.
pub(super) fn asked(args: &ExplainArgs) -> Result<Option<ScheduleName>, Failure> {
    let text = args.cron.trim();
    match ScheduleName::parse(text) {
        Ok(name) if args.at.is_some() || text.contains('/') => Ok(Some(name)),
        Err(bad) if args.at.is_some() => Err(Failure::usage(
            format!("--at asks about a schedule, and {text:?} names none: the {} {}", bad.segment, bad.why),
            "write it like billing/invoice-run; leave --at out to ask about a pattern",
        )),
        _ => Ok(None),
    }
}

pub(super) async fn run(args: &ExplainArgs, name: &ScheduleName, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let about = Call::get(format!("/v1/explain/{}/{}", name.namespace(), name.name()));
    let call = about.clone().query_if("at", args.at.map(instant_text));
    let mut answer = client.send(&call).await?.body;
    // Now is hardly ever an instant of a schedule: the newest that has come is what is meant.
    let newest = answer["nearest"]["before"].as_str().filter(|_| answer["verdict"] == "not_nominal");
    if let Some(newest) = newest.filter(|_| args.at.is_none()) {
        let of_newest = client.send(&about.query("at", newest)).await?.body;
        if of_newest["verdict"] != "not_created" {
            answer = of_newest;
        }
    }
    let verdict = at(&answer, "/verdict");
    print_one(io, args.output.format, &answer, &verdict, table)
}

fn table(io: &mut Io<'_>, answer: &Value) -> Result<(), Failure> {
    let text = answer.get("text").and_then(Value::as_str).unwrap_or_default();
    writeln!(io.out, "{}\n", plain(text))?;
    let rows = [
        ("Schedule", at(answer, "/schedule")),
        ("At", at(answer, "/at")),
        ("Local", at(answer, "/local")),
        ("Verdict", at(answer, "/verdict")),
        ("Revision", at(answer, "/definition/revision")),
        ("Mark before", at(answer, "/mark")),
        ("Nearest before", at(answer, "/nearest/before")),
        ("Nearest behind", at(answer, "/nearest/after")),
        ("Firing", at(answer, "/firings/0/id")),
        ("Outage", at(answer, "/outage/id")),
    ];
    pairs(io, rows.into_iter().filter(|(_, text)| text != super::cell::NOTHING))?;
    let hops = answer.get("hops").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if !hops.is_empty() {
        writeln!(io.out)?;
        let mut list = List::new(&HOPS, Format::Table);
        list.page(io, hops)?;
        list.end(io)?;
    }
    Ok(())
}
