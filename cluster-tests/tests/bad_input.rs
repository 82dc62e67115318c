//! What is wrong with a request or a start is said clearly, and harms nothing that was acknowledged.
//!
//! Requests are judged over real HTTP by status, code, pointer, column and hint; starts by one line and exit code 2.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "bad_input/requests.rs"]
mod requests;
#[path = "bad_input/starts.rs"]
mod starts;

use campanile_cluster_tests::api::Api;
use campanile_cluster_tests::cluster::{Cluster, Options};
use campanile_cluster_tests::seed::Seed;
use campanile_cluster_tests::workload::{self, Schedule};

/// A single node is enough: what is refused never reaches the others.
pub(crate) async fn one_node() -> Cluster {
    Cluster::start(Options { nodes: 1, ..Options::new(Seed::from_environment()) }).await
}

/// Schedules that are acknowledged before anything bad comes.
pub(crate) async fn acknowledged(api: &Api) -> Vec<Schedule> {
    let schedules: Vec<Schedule> = (0..10)
        .map(|n| workload::cron(&format!("kept/n{n}"), "0 4 1 1 *", "http://127.0.0.1:9/kept"))
        .collect();
    workload::create_all(api, &schedules).await.unwrap();
    schedules
}

/// They are there, as they were put.
pub(crate) async fn assert_kept(api: &Api, schedules: &[Schedule]) {
    for schedule in schedules {
        let reply = api.get(&schedule.path()).await.unwrap();
        assert_eq!(reply.status, 200, "{}: {}", schedule.name, reply.body);
        assert_eq!(reply.body["revision"], 1, "{}", reply.body);
        assert_eq!(reply.body["specs"][0]["cron"], "0 4 1 1 *", "{}", reply.body);
    }
    let all = api.get("/v1/schedules?limit=1000").await.unwrap();
    assert_eq!(
        all.body["items"].as_array().unwrap().len(),
        schedules.len(),
        "and nothing else: {}",
        all.body
    );
}
