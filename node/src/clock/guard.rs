//! Is this node's clock ahead of a quorum of clocks? Arithmetic over readings, no IO.
//!
//! A leader that is too far ahead must not decide: what it stamps drags the log's time along, which never runs back, so one
//! entry an hour ahead freezes every schedule for an hour. With n voters, this one included, it is ahead when fewer than a
//! quorum of them show at least what it shows less `max_ahead`. Doubt is in its favour: a voter that was not heard, or not
//! lately, is held to agree with it, and half of the round trip is granted. So a lone voter is never ahead, and a leader
//! that is right stays in office while a minority is wrong; when a majority is wrong, what it shows is the time.
//! SEMANTICS section 7.

use std::time::Duration;
use tokio::time::Instant;

use campanile_core::time::{Span, Timestamp};
use campanile_raft::PeerClock;

/// A reading that is older says nothing any more: forty heartbeats at the slowest pace that anybody uses.
const STALE: Duration = Duration::from_secs(10);

/// The judge, with what it was told to allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// By how much a clock may be ahead of a quorum.
    pub max_ahead: Span,
}

/// How this node's clock stands to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Too far ahead to decide anything.
    pub is_ahead: bool,
    /// How far ahead of a quorum of clocks it is, in milliseconds; negative when it is behind. A quorum of voters show at
    /// least this clock less this.
    pub offset_millis: i64,
}

/// Another voter's clock as it is known now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    /// Theirs less ours.
    offset_millis: i64,
    /// It may be so much more or less.
    uncertain_millis: i64,
}

impl Guard {
    /// Judges a clock that shows `now` at `moment`, with what is known of every other voter's.
    #[must_use]
    pub fn judge(&self, now: Timestamp, moment: Instant, others: &[Option<PeerClock>]) -> Standing {
        let readings: Vec<Option<Reading>> =
            others.iter().map(|clock| clock.and_then(|clock| reading(&clock, now, moment))).collect();
        self.judge_readings(&readings)
    }

    /// The latest moment that an entry may carry: `now`, or what a quorum of clocks shows when `now` is too far ahead.
    #[must_use]
    pub fn bound(&self, now: Timestamp, moment: Instant, others: &[Option<PeerClock>]) -> Timestamp {
        let standing = self.judge(now, moment, others);
        match standing.is_ahead {
            true => Timestamp::from_millis(now.as_millis().saturating_sub(standing.offset_millis)),
            false => now,
        }
    }

    fn judge_readings(&self, others: &[Option<Reading>]) -> Standing {
        // Of n = others + 1 voters, n / 2 + 1.
        let quorum = others.len().div_ceil(2) + 1;
        let allowed = i64::try_from(self.max_ahead.as_millis()).unwrap_or(i64::MAX);
        let is_behind = |reading: &Reading| reading.offset_millis + reading.uncertain_millis < -allowed;
        // This clock itself is not behind itself.
        let not_behind = 1 + others.iter().filter(|other| !other.as_ref().is_some_and(is_behind)).count();
        let known = others.iter().map(|other| other.map_or(0, |reading| reading.offset_millis));
        let mut offsets: Vec<i64> = std::iter::once(0).chain(known).collect();
        offsets.sort_unstable_by(|one, other| other.cmp(one));
        Standing { is_ahead: not_behind < quorum, offset_millis: -offsets[quorum - 1] }
    }
}

