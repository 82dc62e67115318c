//! The catch-up rule (`SEMANTICS` §4) over the undecided instants `(mark, now]`.
//!
//! ```text
//!   mark              now - window            now - grace            now
//!    |--- too_late --------|------ by the mode -----|---- always fire ---|
//! ```
//! It counts what is skipped and walks only what fires, which is bounded.

use super::{Options, jitter};
use crate::command::{Decision, Fire, Skip};
use crate::definition::CatchUpMode;
use crate::event::SkipReason;
use crate::firing::Kind;
use crate::schedule::Schedule;
use crate::series::Series;
use crate::time::{Span, Timestamp};

/// Decides `(from, now]`; `from` is the mark, or behind it where nothing can be undecided before.
pub(super) fn decide(
    options: &Options,
    schedule: &Schedule,
    series: &Series,
    from: Timestamp,
    now: Timestamp,
) -> Decision {
    let mut decision = empty(schedule, series, now.max(from));
    if now <= from {
        return decision;
    }
    let rule = schedule.definition.policy.catch_up;
    // Both are the last millisecond that is too old; what is exactly as old as the bound is not.
    let missed = before(now, options.failover_grace).max(from);
    let lost = rule.window.map_or(from, |window| before(now, window)).clamp(from, missed);

    let mut skip = Skips { series, skips: &mut decision.skips };
    match rule.mode {
        CatchUpMode::None => skip.all(SkipReason::TooLate, from, missed),
        CatchUpMode::Latest => {
            skip.all(SkipReason::TooLate, from, lost);
            if let Some(newest) = last_of(series, lost, missed) {
                skip.all(SkipReason::Coalesced, lost, newest - Span::from_millis(1));
                decision.fire.push(late(newest));
            }
        }
        CatchUpMode::All => {
            skip.all(SkipReason::TooLate, from, lost);
            let newest = newest_of(series, lost, missed, options.max_catch_up);
            if let Some(oldest) = newest.first() {
                skip.all(SkipReason::Limit, lost, *oldest - Span::from_millis(1));
            }
            decision.fire.extend(newest.into_iter().map(late));
        }
    }
    let fresh = newest_of(series, missed, now, options.max_catch_up.max(options.instants_per_tick));
    if let Some(oldest) = fresh.first() {
        // A grace of hours can hold more than an entry; what has no room is not passed over in silence.
        skip.all(SkipReason::Limit, missed, *oldest - Span::from_millis(1));
    }
    for nominal in fresh {
        let delay = jitter::delay(schedule, series, nominal);
        decision.fire.push(Fire { nominal, kind: Kind::Scheduled, delay });
    }
    decision
}

/// One that was missed is not spread any more.
fn late(nominal: Timestamp) -> Fire {
    Fire { nominal, kind: Kind::CatchUp, delay: Span::ZERO }
}

/// While paused nothing was nominal: what fell into it is one row, and the search goes on from here.
pub(super) fn skip_pause(schedule: &Schedule, series: &Series, now: Timestamp) -> Decision {
    let mut decision = empty(schedule, series, now);
    Skips { series, skips: &mut decision.skips }.all(SkipReason::PausedGap, schedule.mark, now);
    decision
}

/// A pause ends by itself at `until`: what fell into it is skipped, and what has come since, however late this is planned,
/// follows the catch-up rule. The instant `until` itself is not in the pause any more.
pub(super) fn end_pause(
    options: &Options,
    schedule: &Schedule,
    series: &Series,
    until: Timestamp,
    now: Timestamp,
) -> Decision {
    let last_paused = (until - Span::from_millis(1)).max(schedule.mark);
    let gap = skip_pause(schedule, series, last_paused);
    let mut decision = decide(options, schedule, series, last_paused, now);
    decision.skips.splice(0..0, gap.skips);
    decision
}

/// A decision that moves the mark to `now` and does nothing else.
pub(super) fn empty(schedule: &Schedule, series: &Series, now: Timestamp) -> Decision {
    let mark = now.max(schedule.mark);
    Decision {
        uid: schedule.uid,
        revision: schedule.revision,
        after: schedule.mark,
        rules_at: series.rules_at(),
        skips: Vec::new(),
        fire: Vec::new(),
        mark,
        next_at: series.next(mark).map(|occurrence| occurrence.at),
        park: None,
    }
}

/// The last millisecond that lies more than `span` before `now`.
fn before(now: Timestamp, span: Span) -> Timestamp {
    now - span - Span::from_millis(1)
}

struct Skips<'a> {
    series: &'a Series,
    skips: &'a mut Vec<Skip>,
}

impl Skips<'_> {
    /// One row for all instants in `(after, until]`, when there are any.
    fn all(&mut self, reason: SkipReason, after: Timestamp, until: Timestamp) {
        if let Some((from, to)) = self.series.ends_in(after, until) {
            self.skips.push(Skip { reason, from, to, count: self.series.count(after, until) });
        }
    }
}

fn last_of(series: &Series, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
    series.last_in(after, until).map(|occurrence| occurrence.at)
}

/// The newest instants of `(after, until]`, at most so many, in order.
fn newest_of(series: &Series, after: Timestamp, until: Timestamp, most: usize) -> Vec<Timestamp> {
    let mut instants: Vec<Timestamp> = std::iter::successors(last_of(series, after, until), |at| {
        last_of(series, after, *at - Span::from_millis(1))
    })
    .take(most)
    .collect();
    instants.reverse();
    instants
}
