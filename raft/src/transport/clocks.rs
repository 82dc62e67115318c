//! The wall clocks of peers, as they ride on answers.
//!
//! An estimate, never an input of a decision in this room: the node judges whether its clock is ahead of a quorum, and
//! shows the offsets. The only clock read here is the monotonic one, for the age of a reading.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use campanile_core::id::NodeId;
use campanile_core::time::Timestamp;

/// A source of wall time, given by the node: this room reads no clock of its own.
pub type WallClock = std::sync::Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What is known of a peer's wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerClock {
    /// Its clock minus ours in milliseconds: positive when it is ahead.
    pub offset_millis: i64,
    /// The round trip of the answer that carried it; the offset is right to half of that.
    pub round_trip: Duration,
    /// When the answer came.
    pub read_at: Instant,
}

/// The last reading of each peer. A reading with a longer round trip does not replace a fresh one that is more exact.
#[derive(Debug, Default)]
pub struct Clocks(Mutex<BTreeMap<NodeId, PeerClock>>);

/// How long an exact reading is kept against a less exact one.
const FRESH: Duration = Duration::from_secs(5);

impl Clocks {
    /// Takes note of an answer: `sent` and `received` are our clock at the two ends of the round trip.
    pub fn note(
        &self,
        peer: NodeId,
        theirs: Timestamp,
        sent: Timestamp,
        received: Timestamp,
        trip: Duration,
    ) {
        let middle = sent.as_millis().midpoint(received.as_millis());
        let reading = PeerClock {
            offset_millis: theirs.as_millis() - middle,
            round_trip: trip,
            read_at: Instant::now(),
        };
        let mut clocks = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = clocks.entry(peer).or_insert(reading);
        if known.read_at.elapsed() > FRESH || trip <= known.round_trip {
            *known = reading;
        }
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> BTreeMap<NodeId, PeerClock> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}
