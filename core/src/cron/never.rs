//! Texts whose dates exist and whose times never do, because clocks skip them each time: 02:30 on the last Sunday of March.
//!
//! Refused when they are read: a search for their next instant would look at every time change up to year 9999 (0.1 s),
//! and whoever wrote one is better told at once.

use super::parsed::Parsed;
use super::wall::{DAY, Wall};
use super::{Class, CronError, CronErrorKind, DstGap, horizon};

/// Refuses a text that never fires because of its zone.
pub(super) fn check(cron: &Parsed) -> Result<(), CronError> {
    let moved = cron.class == Class::Fixed && cron.dst_gap == DstGap::RunAfter;
    if moved || fires(cron) {
        return Ok(());
    }
    let hint = match cron.class {
        Class::Fixed => {
            "set \"dst_gap\": \"run_after\", so that it runs when the gap is over, or choose another time"
        }
        Class::Wildcard => {
            "list the times instead of `*`, so that it runs when the gap is over, or choose another hour"
        }
    };
    Err(CronError {
        kind: CronErrorKind::Cron,
        column: None,
        detail: format!("clocks in {} skip each of these times, so this never fires", cron.zone.name()),
        hint: hint.to_owned(),
    })
}

/// Whether a match is at a wall time that exists: the first is, for nearly all; else there are one or two gaps a year.
fn fires(cron: &Parsed) -> bool {
    let mut from = Wall(horizon::begin());
    while let Some(wall) = cron.pattern.next(from).filter(|wall| wall.0 <= horizon::end()) {
        match end_of_gap(cron, wall) {
            Some(end) => from = end,
            None => return true,
        }
    }
    false
}

/// The end of the gap that a wall time is in.
fn end_of_gap(cron: &Parsed, wall: Wall) -> Option<Wall> {
    let before = cron.zone.offset_at(wall.0 - DAY);
    // By the offset of the day before, it would be at this second.
    let second = wall.0 - before;
    if cron.zone.offset_at(second) == before {
        return None;
    }
    let gap = cron.zone.segment_at(second).opened.and_then(|shift| shift.gap())?;
    gap.contains(&wall).then_some(gap.end)
}

#[cfg(test)]
mod tests {
    use crate::cron::{Cron, CronText, DayMatch, DstGap, DstOverlap};

    #[test]
    fn a_text_whose_times_clocks_always_skip_is_refused_with_a_hint() {
        for (text, time_zone, dst_gap, refused) in [
            ("30 2 * 3 0L", "Europe/Berlin", DstGap::Skip, Some("dst_gap")),
            ("30 2 * 3 0L", "Europe/Berlin", DstGap::RunAfter, None),
            ("*/30 2 * 3 0L", "Europe/Berlin", DstGap::RunAfter, Some("list the times")),
            ("* * 2 * 3 0L", "Europe/Berlin", DstGap::RunAfter, Some("list the times")),
            ("* * 2 29 3 +0", "Europe/Berlin", DstGap::RunAfter, Some("list the times")),
            ("*/30 2 * 3 0#2", "America/New_York", DstGap::RunAfter, Some("list the times")),
            ("*/30 23 * 3 0L", "America/Nuuk", DstGap::RunAfter, None),
            // A gap of half an hour.
            ("15 2 * 10 0#1", "Australia/Lord_Howe", DstGap::Skip, Some("dst_gap")),
            ("15,30 2 * 10 0#1", "Australia/Lord_Howe", DstGap::Skip, None),
            ("30 2,3 * 3 0L", "Europe/Berlin", DstGap::Skip, None),
            ("0 3 * 3 0L", "Europe/Berlin", DstGap::Skip, None),
            ("30 2 * 3 0L", "Europe/London", DstGap::Skip, None),
            ("30 2 29 2,3 +0", "Europe/Berlin", DstGap::Skip, None),
            ("*/30 2 * * *", "Europe/Berlin", DstGap::Skip, None),
            // The gap will be on other days again.
            ("30 2 29 3 *", "Europe/Berlin", DstGap::Skip, None),
        ] {
            let spec = CronText {
                text,
                time_zone,
                day_match: DayMatch::Any,
                dst_gap,
                dst_overlap: DstOverlap::First,
            };
            match (Cron::parse(&spec).err(), refused) {
                (None, None) => {}
                (Some(error), Some(hint)) => {
                    assert!(
                        error.detail.contains("never fires") && error.hint.contains(hint),
                        "{text}: {error:?}"
                    );
                }
                (error, _) => panic!("{text} in {time_zone}: {error:?}"),
            }
        }
    }
}
