//! How fast workers empty a long queue: a hundred thousand firings, leased a hundred at a time and settled one by one, by
//! clients on every node; and whether the rate depends on how many still wait.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use campanile_cluster_tests::api::Api;
use campanile_cluster_tests::receiver::now;
use campanile_cluster_tests::workload::Schedule;
use campanile_core::cron::instant_text;
use campanile_core::time::{Span, Timestamp};
use serde_json::{Value, json};

use crate::Plan;
use crate::figure::Report;
use crate::stage::Stage;

const FIRINGS: usize = 100_000;
/// A backfill has at most ten thousand live firings.
const SCHEDULES: usize = 10;
const QUEUE: &str = "drain";
/// At each node, as one worker process that runs so many jobs.
const JOBS: usize = 32;
/// The most that one request leases.
const MAX: usize = 100;
const DAY: u64 = 86_400;
const FILLED_WITHIN: Duration = Duration::from_secs(300);

/// When each firing was settled, counted from the first request.
type Settled = Arc<Mutex<Vec<Duration>>>;

pub(crate) async fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let mut stage = Stage::set(plan, toml::Table::new()).await?;
    let api = stage.leader_api().await;
    let count = plan.share(FIRINGS);
    fill(&api, count / SCHEDULES).await?;

    let (begun, settled) = (Instant::now(), Settled::default());
    let mut jobs = tokio::task::JoinSet::new();
    for node in stage.cluster.places() {
        for _ in 0..JOBS {
            let worker = format!("bench/{node}");
            jobs.spawn(work(stage.cluster.api(node), worker, (begun, settled.clone()), count));
        }
    }
    while let Some(done) = jobs.join_next().await {
        done??;
    }

    let settled = std::mem::take(&mut *settled.lock().expect("nobody panics with it in hand"));
    ensure!(settled.len() == count, "{} of {count} were settled", settled.len());
    let rate = count as f64 / settled[count - 1].as_secs_f64();
    let how =
        format!("{count} waiting; 3 clients of {JOBS} jobs, one at each node, in the bench; {MAX} a lease");
    report.add("drained_per_s", "firings/s", vec![rate], how);
    let tenths: Vec<String> = (1..10).map(|tenth| format!("{:.0}", rate_of(&settled, tenth))).collect();
    println!("   by tenths, from the second on: {} a second", tenths.join(", "));
    let flatness = rate_of(&settled, 8) / rate_of(&settled, 1);
    let how = "the rate of the ninth tenth of them by that of the second: 1 when length costs nothing";
    report.add("drain_flatness", "", vec![flatness], how);
    stage.end_undisturbed(report).await
}

/// Puts so many firings of each schedule into the queue: one a day, long ago.
async fn fill(api: &Api, each: usize) -> Result<()> {
    let begun = Instant::now();
    let today = now().as_millis().div_euclid(1_000 * DAY as i64);
    let until = Timestamp::from_millis((today - 1) * 1_000 * DAY as i64);
    let after = until - Span::from_secs(DAY * each as u64);
    for n in 0..SCHEDULES {
        let name = format!("drain/n{n}");
        let body = json!({ "specs": [{ "every": "24h" }], "target": { "queue": { "name": QUEUE } } });
        Schedule { name: name.clone(), body }.create(api).await?;
        let backfill = json!({
            "schedule": name, "after": instant_text(after), "until": instant_text(until), "max_live": each,
        });
        let reply = api.post("/v1/backfills", &backfill).await?;
        ensure!(reply.is_success(), "{} {}", reply.status, reply.body);
    }
    while !are_through(&api.get("/v1/backfills?limit=100").await?.body) {
        ensure!(begun.elapsed() < FILLED_WITHIN, "the queue was not filled in {FILLED_WITHIN:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    println!("   filled in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

fn are_through(backfills: &Value) -> bool {
    let items = backfills["items"].as_array();
    items.is_some_and(|items| items.len() == SCHEDULES && items.iter().all(|one| one["state"] == "completed"))
}

/// Leases and settles until everything is settled.
async fn work(api: Api, worker: String, (begun, settled): (Instant, Settled), count: usize) -> Result<()> {
    let order = json!({ "worker": worker, "max": MAX, "ttl": "60s", "wait": "1s" });
    while settled.lock().expect("nobody panics with it in hand").len() < count {
        let leased = answer(&api, &format!("/v1/queues/{QUEUE}/lease"), &order).await?;
        for lease in leased.as_array().context("a list of leases")? {
            let path =
                format!("/v1/leases/{}/settle", lease["lease"].as_str().context("a lease has a name")?);
            answer(&api, &path, &json!({ "outcome": "succeeded" })).await?;
            settled.lock().expect("nobody panics with it in hand").push(begun.elapsed());
        }
    }
    Ok(())
}

async fn answer(api: &Api, path: &str, body: &Value) -> Result<Value> {
    let reply = api.post(path, body).await?;
    ensure!(reply.status == 200, "{path}: {} {}", reply.status, reply.body);
    Ok(reply.body)
}

/// The rate of one tenth, counted from 0. The first and the last are no measure: before the one nothing is leased, and in
/// the other jobs run out of work.
fn rate_of(settled: &[Duration], tenth: usize) -> f64 {
    let part = settled.len() / 10;
    let span = settled[(tenth + 1) * part - 1] - settled[tenth * part - 1];
    part as f64 / span.as_secs_f64()
}
