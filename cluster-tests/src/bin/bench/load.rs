//! Many schedules, created through the HTTP API over many connections, as fast as the cluster takes them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use campanile_cluster_tests::api::Api;
use campanile_cluster_tests::workload::Schedule;

const CONNECTIONS: usize = 64;

/// Creates them all, and says how long that took.
pub(crate) async fn create(
    api: &Api,
    schedules: impl Iterator<Item = Schedule> + Send + 'static,
) -> Result<Duration> {
    let begun = Instant::now();
    let source = Arc::new(Mutex::new(schedules));
    let workers: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (api, source) = (api.clone(), source.clone());
            tokio::spawn(async move {
                loop {
                    let next = source.lock().expect("nobody panics with it in hand").next();
                    let Some(schedule) = next else { return Ok(()) };
                    schedule.create(&api).await?;
                }
            })
        })
        .collect();
    for worker in workers {
        let done: Result<()> = worker.await?;
        done?;
    }
    Ok(begun.elapsed())
}
