//! What a text does when clocks are moved, told only where it does not go without saying and makes a difference.
//!
//! Must say the same of two texts only if they run at the same instants, from the year of the tz data on.

use super::every;
use crate::cron::field::Field;
use crate::cron::parsed::Parsed;
use crate::cron::pattern::Times;
use crate::cron::zone::Shift;
use crate::cron::{Class, DstGap, DstOverlap, horizon};

/// ` (not run when clocks skip it, run both times when clocks repeat it)`, or nothing. In brackets, since the texts of
/// several specs are told with semicolons between them.
pub(super) fn told(cron: &Parsed) -> String {
    let usual = usual(cron.pattern.times);
    let own = Habit::of(cron);
    if own == usual {
        return String::new();
    }
    let (skips, repeats) = touched(cron);
    let gap = (own.gap != usual.gap && skips).then_some(match own.gap {
        DstGap::RunAfter => "run right after when clocks skip it",
        DstGap::Skip => "not run when clocks skip it",
    });
    let overlap = (own.overlap != usual.overlap && repeats).then_some(match own.overlap {
        DstOverlap::First => "run the first time only when clocks repeat it",
        DstOverlap::Second => "run the second time only when clocks repeat it",
        DstOverlap::Both => "run both times when clocks repeat it",
    });
    match gap.into_iter().chain(overlap).collect::<Vec<_>>()[..] {
        [] => String::new(),
        ref parts => format!(" ({})", parts.join(", ")),
    }
}

/// What becomes of a wall time that does not exist or exists twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Habit {
    gap: DstGap,
    overlap: DstOverlap,
}

impl Habit {
    /// Each real instant that matches.
    const WILDCARD: Self = Self { gap: DstGap::Skip, overlap: DstOverlap::Both };
    /// Each day once.
    const FIXED: Self = Self { gap: DstGap::RunAfter, overlap: DstOverlap::First };

    fn of(cron: &Parsed) -> Self {
        match cron.class {
            Class::Wildcard => Self::WILDCARD,
            Class::Fixed => Self { gap: cron.dst_gap, overlap: cron.dst_overlap },
        }
    }
}

/// What goes without saying of these times: a pace goes on through every real hour, a time of day comes once a day.
fn usual(times: Times) -> Habit {
    let pace = [times.minutes, times.seconds].into_iter().any(|set| every(set).is_some());
    if pace || times.hours == Field::Hour.all() { Habit::WILDCARD } else { Habit::FIXED }
}

/// Whether a time change from the year of the tz data on makes a difference: by what it skips, by what it repeats.
fn touched(cron: &Parsed) -> (bool, bool) {
    let (mut skips, mut repeats) = (false, false);
    let (mut from, end) = (horizon::begin(), horizon::end());
    while let Some(shift) = cron.zone.segment_at(from).closed.filter(|shift| shift.at <= end) {
        skips = skips || skips_a_match(cron, &shift);
        repeats = repeats || repeats_a_match(cron, &shift);
        if skips && repeats {
            break;
        }
        from = shift.at;
    }
    (skips, repeats)
}

/// Whether a match is in its gap, and none at the end of it that would run anyway.
fn skips_a_match(cron: &Parsed, shift: &Shift) -> bool {
    shift.gap().is_some_and(|gap| {
        cron.pattern.next(gap.start).is_some_and(|wall| wall < gap.end) && !cron.pattern.contains(gap.end)
    })
}

fn repeats_a_match(cron: &Parsed, shift: &Shift) -> bool {
    let repeated = shift.repeated();
    cron.pattern.next(repeated.start).is_some_and(|wall| wall < repeated.end)
}

#[cfg(test)]
mod tests {
    use crate::cron::{Cron, CronText, DayMatch, DstGap, DstOverlap};

    #[test]
    fn time_changes_are_told_where_they_make_a_difference_that_does_not_go_without_saying() {
        let usual = (DstGap::RunAfter, DstOverlap::First);
        let other = (DstGap::Skip, DstOverlap::Both);
        for (text, time_zone, (dst_gap, dst_overlap), told) in [
            ("30 2 * * *", "Europe/Berlin", usual, ""),
            ("* * * * *", "Europe/Berlin", other, ""),
            ("0 * * * *", "Europe/Berlin", usual, ""),
            ("0-59 0-23 * * *", "Europe/Berlin", usual, " (run the first time only when clocks repeat it)"),
            ("0-59 0-23 * * *", "Europe/Berlin", other, ""),
            ("0-59 * * * *", "Europe/Berlin", usual, ""),
            ("0-59 0-23 * * *", "Asia/Tokyo", usual, ""),
            ("0 0-23 * * *", "Europe/Berlin", usual, " (run the first time only when clocks repeat it)"),
            (
                "30 2 * * *",
                "Europe/Berlin",
                other,
                " (not run when clocks skip it, run both times when clocks repeat it)",
            ),
            ("30 4 * * *", "Europe/Berlin", other, ""),
            ("30 2 * * *", "America/New_York", other, " (not run when clocks skip it)"),
            ("30 1 * * *", "America/New_York", other, " (run both times when clocks repeat it)"),
            ("30 2 1 * *", "Europe/Berlin", other, ""),
            ("0 2 29 3 *", "Europe/Berlin", other, " (not run when clocks skip it)"),
            ("0 2 24 3 *", "Europe/Berlin", other, ""),
            ("*/15 2 * * *", "Europe/Berlin", usual, ""),
            (
                "0,15,30,45 2 * * *",
                "Europe/Berlin",
                (DstGap::RunAfter, DstOverlap::Second),
                " (run right after when clocks skip it, run the second time only when clocks repeat it)",
            ),
            ("0 9-17 * * *", "Europe/Berlin", usual, ""),
            (
                "30 */2 * * *",
                "Europe/Berlin",
                usual,
                " (not run when clocks skip it, run both times when clocks repeat it)",
            ),
            ("30 2 * * *", "America/Sao_Paulo", other, ""),
        ] {
            let spec = CronText { text, time_zone, day_match: DayMatch::Any, dst_gap, dst_overlap };
            let english = Cron::parse(&spec).expect(text).describe();
            let (_, rest) = english.split_at(english.find(" (").unwrap_or(english.len()));
            assert_eq!(rest, told, "{text}: {english}");
        }
    }
}
