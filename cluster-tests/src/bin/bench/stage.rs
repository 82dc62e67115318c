//! What the phases share: a cluster, the leader's figures at two moments, and how often leaders changed in between.

use std::time::Duration;

use anyhow::Result;
use campanile_cluster_tests::api::Api;
use campanile_cluster_tests::cluster::{Cluster, Options};

use crate::Plan;
use crate::figure::Report;
use crate::metrics::Scrape;

/// A cluster under measurement.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    changes_before: f64,
}

/// The leader's metrics at the ends of a window.
pub(crate) struct Window {
    pub(crate) before: Scrape,
    pub(crate) after: Scrape,
    pub(crate) took: Duration,
}

impl Stage {
    /// Three nodes with the product's settings, but for `extra`.
    pub(crate) async fn set(plan: &Plan, extra: toml::Table) -> Result<Self> {
        let cluster = Cluster::start(Options { extra, ..Options::new(plan.seed) }).await;
        let mut stage = Self { cluster, changes_before: 0.0 };
        // The first leader is no change.
        stage.cluster.leader().await;
        stage.changes_before = stage.offices_taken().await?;
        Ok(stage)
    }

    pub(crate) async fn leader_api(&mut self) -> Api {
        let leader = self.cluster.leader().await;
        self.cluster.api(leader)
    }

    /// Lets the load run for `span`, undisturbed, between two scrapes of the leader.
    pub(crate) async fn window(&mut self, span: Duration) -> Result<Window> {
        let api = self.leader_api().await;
        let (begun, before) = (std::time::Instant::now(), Scrape::of(&api).await?);
        tokio::time::sleep(span).await;
        let (after, took) = (Scrape::of(&api).await?, begun.elapsed());
        Ok(Window { before, after, took })
    }

    /// Counts the changes of leader since the start: nobody disturbed the cluster up to here.
    pub(crate) async fn end_undisturbed(&self, report: &mut Report) -> Result<()> {
        let changes = self.offices_taken().await? - self.changes_before;
        report.add_changes(changes);
        if changes > 0.0 {
            println!("   the leader changed {changes} times under this load");
        }
        Ok(())
    }

    async fn offices_taken(&self) -> Result<f64> {
        let mut taken = 0.0;
        for node in self.cluster.places() {
            taken += Scrape::of(&self.cluster.api(node)).await?.sum("campanile_leader_changes_total");
        }
        Ok(taken)
    }
}

impl Window {
    /// How much a counter grew in a second.
    pub(crate) fn rate(&self, counter: &str) -> f64 {
        (self.after.sum(counter) - self.before.sum(counter)) / self.took.as_secs_f64()
    }
}
