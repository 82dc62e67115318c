//! What is done to a cluster and when: drawn from the seed before the start, so that a report can name it.
//!
//! A plan is a matter of time; so this, and nothing else in the tests, lets time pass. It does not judge what comes of it.

pub mod strike;

use std::fmt;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::cluster::Cluster;
use crate::seed::Seed;

/// `kill -9` of whoever leads at a moment, and its start after a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    /// So long after the beginning.
    pub after: Duration,
    /// So long until it is started again.
    pub down: Duration,
}

/// Kills spread over a span: one at a random point of each equal part of it, started again well before the next, so that
/// a majority is there whenever somebody dies.
#[must_use]
pub fn draw_kills(seed: Seed, span: Duration, count: u32) -> Vec<Kill> {
    let mut dice = seed.dice("kills");
    let part = span / count.max(1);
    let draw = |place| Kill {
        after: part * place + dice.between(part / 10, part / 2),
        down: dice.between(part / 50, part / 4),
    };
    (0..count).map(draw).collect()
}

/// Carries the plan out, and waits until its span is over. Returns the places that were killed, in order.
pub async fn carry_out(cluster: &mut Cluster, kills: &[Kill], span: Duration) -> Vec<usize> {
    let begun = Instant::now();
    let mut killed = Vec::new();
    for kill in kills {
        sleep_until(begun + kill.after).await;
        let leader = cluster.leader().await;
        let pid = cluster.pid(leader);
        cluster.kill(leader);
        let died = Instant::now();
        tell(&format!("{:>6.2} s  killed the leader: node {leader}, pid {pid:?}", seconds(begun)));
        sleep_until(died + kill.down).await;
        cluster.spawn(leader);
        cluster.wait_ready_of(leader).await;
        tell(&format!("{:>6.2} s  node {leader} is back, pid {:?}", seconds(begun), cluster.pid(leader)));
        killed.push(leader);
    }
    sleep_until(begun + span).await;
    killed
}

impl fmt::Display for Kill {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "kill -9 of the leader at {:?}, down for {:?}", self.after, self.down)
    }
}

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

#[allow(clippy::print_stderr, reason = "the test harness shows it when the test fails")]
fn tell(line: &str) {
    eprintln!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_spread_and_each_ends_before_the_next() {
        for seed in 0..100 {
            let kills = draw_kills(Seed(seed), Duration::from_secs(90), 5);
            assert_eq!(kills.len(), 5);
            for pair in kills.windows(2) {
                assert!(pair[0].after + pair[0].down < pair[1].after, "seed {seed}: {pair:?}");
            }
            assert_eq!(kills, draw_kills(Seed(seed), Duration::from_secs(90), 5), "seed {seed}");
        }
    }
}
