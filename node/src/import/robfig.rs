//! When a job of a Go scheduler runs: the texts of `robfig/cron` 3, which Kubernetes and Dkron share.
//!
//! Three things differ from ours, and a text is rewritten where that keeps its meaning: `?` is `*` in every field, `5/10`
//! runs from 5 to the end of the field, and a step takes the star's freedom (`*/2` restricts the days). What cannot be
//! written otherwise is told: daylight saving, and where an interval begins.

mod field;

mod interval;

use campanile_core::cron::{Class, Cron, CronText, DayMatch, DstGap, DstOverlap, known_zone};
use campanile_core::time::{Span, Timestamp};

use crate::client::draft::SpecDraft;
use field::Field;
pub(super) use interval::duration;

/// How a text is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dialect<'a> {
    /// Who wrote it, for messages.
    pub(super) scheduler: &'a str,
    /// Whether seconds stand before the five fields.
    pub(super) seconds: bool,
    /// The zone of a text that names none.
    pub(super) time_zone: &'a str,
    /// For what the year ahead brings.
    pub(super) now: Timestamp,
}

/// When it runs, and what to know of that.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct When {
    pub(super) spec: SpecDraft,
    /// A detail and a hint each.
    pub(super) advice: Vec<(String, String)>,
    /// Whether the zone stood in the text.
    pub(super) names_zone: bool,
}

/// Why it cannot be known when it runs: a detail and a hint.
pub(super) type Refusal = (String, String);

/// Reads a text.
pub(super) fn read(text: &str, dialect: &Dialect<'_>) -> Result<When, Refusal> {
    let (zone, rest) = split_zone(text.trim())?;
    let time_zone = zone.unwrap_or(dialect.time_zone);
    if !known_zone(time_zone) {
        return Err((
            format!("{time_zone:?} is not a time zone"),
            "use an IANA name such as Europe/Berlin".into(),
        ));
    }
    if let Some(length) = rest.strip_prefix("@every ") {
        return every(length.trim(), dialect, zone.is_some());
    }
    let written = if rest.starts_with('@') { rest.to_owned() } else { rewrite(rest, dialect)? };
    let cron = parse(&written, time_zone)?;
    let mut advice = Vec::new();
    if written != rest.split_whitespace().collect::<Vec<_>>().join(" ") {
        advice
            .push((format!("{rest:?} is written as {written:?}, which means the same here"), String::new()));
    }
    advice.extend(warnings(&cron, dialect));
    Ok(When { spec: SpecDraft::cron(&written, time_zone), advice, names_zone: zone.is_some() })
}

/// Parts `CRON_TZ=Zone` from what follows it.
fn split_zone(text: &str) -> Result<(Option<&str>, &str), Refusal> {
    let Some(after) = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ=")) else {
        return Ok((None, text));
    };
    match after.split_once(char::is_whitespace) {
        Some((zone, rest)) => Ok((Some(zone), rest.trim())),
        None => Err(("a time zone and nothing after it".into(), "write the fields behind it".into())),
    }
}

fn every(length: &str, dialect: &Dialect<'_>, names_zone: bool) -> Result<When, Refusal> {
    let Some(exact) = duration(length) else {
        return Err((format!("{length:?} is no duration"), "write it like 90s, 15m or 1h30m".into()));
    };
    // Whole seconds, and at least one: so the original rounds.
    let every = Span::from_secs((exact.as_millis() / 1000).max(1));
    let detail = format!(
        "every {every} is counted from the Unix epoch; {} counts from when it starts",
        dialect.scheduler
    );
    let advice = vec![(detail, "add an \"anchor\" to the spec to move it".into())];
    Ok(When { spec: SpecDraft::every(every), advice, names_zone })
}

fn rewrite(text: &str, dialect: &Dialect<'_>) -> Result<String, Refusal> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let fields = if dialect.seconds { &Field::ALL[..] } else { &Field::ALL[1..] };
    if words.len() != fields.len() {
        let order = fields.iter().map(|field| field.name).collect::<Vec<_>>().join(" ");
        let detail = format!("{} fields, where {} has {}", words.len(), dialect.scheduler, fields.len());
        return Err((detail, format!("the fields are: {order}")));
    }
    let days = [words[words.len() - 3], words[words.len() - 1]];
    let both_restricted = days.iter().all(|day| !field::is_star(day));
    let written = fields.iter().zip(words).map(|(field, word)| field.rewrite(word, both_restricted));
    Ok(written.collect::<Vec<_>>().join(" "))
}

fn parse(text: &str, time_zone: &str) -> Result<Cron, Refusal> {
    Cron::parse(&CronText {
        text,
        time_zone,
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    })
    .map_err(|error| {
        let column = error.column.map(|column| format!(", column {column}")).unwrap_or_default();
        (format!("{text:?}{column}: {}", error.detail), error.hint)
    })
}

