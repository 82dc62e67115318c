//! How many firings a second three processes decide and commit to durable logs: more is due than they can take.
//!
//! Nothing is delivered meanwhile: the one request that a node may have under way is never answered. So what is measured is
//! ticker, consensus, log, machine and ledger.

use std::time::Duration;

use anyhow::{Result, ensure};
use campanile_cluster_tests::receiver::{Manner, Receiver, now};
use campanile_cluster_tests::workload::Schedule;
use campanile_cluster_tests::{wait, workload};
use campanile_core::cron::instant_text;
use campanile_core::time::Span;

use crate::Plan;
use crate::figure::Report;
use crate::load;
use crate::metrics::Scrape;
use crate::stage::Stage;

/// Due each second: above the target, so that there is always a backlog.
const SCHEDULES: usize = 80_000;
/// Created first, to see how fast this machine creates: all must be there before the first is due.
const PILOT: usize = 1_000;
const WINDOW: Duration = Duration::from_secs(8);

pub(crate) async fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let receiver = Receiver::start().await;
    receiver.answer("/never", Manner::Hang);
    let extra = toml::toml! {
        [dispatch]
        max_in_flight = 1
        per_host = 1
    };
    let mut stage = Stage::set(plan, extra).await?;
    let api = stage.leader_api().await;
    let count = plan.share(SCHEDULES);
    let url = receiver.url("/never");
    let pilot = load::create(&api, schedules("pilot", PILOT, &url, "2200-01-01T00:00:00Z".into())).await?;
    let allowed = pilot.mul_f64(2.0 * count as f64 / PILOT as f64) + Duration::from_secs(5);
    let start = now() + Span::from_millis(allowed.as_millis() as u64);
    let took = load::create(&api, schedules("commit", count, &url, instant_text(start))).await?;
    println!("   {count} schedules created in {took:?}, due from {} on", instant_text(start));
    ensure!(now() < start, "creating them took more than twice as long as the first {PILOT} had promised");

    let begun = Duration::from_millis(start.since(now()).as_millis() + 30_000);
    wait::must("the first instants", begun, async || {
        Scrape::of(&api).await.is_ok_and(|scrape| scrape.sum(FIRED) > 0.0).then_some(())
    })
    .await;
    let mut runs = Vec::new();
    for _ in 0..plan.runs() {
        runs.push(stage.window(WINDOW).await?.rate(FIRED));
    }
    let how = format!("{count} every 1s, all due at once; nothing is sent; windows of {WINDOW:?}");
    report.add("committed_per_s", "firings/s", runs, how);
    stage.end_undisturbed(report).await
}

const FIRED: &str = "campanile_firings_total";

fn schedules(
    namespace: &'static str,
    count: usize,
    url: &str,
    start_at: String,
) -> impl Iterator<Item = Schedule> + Send + use<> {
    let url = url.to_owned();
    (0..count).map(move |n| {
        let mut schedule = workload::schedule(&format!("{namespace}/n{n}"), &workload::every_second(0), &url);
        schedule.body["start_at"] = start_at.clone().into();
        schedule.body["target"]["webhook"]["timeout"] = "1h".into();
        schedule
    })
}
