//! How long a lease is held, on this process's monotonic clock.
//!
//! The wall clock of this machine is never asked: what a node says is taken as lengths between instants of its own, and
//! those are counted from before the request was sent, so that the count is never longer than the lease.

use std::time::Duration;

use campanile_core::time::Timestamp;
use tokio::time::Instant;

use super::Stop;
use crate::wire::lease::{Heartbeat, Leased, MIN_TTL};

/// More than any lease or deadline lasts, and less than what no clock can add.
const AGES: Duration = Duration::from_secs(366 * 86_400);
/// The shortest ttl of the contract.
const MIN_LOOK: Duration = Duration::from_millis(MIN_TTL.as_millis());

/// Until when a lease is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    ttl: Duration,
    /// How long it was when it was last granted or extended.
    length: Duration,
    end: Instant,
    deadline: Instant,
    next_beat: Instant,
}

impl Term {
    /// The term of a lease that was asked for, for `ttl`, at `sent`.
    pub(super) fn granted(leased: &Leased, ttl: Duration, sent: Instant) -> Self {
        let length = between(leased.begun_at.0, leased.until.0).min(ttl);
        let deadline = sent + between(leased.begun_at.0, leased.deadline.0);
        Self { ttl, length, end: (sent + length).min(deadline), deadline, next_beat: sent + ttl / 3 }
    }

    /// A heartbeat for `ttl` that was sent at `sent` was answered.
    pub(super) fn renew(&mut self, beat: &Heartbeat, ttl: Duration, sent: Instant) {
        if beat.until < beat.deadline {
            // The node's clock stood at `until` less the ttl, not before the heartbeat was sent. Of all the times at which
            // the deadline cannot have come yet, the latest is the nearest to it.
            self.deadline = self.deadline.max(sent + ttl + between(beat.until.0, beat.deadline.0));
        }
        self.end = (sent + ttl).min(self.deadline);
        self.length = self.end.saturating_duration_since(sent);
        // One that was shorter only asked how late it is.
        self.next_beat = if ttl < self.ttl { sent } else { sent + ttl / 3 };
    }

    /// How long a lease lasts after a heartbeat.
    pub(super) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// The ttl of a heartbeat that is to tell how late it is: the node's clock stands in its answer, unless the deadline
    /// is nearer than this.
    pub(super) fn look(&self) -> Duration {
        (self.length / 4).clamp(MIN_LOOK, self.ttl)
    }

    /// Whether the count may be over, or wrong by much, though the lease is not: it was given at the end of a wait for
    /// work, and a near deadline made it short.
    pub(super) fn is_vague(&self, now: Instant) -> bool {
        let is_short = self.length < self.ttl;
        let waited = self.length.saturating_sub(self.end.saturating_duration_since(now));
        !self.allows_a_start(now) || (is_short && waited > self.length / 10)
    }

    /// When the lease is lost unless a heartbeat is answered.
    pub(super) fn end(&self) -> Instant {
        self.end
    }

    /// When the next heartbeat is due.
    pub(super) fn next_beat(&self) -> Instant {
        self.next_beat
    }

    /// How long one node may take at most to answer a heartbeat: one that hangs leaves time for the others.
    pub(super) fn patience(&self) -> Duration {
        (self.ttl / 6).max(Duration::from_millis(500))
    }

    /// Whether so much is left that work may begin: a quarter. What begins later may be told to stop before it has done
    /// anything.
    pub(super) fn allows_a_start(&self, now: Instant) -> bool {
        let left = self.end.saturating_duration_since(now);
        !left.is_zero() && left >= self.length / 4
    }

    /// Why it is over, when it is over at its end.
    pub(super) fn reason(&self) -> Stop {
        if self.end == self.deadline { Stop::Deadline } else { Stop::Expired }
    }
}

