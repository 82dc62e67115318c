//! Instants that fired.

use super::*;

#[tokio::test]
async fn one_that_ran_as_scheduled_is_told_with_its_leader_and_lateness() {
    let api = with(json!({})).await;
    run(&api, Span::from_millis(60_004));
    let told = says(
        &api,
        "a/b",
        &minute(1),
        "fired",
        &[
            "a/b ran for 2026-12-01T00:01:00Z as scheduled: node 1 (term 1) decided it 4ms after that instant.",
            "It succeeded at the first attempt (status 200).",
            "Revision 1 was in force, since 2026-12-01T00:00:00Z by anonymous: Every minute of elapsed time.",
        ],
    )
    .await;
    let hops = told["hops"].as_array().unwrap();
    let steps: Vec<_> =
        hops.iter().map(|hop| (hop["to"].as_str().unwrap(), hop["ms"].as_u64().unwrap())).collect();
    assert_eq!(steps, [("decided", 4), ("begun", 0), ("sent", 0), ("settled", 0)]);
    assert_eq!((&told["nominal"], &told["mark"]), (&json!(true), &json!("2026-12-01T00:00:00Z")));
    assert_eq!((&told["state"]["state"], &told["definition"]["revision"]), (&json!("active"), &json!(1)));
    assert_eq!(told["nearest"]["after"], minute(2));
    assert_eq!(told["outage"], Value::Null);
}

#[tokio::test]
async fn retries_and_their_waits_are_told() {
    let api = with(json!({"retry": {"max_attempts": 2, "initial": "10s", "max": "10s"}})).await;
    pass(&api, Span::from_secs(60));
    api.log.work(Verdict::Retry { not_before: None });
    api.log.pass(Span::from_secs(10));
    api.log.work(Verdict::Succeeded);
    let sentences = [
        "It succeeded at attempt 2 (status 200).",
        "10s passed until attempt 2 began: the wait before attempt 2 after status 500.",
    ];
    says(&api, "a/b", &minute(1), "fired", &sentences).await;
    pass(&api, Span::from_secs(50));
    api.log.work(Verdict::Refused);
    says(&api, "a/b", &minute(2), "fired", &["It failed for good after 1 attempt: status 500."]).await;
}

#[tokio::test]
async fn one_that_is_under_way_is_told_as_it_stands() {
    let api = with(json!({})).await;
    pass(&api, Span::from_secs(60));
    says(&api, "a/b", &minute(1), "fired", &["It waits for somebody to begin it."]).await;
    api.log.begin();
    says(&api, "a/b", &minute(1), "fired", &["Node 1 works on attempt 1 since 2026-12-01T00:01:00Z."]).await;
}

#[tokio::test]
async fn one_that_fell_between_two_leaders_names_the_gap() {
    let api = with(json!({})).await;
    api.log.pass(Span::from_secs(50));
    change_leader(&api, Span::from_secs(20));
    run(&api, Span::ZERO);
    let told = says(
        &api,
        "a/b",
        &minute(1),
        "fired",
        &[
            "as scheduled: node 2 (term 2) decided it 10s after that instant.",
            "10s passed until it was decided: no leader was in office from 2026-12-01T00:00:50Z to 2026-12-01T00:01:10Z.",
        ],
    )
    .await;
    let id = told["outage"]["id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/v1/outages/{id}")).await.body["from"], "2026-12-01T00:00:50Z");
    pass(&api, Span::from_secs(50 + 45));
    says(
        &api,
        "a/b",
        &minute(2),
        "fired",
        &["ran for 2026-12-01T00:02:00Z to catch up: node 2 (term 2) decided it 45s after"],
    )
    .await;
}

#[tokio::test]
async fn triggers_reruns_and_backfills_say_who_asked() {
    let api = with(json!({})).await;
    run(&api, Span::from_secs(60));
    api.log.pass(Span::from_millis(10_500));
    post(&api, "trigger", json!({})).await;
    says(
        &api,
        "a/b",
        "2026-12-01T00:01:10.500Z",
        "fired",
        &["a/b ran at 2026-12-01T00:01:10.500Z since somebody triggered it: node 1 (term 1) decided it."],
    )
    .await;
    let sentences = [
        "that is no instant of its specs",
        "In the same minute, at 2026-12-01T00:01:10.500Z, it ran for another reason",
    ];
    says(&api, "a/b", "2026-12-01T00:01:10Z", "not_nominal", &sentences).await;
    let first = says(&api, "a/b", &minute(1), "fired", &[]).await;
    let id = first["firings"][0]["id"].as_str().unwrap();
    assert_eq!(api.post(&format!("/v1/firings/{id}/rerun"), &json!({})).await.status, 202);
    let told = says(
        &api,
        "a/b",
        &minute(1),
        "fired",
        &["It was run again 1 time; the last of them (frg_", ") is queued."],
    )
    .await;
    assert_eq!(told["firings"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn one_that_waited_for_another_by_the_overlap_rule_names_it() {
    let api = with(json!({"overlap": "queue_all", "specs": [{"every": "20s"}]})).await;
    pass(&api, Span::from_secs(20));
    let first = api.log.begin();
    pass(&api, Span::from_secs(20));
    assert!(api.log.begin().is_empty(), "the second waits");
    says(&api, "a/b", "2026-12-01T00:00:40Z", "fired", &["It waits for frg_"]).await;
    api.log.pass(Span::from_secs(5));
    api.log.settle(&first, Verdict::Succeeded);
    api.log.work(Verdict::Succeeded);
    let held = format!(
        "5s passed until its first attempt began: it waited for {}, which settled at 2026-12-01T00:00:45Z (overlap queue_all).",
        first[0].firing
    );
    says(&api, "a/b", "2026-12-01T00:00:40Z", "fired", &[&held]).await;
}

#[tokio::test]
async fn one_that_is_spread_says_so() {
    let api = with(json!({"jitter": "20s"})).await;
    pass(&api, Span::from_secs(60));
    api.log.pass(Span::from_secs(20));
    api.log.work(Verdict::Succeeded);
    says(
        &api,
        "a/b",
        &minute(1),
        "fired",
        &["20s passed until its first attempt began: its dispatch is spread (jitter 20s)."],
    )
    .await;
}
