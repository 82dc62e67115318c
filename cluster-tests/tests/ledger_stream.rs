//! The stream of the ledger, through kills of the leader: readers of each of three nodes are given the same rows in the same
//! order, once each, and they are the rows of the ledger.
//!
//! Readers come back to their own node, so each of them meets its node behind the position that it has reached. One of them
//! is slow. The command line follows too, over whichever node answers. `SEED` and `KILLS` choose another run.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::time::Duration;

use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::ledger::{Ledger, Position, Row};
use campanile_cluster_tests::process::Process;
use campanile_cluster_tests::receiver::Receiver;
use campanile_cluster_tests::seed::{Dice, Seed, number_from_environment};
use campanile_cluster_tests::streams::{Pace, Reader};
use campanile_cluster_tests::{wait, workload};
use serde_json::Value;

/// Of every second each, spread over it: three rows a firing.
const SCHEDULES: u64 = 15;
/// How long a leader leads before it is killed.
const BETWEEN: Duration = Duration::from_millis(600);
/// How long a reader may take until it has what its node has.
const LEVEL_WITHIN: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn readers_of_each_node_are_given_every_row_once_through_kills_of_the_leader() {
    let seed = Seed::from_environment();
    let kills = number_from_environment("KILLS", 20);
    let receiver = Receiver::start().await;
    let mut cluster = Cluster::start(Options::new(seed)).await;
    let quick: Vec<Reader> =
        cluster.places().map(|node| Reader::attach(cluster.api(node), Pace::Quick)).collect();
    let slow = Reader::attach(cluster.api(2), Pace::Slow);
    let printed = tempfile::NamedTempFile::new().unwrap();
    let tail = cluster.command(&["ledger", "tail", "--follow", "-o", "jsonl", "--after", "0"]);
    let mut tail = Process::start(tail, printed.path()).unwrap();
    let spread = |n: u64| workload::every_second(n * 1000 / SCHEDULES);
    let schedules: Vec<_> = (0..SCHEDULES)
        .map(|n| workload::schedule(&format!("told/n{n}"), &spread(n), &receiver.url("/fine")))
        .collect();
    workload::create_all(&cluster.api(1), &schedules).await.unwrap();

    let mut dice = seed.dice("kills");
    for _ in 0..kills {
        kill_the_leader(&mut cluster, &mut dice).await;
    }
    slow.hurry();

    let ledgers = level_ledgers(&mut cluster).await;
    let target = ledgers.iter().filter_map(Ledger::last).min().unwrap();
    let wanted: Vec<&Value> = ledgers[0].up_to(target).iter().map(|row| &row.json).collect();
    eprintln!("{} rows up to {}.{} after {kills} kills", wanted.len(), target.index, target.n);
    assert!(wanted.len() as u64 > kills * SCHEDULES, "a run in which little happens proves little");
    for (ledger, node) in ledgers.iter().zip(1..) {
        let held: Vec<&Value> = ledger.up_to(target).iter().map(|row| &row.json).collect();
        assert_eq!(first_difference(&held, &wanted), None, "the ledger of node {node}");
    }
    let names = ["node 1", "node 2", "node 3", "node 2, slowly"];
    for (reader, name) in quick.iter().chain([&slow]).zip(names) {
        let what = format!("the reader of {name} to have {}.{}", target.index, target.n);
        wait::must(&what, LEVEL_WITHIN, async || (reached(&reader.rows()) >= Some(target)).then_some(()))
            .await;
        let rows = reader.rows();
        eprintln!("{name}: {} rows over {} connections", rows.len(), reader.connections());
        assert_eq!(reader.refusals(), Vec::<String>::new(), "{name}");
        assert_told(&rows, &wanted, name);
    }
    let connections: usize = quick.iter().map(Reader::connections).sum();
    assert!(connections as u64 >= 3 + kills / 2, "kills end streams: {connections} were opened");

    let rows = || -> Vec<Value> {
        let text = tail.output();
        // The last line may be half written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(Value::is_object).collect()
    };
    let what = "the command line to have printed every row";
    wait::must(what, LEVEL_WITHIN, async || (reached(&rows()) >= Some(target)).then_some(())).await;
    assert_told(&rows(), &wanted, "the command line");
    assert!(tail.is_running(), "it follows until it is told to stop");
}

async fn kill_the_leader(cluster: &mut Cluster, dice: &mut Dice) {
    // A matter of time, as every plan of faults is: where in its reign a leader dies.
    tokio::time::sleep(dice.between(Duration::ZERO, BETWEEN)).await;
    let leader = cluster.leader().await;
    cluster.kill(leader);
    cluster.spawn(leader);
    cluster.wait_ready_of(leader).await;
}

/// The ledger of each node, up to what the leader has now.
async fn level_ledgers(cluster: &mut Cluster) -> Vec<Ledger> {
    let leader = cluster.leader().await;
    let mut first = Ledger::default();
    first.read_on(&cluster.api(leader)).await.unwrap();
    let target = first.last();
    let mut ledgers = Vec::new();
    for node in cluster.places() {
        let (mut ledger, api) = (Ledger::default(), cluster.api(node));
        wait::must("a ledger to be level", LEVEL_WITHIN, async || {
            ledger.read_on(&api).await.unwrap();
            (ledger.last() >= target).then_some(())
        })
        .await;
        ledgers.push(ledger);
    }
    ledgers
}

fn reached(rows: &[Value]) -> Option<Position> {
    rows.last().map(|row| Row::of(row).unwrap().position)
}

/// What was given begins with the wanted rows, each once and in order.
fn assert_told(rows: &[Value], wanted: &[&Value], name: &str) {
    let told: Vec<&Value> = rows.iter().take(wanted.len()).collect();
    assert_eq!(
        first_difference(&told, wanted),
        None,
        "{name}: the first row that differs, and the one wanted"
    );
}

fn first_difference(rows: &[&Value], wanted: &[&Value]) -> Option<(Value, Value)> {
    let null = Value::Null;
    let longest = rows.len().max(wanted.len());
    let at = |rows: &[&Value], place: usize| (*rows.get(place).unwrap_or(&&null)).clone();
    (0..longest).map(|place| (at(rows, place), at(wanted, place))).find(|(row, wanted)| row != wanted)
}
