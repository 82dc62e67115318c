//! What is allowed in a rule and probably not meant.
//!
//! Must not refuse anything: a warning is shown when a schedule is created, and forgotten.

use super::parts::Frequency;
use super::walls::RuleWalls;
use crate::cron::search::{Walls, second_after};
use crate::cron::wall::{DAY, Wall};
use crate::cron::zone::{FIRST, LAST, Shift};
use crate::cron::{CronWarning, DstGap, DstOverlap};
use crate::time::Timestamp;

/// How far ahead time changes are looked for, in seconds: a leap year.
const HORIZON: i64 = 366 * DAY;

/// All warnings, at most one of a code: `start_not_matched`, `short_months`, `dst_gap`, `dst_overlap`.
pub(super) fn warnings(rule: &RuleWalls, now: Timestamp) -> Vec<CronWarning> {
    let ahead = time_changes(rule, now);
    start_not_matched(rule).into_iter().chain(short_months(rule)).chain(ahead).collect()
}

fn start_not_matched(rule: &RuleWalls) -> Option<CronWarning> {
    let first = rule.next_wall(rule.start).filter(|first| *first != rule.start)?;
    let message = format!(
        "the start {} does not match the rule and is no occurrence: the first is {}",
        rule.start.text(),
        first.text()
    );
    Some(CronWarning { code: "start_not_matched", message })
}

/// The 31st of every month is the 31st of seven months.
fn short_months(rule: &RuleWalls) -> Option<CronWarning> {
    let parts = &rule.filled;
    let first = parts.month_days.first().filter(|first| **first > 28)?;
    let leap_day = parts.frequency == Frequency::Yearly && parts.months.iter().eq([2].iter());
    if !leap_day && (parts.frequency != Frequency::Monthly || !parts.days.is_empty()) {
        return None;
    }
    let (period, hint) = if leap_day {
        ("years", "write BYMONTHDAY=-1 for the last day of February")
    } else {
        ("months", "write BYMONTHDAY=-1 for the last day of each")
    };
    let message = format!("{period} that have no day {first} are left out; {hint}");
    Some(CronWarning { code: "short_months", message })
}

/// The first gap and the first overlap that a match falls into.
fn time_changes(rule: &RuleWalls, now: Timestamp) -> Vec<CronWarning> {
    let (mut gap, mut overlap) = (None, None);
    let mut from = second_after(now).clamp(FIRST, LAST);
    let end = (from + HORIZON).min(LAST);
    while let Some(shift) = rule.zone.segment_at(from).closed.filter(|shift| shift.at <= end) {
        gap = gap.or_else(|| in_gap(rule, &shift));
        overlap = overlap.or_else(|| in_overlap(rule, &shift));
        from = shift.at;
    }
    gap.into_iter().chain(overlap).collect()
}

fn in_gap(rule: &RuleWalls, shift: &Shift) -> Option<CronWarning> {
    let gap = shift.gap()?;
    let wall = rule.first_within(gap.clone())?;
    let what = match rule.dst_gap() {
        DstGap::RunAfter => format!("it runs at {} instead", gap.end.clock()),
        DstGap::Skip => "it does not run".to_owned(),
    };
    Some(warning("dst_gap", rule, wall, "does not exist", &what))
}

fn in_overlap(rule: &RuleWalls, shift: &Shift) -> Option<CronWarning> {
    let wall = rule.first_within(shift.repeated())?;
    let what = match rule.dst_overlap() {
        DstOverlap::First => "it runs in the first pass only",
        DstOverlap::Second => "it runs in the second pass only",
        DstOverlap::Both => "it runs both times",
    };
    Some(warning("dst_overlap", rule, wall, "comes twice", what))
}

fn warning(code: &'static str, rule: &RuleWalls, wall: Wall, happens: &str, what: &str) -> CronWarning {
    let message =
        format!("{} {happens} in {} because clocks are moved: {what}", wall.text(), rule.zone.name());
    CronWarning { code, message }
}
