//! At most once, by what arrives: nodes are killed with `kill -9` again and again while schedules fire, leaders and holders
//! alike, and no firing reaches its receiver twice. What nobody can know any more ends as `unknown`.
//!
//! `SEED` and `KILLS` choose another run; `make faults` has the long one.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::time::Duration;

use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::judge::Verdict;
use campanile_cluster_tests::receiver::{Manner, Receiver, Rough, now};
use campanile_cluster_tests::seed::{Dice, Seed, number_from_environment};
use campanile_cluster_tests::trial::judge_settled;
use campanile_cluster_tests::workload::{self, Schedule};
use serde_json::json;

/// Of every second each, so that requests are under way whenever somebody dies.
const SCHEDULES: u64 = 12;
/// How long a good answer takes: long enough to die in the midst of it.
const ANSWER: Duration = Duration::from_millis(200);
/// How long a node runs before the next is killed.
const BETWEEN: Duration = Duration::from_millis(600);

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_at_most_once_arrives_at_most_once_whoever_is_killed() {
    let seed = Seed::from_environment();
    let kills = number_from_environment("KILLS", 20);
    let mut receiver = Receiver::start().await;
    receiver.answer("/slow", Manner::After(ANSWER, 204));
    receiver.answer("/busy", Manner::Status(503));
    let (resets, hangs) = (receiver.open(Rough::Resets).await, receiver.open(Rough::Hangs).await);
    let mut cluster = Cluster::start(Options::new(seed)).await;
    let urls = [receiver.url("/busy"), format!("{resets}/resets"), format!("{hangs}/hangs")];
    workload::create_all(&cluster.api(1), &schedules(&receiver.url("/slow"), &urls)).await.unwrap();

    let mut dice = seed.dice("kills");
    let mut leaders = 0;
    for kill in 1..=kills {
        leaders += u64::from(kill_one(&mut cluster, &mut dice, kill).await);
    }
    eprintln!("{kills} nodes were killed, {leaders} of them led");

    let verdict = judge_settled(&cluster, || receiver.calls(), now()).await.unwrap();
    eprintln!("{verdict}");
    assert_proven(&verdict, kills);
}

/// Most are answered well, one is told that its receiver is busy, one loses its connection and one its time.
fn schedules(slow: &str, others: &[String; 3]) -> Vec<Schedule> {
    let url = |n: usize| others.get(n).map_or(slow, |url| url);
    let at_most_once = json!({
        "delivery": "at_most_once", "deadline": "15s",
        "retry": { "max_attempts": 5, "initial": "100ms", "max": "200ms" },
        "target": { "webhook": { "timeout": "1s" } },
    });
    let schedule = |n: u64| {
        let spec = workload::every_second(n * 1000 / SCHEDULES);
        workload::schedule(&format!("once/n{n}"), &spec, url(n as usize)).with(&at_most_once)
    };
    (0..SCHEDULES).map(schedule).collect()
}

/// Kills any node, starts it again at once, and waits for it, so that a majority is there whenever one dies. Whether it led.
async fn kill_one(cluster: &mut Cluster, dice: &mut Dice, kill: u64) -> bool {
    let leader = cluster.leader().await;
    let node = 1 + dice.below(3) as usize;
    // A matter of time, as every plan of faults is: where in the second a node dies.
    tokio::time::sleep(dice.between(Duration::ZERO, BETWEEN)).await;
    cluster.kill(node);
    cluster.spawn(node);
    cluster.wait_ready_of(node).await;
    if kill.is_multiple_of(100) {
        eprintln!("{kill} kills");
    }
    node == leader
}

fn assert_proven(verdict: &Verdict, kills: u64) {
    verdict.assert_clean();
    let counts = verdict.counts;
    assert_eq!(counts.repeated, 0, "no firing arrived twice: {verdict}");
    assert!(
        counts.fired as u64 > kills * SCHEDULES / 4,
        "a run in which little fires proves little: {verdict}"
    );
    assert!(counts.leases_ended > 0, "requests were under way when their nodes died: {verdict}");
    assert!(counts.unknown >= counts.leases_ended, "and nobody knows what became of them: {verdict}");
}
