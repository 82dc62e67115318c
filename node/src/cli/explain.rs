//! `campanile explain`: what a cron pattern means, without a cluster.

use campanile_core::cron::{
    Cron, CronError, CronErrorKind, CronText, DayMatch, DstGap, DstOverlap, Occurrence, instant_text,
    local_text,
};
use serde_json::{Value, json};

use super::args::ExplainArgs;
use super::failure::{Exit, Failure};
use super::{Io, cell, preview};

pub(super) fn run(args: &ExplainArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let text = CronText {
        text: &args.cron,
        time_zone: &args.tz,
        day_match: if args.day_match == "all" { DayMatch::All } else { DayMatch::Any },
        dst_gap: if args.dst_gap == "skip" { DstGap::Skip } else { DstGap::RunAfter },
        dst_overlap: match args.dst_overlap.as_str() {
            "second" => DstOverlap::Second,
            "both" => DstOverlap::Both,
            _ => DstOverlap::First,
        },
    };
    match Cron::parse(&text) {
        Ok(cron) => preview::print(io, args.output.format, &answer(args, &cron, io)),
        Err(error) => {
            tell(io, &args.cron, &error);
            Err(Failure::Said(Exit::Failed))
        }
    }
}

/// The same shape as `POST /v1/preview`.
fn answer(args: &ExplainArgs, cron: &Cron, io: &Io<'_>) -> Value {
    let mut after = args.after.unwrap_or(io.now);
    let next: Vec<Value> = std::iter::from_fn(|| {
        let next = cron.next(after)?;
        after = next.at;
        Some(instant(next, &args.tz))
    })
    .take(usize::from(args.count))
    .collect();
    let warnings = cron.warnings(io.now);
    let warnings: Vec<Value> =
        warnings.iter().map(|warning| json!({ "code": warning.code, "message": warning.message })).collect();
    json!({ "text": cron.describe(), "next": next, "warnings": warnings })
}

fn instant(next: Occurrence, time_zone: &str) -> Value {
    json!({ "nominal": instant_text(next.at), "local": local_text(next.at, time_zone), "note": next.note.as_str() })
}

/// The pattern with a mark under the place at which it went wrong.
fn tell(io: &mut Io<'_>, cron: &str, error: &CronError) {
    let word = io.paint("1;31", "error:");
    io.say(&format!("{word} {}", cell::plain(&error.detail)));
    if let (CronErrorKind::Cron, Some(column)) = (error.kind, error.column) {
        // Escaped characters before the mark would move it.
        let before = cell::plain(&cron.chars().take(column as usize - 1).collect::<String>());
        io.say(&format!("  {}", cell::plain(cron)));
        io.say(&format!("  {}^ column {column}", " ".repeat(before.chars().count())));
    }
    if !error.hint.is_empty() {
        io.say(&format!("  hint: {}", cell::plain(&error.hint)));
    }
}
