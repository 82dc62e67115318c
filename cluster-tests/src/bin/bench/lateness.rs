//! How late firings are at 1,000 a second, delivered: from nominal to committed, and from nominal to sent.
//!
//! Twice: spread evenly over the second, and all on the whole second, as crontabs have it. Quantiles are read from the
//! leader's histograms between two scrapes, as the upper bound of a bucket; buckets are 30 % apart.

use std::time::Duration;

use anyhow::Result;
use campanile_cluster_tests::receiver::Receiver;
use campanile_cluster_tests::{wait, workload};

use crate::Plan;
use crate::figure::Report;
use crate::load;
use crate::metrics::Histogram;
use crate::stage::Stage;

const SCHEDULES: usize = 1_000;
const WINDOW: Duration = Duration::from_secs(15);

/// The names of one load: committed p50, p99, p99.9; sent p50, p99, p99.9.
type Names = [&'static str; 6];
const SPREAD: Names = [
    "lateness_p50_ms",
    "lateness_p99_ms",
    "lateness_p999_ms",
    "sent_lateness_p50_ms",
    "sent_lateness_p99_ms",
    "sent_lateness_p999_ms",
];
const BURST: Names = [
    "lateness_burst_p50_ms",
    "lateness_burst_p99_ms",
    "lateness_burst_p999_ms",
    "sent_lateness_burst_p50_ms",
    "sent_lateness_burst_p99_ms",
    "sent_lateness_burst_p999_ms",
];

pub(crate) async fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    under(plan, report, SPREAD, |n| n, "spread over the second").await?;
    under(plan, report, BURST, |_| 0, "all on the whole second").await
}

async fn under(
    plan: &Plan,
    report: &mut Report,
    names: Names,
    offset: fn(u64) -> u64,
    load: &str,
) -> Result<()> {
    let receiver = Receiver::start().await;
    let mut stage = Stage::set(plan, toml::Table::new()).await?;
    let api = stage.leader_api().await;
    let (count, url) = (plan.share(SCHEDULES), receiver.url("/"));
    let schedules = (0..count).map(move |n| {
        workload::schedule(&format!("late/n{n}"), &workload::every_second(offset(n as u64)), &url)
    });
    load::create(&api, schedules).await?;
    wait::must("calls", Duration::from_secs(30), async || (receiver.count() > 2 * count).then_some(())).await;

    let mut runs: [Vec<f64>; 6] = Default::default();
    for _ in 0..plan.runs() {
        receiver.forget();
        let window = stage.window(WINDOW).await?;
        let of = |name| window.after.histogram(name).since(&window.before.histogram(name));
        let committed = of("campanile_lateness_commit_seconds");
        let sent = of("campanile_lateness_send_seconds");
        let found = quantiles(&committed).into_iter().chain(quantiles(&sent));
        runs.iter_mut().zip(found).for_each(|(runs, value)| runs.push(value));
    }
    let how = format!("{count} every 1s, {load}, delivered; windows of {WINDOW:?}");
    for (name, runs) in names.into_iter().zip(runs) {
        report.add(name, "ms", runs, how.clone());
    }
    stage.end_undisturbed(report).await
}

fn quantiles(histogram: &Histogram) -> [f64; 3] {
    [0.5, 0.99, 0.999].map(|quantile| histogram.quantile_ms(quantile))
}
