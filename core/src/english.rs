//! Specs and exclusions in English: what a schedule says of itself.
//!
//! Two lists with the same text have the same instants (`core/tests/english.rs` holds it); the other way round need not be
//! so. Cron texts and rules are told by their own rooms.

use crate::calendar::date_text;
use crate::cron::instant_text;
use crate::series::Texts;
use crate::spec::{CronSpec, Exclusion, Spec};
use crate::time::{Span, Timestamp};

/// Up to so many dates are told one by one.
const MAX_DATES: usize = 12;

/// The whole of it: `At 02:30 every day, Berlin time, but not on 2026-12-25`.
#[must_use]
pub fn describe(specs: &[Spec], exclude: &[Exclusion], texts: &mut Texts) -> String {
    let when: Vec<String> = specs.iter().map(|spec| of_spec(spec, texts)).collect();
    let mut text = when.join("; ");
    if !exclude.is_empty() {
        let not: Vec<String> = exclude.iter().map(|exclusion| of_exclusion(exclusion, texts)).collect();
        text += &format!(", but not {}", not.join(", nor "));
    }
    text
}

fn of_spec(spec: &Spec, texts: &mut Texts) -> String {
    match spec {
        Spec::Cron(cron) => of_cron(cron, texts),
        Spec::Rule(rule) => match texts.rules.get(&rule.as_text()) {
            Ok(parsed) => parsed.describe(),
            Err(wrong) => format!("{} (cannot be evaluated here: {wrong})", rule.rule),
        },
        Spec::Every { every, anchor } if *anchor == Timestamp::EPOCH => period(*every),
        Spec::Every { every, anchor } => {
            format!("{}, counted from {}", period(*every), instant_text(*anchor))
        }
        Spec::At(at) => format!("Once, at {}", instant_text(*at)),
    }
}

fn of_cron(cron: &CronSpec, texts: &mut Texts) -> String {
    match texts.crons.get(&cron.as_text()) {
        Ok(parsed) => parsed.describe(),
        Err(wrong) => format!("{} (cannot be evaluated here: {wrong})", cron.text),
    }
}

fn of_exclusion(exclusion: &Exclusion, texts: &mut Texts) -> String {
    let in_zone =
        |zone: &Option<Box<str>>| zone.as_ref().map_or_else(String::new, |zone| format!(" ({zone})"));
    match exclusion {
        Exclusion::Cron(cron) => {
            let told = of_cron(cron, texts);
            // Five fields cover whole minutes; a nickname is one of them.
            if cron.text.split_whitespace().count() == 6 {
                return format!("at the seconds of \"{told}\"");
            }
            match told.strip_prefix("Every minute") {
                Some(rest) => format!("in every minute{rest}"),
                None => format!("in the minutes of \"{told}\""),
            }
        }
        Exclusion::Dates { dates, time_zone } => {
            let told: Vec<String> = dates.iter().take(MAX_DATES).map(|date| date_text(*date)).collect();
            let more = match dates.len() - told.len() {
                0 => String::new(),
                more => format!(" and {more} dates more up to {}", date_text(dates[dates.len() - 1])),
            };
            format!("on {}{more}{}", told.join(", "), in_zone(time_zone))
        }
        Exclusion::Calendar { name, time_zone } => {
            format!("when the calendar {name} says so{}", in_zone(time_zone))
        }
    }
}

/// `Every 15 minutes`, `Every 1h30m`.
fn period(every: Span) -> String {
    let millis = every.as_millis();
    let unit = [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second")];
    match unit.into_iter().find(|(size, _)| millis.is_multiple_of(*size)) {
        Some((size, name)) if millis == size => format!("Every {name} of elapsed time"),
        Some((size, name)) => format!("Every {} {name}s of elapsed time", millis / size),
        None => format!("Every {every} of elapsed time"),
    }
}
