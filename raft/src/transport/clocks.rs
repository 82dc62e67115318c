//! The wall clocks of peers, as they ride on answers.
//!
//! An estimate, never an input of a decision in this room: the node judges whether its clock is ahead of a quorum, and
//! shows the offsets. A reading is tied to the monotonic clock and not to our wall clock, so that a wall clock which is set
//! here shows at once against every reading that was taken before. No wall clock is read here.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

use campanile_core::id::NodeId;
use campanile_core::time::{Span, Timestamp};

/// A source of wall time, given by the node: this room reads no clock of its own.
pub type WallClock = std::sync::Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What is known of a peer's wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerClock {
    /// What it showed,
    pub showed: Timestamp,
    /// at this moment: the middle of the round trip.
    pub read_at: Instant,
    /// The round trip of the answer that carried it; the reading is right to half of that.
    pub round_trip: Duration,
}

impl PeerClock {
    /// What it shows at that moment, unless it was set meanwhile.
    #[must_use]
    pub fn at(&self, moment: Instant) -> Timestamp {
        match moment.checked_duration_since(self.read_at) {
            Some(since) => self.showed + span(since),
            None => self.showed - span(self.read_at - moment),
        }
    }

    /// How far it is ahead of a clock that shows `ours` at that moment, in milliseconds; negative when it is behind.
    #[must_use]
    pub fn offset_millis(&self, ours: Timestamp, moment: Instant) -> i64 {
        self.at(moment).as_millis().saturating_sub(ours.as_millis())
    }

    /// Whether both can be readings of one clock that was not set in between.
    fn agrees(&self, later: &Self) -> bool {
        let apart = self.offset_millis(later.showed, later.read_at).unsigned_abs();
        // Half a round trip each; whole milliseconds are cut off at both ends.
        let slack = (self.round_trip + later.round_trip) / 2 + 2 * MILLISECOND;
        u128::from(apart) <= slack.as_millis()
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);

fn span(duration: Duration) -> Span {
    Span::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// The last reading of each peer. One with a longer round trip does not replace a fresh one that is more exact, unless it
/// contradicts it: then the peer's clock was set.
#[derive(Debug, Default)]
pub struct Clocks(Mutex<BTreeMap<NodeId, PeerClock>>);

/// How long an exact reading is kept against a less exact one.
const FRESH: Duration = Duration::from_secs(5);

impl Clocks {
    /// Takes note of what a peer's clock showed in an answer that came at `received`, after that round trip.
    pub fn note(&self, peer: NodeId, showed: Timestamp, received: Instant, round_trip: Duration) {
        let read_at = received.checked_sub(round_trip / 2).unwrap_or(received);
        let reading = PeerClock { showed, read_at, round_trip };
        let mut clocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = clocks.entry(peer).or_insert(reading);
        let fresh = received.saturating_duration_since(known.read_at) <= FRESH;
        if !fresh || round_trip <= known.round_trip || !known.agrees(&reading) {
            *known = reading;
        }
    }

    /// The last reading of a peer.
    #[must_use]
    pub fn of(&self, peer: NodeId) -> Option<PeerClock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&peer).copied()
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> BTreeMap<NodeId, PeerClock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PEER: NodeId = NodeId(2);

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_clock_that_is_set_here_shows_against_a_reading_from_before() {
        let (clocks, start) = (Clocks::default(), Instant::now());
        clocks.note(PEER, at(50_000), start + millis(5), millis(10));
        let reading = clocks.of(PEER).unwrap();
        assert_eq!(reading.offset_millis(at(50_000), start), 0);
        assert_eq!(reading.offset_millis(at(51_000), start + millis(1_000)), 0);
        // Ours was set forward by an hour between the two.
        assert_eq!(reading.offset_millis(at(3_651_000), start + millis(1_000)), -3_600_000);
    }

    #[test]
    fn an_exact_reading_stays_until_it_is_old_or_contradicted() {
        let (clocks, start) = (Clocks::default(), Instant::now());
        let trip = || clocks.of(PEER).unwrap().round_trip;
        clocks.note(PEER, at(1_000), start, millis(4));
        clocks.note(PEER, at(1_960), start + millis(1_000), millis(100));
        assert_eq!(trip(), millis(4), "it agrees, and is less exact");
        clocks.note(PEER, at(9_000), start + millis(1_100), millis(100));
        assert_eq!(trip(), millis(100), "the peer's clock was set");
        clocks.note(PEER, at(9_050), start + millis(1_150), millis(2));
        assert_eq!(trip(), millis(2), "more exact");
        clocks.note(PEER, at(14_200), start + millis(6_300), millis(100));
        assert_eq!(trip(), millis(100), "the exact one is old");
    }
}
