//! The promise that the product exists for: a leader that dies neither drops nor doubles a tick.
//!
//! Three real processes, 200 schedules imported from a crontab through the command line, 20 that fire every second and 5
//! every two. The leader is killed with `kill -9` at random points and started again; then the ledger of every node and the
//! receiver's record are judged. `SEED`, `FAILOVER_SECONDS` and `FAILOVER_KILLS` choose another run.
//!
//! The test is itself tested: a build that repeats instants after a change of leaders must be found out by it.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::PathBuf;
use std::time::Duration;

use campanile_cluster_tests::binary::{self, says};
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::fault::{carry_out, draw_kills};
use campanile_cluster_tests::judge::{Fault, Verdict};
use campanile_cluster_tests::receiver::{Manner, Receiver, now};
use campanile_cluster_tests::seed::{Seed, number_from_environment};
use campanile_cluster_tests::trial::judge_after;
use campanile_cluster_tests::workload::{self, Schedule};
use serde_json::json;
use tokio::sync::Mutex;

/// Building one binary must not load the machine on which the other is timed.
static ONE_AFTER_THE_OTHER: Mutex<()> = Mutex::const_new(());

const IMPORTED: usize = 200;
const EVERY_SECOND: usize = 20;
const EVERY_TWO: usize = 5;
/// Every second but those of the first half minute; with a spread of the dispatch; and one at a time, the others waiting.
const PARTICULAR: usize = 3;

struct Plan {
    binary: PathBuf,
    seed: Seed,
    seconds: u64,
    kills: u32,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_killed_again_and_again_neither_drops_nor_doubles_a_tick() {
    let seed = Seed::from_environment();
    let _alone = ONE_AFTER_THE_OTHER.lock().await;
    let plan = Plan {
        binary: binary::path().to_owned(),
        seed,
        seconds: number_from_environment("FAILOVER_SECONDS", 90),
        kills: number_from_environment("FAILOVER_KILLS", 5) as u32,
    };
    let verdict = failover(&plan).await;
    eprintln!("{verdict}");
    verdict.assert_clean();
    let counts = verdict.counts;
    assert_eq!(counts.ledgers, 3);
    assert_eq!(counts.schedules, IMPORTED + EVERY_SECOND + EVERY_TWO + PARTICULAR);
    assert!(counts.offices > plan.kills as usize, "each kill makes a new leader: {verdict}");
    // What fires every second and every two would do alone; a run in which nothing fired proves nothing.
    let least = plan.seconds as usize * (EVERY_SECOND + EVERY_TWO / 2);
    assert!(counts.fired >= least, "at least {least} instants should have fired: {verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_repeats_instants_after_a_failover_is_found_out() {
    let seed = Seed::from_environment();
    let _alone = ONE_AFTER_THE_OTHER.lock().await;
    let plan = Plan { binary: binary::planted(), seed, seconds: 20, kills: 2 };
    let verdict = failover(&plan).await;
    eprintln!("{verdict}");
    assert!(verdict.has(Fault::Doubled), "the planted repeats were not found: {verdict}");
}

async fn failover(plan: &Plan) -> Verdict {
    let receiver = Receiver::start().await;
    receiver.answer("/flaky", Manner::FailFirst(1));
    receiver.answer("/slow", Manner::After(Duration::from_millis(300), 204));
    let mut cluster =
        Cluster::start(Options { binary: plan.binary.clone(), ..Options::new(plan.seed) }).await;
    import(&cluster, &receiver.url("/crontab"));
    workload::create_all(&cluster.api(1), &fine_schedules(&receiver)).await.unwrap();

    let span = Duration::from_secs(plan.seconds);
    let kills = draw_kills(plan.seed, span, plan.kills);
    kills.iter().for_each(|kill| eprintln!("planned: {kill}"));
    let killed = carry_out(&mut cluster, &kills, span).await;
    assert_eq!(killed.len(), plan.kills as usize);

    judge_after(&cluster, &receiver, now()).await.unwrap()
}

fn import(cluster: &Cluster, url: &str) {
    let file = workload::crontab();
    let mut command = cluster.command(&["import", "crontab", "--apply", "--strict", "--url", url]);
    command.arg(file);
    let answer = says(command);
    assert_eq!(answer.code, Some(0), "{answer}");
}

/// Most are received at once; some need a second attempt, and some a while, so that attempts are under way when a leader
/// dies.
fn fine_schedules(receiver: &Receiver) -> Vec<Schedule> {
    let url = |n: usize| {
        receiver.url(match n {
            0 | 1 => "/flaky",
            2 | 3 => "/slow",
            _ => "/fine",
        })
    };
    let seconds =
        (0..EVERY_SECOND).map(|n| workload::cron(&format!("fine/second-{n}"), "* * * * * *", &url(n)));
    let twos = (0..EVERY_TWO).map(|n| workload::every(&format!("fine/two-{n}"), "2s", &url(n)));
    seconds.chain(twos).chain(particular(receiver)).collect()
}

fn particular(receiver: &Receiver) -> [Schedule; PARTICULAR] {
    let second = |name: &str, path: &str, field: &str, value: serde_json::Value| {
        let mut schedule = workload::cron(name, "* * * * * *", &receiver.url(path));
        schedule.body[field] = value;
        schedule
    };
    [
        second("fine/excluded", "/fine", "exclude", json!([{ "cron": "0-29 * * * * *" }])),
        second("fine/spread", "/fine", "jitter", json!("800ms")),
        second("fine/queued", "/slow", "overlap", json!("queue_all")),
    ]
}
