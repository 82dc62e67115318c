//! What is allowed in a cron text and probably not meant.
//!
//! Must not refuse anything: a warning is shown when a schedule is created, and forgotten.

use super::field::Field;
use super::parsed::Parsed;
use super::search::second_after;
use super::wall::{DAY, Wall};
use super::zone::{FIRST, LAST, Shift};
use super::{Class, DstGap, DstOverlap};
use crate::time::Timestamp;

/// More firings an hour than this are probably a seconds field that was meant to be minutes.
const MANY_AN_HOUR: u64 = 600;
/// How far ahead time changes are looked for, in seconds: a leap year.
const HORIZON: i64 = 366 * DAY;

/// Something that is allowed and probably not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronWarning {
    /// Stable: `both_day_fields`, `many_firings`, `uneven_step`, `dst_gap` or `dst_overlap`.
    pub code: &'static str,
    /// A sentence for the person who wrote the text, lower case, without a full stop.
    pub message: String,
}

/// All warnings, at most one of a code but for `uneven_step`, of which there is one a field at most.
pub(super) fn warnings(cron: &Parsed, now: Timestamp) -> Vec<CronWarning> {
    let mut warnings = Vec::new();
    if cron.either_day {
        warnings.push(CronWarning {
            code: "both_day_fields",
            message: "day of month and day of week are both restricted: a day matches if either does; \
                      write `+` before the day of week, or set day_match to \"all\", if both must"
                .to_owned(),
        });
    }
    warnings.extend(many_firings(cron));
    warnings.extend(uneven_steps(cron));
    warnings.extend(time_changes(cron, now));
    warnings
}

fn many_firings(cron: &Parsed) -> Option<CronWarning> {
    let an_hour = cron.pattern.times.per_hour();
    (cron.with_seconds && an_hour > MANY_AN_HOUR).then(|| CronWarning {
        code: "many_firings",
        message: format!(
            "six fields begin with seconds, and this makes {an_hour} firings an hour; \
             write 0 as the first field if you meant minutes"
        ),
    })
}

fn uneven_steps(cron: &Parsed) -> impl Iterator<Item = CronWarning> {
    let mut steps = cron.uneven.clone();
    steps.dedup_by_key(|uneven| uneven.field);
    steps.into_iter().map(|uneven| {
        let (field, step) = (uneven.field.name(), uneven.step);
        let turn = match uneven.field {
            Field::Second => "minute",
            Field::Minute => "hour",
            Field::Hour => "day",
            Field::DayOfMonth => "month",
            Field::Month => "year",
            Field::DayOfWeek => "week",
        };
        let message = format!(
            "`*/{step}` does not divide the {field} field: it begins anew each {turn}, so not all distances are the same; \
             for even distances use an `every` spec"
        );
        CronWarning { code: "uneven_step", message }
    })
}

/// The first gap and the first overlap that a nominal wall time falls into.
fn time_changes(cron: &Parsed, now: Timestamp) -> Vec<CronWarning> {
    // A wildcard over all hours follows elapsed time, so that a change neither drops nor adds anything one would miss.
    if cron.class == Class::Wildcard && cron.pattern.times.hours == Field::Hour.all() {
        return Vec::new();
    }
    let (mut gap, mut overlap) = (None, None);
    let mut from = second_after(now).clamp(FIRST, LAST);
    let end = (from + HORIZON).min(LAST);
    while let Some(shift) = cron.zone.segment_at(from).closed.filter(|shift| shift.at <= end) {
        gap = gap.or_else(|| in_gap(cron, &shift));
        overlap = overlap.or_else(|| in_overlap(cron, &shift));
        from = shift.at;
    }
    gap.into_iter().chain(overlap).collect()
}

fn in_gap(cron: &Parsed, shift: &Shift) -> Option<CronWarning> {
    let gap = shift.gap()?;
    let wall = cron.pattern.next(gap.start).filter(|wall| *wall < gap.end)?;
    let what = match (cron.class, cron.dst_gap) {
        (Class::Fixed, DstGap::RunAfter) if cron.pattern.contains(gap.end) => {
            format!("it is one with the run at {}", gap.end.clock())
        }
        (Class::Fixed, DstGap::RunAfter) => format!("it runs at {} instead", gap.end.clock()),
        _ => "it does not run".to_owned(),
    };
    Some(warning("dst_gap", cron, wall, "does not exist", &what))
}

