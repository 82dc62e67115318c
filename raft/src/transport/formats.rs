//! Which format levels each peer reads, and which one the cluster writes, as they ride on answers beside the clock.
//!
//! Estimates, never inputs of a decision in this room. A telling ages: a member that is down may come back as an older
//! version, so nothing is concluded from what it said long ago.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

use campanile_core::format::FormatLevel;
use campanile_core::id::NodeId;

/// How long a telling counts: a leader hears each member many times a second.
pub const FRESH: Duration = Duration::from_secs(5);

/// What peers last said. One of a version that does not say it is not in here.
#[derive(Debug, Default)]
pub struct Formats(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    speaks: BTreeMap<NodeId, (FormatLevel, Instant)>,
    /// The highest that any of them said the cluster writes.
    written: FormatLevel,
}

impl Formats {
    /// Takes note of the newest level that a peer reads, said at `heard`.
    pub fn note(&self, peer: NodeId, speaks: FormatLevel, heard: Instant) {
        self.told().speaks.insert(peer, (speaks, heard));
    }

    /// Takes note of the level that the cluster writes, as a peer knows it.
    pub fn note_written(&self, level: FormatLevel) {
        let mut told = self.told();
        told.written = told.written.max(level);
    }

    /// The highest level that a peer said the cluster writes; the oldest while none did.
    #[must_use]
    pub fn written(&self) -> FormatLevel {
        self.told().written
    }

    /// What that peer last said, however long ago.
    #[must_use]
    pub fn of(&self, peer: NodeId) -> Option<FormatLevel> {
        self.told().speaks.get(&peer).map(|(level, _)| *level)
    }

    /// What all of these and one that reads up to `own` read at `now`; none when one of them has not said it lately.
    #[must_use]
    pub fn common(
        &self,
        own: FormatLevel,
        peers: impl IntoIterator<Item = NodeId>,
        now: Instant,
    ) -> Option<FormatLevel> {
        let told = self.told();
        peers.into_iter().try_fold(own, |least, peer| {
            let (level, heard) = told.speaks.get(&peer)?;
            (now.saturating_duration_since(*heard) <= FRESH).then(|| least.min(*level))
        })
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_read_is_known_only_while_each_has_said_it_lately() {
        let (formats, start) = (Formats::default(), Instant::now());
        let [a, b] = [NodeId(2), NodeId(3)];
        let newer = FormatLevel(FormatLevel::NEWEST.0 + 1);
        assert_eq!(formats.common(FormatLevel::NEWEST, [], start), Some(FormatLevel::NEWEST), "a lone node");
        formats.note(a, newer, start);
        assert_eq!(formats.common(FormatLevel::NEWEST, [a, b], start), None, "one has not said it");
        formats.note(b, FormatLevel(3), start);
        assert_eq!(formats.common(FormatLevel::NEWEST, [a, b], start + FRESH), Some(FormatLevel(3)));
        formats.note(b, newer, start + FRESH);
        assert_eq!(
            formats.common(FormatLevel::NEWEST, [a, b], start + FRESH),
            Some(FormatLevel::NEWEST),
            "as far as this one reads"
        );
        assert_eq!(
            formats.common(FormatLevel::NEWEST, [a, b], start + FRESH * 2),
            None,
            "the first has been silent"
        );
    }

    #[test]
    fn the_highest_level_that_a_peer_named_stays() {
        let formats = Formats::default();
        assert_eq!(formats.written(), FormatLevel::OLDEST);
        for level in [7, 5] {
            formats.note_written(FormatLevel(level));
        }
        assert_eq!(formats.written(), FormatLevel(7));
    }
}
