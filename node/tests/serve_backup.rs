//! Backups of a node that runs: one at a time, and a reader that takes nothing keeps the next one away only while it is there.

#![allow(clippy::unwrap_used)]

mod serve_support;

use std::time::{Duration, Instant};

use campanile::client::{Call, Client, Endpoint, Error, Options};
use serde_json::json;
use tempfile::TempDir;

use serve_support::{Running, config, free_port};

/// More than what the sockets and the node hold for a reader: each payload is in the state and in the ledger.
const SCHEDULES: usize = 160;
const PAYLOAD: usize = 60_000;

fn is_refused(error: &Error) -> bool {
    matches!(error, Error::Problem(problem) if (problem.status, &*problem.code) == (429, "rate_limited"))
}

#[tokio::test]
async fn a_second_backup_is_refused_while_one_is_taken_and_not_after_its_reader_has_gone() {
    let dir = TempDir::new().unwrap();
    let (api, peer) = (free_port(), free_port());
    let _node = Running::start(&config(dir.path(), &dir.path().join("data"), api, peer), api);
    let endpoints = vec![Endpoint::parse(&format!("http://127.0.0.1:{api}")).unwrap()];
    let client = Client::new(Options { endpoints, token: None, timeout: Duration::from_secs(30) }).unwrap();
    let body = json!({
        "specs": [{"cron": "0 0 1 1 *"}],
        "target": {"webhook": {"url": "https://jobs.internal/run"}},
        "payload": "x".repeat(PAYLOAD),
    });
    for place in 0..SCHEDULES {
        client.send(&Call::put(format!("/v1/schedules/a/s{place}"), body.clone())).await.unwrap();
    }

    let taken = client.download(&Call::get("/v1/backup")).await.unwrap();
    // Nothing of it is read, so it cannot end.
    let refused = client.download(&Call::get("/v1/backup")).await.map(drop).unwrap_err();
    assert!(is_refused(&refused), "{refused:?}");

    drop(taken);
    let deadline = Instant::now() + Duration::from_secs(30);
    let bytes = loop {
        match client.download_into("/v1/backup", |_| Ok(())).await {
            Ok(bytes) => break bytes,
            Err(error) => assert!(is_refused(&error), "{error:?}"),
        }
        assert!(Instant::now() < deadline, "the place of a reader that has gone is not free");
        tokio::task::yield_now().await;
    };
    assert!(bytes > (SCHEDULES * PAYLOAD) as u64, "whole, when it is read: {bytes}");
}
