//! Verification over HTTP: a verdict about the ledger of the node that answers, and how far it is on the way.

use campanile_core::attempt::Verdict;
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, minutely};

/// A cluster in which five instants have fired.
async fn five_fired() -> Api {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &minutely()).await;
    for _ in 0..5 {
        api.log.pass(Span::from_secs(60));
        api.log.tick();
        api.log.work(Verdict::Succeeded);
    }
    api
}

#[tokio::test]
async fn a_node_says_that_its_ledger_accounts_for_every_instant() {
    let api = five_fired().await;
    let verdict = api.get("/v1/verify").await;
    assert_eq!(verdict.status, 200, "{}", verdict.text);
    let body = &verdict.body;
    assert_eq!(
        (&body["clean"], &body["node"], &body["chain"]["ok"]),
        (&json!(true), &json!(1), &json!(true))
    );
    assert_eq!((&body["decided"], &body["fired"], &body["missing"]), (&json!(5), &json!(5), &json!(0)));
    let last =
        api.get("/v1/ledger?limit=1000").await.body["items"].as_array().unwrap().last().cloned().unwrap();
    assert_eq!(body["chain"]["head"], json!({"position": last["position"], "hash": last["hash"]}));
    let head =
        |position: &Value, hash: &Value| format!("{}:{}", position.as_str().unwrap(), hash.as_str().unwrap());
    // As `/v1/cluster` shows it.
    let cluster = api.get("/v1/cluster").await.body;
    let known = head(&cluster["ledger"]["position"], &cluster["ledger"]["hash"]);
    let reached = api.get(&format!("/v1/verify?head={known},{known}")).await.body;
    assert_eq!((&reached["clean"], &reached["chain"]["heads"]), (&json!(true), &json!(2)), "{reached:#}");
    let ahead = head(&json!("99.0"), &last["hash"]);
    let beyond = api.get(&format!("/v1/verify?head={ahead}&head={known}")).await.body;
    assert_eq!((&beyond["clean"], &beyond["chain"]["heads"]), (&json!(false), &json!(1)), "{beyond:#}");
    assert_eq!(api.get("/v1/verify?head=99.0").await.problem(), (400, "bad_request"));
    let other = api.get("/v1/verify?namespace=other").await.body;
    assert_eq!((&other["clean"], &other["decided"]), (&json!(true), &json!(0)));
    let later = api.get("/v1/verify?until=2026-12-01T00:30:00Z").await.body;
    let open = (&later["clean"], &later["missing"], &later["pending"]);
    assert_eq!(
        open,
        (&json!(false), &json!(24), &json!(1)),
        "nothing was decided since; the last came just now"
    );
    assert_eq!(later["offenders"][0]["nominal"], "2026-12-01T00:06:00Z", "{later:#}");
    let refused = api.get("/v1/verify?until=soon").await;
    assert_eq!(refused.problem(), (400, "bad_request"));
}

#[tokio::test]
async fn as_events_it_tells_how_far_it_is_and_then_the_verdict() {
    let api = five_fired().await;
    let told = api.ask("GET", "/v1/verify", &[("accept", "text/event-stream")], "").await;
    assert_eq!(told.header("content-type"), "text/event-stream");
    let events: Vec<(&str, Value)> = told
        .text
        .split_terminator("\n\n")
        .map(|event| {
            let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
            (name, serde_json::from_str(data).unwrap())
        })
        .collect();
    let (last, before) = events.split_last().unwrap();
    assert_eq!((last.0, &last.1["clean"]), ("verdict", &json!(true)));
    assert!(
        before.iter().all(|(name, data)| *name == "progress" && data["rows"].as_u64() <= data["of"].as_u64())
    );
}

#[test]
fn one_verification_runs_at_a_time_at_a_node() {
    // The only thread for work that blocks is taken, so that the first one waits as long as the test likes.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let api = Api::leader();
        let (release, released) = std::sync::mpsc::sync_channel::<()>(1);
        let taken = tokio::task::spawn_blocking(move || released.recv());
        let second = async {
            let refused = api.get("/v1/verify").await;
            assert_eq!(refused.problem(), (429, "rate_limited"));
            release.send(()).unwrap();
        };
        let (first, ()) = tokio::join!(api.get("/v1/verify"), second);
        assert_eq!(first.status, 200, "{}", first.text);
        taken.await.unwrap().unwrap();
        assert_eq!(api.get("/v1/verify").await.status, 200, "the place is free again");
    });
}
