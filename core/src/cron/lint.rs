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

    fn codes(text: &str, time_zone: &str) -> Vec<&'static str> {
        let spec = CronText {
            text,
            time_zone,
            day_match: DayMatch::Any,
            dst_gap: DstGap::RunAfter,
            dst_overlap: DstOverlap::First,
        };
        let now = parse_instant("2026-12-01T00:00:00Z").expect("an instant");
        Cron::parse(&spec).expect(text).warnings(now).into_iter().map(|warning| warning.code).collect()
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
        let spec = CronText {
            text: "30 2 * * *",
            time_zone: "Europe/Berlin",
            day_match: DayMatch::Any,
            dst_gap: DstGap::RunAfter,
            dst_overlap: DstOverlap::Second,
        };
        let now = parse_instant("2026-12-01T00:00:00Z").expect("an instant");
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