fn reading(clock: &PeerClock, now: Timestamp, moment: Instant) -> Option<Reading> {
    let fresh = moment.saturating_duration_since(clock.read_at) <= STALE;
    let half = clock.round_trip.as_millis().div_ceil(2);
    // Far beyond what any clock shows, and small enough for sums.
    let bounded = |millis: i64| millis.clamp(-(1 << 60), 1 << 60);
    fresh.then(|| Reading {
        offset_millis: bounded(clock.offset_millis(now, moment)),
        uncertain_millis: bounded(i64::try_from(half).unwrap_or(i64::MAX)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: Guard = Guard { max_ahead: Span::from_secs(1) };

    /// Offsets in milliseconds as the table writes them: `-5000`, `-1200~300` for a doubt, `?` for a voter not heard.
    fn readings(text: &str) -> Vec<Option<Reading>> {
        let one = |word: &str| {
            let (offset, doubt) = word.split_once('~').unwrap_or((word, "0"));
            let number = |text: &str| text.parse().expect("a number of milliseconds");
            (word != "?").then(|| Reading { offset_millis: number(offset), uncertain_millis: number(doubt) })
        };
        text.split_whitespace().map(one).collect()
    }

    #[test]
    fn a_clock_is_ahead_when_fewer_than_a_quorum_are_not_behind_it() {
        for (others, is_ahead, offset_millis, why) in [
            ("", false, 0, "a lone voter is never ahead"),
            ("-5000", true, 5_000, "of two, both make the quorum"),
            ("?", false, 0, "of two, and the other was never heard"),
            ("0 0", false, 0, "all agree"),
            ("-5000 -5000", true, 5_000, "both others are behind"),
            ("-5000 -7000", true, 5_000, "the quorum's clock is the better of two"),
            ("-5000 0", false, 0, "one agrees, so the third is wrong"),
            ("-5000 ?", false, 0, "who was not heard does not accuse"),
            ("? ?", false, 0, "nobody was heard"),
            ("-1000 -1000", false, 1_000, "exactly at the bound"),
            ("-1001 -1001", true, 1_001, "just beyond it"),
            ("-1001~1 -1001", false, 1_001, "half a round trip explains one of them"),
            ("-1200~300 -1200~300", false, 1_200, "wide round trips explain both"),
            ("-1200~100 -1200~100", true, 1_200, "narrow ones do not"),
            ("86400000 86400000", false, -86_400_000, "two that are ahead: behind, not ahead"),
            ("86400000 -86400000", false, 0, "three that all differ: the middle one is not ahead"),
            ("0 86400000", false, 0, "one that is ahead"),
            ("-5000 -5000 -5000", true, 5_000, "of four, three make the quorum"),
            ("-5000 -5000 0", true, 5_000, "of four, two are not enough"),
            ("-5000 0 0", false, 0, "of four, three are"),
            ("-5000 -5000 0 0", false, 0, "of five, two are behind"),
            ("-5000 -6000 -7000 0", true, 5_000, "of five, three are behind"),
            ("-5000 -6000 ? 0", false, 0, "of five, the third was not heard"),
            ("-5000 -6000 -7000~9000 0", false, 5_000, "of five, the third is in doubt"),
            ("-28800000 -28800000 -28800000 -28800000", true, 28_800_000, "of five, all are behind"),
        ] {
            let expected = Standing { is_ahead, offset_millis };
            assert_eq!(GUARD.judge_readings(&readings(others)), expected, "{others:?}: {why}");
        }
    }

    #[test]
    fn a_stale_reading_does_not_accuse_and_a_fresh_one_goes_on_with_time() {
        let start = Instant::now();
        let now = |millis: i64| Timestamp::from_millis(1_000_000 + millis);
        let clock = PeerClock { showed: now(0), read_at: start, round_trip: Duration::from_millis(3) };
        let others = [Some(clock), Some(clock)];
        let at = |seconds, showing| GUARD.judge(now(showing), start + Duration::from_secs(seconds), &others);
        assert_eq!(at(9, 9_000), Standing { is_ahead: false, offset_millis: 0 });
        assert_eq!(at(9, 29_000), Standing { is_ahead: true, offset_millis: 20_000 });
        assert_eq!(at(11, 29_000), Standing::default());
    }

    #[test]
    fn the_bound_is_what_a_quorum_shows_and_binds_only_who_is_ahead() {
        let start = Instant::now();
        let now = |millis: i64| Timestamp::from_millis(1_000_000 + millis);
        let clock = PeerClock { showed: now(0), read_at: start, round_trip: Duration::ZERO };
        let bound = |showing| GUARD.bound(now(showing), start, &[Some(clock), Some(clock)]);
        assert_eq!(bound(-5_000), now(-5_000));
        assert_eq!(bound(1_000), now(1_000));
        assert_eq!(bound(28_800_000), now(0));
    }
}
