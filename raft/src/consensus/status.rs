//! How the cluster looks from one node: for people, for health, for metrics. Never for a decision.

use std::sync::Arc;
use std::time::Duration;

use campanile_core::format::FormatLevel;
use campanile_core::id::{LogIndex, NodeId, Term};
use campanile_storage::log::LogStats;
use openraft::async_runtime::{Instant, WatchReceiver};

use super::Inner;
use crate::types::Peer;
use crate::watchdog::Counts;

/// A peer that has not answered the leader for this long is called unreachable: 20 heartbeats of the default.
const SILENCE: Duration = Duration::from_secs(1);

/// The cluster as one node sees it.
#[derive(Debug, Clone)]
pub struct ClusterStatus {
    /// The node that looks.
    pub node: NodeId,
    /// Who leads, as far as it knows.
    pub leader: Option<NodeId>,
    /// The term it is in.
    pub term: Term,
    /// The last entry that it has applied.
    pub applied: LogIndex,
    /// The last entry of its log.
    pub last_log: LogIndex,
    /// The last entry that it knows to be committed.
    pub committed: LogIndex,
    /// How long ago a quorum last answered; only a leader knows.
    pub quorum_age: Option<Duration>,
    /// How long ago a leader was last heard; not for the leader itself.
    pub leader_age: Option<Duration>,
    /// Everybody in the membership.
    pub members: Vec<Member>,
    /// The sets of voters, of each of which a majority is needed: two while they change.
    pub voters: Vec<Vec<NodeId>>,
    /// How its log is doing.
    pub log: LogStatus,
    /// What its watchdogs have seen.
    pub watchdogs: Counts,
}

impl ClusterStatus {
    /// Which voter to hand the leadership to: of those that answer and will do, the one that lacks least.
    #[must_use]
    pub fn successor(&self, will_do: impl Fn(&Member) -> bool) -> Option<NodeId> {
        let others = self.members.iter().filter(|member| member.voter && member.node != self.node);
        let able = others.filter(|member| member.answers() != Some(false) && will_do(member));
        able.min_by_key(|member| member.lag.unwrap_or(u64::MAX)).map(|member| member.node)
    }

    /// Whether a majority of the voters answers the leader when this node votes no more; only the leader knows.
    pub(crate) fn can_miss(&self, node: NodeId) -> bool {
        let others = self.members.iter().filter(|member| member.voter && member.node != node);
        let (answer, left) = others.fold((0, 0), |(answer, left), member| {
            (answer + usize::from(member.answers() == Some(true)), left + 1)
        });
        2 * answer > left
    }
}

/// One member as this node sees it. A leader knows all of it, others only what stands in the membership and their clock.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its id.
    pub node: NodeId,
    /// Where it is reached.
    pub peer: Peer,
    /// Whether it votes; a learner does not.
    pub voter: bool,
    /// How long ago it last answered the leader.
    pub ack_age: Option<Duration>,
    /// How many entries it is behind the leader.
    pub lag: Option<u64>,
    /// Its wall clock minus ours, in milliseconds.
    pub clock_offset_millis: Option<i64>,
    /// The version of its tz data.
    pub tz_data: Option<Arc<str>>,
    /// The newest format level that it reads, as it last said.
    pub speaks: Option<FormatLevel>,
}

impl Member {
    /// Whether it answered the leader lately; only the leader knows.
    #[must_use]
    pub fn answers(&self) -> Option<bool> {
        self.ack_age.map(|age| age < SILENCE)
    }
}

/// How the log is doing.
#[derive(Debug, Clone)]
pub struct LogStatus {
    /// The image that a restart would begin with.
    pub image: Option<LogIndex>,
    /// The last purged entry.
    pub purged: Option<LogIndex>,
    /// What storage measures: queue, batches, and the last sync.
    pub stats: LogStats,
}

pub(crate) fn of(inner: &Inner) -> ClusterStatus {
    // Cloned, not held: openraft publishes through the same lock.
    let metrics = inner.raft.metrics().borrow_watched().clone();
    let (clocks, zones) = (inner.chancery.stamps.clocks.all(), inner.zones.all());
    let (wall, moment) = ((inner.options.clock)(), tokio::time::Instant::now());
    let last_log = metrics.last_log_index.unwrap_or_default();
    let membership = metrics.membership_config.membership();
    let voters: Vec<u64> = membership.voter_ids().collect();
    let sets = membership.get_joint_config().iter().map(|set| set.iter().copied().map(NodeId).collect());
    let leads = metrics.replication.is_some();
    let member = |(id, peer): (&u64, &Peer)| {
        let itself = leads && *id == inner.node.0;
        let acked = metrics.heartbeat.as_ref().and_then(|acks| acks.get(id).copied().flatten());
        let matched = metrics.replication.as_ref().and_then(|matches| matches.get(id));
        Member {
            node: NodeId(*id),
            peer: peer.clone(),
            voter: voters.contains(id),
            ack_age: if itself { Some(Duration::ZERO) } else { acked.map(|at| at.elapsed()) },
            lag: match itself {
                true => Some(0),
                false => matched.map(|id| last_log.saturating_sub(id.as_ref().map_or(0, |id| id.index))),
            },
            clock_offset_millis: clocks.get(&NodeId(*id)).map(|clock| clock.offset_millis(wall, moment)),
            tz_data: match *id == inner.node.0 {
                true => inner.options.tz_data.as_deref().map(Arc::from),
                false => zones.get(&NodeId(*id)).cloned(),
            },
            speaks: match *id == inner.node.0 {
                true => Some(inner.options.speaks),
                false => inner.formats.of(NodeId(*id)),
            },
        }
    };
    ClusterStatus {
        node: inner.node,
        leader: metrics.current_leader.map(NodeId),
        term: Term(metrics.current_term),
        applied: inner.view.applied(),
        last_log: LogIndex(last_log),
        committed: LogIndex(metrics.local_committed.map_or(0, |id| id.index)),
        // A lone voter is its own majority, and openraft does not ask itself.
        quorum_age: match leads && voters.as_slice() == [inner.node.0] {
            true => Some(Duration::ZERO),
            false => metrics.last_quorum_acked.map(|at| at.elapsed()),
        },
        leader_age: if leads { None } else { inner.doors.leader_age() },
        members: membership.nodes().map(member).collect(),
        voters: sets.collect(),
        log: LogStatus {
            image: metrics.snapshot.map(|id| LogIndex(id.index)),
            purged: metrics.purged.map(|id| LogIndex(id.index)),
            stats: inner.log.stats(),
        },
        watchdogs: inner.alarms.counts(),
    }
}