fn between(earlier: Timestamp, later: Timestamp) -> Duration {
    Duration::from_millis(later.since(earlier).as_millis()).min(AGES)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::wire::time::{Instant as At, parse};
    use campanile_core::time::Span;
    use serde_json::json;

    const TTL: Duration = Duration::from_secs(60);

    fn at(time: &str) -> At {
        At(parse(&format!("2026-12-01T{time}Z")).unwrap())
    }

    fn leased(begun_at: &str, until: &str, deadline: &str) -> Leased {
        serde_json::from_str(
            &json!({"lease": "lse_1", "firing": "frg_1", "schedule": "a/b", "uid": "u", "revision": 1, "queue": "q",
                "nominal": at(begun_at), "run": 0, "kind": "scheduled", "attempt": 1, "fencing_token": 1,
                "begun_at": at(begun_at), "until": at(until), "deadline": at(deadline)})
            .to_string(),
        )
        .unwrap()
    }

    fn beat(until: &str, deadline: &str) -> Heartbeat {
        Heartbeat { until: at(until), deadline: at(deadline), stop: false }
    }

    #[test]
    fn a_lease_is_counted_from_before_it_was_asked_for_whatever_the_wall_clock_says() {
        let sent = Instant::now();
        let term = Term::granted(&leased("03:00:00", "03:01:00", "04:00:00"), TTL, sent);
        assert_eq!(
            (term.end(), term.next_beat(), term.reason()),
            (sent + TTL, sent + TTL / 3, Stop::Expired)
        );
        assert!(term.allows_a_start(sent + TTL * 3 / 4) && !term.is_vague(sent + TTL / 3));
        assert!(!term.allows_a_start(sent + TTL * 3 / 4 + Duration::from_millis(1)));
    }

    #[test]
    fn no_heartbeat_carries_a_lease_beyond_its_deadline() {
        let sent = Instant::now();
        let second = Duration::from_secs(1);
        let mut term = Term::granted(&leased("03:00:00", "03:01:00", "03:01:30"), TTL, sent);
        assert_eq!(term.end(), sent + TTL);
        // Answered by 03:00:20, as the ttl tells; so the deadline is 70 s after it was sent.
        term.renew(&beat("03:01:20", "03:01:30"), TTL, sent + 20 * second);
        assert_eq!((term.end(), term.reason()), (sent + 80 * second, Stop::Expired));
        term.renew(&beat("03:01:30", "03:01:30"), TTL, sent + 40 * second);
        assert_eq!((term.end(), term.reason()), (sent + 90 * second, Stop::Deadline));
    }

    #[test]
    fn a_wait_for_work_shortens_the_count_until_a_heartbeat_mends_it() {
        let sent = Instant::now();
        let second = Duration::from_secs(1);
        let mut term = Term::granted(&leased("03:00:20", "03:01:20", "03:02:20"), TTL, sent);
        assert_eq!(term.end(), sent + TTL);
        // Waited 20 s for work; the heartbeat goes out as soon as the lease is there.
        term.renew(&beat("03:01:20", "03:02:20"), TTL, sent + 20 * second);
        assert_eq!(term.end(), sent + 80 * second);
        term.renew(&beat("03:02:20", "03:02:20"), TTL, sent + 90 * second);
        assert_eq!(term.end(), sent + 140 * second);
    }

    #[test]
    fn a_lease_that_a_near_deadline_made_short_is_looked_at_when_it_came_after_a_wait() {
        let sent = Instant::now();
        let second = Duration::from_secs(1);
        // Ten seconds, given after 20 s of waiting for work: over by the count, and whole in truth.
        let mut term = Term::granted(&leased("03:00:20", "03:00:30", "03:00:30"), TTL, sent);
        let now = sent + 20 * second;
        assert!(term.is_vague(now) && !term.allows_a_start(now));
        assert!(!term.is_vague(sent) && term.allows_a_start(sent), "without a wait it is clear");
        let look = term.look();
        assert_eq!(look, Duration::from_millis(2_500));
        let answer = Heartbeat {
            until: At(at("03:00:22").0 + Span::from_millis(500)),
            ..beat("03:00:22", "03:00:30")
        };
        term.renew(&answer, look, now);
        assert_eq!((term.end(), term.next_beat()), (now + look, now));
        assert!(term.allows_a_start(now + second / 10));
        term.renew(&beat("03:00:30", "03:00:30"), TTL, now + second / 10);
        assert_eq!((term.end(), term.reason()), (now + 10 * second, Stop::Deadline));
    }

    #[test]
    fn a_lease_without_a_deadline_and_one_that_is_over_at_once_are_counted_too() {
        let sent = Instant::now();
        let mut endless = leased("03:00:00", "03:01:00", "03:01:00");
        endless.deadline = At(Timestamp::NEVER);
        assert_eq!(Term::granted(&endless, TTL, sent).end(), sent + TTL);
        let over = Term::granted(&leased("03:00:00", "02:59:00", "03:01:00"), TTL, sent);
        assert_eq!(over.end(), sent);
    }
}
