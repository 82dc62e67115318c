//! `campanile explain`: what a pattern or a rule means, without a cluster.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use campanile_core::calendar::{Calendar, parse_date};
use campanile_core::cron::{
    CronError, CronErrorKind, DayMatch, DstGap, DstOverlap, instant_text, local_text,
};
use campanile_core::english;
use campanile_core::ical;
use campanile_core::id::LogIndex;
use campanile_core::series::{Calendars, List, Series, Texts};
use campanile_core::spec::{CronSpec, Exclusion, RuleSpec, Spec, Window};
use serde_json::{Value, json};

use super::args::ExplainArgs;
use super::failure::{Exit, Failure};
use super::session::read_file;
use super::{Io, cell, preview};

/// How an iCalendar file among the exclusions ends.
const ICAL: &str = ".ics";

pub(super) fn run(args: &ExplainArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let spec = spec(args)?;
    let (exclude, files) = exclusions(args, io)?;
    let mut texts = Texts::default();
    let series =
        Series::of_specs(std::slice::from_ref(&spec), &exclude, Window::default(), &files, &mut texts);
    match series {
        Ok(series) => {
            preview::print(io, args.output.format, &answer(args, &spec, &exclude, &series, &mut texts, io))
        }
        Err(bad) => {
            let text = match bad.list {
                List::Specs => &args.cron,
                List::Exclude => &args.exclude[bad.place],
            };
            tell(io, text, &bad.error);
            Err(Failure::Said(Exit::Failed))
        }
    }
}

/// A rule says so, or begins as every rule must; everything else is a cron pattern.
fn spec(args: &ExplainArgs) -> Result<Spec, Failure> {
    let upper = args.cron.trim_start().to_ascii_uppercase();
    let dst_gap = if args.dst_gap == "skip" { DstGap::Skip } else { DstGap::RunAfter };
    let dst_overlap = match args.dst_overlap.as_str() {
        "second" => DstOverlap::Second,
        "both" => DstOverlap::Both,
        _ => DstOverlap::First,
    };
    let is_rule = upper.starts_with("RRULE:") || upper.starts_with("FREQ=");
    match (&args.start, is_rule) {
        (Some(start), true) => Ok(Spec::Rule(Box::new(RuleSpec {
            rule: args.cron.trim_start().into(),
            start: start.as_str().into(),
            time_zone: args.tz.as_str().into(),
            dst_gap,
            dst_overlap,
        }))),
        (None, true) => Err(Failure::usage(
            "a rule counts from a local date and time, and none is given",
            "add --start 2026-01-30T09:00:00",
        )),
        (Some(_), false) => {
            Err(Failure::usage("--start belongs to a rule, and this is a cron pattern", "leave it out"))
        }
        (None, false) => Ok(Spec::Cron(Box::new(CronSpec {
            text: args.cron.as_str().into(),
            time_zone: args.tz.as_str().into(),
            day_match: if args.day_match == "all" { DayMatch::All } else { DayMatch::Any },
            dst_gap,
            dst_overlap,
        }))),
    }
}

/// Calendars from files, by their paths.
struct Files(BTreeMap<String, Arc<Calendar>>);

impl Calendars for Files {
    fn calendar(&self, name: &str) -> Option<Arc<Calendar>> {
        self.0.get(name).cloned()
    }

    fn changed_at(&self) -> LogIndex {
        LogIndex(0)
    }
}

/// Dates, iCalendar files, or patterns.
fn exclusions(args: &ExplainArgs, io: &mut Io<'_>) -> Result<(Vec<Exclusion>, Files), Failure> {
    let (mut exclude, mut files) = (Vec::new(), Files(BTreeMap::new()));
    for text in &args.exclude {
        let dates: Option<Vec<i32>> = text.split(',').map(|date| parse_date(date.trim())).collect();
        exclude.push(if let Some(mut dates) = dates {
            dates.sort_unstable();
            dates.dedup();
            Exclusion::Dates { dates: dates.into(), time_zone: None }
        } else if text.to_ascii_lowercase().ends_with(ICAL) {
            files.0.insert(text.clone(), Arc::new(calendar(io, text)?));
            Exclusion::Calendar { name: text.as_str().into(), time_zone: None }
        } else {
            Exclusion::Cron(Box::new(CronSpec {
                text: text.as_str().into(),
                time_zone: args.tz.as_str().into(),
                day_match: DayMatch::Any,
                dst_gap: DstGap::RunAfter,
                dst_overlap: DstOverlap::First,
            }))
        });
    }
    Ok((exclude, files))
}

fn calendar(io: &mut Io<'_>, path: &str) -> Result<Calendar, Failure> {
    let bytes = read_file(io, Path::new(path))?;
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{path} is not UTF-8 text"), ""))?;
    let (calendar, remarks) = ical::read(&text, io.now).map_err(|bad| {
        let line = bad.line.map(|line| format!(":{line}")).unwrap_or_default();
        Failure::usage(format!("{path}{line}: {bad}"), bad.hint)
    })?;
    for remark in remarks {
        io.say(&cell::plain(&format!("{path}:{}: {}", remark.line, remark.message)));
    }
    Ok(calendar)
}

/// The same shape as `POST /v1/preview`.
fn answer(
    args: &ExplainArgs,
    spec: &Spec,
    exclude: &[Exclusion],
    series: &Series,
    texts: &mut Texts,
    io: &Io<'_>,
) -> Value {
    let after = args.after.unwrap_or(io.now);
    let all = std::iter::successors(series.next(after), |last| series.next(last.at));
    let next: Vec<Value> = all
        .take(usize::from(args.count))
        .map(|next| json!({ "nominal": instant_text(next.at), "local": local_text(next.at, &args.tz), "note": next.note.as_str() }))
        .collect();
    let found = match spec {
        Spec::Cron(cron) => texts.crons.get(&cron.as_text()).map(|cron| cron.warnings(io.now)),
        Spec::Rule(rule) => texts.rules.get(&rule.as_text()).map(|rule| rule.warnings(io.now)),
        Spec::Every { .. } | Spec::At(_) => Ok(Vec::new()),
    };
    let mut warnings: Vec<Value> = found
        .unwrap_or_default()
        .iter()
        .map(|warning| json!({ "code": warning.code, "message": warning.message }))
        .collect();
    if next.is_empty() && !exclude.is_empty() {
        warnings.push(json!({ "code": "all_excluded", "message": "the exclusions leave out everything" }));
    }
    json!({ "text": english::describe(std::slice::from_ref(spec), exclude, texts), "next": next, "warnings": warnings })
}

/// The text with a mark under the place at which it went wrong.
fn tell(io: &mut Io<'_>, text: &str, error: &CronError) {
    let word = io.paint("1;31", "error:");
    io.say(&format!("{word} {}", cell::plain(&error.detail)));
    if let (CronErrorKind::Cron, Some(column)) = (error.kind, error.column) {
        // Escaped characters before the mark would move it.
        let before = cell::plain(&text.chars().take(column as usize - 1).collect::<String>());
        io.say(&format!("  {}", cell::plain(text)));
        io.say(&format!("  {}^ column {column}", " ".repeat(before.chars().count())));
    }
    if !error.hint.is_empty() {
        io.say(&format!("  hint: {}", cell::plain(&error.hint)));
    }
}
