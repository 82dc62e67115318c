//! How this node's clock stands to its peers', looked at all the time, and what follows: a line in the log when it
//! changes, and an office given away by a leader that is ahead.
//!
//! It keeps nobody from deciding: every stamp is bounded where it is made, and the duties ask before they plan. An office
//! is given away because a leader that may not decide is no use; it may come back by an election, and is given away again.

use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use campanile_raft::{Consensus, StampBound, runtime};
use tokio_util::sync::CancellationToken;

use super::quorum::Cluster;
use crate::clock::Clock;
use crate::clock::guard::{Guard, Standing};
use crate::service::quorum::Quorum;

/// How often one looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often a node that does not lead, and so hears nobody, asks its peers for their clocks: well within the age at which
/// a reading says nothing any more.
const HEAR_EVERY: Duration = Duration::from_secs(2);
/// How long a peer may take to answer that.
const HEAR_WITHIN: Duration = Duration::from_secs(1);
/// The waits between tries of giving an office away. A successor takes it within an election; if nobody does, trying more
/// often would only keep the others from their work.
const RESIGN_AGAIN: [Duration; 6] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(16),
    Duration::from_secs(30),
];

/// The clock of this node beside those of its peers.
#[derive(Clone)]
pub(super) struct Clocks {
    clock: Clock,
    guard: Guard,
    consensus: Consensus,
}

/// What consensus asks before it stamps an entry.
#[must_use]
pub fn stamp_bound(guard: Guard) -> StampBound {
    Arc::new(move |now, others| guard.bound(now, Instant::now(), others))
}

impl Clocks {
    pub(super) const fn new(clock: Clock, guard: Guard, consensus: Consensus) -> Self {
        Self { clock, guard, consensus }
    }

    pub(super) const fn guard(&self) -> Guard {
        self.guard
    }

    /// How this clock stands now.
    pub(super) fn standing(&self) -> Standing {
        let others = self.consensus.voter_clocks();
        self.guard.judge(self.clock.now(), Instant::now(), &others)
    }

    /// Looks until `stop`.
    pub(super) async fn watch(self, cluster: Arc<Cluster>, stop: CancellationToken) {
        let mut watch =
            Watch { clocks: self, cluster, said: Said::default(), resign: Resign::default(), heard: None };
        let looking = async {
            loop {
                tokio::time::sleep(runtime::between_looks(LOOK_EVERY)).await;
                watch.look().await;
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = looking => {}
        }
    }
}

struct Watch {
    clocks: Clocks,
    cluster: Arc<Cluster>,
    said: Said,
    resign: Resign,
    heard: Option<Instant>,
}

/// What was said last, so that a state is one line and not one a look.
#[derive(Default)]
struct Said {
    ahead: bool,
    tz_versions: usize,
}

impl Watch {
    async fn look(&mut self) {
        let leads = self.cluster.leads();
        if !leads && self.heard.is_none_or(|heard| heard.elapsed() >= runtime::between_looks(HEAR_EVERY)) {
            self.heard = Some(Instant::now());
            self.clocks.consensus.hear_peers(HEAR_WITHIN).await;
        }
        let standing = self.clocks.standing();
        self.tell(standing);
        if leads {
            self.tell_tz();
        }
        if self.resign.is_due(standing.is_ahead && leads, Instant::now()) {
            self.give_office_away().await;
        }
    }

    fn tell(&mut self, standing: Standing) {
        let max = i64::try_from(self.clocks.guard.max_ahead.as_millis()).unwrap_or(i64::MAX);
        // A clock that stands at the bound would fill the log.
        if self.said.ahead && !standing.is_ahead && standing.offset_millis > max / 4 * 3 {
            return;
        }
        if std::mem::replace(&mut self.said.ahead, standing.is_ahead) == standing.is_ahead {
            return;
        }
        let (offset_ms, max_ms) = (standing.offset_millis, max);
        match standing.is_ahead {
            true => tracing::error!(
                offset_ms,
                max_ms,
                "the clock of this node is ahead of a quorum of clocks: it decides nothing as leader; check NTP on it"
            ),
            false => tracing::info!(
                offset_ms,
                max_ms,
                "the clock of this node agrees with a quorum of clocks again"
            ),
        }
    }

    fn tell_tz(&mut self) {
        let versions = self.cluster.status().tz_versions();
        if std::mem::replace(&mut self.said.tz_versions, versions.len()) != versions.len()
            && versions.len() > 1
        {
            let versions: Vec<String> = versions.into_iter().collect();
            tracing::warn!(
                ?versions,
                "the nodes have different versions of the tz data: bring them to one release"
            );
        }
    }

    async fn give_office_away(&self) {
        match self.cluster.give_away(self.clocks.guard.max_ahead).await {
            Ok(to) => tracing::warn!(to = to.0, "this node gives its office away: its clock is ahead"),
            Err(error) => {
                tracing::warn!(%error, "this node cannot give its office away yet: its clock is ahead")
            }
        }
    }
}

/// When to give an office away, and when again.
#[derive(Debug, Default)]
struct Resign {
    tries: usize,
    not_before: Option<Instant>,
}

impl Resign {
    /// Whether to try now. Leading again soon after goes on with the longer waits; they begin anew once the clock has been
    /// right, or somebody else in office, for as long as the last wait.
    fn is_due(&mut self, wanted: bool, now: Instant) -> bool {
        let waiting = self.not_before.is_some_and(|at| now < at);
        if waiting {
            return false;
        }
        if !wanted {
            *self = Self::default();
            return false;
        }
        self.not_before = Some(now + RESIGN_AGAIN[self.tries.min(RESIGN_AGAIN.len() - 1)]);
        self.tries += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_office_is_given_away_at_once_and_again_after_growing_bounded_waits() {
        let (mut resign, start) = (Resign::default(), Instant::now());
        let mut tried = Vec::new();
        for second in 0..130 {
            if resign.is_due(true, start + Duration::from_secs(second)) {
                tried.push(second);
            }
        }
        assert_eq!(tried, [0, 1, 3, 7, 15, 31, 61, 91, 121]);
        let later = start + Duration::from_secs(151);
        assert!(!resign.is_due(false, later), "the clock is right");
        assert!(resign.is_due(true, later), "wrong again: at once");
        assert!(!resign.is_due(true, later + Duration::from_millis(999)));
    }
}
