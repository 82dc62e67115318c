//! How many firings a second are decided, begun, sent, answered and settled: three commits and a request each.

use std::time::{Duration, Instant};

use anyhow::Result;
use campanile_cluster_tests::receiver::Receiver;
use campanile_cluster_tests::{wait, workload};

use crate::Plan;
use crate::figure::Report;
use crate::load;
use crate::stage::Stage;

/// Due each second: more than this machine sends, so that there is a backlog.
const SCHEDULES: usize = 8_000;
const WINDOW: Duration = Duration::from_secs(8);

pub(crate) async fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let receiver = Receiver::start().await;
    let extra = toml::toml! {
        [dispatch]
        per_host = 256
    };
    let mut stage = Stage::set(plan, extra).await?;
    let api = stage.leader_api().await;
    let (count, url) = (plan.share(SCHEDULES), receiver.url("/"));
    let schedules = (0..count)
        .map(move |n| workload::schedule(&format!("deliver/n{n}"), &workload::every_second(n as u64), &url));
    load::create(&api, schedules).await?;
    wait::must("calls", Duration::from_secs(30), async || (receiver.count() > count).then_some(())).await;
    let mut runs = Vec::new();
    for _ in 0..plan.runs() {
        receiver.forget();
        let begun = Instant::now();
        stage.window(WINDOW).await?;
        runs.push(receiver.count() as f64 / begun.elapsed().as_secs_f64());
    }
    let how = format!(
        "{count} every 1s, spread over the second; one receiver, in the bench; windows of {WINDOW:?}"
    );
    report.add("delivered_per_s", "calls/s", runs, how);
    stage.end_undisturbed(report).await
}
