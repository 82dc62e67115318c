//! What somebody should see to in a cluster that runs, in words with numbers and with what to do.
//!
//! Nothing is decided by these texts; each condition is measured elsewhere.

use campanile_core::time::{Span, Timestamp};

use super::quorum::ClusterStatus;
use crate::clock::guard::Standing;
use crate::wire::cluster::Node;

/// All of them, as one node sees the cluster; none when all is well. `log` is the log's time, `now` this node's clock.
pub(crate) fn of(status: &ClusterStatus, log: Timestamp, now: Timestamp) -> Vec<String> {
    let max = status.max_clock_ahead;
    let own = own_clock_ahead(status.standing, max).or_else(|| own_clock_behind(status.standing, max));
    // Against a clock that is wrong itself, every other is.
    let others = status.nodes.iter().filter(|_| own.is_none()).filter_map(|node| clock_of(node, max));
    let mut warnings: Vec<String> = others.collect();
    warnings.extend(log_ahead(log, now, max));
    warnings.extend(mixed_tz(status));
    own.into_iter().chain(warnings).collect()
}

/// This node's clock is ahead of a quorum of clocks.
pub(crate) fn own_clock_ahead(standing: Standing, max: Span) -> Option<String> {
    standing.is_ahead.then(|| {
        format!(
            "the clock of this node is {} ahead of a majority of clocks, more than cluster.max_clock_ahead ({max}): it \
             decides nothing as leader; check NTP on this node",
            millis(standing.offset_millis)
        )
    })
}

fn own_clock_behind(standing: Standing, max: Span) -> Option<String> {
    (millis(standing.offset_millis) > max && standing.offset_millis < 0).then(|| {
        format!(
            "the clock of this node is {} behind a majority of clocks: while it leads, instants are decided that much late; \
             check NTP on this node",
            millis(standing.offset_millis)
        )
    })
}

fn clock_of(node: &Node, max: Span) -> Option<String> {
    let offset = node.clock_offset_ms.filter(|offset| millis(*offset) > max)?;
    let side = if offset > 0 { "ahead of" } else { "behind" };
    let (id, offset) = (node.id, millis(offset));
    Some(format!("the clock of node {id} is {offset} {side} the clock of this node; check NTP on node {id}"))
}

fn log_ahead(log: Timestamp, now: Timestamp, max: Span) -> Option<String> {
    let ahead = log.since(now);
    (ahead > max).then(|| {
        format!(
            "the log's time is {ahead} ahead of the clock of this node: time on the log never runs back, so no later instant \
             is decided until clocks reach it"
        )
    })
}

fn mixed_tz(status: &ClusterStatus) -> Option<String> {
    let versions = status.tz_versions();
    (versions.len() > 1).then(|| {
        let each = status.nodes.iter().filter_map(|node| Some(format!("node {}: {}", node.id, node.tz_data.as_ref()?)));
        let each: Vec<String> = each.collect();
        format!(
            "the nodes have different tz data ({}): next instants may move when another node leads; bring the nodes to one \
             release",
            each.join(", ")
        )
    })
}

fn millis(offset: i64) -> Span {
    Span::from_millis(offset.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use campanile_core::id::{LogIndex, NodeId};

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn status(nodes: &[(i64, &str)]) -> ClusterStatus {
        let node = |(id, (offset, tz)): (u64, &(i64, &str))| Node {
            id,
            peer_address: String::new(),
            api_address: String::new(),
            role: "follower".into(),
            reachable: None,
            lag: None,
            clock_offset_ms: Some(*offset),
            tz_data: Some((*tz).to_owned()),
            speaks: None,
        };
        ClusterStatus {
            name: "test".into(),
            node: NodeId(1),
            leader: None,
            term: 1,
            last_log: LogIndex(1),
            nodes: (1..).zip(nodes).map(node).collect(),
            standing: Standing::default(),
            max_clock_ahead: Span::from_secs(1),
        }
    }

    fn starts(status: &ClusterStatus, log: Timestamp) -> Vec<String> {
        of(status, log, NOW).into_iter().map(|text| text.chars().take(52).collect()).collect()
    }

    #[test]
    fn a_cluster_that_is_well_warns_of_nothing() {
        assert_eq!(starts(&status(&[(0, "2026a"), (-1_000, "2026a"), (1_000, "2026a")]), NOW), [""; 0]);
    }

    #[test]
    fn each_thing_to_see_to_is_one_sentence() {
        let mixed = status(&[(0, "2026a"), (86_400_000, "2025b"), (-1_001, "2026a")]);
        assert_eq!(
            starts(&mixed, NOW + Span::from_secs(90)),
            [
                "the clock of node 2 is 1d ahead of the clock of this",
                "the clock of node 3 is 1s1ms behind the clock of thi",
                "the log's time is 1m30s ahead of the clock of this n",
                "the nodes have different tz data (node 1: 2026a, nod",
            ]
        );
        let own = |is_ahead, offset_millis| ClusterStatus {
            standing: Standing { is_ahead, offset_millis },
            ..status(&[(0, "2026a"), (-28_800_000, "2026a"), (-28_800_000, "2026a")])
        };
        assert_eq!(
            starts(&own(true, 28_800_000), NOW),
            ["the clock of this node is 8h ahead of a majority of "]
        );
        assert_eq!(
            starts(&own(false, -5_000), NOW),
            ["the clock of this node is 5s behind a majority of cl"]
        );
    }
}
