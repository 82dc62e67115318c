//! Instants that were decided not to fire.

use super::*;

#[tokio::test]
async fn one_that_was_missed_for_too_long_names_the_window_and_what_made_it_late() {
    let api = with(json!({})).await;
    api.log.pass(Span::from_secs(30));
    change_leader(&api, Span::from_secs(3570));
    pass(&api, Span::ZERO);
    let told = says(
        &api,
        "a/b",
        &minute(7),
        "skipped",
        &[
            "a/b did not run at 2026-12-01T00:07:00Z: the instant was skipped (too_late).",
            "It was decided 53m late, since no leader was in office from 2026-12-01T00:00:30Z to 2026-12-01T01:00:00Z, \
             and the catch-up window is 1m.",
            "Node 2 (term 2) decided that at 2026-12-01T01:00:00Z, in entry ",
            ", with 58 instants from 2026-12-01T00:01:00Z to 2026-12-01T00:58:00Z.",
            "Revision 1 was in force",
        ],
    )
    .await;
    assert_eq!((&told["skipped"]["count"], &told["skipped"]["lateness_ms"]), (&json!(58), &json!(3_180_000)));
    assert_eq!(told["nominal"], true);
    let between =
        says(&api, "a/b", "2026-12-01T00:07:30Z", "not_nominal", &["that is no instant of its specs"]).await;
    assert_eq!(between["skipped"], Value::Null);
}

#[tokio::test]
async fn the_catch_up_modes_are_named() {
    let api = with(json!({"catch_up": {"mode": "none"}})).await;
    pass(&api, Span::from_secs(150));
    says(
        &api,
        "a/b",
        &minute(1),
        "skipped",
        &["1m30s late, and catch_up mode none fires nothing that was missed."],
    )
    .await;

    let api = with(json!({"catch_up": {"mode": "latest", "window": "1h"}})).await;
    pass(&api, Span::from_secs(195));
    let latest = [
        "late, and with catch_up mode latest only the newest of what was missed fires: 2026-12-01T00:02:00Z did, as frg_",
    ];
    says(&api, "a/b", &minute(1), "skipped", &latest).await;

    let api =
        with(json!({"specs": [{"every": "1s"}], "catch_up": {"mode": "all", "window": "unlimited"}})).await;
    pass(&api, Span::from_secs(3600));
    let limit = ["skipped (limit)", "with more missed instants than may catch up at once: the newest fire"];
    says(&api, "a/b", &minute(5), "skipped", &limit).await;
}

#[tokio::test]
async fn one_that_met_a_running_firing_names_it() {
    let api = with(json!({"overlap": "skip"})).await;
    pass(&api, Span::from_secs(60));
    let first = api.log.begin();
    pass(&api, Span::from_secs(60));
    let other = format!(
        "When it came, its firing for 2026-12-01T00:01:00Z ({}) still ran: overlap is skip.",
        first[0].firing
    );
    let told = says(&api, "a/b", &minute(2), "skipped", &["skipped (overlap)", &other]).await;
    assert_eq!(told["skipped"]["firing"], first[0].firing.to_string());
}

#[tokio::test]
async fn one_that_met_a_running_firing_long_after_it_came_says_when() {
    let api = with(json!({"overlap": "skip", "catch_up": {"mode": "all", "window": "1h"}})).await;
    api.log.pass(Span::from_secs(30));
    change_leader(&api, Span::from_secs(150));
    pass(&api, Span::ZERO);
    let by_then = [
        "skipped (overlap). It was decided 1m late, since no leader was in office from 2026-12-01T00:00:30Z to \
         2026-12-01T00:03:00Z, and by then its firing for 2026-12-01T00:01:00Z (",
        ") still ran: overlap is skip.",
    ];
    says(&api, "a/b", &minute(2), "skipped", &by_then).await;
}

#[tokio::test]
async fn what_fell_into_a_pause_or_before_a_mark_names_who_did_that() {
    let api = with(json!({})).await;
    run(&api, Span::from_secs(60));
    api.log.pass(Span::from_secs(30));
    post(&api, "pause", json!({"note": "the bank is closed"})).await;
    api.log.pass(Span::from_secs(180));
    post(&api, "resume", json!({})).await;
    let sentences = [
        "skipped (paused_gap)",
        "It had been paused by anonymous at 2026-12-01T00:01:30Z, with the note \"the bank is closed\"; the pause ended at \
         2026-12-01T00:04:30Z without catching up on what fell into it.",
        "with 3 instants from 2026-12-01T00:02:00Z to 2026-12-01T00:04:00Z",
    ];
    let told = says(&api, "a/b", &minute(3), "skipped", &sentences).await;
    assert_eq!((&told["state"]["state"], &told["mark"]), (&json!("paused"), &json!(minute(1))));

    post(&api, "mark", json!({"to": "2026-12-01T00:10:00Z"})).await;
    let ahead = ["skipped (superseded)", "The mark was set ahead to 2026-12-01T00:10:00Z by anonymous."];
    says(&api, "a/b", &minute(9), "skipped", &ahead).await;
}

#[tokio::test]
async fn one_that_was_skipped_and_fired_later_tells_both() {
    let api = with(json!({})).await;
    pass(&api, Span::from_secs(3600));
    let duty = api.lead_backfills();
    let body = json!({"schedule": "a/b", "after": "2026-12-01T00:04:30Z", "until": "2026-12-01T00:05:00Z"});
    let begun = api.post("/v1/backfills", &body).await;
    assert!(begun.status.is_success(), "{}", begun.text);
    let path = format!("/v1/explain/a/b?at={}", minute(5));
    api.until(&path, |body| body["verdict"] == "fired").await;
    drop(duty);
    let sentences = [
        "ran for 2026-12-01T00:05:00Z in backfill",
        "Before that it had been skipped (too_late), as decided at 2026-12-01T01:00:00Z.",
    ];
    says(&api, "a/b", &minute(5), "fired", &sentences).await;
}
