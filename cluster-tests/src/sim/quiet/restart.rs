//! A planned restart: the office is handed on first, the process ends, and is started again.

use std::time::Duration;

use super::{Quiet, SERVES, holds_office};

/// How long one waits for something that takes as long as an election at most, in seconds.
const PATIENCE: u64 = 120;

impl Quiet {
    /// Of the node at that place.
    pub(super) async fn restart(&mut self, place: usize) {
        self.hand_on(place).await;
        self.hosts[place].kill();
        tokio::time::sleep(Duration::from_secs(2)).await;
        self.hosts[place].start();
        for _ in 0..PATIENCE {
            if self.hosts[place].running().is_some() && self.hosts.iter().any(holds_office) {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.found.add(SERVES, || format!("node {place} was started again and does not serve"));
    }

    async fn hand_on(&self, place: usize) {
        let host = &self.hosts[place];
        let Some(running) = host.running().filter(|_| holds_office(host)) else { return };
        let Some(to) = running.consensus.status().successor(|_| true) else { return };
        let consensus = running.consensus.clone();
        // That it is not asked for is seen below.
        let _ = running.process.spawn(async move { consensus.transfer(to).await }).await;
        for _ in 0..PATIENCE {
            if !holds_office(host) && self.hosts.iter().any(holds_office) {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}