fn in_overlap(cron: &Parsed, shift: &Shift) -> Option<CronWarning> {
    let repeated = shift.repeated();
    let wall = cron.pattern.next(repeated.start).filter(|wall| *wall < repeated.end)?;
    let what = match (cron.class, cron.dst_overlap) {
        (Class::Fixed, DstOverlap::First) => "it runs in the first pass only",
        (Class::Fixed, DstOverlap::Second) => "it runs in the second pass only",
        _ => "it runs both times",
    };
    Some(warning("dst_overlap", cron, wall, "comes twice", what))
}

fn warning(code: &'static str, cron: &Parsed, wall: Wall, happens: &str, what: &str) -> CronWarning {
    let message =
        format!("{} {happens} in {} because clocks are moved: {what}", wall.text(), cron.zone.name());
    CronWarning { code, message }
}

#[cfg(test)]
mod tests {
    use crate::cron::{Cron, CronText, DayMatch, DstGap, DstOverlap, parse_instant};

    const NOW: &str = "2026-12-01T00:00:00Z";

    fn spec<'a>(text: &'a str, time_zone: &'a str) -> CronText<'a> {
        CronText {
            text,
            time_zone,
            day_match: DayMatch::Any,
            dst_gap: DstGap::RunAfter,
            dst_overlap: DstOverlap::First,
        }
    }

    fn codes_of(spec: &CronText<'_>, now: &str) -> Vec<&'static str> {
        let now = parse_instant(now).expect("an instant");
        let warnings = Cron::parse(spec).expect(spec.text).warnings(now);
        warnings.into_iter().map(|warning| warning.code).collect()
    }

    fn codes(text: &str, time_zone: &str) -> Vec<&'static str> {
        codes_of(&spec(text, time_zone), NOW)
    }

    #[test]
    fn two_restricted_day_fields_of_which_either_is_enough_are_warned_of() {
        for (text, warned) in [
            ("0 0 13 * 5", true),
            ("0 0 1-31 * 5", true),
            ("0 0 L * MON#1", true),
            ("0 0 13 * 0-6", true),
            ("0 0 13 * *", false),
            ("0 0 * * 5", false),
            ("0 0 ? * 5", false),
            ("0 0 13 * +5", false),
            // A field that begins with `*` is not restricted; the step has its own warning.
            ("0 0 */31 * 5", false),
            ("0 0 13 * */7", false),
        ] {
            assert_eq!(codes(text, "UTC").contains(&"both_day_fields"), warned, "{text}");
        }
        let all = CronText { day_match: DayMatch::All, ..spec("0 0 13 * 5", "UTC") };
        assert_eq!(codes_of(&all, NOW), [""; 0], "who asked for both is not warned");
    }

    #[test]
    fn a_seconds_field_that_makes_more_than_600_firings_an_hour_is_warned_of() {
        for (text, warned) in [
            ("* * * * * *", true),
            ("*/5 * * * * *", true),
            ("0-10 * * * * *", true),
            ("0-9 * * * * *", false),
            ("*/6 * * * * *", false),
            ("* 0-9 * * * *", false),
            ("* 0-10 * * * *", true),
            ("* 0-10 0 1 1 *", true),
            ("0 * * * * *", false),
            ("* * * * *", false),
        ] {
            assert_eq!(codes(text, "UTC").contains(&"many_firings"), warned, "{text}");
        }
    }

    #[test]
    fn a_nominal_in_a_gap_or_an_overlap_of_the_next_year_is_warned_of() {
        let (gap, overlap) = ("dst_gap", "dst_overlap");
        for (text, time_zone, now, expected) in [
            ("30 2 * * *", "Europe/Berlin", NOW, vec![gap, overlap]),
            ("0 2 * * *", "Europe/Berlin", NOW, vec![gap, overlap]),
            ("0 3 * * *", "Europe/Berlin", NOW, vec![]),
            ("59 1 * * *", "Europe/Berlin", NOW, vec![]),
            ("59 59 2 * * *", "Europe/Berlin", NOW, vec![gap, overlap]),
            // The gap is on the 28th in 2027, on the 26th in 2028 and on the 31st in 2030.
            ("30 2 28 3 *", "Europe/Berlin", NOW, vec![gap]),
            ("30 2 26 3 *", "Europe/Berlin", NOW, vec![]),
            ("30 2 26 3 *", "Europe/Berlin", "2027-03-28T01:00:00Z", vec![gap]),
            ("30 2 31 3 *", "Europe/Berlin", NOW, vec![]),
            ("30 2 31 3 *", "Europe/Berlin", "2029-12-01T00:00:00Z", vec![gap]),
            ("30 2 31 10 *", "Europe/Berlin", NOW, vec![overlap]),
            // The days of the wall clock count: the gap of Nuuk is on a Saturday evening.
            ("30 23 * * 6", "America/Nuuk", NOW, vec![gap, overlap]),
            ("30 23 * * 0", "America/Nuuk", NOW, vec![]),
            ("15 2 * * *", "Australia/Lord_Howe", NOW, vec![gap]),
            ("45 1 * * *", "Australia/Lord_Howe", NOW, vec![overlap]),
            ("30 2 * * *", "America/Sao_Paulo", NOW, vec![]),
            ("30 0 * * *", "America/Sao_Paulo", "2018-06-01T00:00:00Z", vec![gap]),
            // Every real hour is run in, as one expects of it.
            ("*/15 * * * *", "Europe/Berlin", NOW, vec![]),
            ("@hourly", "Europe/Berlin", NOW, vec![]),
            ("0 0-23 * * *", "Europe/Berlin", NOW, vec![gap, overlap]),
            ("0 */2 * * *", "Europe/Berlin", NOW, vec![gap, overlap]),
        ] {
            assert_eq!(codes_of(&spec(text, time_zone), now), expected, "{text} in {time_zone} from {now}");
        }
    }

