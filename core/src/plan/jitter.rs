//! Jitter: how long after its nominal a firing may begin (`SEMANTICS` §3). The nominal stays.

use crate::definition::Jitter;
use crate::retry::mix;
use crate::schedule::Schedule;
use crate::series::Series;
use crate::time::{Span, Timestamp};

/// The most that `auto` spreads.
const MOST_AUTO: Span = Span::from_secs(10);
/// `auto` is this part of the distance from the previous nominal.
const AUTO_PART: u64 = 10;

/// The delay of one nominal: the same in every retry, restart and office, and before the next nominal.
pub(super) fn delay(schedule: &Schedule, series: &Series, nominal: Timestamp) -> Span {
    let most = match schedule.definition.policy.jitter {
        Jitter::Fixed(Span::ZERO) => return Span::ZERO,
        Jitter::Fixed(most) => most,
        Jitter::Auto => series.prev(nominal).map_or(Span::ZERO, |previous| {
            let part = nominal.since(previous.at).as_millis() / AUTO_PART;
            Span::from_millis(part.min(MOST_AUTO.as_millis()))
        }),
    };
    let room = series.next(nominal).map_or(u64::MAX, |next| next.at.since(nominal).as_millis() - 1);
    let most = most.as_millis().min(room);
    let seed = schedule.uid.0 ^ (nominal.as_millis() as u64).rotate_left(32);
    Span::from_millis(mix(seed) % (most + 1))
}