/// What a user of the original would not expect.
fn warnings(cron: &Cron, dialect: &Dialect<'_>) -> Vec<(String, String)> {
    let fixed = cron.class() == Class::Fixed;
    let hint = |code: &str| match code {
        "dst_gap" if fixed => {
            format!("{} does not run it on that day; \"dst_gap\": \"skip\" keeps that", dialect.scheduler)
        }
        "dst_overlap" if fixed => {
            format!("{} runs it both times; \"dst_overlap\": \"both\" keeps that", dialect.scheduler)
        }
        _ => String::new(),
    };
    // Six fields are what such a scheduler has, so seconds are meant.
    let warnings = cron.warnings(dialect.now).into_iter().filter(|warning| warning.code != "many_firings");
    warnings.map(|warning| (warning.message, hint(warning.code))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use campanile_core::cron::parse_instant;

    fn read_in(text: &str, seconds: bool) -> Result<When, Refusal> {
        let now = parse_instant("2026-12-01T00:00:00Z").expect("an instant");
        read(text, &Dialect { scheduler: "Kubernetes", seconds, time_zone: "UTC", now })
    }

    fn cron(text: &str, seconds: bool) -> String {
        match read_in(text, seconds).expect(text).spec {
            SpecDraft::Cron { cron, time_zone } => format!("{cron} {time_zone}"),
            SpecDraft::Every { every } => every,
            SpecDraft::At { at } => at,
        }
    }

    #[test]
    fn a_text_keeps_its_meaning() {
        for (text, written) in [
            ("*/5 * * * *", "*/5 * * * * UTC"),
            ("30  2 * *\tMON-FRI", "30 2 * * MON-FRI UTC"),
            ("0 0 ? * MON", "0 0 * * MON UTC"),
            ("? ? * * ?", "* * * * * UTC"),
            ("5/10 * * * *", "5-59/10 * * * * UTC"),
            ("0 20/2 * * *", "0 20-23/2 * * * UTC"),
            ("0 0 * * MON/2", "0 0 * * MON-6/2 UTC"),
            ("*/90 * * * *", "0 * * * * UTC"),
            ("0 8-10/24 * * *", "0 8-10/24 * * * UTC"),
            ("0 8-10/90 * * *", "0 8 * * * UTC"),
            ("0,,30 * * * *", "0,30 * * * * UTC"),
            ("*/1 */1 * * *", "* * * * * UTC"),
            // A step restricts the days there: either may match. With the other one free it does not matter.
            ("0 0 */2 * MON", "0 0 1-31/2 * MON UTC"),
            ("0 0 1 * */2", "0 0 1 * 0-6/2 UTC"),
            ("0 0 */2 * *", "0 0 */2 * * UTC"),
            // A star anywhere in a list frees the field there.
            ("0 0 5,* * MON", "0 0 * * MON UTC"),
            ("TZ=Asia/Tokyo 0 4 * * *", "0 4 * * * Asia/Tokyo"),
            ("CRON_TZ=Asia/Tokyo @daily", "@daily Asia/Tokyo"),
            ("@every 90m", "1h30m"),
            ("@every 1.5s", "1s"),
            ("@every 10ms", "1s"),
        ] {
            assert_eq!(cron(text, false), written, "{text}");
        }
        assert_eq!(cron("*/10 0 3 ? * 1", true), "*/10 0 3 * * 1 UTC");
    }

    #[test]
    fn what_has_no_meaning_says_why() {
        for (text, word) in [
            ("", "0 fields"),
            ("* * * *", "4 fields"),
            ("0 * * * * *", "6 fields"),
            ("61 * * * *", "out of range"),
            ("0 0 31 2 *", "never fires"),
            ("TZ=Nowhere 0 0 * * *", "not a time zone"),
            ("TZ=UTC", "nothing after it"),
            ("@every soon", "no duration"),
            ("@fortnightly", "unknown nickname"),
        ] {
            let (detail, _) = read_in(text, false).expect_err(text);
            assert!(detail.contains(word), "{text}: {detail}");
        }
    }

    #[test]
    fn what_differs_when_clocks_are_moved_is_told_with_the_way_back() {
        let advice = read_in("CRON_TZ=Europe/Berlin 30 2 * * *", false).expect("a pattern").advice;
        let hints: Vec<&str> = advice.iter().map(|(_, hint)| hint.as_str()).collect();
        assert_eq!(
            hints,
            [
                "Kubernetes does not run it on that day; \"dst_gap\": \"skip\" keeps that",
                "Kubernetes runs it both times; \"dst_overlap\": \"both\" keeps that",
            ]
        );
        assert_eq!(read_in("CRON_TZ=Europe/Berlin 30 4 * * *", false).expect("a pattern").advice, []);
    }
}
