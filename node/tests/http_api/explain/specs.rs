//! Instants that the specs do not name.

use super::*;

#[tokio::test]
async fn one_that_is_no_instant_offers_the_nearest() {
    let api = with(json!({})).await;
    run(&api, Span::from_secs(60));
    api.log.pass(Span::from_secs(30));
    let told = says(
        &api,
        "a/b",
        "2026-12-01T00:01:07Z",
        "not_nominal",
        &[
            "a/b did not run at 2026-12-01T00:01:07Z: that is no instant of its specs (2026-12-01T00:01:07+00:00 in UTC).",
            "The nearest instants are 2026-12-01T00:01:00Z before it and 2026-12-01T00:02:00Z behind it.",
            "In the same minute there is 2026-12-01T00:01:00Z: ask about that one.",
        ],
    )
    .await;
    assert_eq!((&told["nominal"], &told["nearest"]["same_minute"]), (&json!(false), &json!(minute(1))));
}

#[tokio::test]
async fn of_several_instants_a_minute_only_a_nearest_one_is_offered() {
    let api = with(json!({"specs": [{"every": "10s"}]})).await;
    pass(&api, Span::from_secs(120));
    for (at, is_offered) in [("2026-12-01T00:01:41Z", false), ("2026-12-01T00:01:07Z", true)] {
        let told = says(&api, "a/b", at, "not_nominal", &["The nearest instants are"]).await;
        assert_eq!(told["text"].as_str().unwrap().contains("ask about that one"), is_offered, "{told:#}");
    }
}

#[tokio::test]
async fn exclusions_and_windows_are_named() {
    let api = Api::leader();
    let mut body = minutely();
    body["exclude"] = json!([{"cron": "5 * * * *"}, {"dates": ["2026-12-02"]}]);
    (body["start_at"], body["end_at"]) = (json!("2026-12-01T00:03:00Z"), json!("2026-12-05T00:00:00Z"));
    put(&api, "a/b", &body).await;
    for (at, place) in [("2026-12-01T00:05:00Z", 0), ("2026-12-02T07:00:00Z", 1)] {
        let out =
            format!("its specs name that instant, and the exclusion at /exclude/{place} takes it out (");
        let told = says(&api, "a/b", at, "excluded", &[&out]).await;
        assert_eq!(told["excluded_by"]["pointer"], format!("/exclude/{place}"));
    }
    let begins =
        ["its specs name that instant, and its window begins only at 2026-12-01T00:03:00Z (start_at)."];
    says(&api, "a/b", &minute(2), "outside_window", &begins).await;
    let ended =
        ["and its window ended at 2026-12-05T00:00:00Z (end_at).", "The last instant of its specs is"];
    says(&api, "a/b", "2026-12-05T00:01:00Z", "outside_window", &ended).await;
}

#[tokio::test]
async fn daylight_saving_is_told_of_what_it_moved_and_left_out() {
    let api = Api::leader();
    put(&api, "a/moved", &daily("30 2 * * *", &json!({}))).await;
    put(&api, "a/skips", &daily("30 2 * * *", &json!({"dst_gap": "skip"}))).await;
    put(&api, "a/second", &daily("30 2 * * *", &json!({"dst_overlap": "second"}))).await;
    // 2027-03-28: 02:00 to 03:00 does not exist in Berlin; 2027-10-31: it exists twice.
    let forward = "The clocks of Europe/Berlin went forward around then, and the wall time that the specs name did not exist:";
    let moved = format!("{forward} it was due at 2027-03-28T01:00:00Z, the first instant after the gap.");
    says(&api, "a/moved", "2027-03-28T01:30:00Z", "not_nominal", &[&moved]).await;
    let told = says(
        &api,
        "a/moved",
        "2027-03-28T01:00:00Z",
        "planned",
        &[
            "a/moved will run at 2027-03-28T01:00:00Z, if nothing changes",
            "The clocks of Europe/Berlin went forward then",
        ],
    )
    .await;
    assert_eq!(told["note"], "moved_from_gap");
    let left_out = format!("{forward} with dst_gap \"skip\" it is left out.");
    says(&api, "a/skips", "2027-03-28T01:00:00Z", "not_nominal", &[&left_out]).await;
    let twice = "The clocks of Europe/Berlin went back around then, and that wall time came twice:";
    let second = format!("{twice} this is the second pass, and the specs take the first.");
    says(&api, "a/moved", "2027-10-31T01:30:00Z", "not_nominal", &[&second]).await;
    let first = format!("{twice} this is the first pass, and the specs take the second.");
    says(&api, "a/second", "2027-10-31T00:30:00Z", "not_nominal", &[&first]).await;
    says(&api, "a/moved", "2027-10-31T00:30:00Z", "planned", &["this is the first pass."]).await;
}
