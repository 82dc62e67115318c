//! Gaps between leaders, over HTTP and on the command line.

use campanile::cli::Exit;
use campanile_core::command::{Body, LeaderEpoch};
use campanile_core::id::{NodeId, Term};
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::export::Served;
use crate::fake::{Api, minutely, schedule};

/// Nobody leads for so long; then that node does.
fn change_leader(api: &Api, node: u64, away: Span) {
    let since = api.log.now();
    api.log.pass(away);
    api.log.commit(|_, machine| {
        Some(Body::LeaderEpoch(LeaderEpoch {
            node: NodeId(node),
            incarnation: 1,
            term: Term(machine.office().term.0 + 1),
            ledger: None,
            leaderless_since: Some(since),
        }))
    });
    api.log.tick();
}

/// Two outages: of half a minute, into which a firing fell, and of an hour, which lost most of them.
async fn two_outages(api: &Api) {
    api.put("/v1/schedules/a/minutely", &minutely()).await;
    api.put("/v1/schedules/a/tens", &schedule(&json!([{"every": "10s"}]))).await;
    api.put("/v1/schedules/a/yearly", &schedule(&json!([{"cron": "@yearly"}]))).await;
    api.log.pass(Span::from_secs(45));
    api.log.tick();
    change_leader(api, 2, Span::from_secs(20));
    api.log.pass(Span::from_secs(25));
    api.log.tick();
    change_leader(api, 3, Span::from_secs(3600));
}

#[tokio::test]
async fn an_outage_says_what_was_late_and_what_was_skipped() {
    let api = Api::leader();
    two_outages(&api).await;
    let list = api.get("/v1/outages").await;
    let items = list.body["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{}", list.text);
    let first = &items[1];
    assert_eq!(
        (&first["from"], &first["to"], &first["length_ms"]),
        (&json!("2026-12-01T00:00:45Z"), &json!("2026-12-01T00:01:05Z"), &json!(20_000))
    );
    assert_eq!((&first["previous_leader"]["node"], &first["next_leader"]["node"]), (&json!(1), &json!(2)));
    assert_eq!(first["next_leader"]["term"], 2);
    // 00:00:50 and 00:01:00 of the one, 00:01:00 of the other.
    assert_eq!(first["late"], json!({"firings": 3, "median_ms": 5_000, "max_ms": 15_000}));
    assert_eq!(
        (&first["skipped"], &first["more"], &first["complete"]),
        (&json!({}), &json!(0), &json!(true))
    );
    let names: Vec<&Value> =
        first["schedules"].as_array().unwrap().iter().map(|it| &it["schedule"]).collect();
    assert_eq!(names, [&json!("a/tens"), &json!("a/minutely")]);

    let second = &items[0];
    assert_eq!(second["previous_leader"]["node"], 2);
    assert_eq!(second["next_leader"]["node"], 3);
    // All of an hour but those of the last minute, which the catch-up window still reaches.
    assert_eq!((&second["late"]["max_ms"], &second["skipped"]["too_late"]), (&json!(60_000), &json!(412)));
    let id = second["id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/v1/outages/{id}")).await.body, *second);
    for unknown in ["1.0", "999.0", "7", "x"] {
        assert_eq!(
            api.get(&format!("/v1/outages/{unknown}")).await.problem(),
            (404, "not_found"),
            "{unknown}"
        );
    }
}

#[tokio::test]
async fn outages_are_found_by_time_and_in_pages() {
    let api = Api::leader();
    two_outages(&api).await;
    let ids = |body: &Value| -> Vec<String> {
        body["items"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = ids(&api.get("/v1/outages").await.body);
    let first = api.get("/v1/outages?limit=1").await.body;
    let token = first["next_page_token"].as_str().unwrap();
    let second = api.get(&format!("/v1/outages?limit=1&page_token={token}")).await.body;
    assert_eq!([ids(&first), ids(&second)].concat(), all);
    assert_eq!(second["next_page_token"], Value::Null);
    assert_eq!(ids(&api.get("/v1/outages?before=2026-12-01T00:30:00Z").await.body), all[1..]);
    assert_eq!(ids(&api.get("/v1/outages?after=2026-12-01T00:30:00Z").await.body), all[..1]);
    assert_eq!(api.get("/v1/outages?page_token=x").await.problem(), (400, "bad_request"));
}

#[tokio::test]
async fn an_outage_with_more_behind_it_than_is_looked_at_says_that_it_is_not_complete() {
    let api = Api::counting_at_most(2);
    two_outages(&api).await;
    let list = api.get("/v1/outages").await.body;
    let first = &list["items"][1];
    assert_eq!(first["complete"], false, "{first:#}");
    assert!(first["late"]["firings"].as_u64() < Some(3), "{first:#}");
    let id = first["id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/v1/outages/{id}")).await.body, *first);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_shows_outages_and_explanations() {
    let served = Served::start().await;
    two_outages(&served.api).await;
    let list = served.cli(&["outage", "ls"], "").await;
    assert_eq!(list.exit, Exit::Done, "{}", list.err);
    assert!(list.out.starts_with("ID "), "{}", list.out);
    assert!(list.out.contains("20000 ms"), "{}", list.out);
    let names = served.cli(&["outage", "ls", "-o", "name"], "").await.out;
    let id = names.lines().last().unwrap();
    let shown = served.cli(&["outage", "get", id], "").await;
    assert!(shown.out.contains("a/tens") && shown.out.contains("2, term 2, epoch "), "{}", shown.out);
    assert_eq!(served.cli(&["outage", "get", "x"], "").await.exit, Exit::Usage);
    assert_eq!(served.cli(&["outage", "get", "1.0"], "").await.exit, Exit::NotFound);

    let why = served.cli(&["explain", "a/minutely", "--at", "2026-12-01T00:01:00Z"], "").await;
    assert_eq!(why.exit, Exit::Done, "{}", why.err);
    assert!(
        why.out.starts_with("a/minutely ran for 2026-12-01T00:01:00Z as scheduled: node 2 (term 2)"),
        "{}",
        why.out
    );
    assert!(why.out.contains("STEP") && why.out.contains("no leader was in office"), "{}", why.out);
    served.api.log.pass(Span::from_secs(17));
    let newest = served.cli(&["explain", "a/minutely"], "").await;
    assert!(newest.out.starts_with("a/minutely ran for 2026-12-01T01:01:00Z"), "{}", newest.out);
    let json = served.cli(&["explain", "a/minutely", "--at", "2026-12-01T00:30:00Z", "-o", "json"], "").await;
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["verdict"], "skipped");
    assert_eq!(served.cli(&["explain", "a/nothing"], "").await.exit, Exit::NotFound);
    assert_eq!(
        served.cli(&["explain", "0 2 * * *", "--at", "2026-12-01T00:30:00Z"], "").await.exit,
        Exit::Usage
    );
    // Offline as ever: it asks nobody.
    assert!(served.cli(&["explain", "@daily"], "").await.out.starts_with("At 00:00"));
}
