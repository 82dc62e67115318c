//! What is done to those who deliver: leader, holder and worker, each killed with -9, and each stopped past its lease and
//! continued. One at a time, in an order that the seed chooses, so that a majority is there whenever one is hurt.

use std::fmt;
use std::time::Duration;

use tokio::time::sleep;

use super::tell;
use crate::cluster::Cluster;
use crate::receiver::Call;
use crate::seed::Seed;
use crate::workers::Workers;

/// Longer than any lease of a node in these tests: a timeout of a second, and what a node keeps for its report (ten).
const PAST_A_NODES_LEASE: Duration = Duration::from_millis(12_500);
/// How far back a call makes its sender a holder.
const RECENT: usize = 100;

/// Who is hurt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// The node that leads.
    Leader,
    /// Of the other nodes the one that has sent the most of late.
    Holder,
    /// A worker.
    Worker,
}

/// How.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// `kill -9`, and a start after a while.
    Killed,
    /// `kill -STOP`, and `kill -CONT` when its leases are over.
    Stopped,
}

/// One thing that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strike {
    /// So long after the one before is over.
    pub after: Duration,
    /// To whom.
    pub whom: Whom,
    /// How.
    pub how: How,
    /// So long it lasts.
    pub lasts: Duration,
}

/// All six, shuffled.
#[must_use]
pub fn draw_strikes(seed: Seed, past_a_workers_lease: Duration) -> Vec<Strike> {
    let mut dice = seed.dice("strikes");
    let mut strikes = Vec::new();
    for whom in [Whom::Leader, Whom::Holder, Whom::Worker] {
        for how in [How::Killed, How::Stopped] {
            let least = match (how, whom) {
                (How::Killed, _) => Duration::from_millis(100),
                (How::Stopped, Whom::Worker) => past_a_workers_lease,
                (How::Stopped, _) => PAST_A_NODES_LEASE,
            };
            let after = dice.between(Duration::from_millis(500), Duration::from_millis(2_500));
            let lasts = dice.between(least, least + Duration::from_secs(1));
            strikes.push(Strike { after, whom, how, lasts });
        }
    }
    for last in (1..strikes.len()).rev() {
        strikes.swap(last, dice.below(last as u64 + 1) as usize);
    }
    strikes
}

/// Carries them out. `calls` says what has arrived, to see who holds something.
pub async fn strike_all(
    cluster: &mut Cluster,
    workers: &mut Workers,
    calls: impl Fn() -> Vec<Call>,
    strikes: &[Strike],
) {
    for (number, strike) in strikes.iter().enumerate() {
        sleep(strike.after).await;
        match strike.whom {
            Whom::Worker => strike_worker(cluster, workers, number % workers.count(), strike).await,
            Whom::Leader => {
                let leader = cluster.leader().await;
                strike_node(cluster, leader, strike).await;
            }
            Whom::Holder => {
                let holder = holder(cluster, &calls()).await;
                strike_node(cluster, holder, strike).await;
            }
        }
    }
}

async fn strike_node(cluster: &mut Cluster, node: usize, strike: &Strike) {
    tell(&format!("node {node}: {strike}"));
    match strike.how {
        How::Killed => {
            cluster.kill(node);
            sleep(strike.lasts).await;
            cluster.spawn(node);
        }
        How::Stopped => {
            cluster.pause(node);
            sleep(strike.lasts).await;
            cluster.go_on(node);
        }
    }
    cluster.wait_ready_of(node).await;
}

async fn strike_worker(cluster: &Cluster, workers: &mut Workers, place: usize, strike: &Strike) {
    tell(&format!("worker {place}: {strike}"));
    match strike.how {
        How::Killed => {
            workers.kill(place);
            sleep(strike.lasts).await;
            workers.start(cluster, place);
        }
        How::Stopped => {
            workers.pause(place);
            sleep(strike.lasts).await;
            workers.go_on(place);
        }
    }
}

/// The place of the node that does not lead and has sent most of the latest calls.
async fn holder(cluster: &mut Cluster, calls: &[Call]) -> usize {
    let leader = cluster.leader().await;
    let recent = &calls[calls.len().saturating_sub(RECENT)..];
    let mut best = None;
    for node in cluster.places().filter(|node| *node != leader) {
        let id = cluster.view(node).await.map_or(String::new(), |view| view["node"].to_string());
        let count = recent.iter().filter(|call| call.node == id).count();
        best = best.max(Some((count, node)));
    }
    best.map_or(leader, |(_, node)| node)
}

impl fmt::Display for Strike {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            How::Killed => "killed",
            How::Stopped => "stopped",
        };
        write!(
            out,
            "the {:?} is {how} for {:?}, {:?} after the one before",
            self.whom, self.lasts, self.after
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_the_six_is_done_once_and_stops_outlast_leases() {
        let past = Duration::from_secs(3);
        for seed in 0..50 {
            let strikes = draw_strikes(Seed(seed), past);
            for whom in [Whom::Leader, Whom::Holder, Whom::Worker] {
                for how in [How::Killed, How::Stopped] {
                    let of_it = |strike: &&Strike| (strike.whom, strike.how) == (whom, how);
                    assert_eq!(strikes.iter().filter(of_it).count(), 1, "seed {seed}");
                }
            }
            let stops = strikes.iter().filter(|strike| strike.how == How::Stopped);
            assert!(stops.into_iter().all(|stop| stop.lasts >= past), "seed {seed}: {strikes:?}");
        }
    }
}