    #[test]
    fn a_step_that_does_not_divide_its_field_is_warned_of_once_a_field() {
        for (text, fields) in [
            ("*/7 * * * *", 1),
            ("*/7,*/11 * * * *", 1),
            ("*/7 */5 * * *", 2),
            ("*/15 */6 * */3 *", 0),
            ("0 0 */2 * *", 1),
            ("0 0 * */5 *", 1),
            ("0 0 * * */2", 1),
            ("0 0 * * */7", 0),
            ("*/9 0 * * * *", 1),
            ("0-59/7 * * * *", 0),
            ("*/60 * * * *", 0),
        ] {
            assert_eq!(codes(text, "UTC"), vec!["uneven_step"; fields], "{text}");
        }
    }

    #[test]
    fn what_becomes_of_a_time_in_a_gap_is_told() {
        for (text, dst_gap, told) in [
            ("30 2 * 3 *", DstGap::RunAfter, "it runs at 03:00 instead"),
            ("0 2,3 * 3 *", DstGap::RunAfter, "it is one with the run at 03:00"),
            ("0 2,3 * 3 *", DstGap::Skip, "it does not run"),
            ("*/30 2 * 3 *", DstGap::RunAfter, "it does not run"),
        ] {
            let cron = Cron::parse(&CronText { dst_gap, ..spec(text, "Europe/Berlin") }).expect(text);
            let warnings = cron.warnings(parse_instant(NOW).expect("an instant"));
            assert!(warnings[0].message.ends_with(told), "{text}: {warnings:?}");
        }
    }

    #[test]
    fn each_surprise_has_its_warning_and_ordinary_texts_have_none() {
        for (text, time_zone, expected) in [
            ("30 4 * * *", "Europe/Berlin", vec![]),
            ("*/5 * * * *", "Europe/Berlin", vec![]),
            ("0 0 13 * 5", "UTC", vec!["both_day_fields"]),
            ("0 0 13 * +5", "UTC", vec![]),
            ("0 0 */2 * MON", "UTC", vec!["uneven_step"]),
            ("* * */12 * * *", "UTC", vec!["many_firings"]),
            ("*/6 * * * * *", "UTC", vec![]),
            ("*/40 */5 * * *", "UTC", vec!["uneven_step", "uneven_step"]),
            ("30 2 * * *", "Europe/Berlin", vec!["dst_gap", "dst_overlap"]),
            ("*/15 2 * * *", "Europe/Berlin", vec!["dst_gap", "dst_overlap"]),
            ("30 2 * 3 *", "Europe/Berlin", vec!["dst_gap"]),
            ("30 1 * * *", "America/New_York", vec!["dst_overlap"]),
            ("30 2 * * *", "Asia/Tokyo", vec![]),
        ] {
            assert_eq!(codes(text, time_zone), expected, "{text}");
        }
    }

    #[test]
    fn the_warning_of_a_gap_tells_the_day_and_what_happens() {
        let spec = CronText { dst_overlap: DstOverlap::Second, ..spec("30 2 * * *", "Europe/Berlin") };
        let now = parse_instant(NOW).expect("an instant");
        let messages: Vec<String> = Cron::parse(&spec)
            .expect("parses")
            .warnings(now)
            .into_iter()
            .map(|warning| warning.message)
            .collect();
        assert_eq!(
            messages,
            [
                "2027-03-28 02:30 does not exist in Europe/Berlin because clocks are moved: it runs at 03:00 instead",
                "2027-10-31 02:30 comes twice in Europe/Berlin because clocks are moved: it runs in the second pass only",
            ]
        );
    }
}
