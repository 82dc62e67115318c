//! Which instants come and go between two definitions, from now on.
//!
//! ```text
//! old ── walk ──▶ at most so many instants, up to a year ──┐
//!                                                          ├── up to where both are known: added, removed, kept
//! new ── walk ──▶ at most so many instants, up to a year ──┘
//! ```
//! Pause and jitter play no part. The work is bounded by instants and by time; `until` says how far it came.

use tokio::time::Instant;

use campanile_core::cron::Occurrence;
use campanile_core::definition::Definition;
use campanile_core::series::Series;
use campanile_core::spec::Spec;
use campanile_core::time::{Span, Timestamp};

use crate::wire::diff::Ticks;
use crate::wire::preview::NextInstant;
use crate::wire::time::Instant as Shown;

/// At most so many instants of either side.
pub(super) const MOST: usize = 50;
/// At most so far.
const HORIZON: Span = Span::from_secs(365 * 86_400);

/// One of the two.
pub(super) struct Side<'a> {
    /// Its instants.
    pub(super) series: &'a Series,
    /// Whose zones they are read in.
    pub(super) definition: &'a Definition,
    /// How often it has fired already, for one that fires so often only.
    pub(super) fired: u64,
}

/// How far a comparison goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// It starts behind this.
    pub(super) now: Timestamp,
    /// At most so many instants of either side.
    pub(super) most: usize,
    /// No search begins after this.
    pub(super) deadline: Instant,
}

/// What is known of one side.
struct Walked {
    instants: Vec<(usize, Occurrence)>,
    /// Everything up to here is among them.
    until: Timestamp,
}

/// The instants that only one of the two has; no side has none.
pub(super) fn ticks(old: Option<&Side<'_>>, new: Option<&Side<'_>>, bounds: Bounds) -> Ticks {
    let (from, to) = (walk(old, bounds), walk(new, bounds));
    let until = from.until.min(to.until);
    let known = |walked: &Walked| -> Vec<(usize, Occurrence)> {
        walked.instants.iter().filter(|(_, tick)| tick.at <= until).copied().collect()
    };
    let (from, to) = (known(&from), known(&to));
    let only = |these: &[(usize, Occurrence)], those: &[(usize, Occurrence)], side: Option<&Side<'_>>| {
        let specs = side.map_or(&[][..], |side| &side.definition.specs);
        let missing = these
            .iter()
            .filter(|(_, tick)| those.binary_search_by_key(&tick.at, |(_, other)| other.at).is_err());
        missing.map(|(place, tick)| local(*tick, specs, *place)).collect::<Vec<_>>()
    };
    let (added, removed) = (only(&to, &from, new), only(&from, &to, old));
    let kept = (to.len() - added.len()) as u64;
    Ticks { until: Shown(until), added, removed, kept }
}

/// An instant on the wall clock of the spec that makes it.
pub(super) fn local(tick: Occurrence, specs: &[Spec], place: usize) -> NextInstant {
    NextInstant::of(tick, specs.get(place).map_or("UTC", Spec::time_zone))
}

fn walk(side: Option<&Side<'_>>, bounds: Bounds) -> Walked {
    let mut walked = Walked { instants: Vec::new(), until: bounds.now + HORIZON };
    let Some(side) = side else { return walked };
    let left = side.definition.max_firings.map_or(u64::MAX, |most| most.saturating_sub(side.fired));
    let mut after = bounds.now;
    while (walked.instants.len() as u64) < left {
        if walked.instants.len() == bounds.most || Instant::now() >= bounds.deadline {
            walked.until = after;
            break;
        }
        match side.series.next_of(after).filter(|(_, tick)| tick.at <= walked.until) {
            Some(found) => {
                after = found.1.at;
                walked.instants.push(found);
            }
            None => break,
        }
    }
    walked
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use campanile_core::definition::{Target, Webhook};
    use campanile_core::series::{NoCalendars, Texts};

    use super::super::show::upcoming;
    use super::*;

    fn minutely() -> (Series, Definition) {
        let webhook = Webhook::new("http://a");
        let spec = Spec::Every { every: Span::from_secs(60), anchor: Timestamp::EPOCH };
        let definition = Definition::new(vec![spec], Target::Webhook(Box::new(webhook)));
        (Series::of(&definition, &NoCalendars, &mut Texts::default()).unwrap(), definition)
    }

    fn bounds() -> Bounds {
        Bounds { now: Timestamp::EPOCH, most: MOST, deadline: Instant::now() + Duration::from_secs(600) }
    }

    #[test]
    fn a_comparison_that_runs_out_of_time_claims_nothing_beyond_what_it_knows() {
        let (series, definition) = minutely();
        let side = Side { series: &series, definition: &definition, fired: 0 };
        let told = ticks(None, Some(&side), Bounds { deadline: Instant::now(), ..bounds() });
        assert_eq!((told.until, told.added.len()), (Shown(Timestamp::EPOCH), 0));
        let told = ticks(None, Some(&side), bounds());
        assert_eq!((told.until, told.added.len()), (Shown(Timestamp::from_millis(3_000_000)), MOST));
    }

    #[test]
    fn a_list_that_runs_out_of_time_says_so() {
        let (series, definition) = minutely();
        let shown = |deadline| upcoming(&series, &definition.specs, Timestamp::EPOCH, 3, deadline);
        assert_eq!(shown(Instant::now()), (Vec::new(), true));
        let (next, cut) = shown(bounds().deadline);
        assert_eq!((next.len(), cut), (3, false));
    }

    #[test]
    fn a_side_that_may_fire_only_so_often_has_no_more_instants() {
        let (series, mut definition) = minutely();
        definition.max_firings = Some(5);
        let side = Side { series: &series, definition: &definition, fired: 3 };
        let told = ticks(Some(&side), None, bounds());
        assert_eq!((told.until, told.removed.len()), (Shown(Timestamp::EPOCH + HORIZON), 2));
    }
}
