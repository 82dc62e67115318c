//! Instants that were not decided, by how the schedule stood.

use super::*;

#[tokio::test]
async fn a_pause_names_who_why_and_until_when() {
    let api = with(json!({})).await;
    api.log.pass(Span::from_secs(30));
    post(&api, "pause", json!({"note": "stock-taking", "until": "2026-12-01T01:00:00Z"})).await;
    api.log.pass(Span::from_secs(300));
    let told = says(
        &api,
        "a/b",
        &minute(3),
        "paused",
        &[
            "a/b did not run at 2026-12-01T00:03:00Z: it was paused by anonymous at 2026-12-01T00:00:30Z, with the note \
             \"stock-taking\".",
            "The pause is to end by itself at 2026-12-01T01:00:00Z.",
            "The specs name that instant, but while a schedule is paused nothing of it is due.",
        ],
    )
    .await;
    assert_eq!((&told["state"]["by"], &told["state"]["note"]), (&json!("anonymous"), &json!("stock-taking")));
    says(
        &api,
        "a/b",
        &minute(30),
        "paused",
        &["a/b will not run at 2026-12-01T00:30:00Z: it has been paused by anonymous"],
    )
    .await;
    says(
        &api,
        "a/b",
        &minute(90),
        "planned",
        &["a/b will run at", "the pause ends by itself at 2026-12-01T01:00:00Z."],
    )
    .await;
    let both =
        ["that is no instant of its specs", "Besides, it was paused by anonymous at 2026-12-01T00:00:30Z."];
    says(&api, "a/b", "2026-12-01T00:03:30Z", "not_nominal", &both).await;
}

#[tokio::test]
async fn incarnations_of_a_name_are_told_apart() {
    let api = Api::leader();
    api.log.pass(Span::from_secs(120));
    put(&api, "a/b", &minutely()).await;
    run(&api, Span::from_secs(60));
    let created = [
        "a/b did not run at 2026-12-01T00:01:00Z: it did not exist yet. It was created by anonymous at 2026-12-01T00:02:00Z",
    ];
    let told = says(&api, "a/b", &minute(1), "not_created", &created).await;
    assert_eq!(told["uid"], Value::Null);
    says(&api, "a/b", &minute(2), "not_created", &["It was created by anonymous at 2026-12-01T00:02:00Z"])
        .await;
    api.log.pass(Span::from_secs(30));
    api.ask("DELETE", "/v1/schedules/a/b", &[], "").await;
    api.log.pass(Span::from_secs(120));
    let gone =
        ["a/b did not run at 2026-12-01T00:05:00Z: it was deleted by anonymous at 2026-12-01T00:03:30Z."];
    says(&api, "a/b", &minute(5), "deleted", &gone).await;
    let first =
        says(&api, "a/b", &minute(3), "fired", &["a/b ran for 2026-12-01T00:03:00Z as scheduled"]).await;

    put(&api, "a/b", &schedule(&json!([{"cron": "*/2 * * * *"}]))).await;
    run(&api, Span::from_secs(60));
    let second =
        says(&api, "a/b", &minute(6), "fired", &["Revision 1 was in force, since 2026-12-01T00:05:30Z"])
            .await;
    assert_ne!(first["uid"], second["uid"]);
    says(&api, "a/b", &minute(3), "fired", &["Every minute of elapsed time."]).await;
    says(&api, "a/b", &minute(5), "deleted", &["it was deleted by anonymous"]).await;
    let never = api.get("/v1/explain/a/other?at=2026-12-01T00:01:00Z").await;
    assert_eq!(never.problem(), (404, "not_found"));
}

#[tokio::test]
async fn an_edit_is_told_by_the_revision_that_was_in_force() {
    let api = with(json!({})).await;
    run(&api, Span::from_secs(60));
    api.log.pass(Span::from_secs(30));
    put(&api, "a/b", &schedule(&json!([{"cron": "0 3 * * *"}]))).await;
    run(&api, Span::from_secs(120));
    let told = says(&api, "a/b", &minute(1), "fired", &["Revision 1 was in force"]).await;
    assert_eq!(told["definition"]["revision"], 1);
    let later = [
        "that is no instant of its specs",
        "Revision 2 was in force, since 2026-12-01T00:01:30Z by anonymous: At 03:00",
    ];
    says(&api, "a/b", &minute(2), "not_nominal", &later).await;
}

#[tokio::test]
async fn nothing_more_could_come_of_it() {
    let api = with(json!({"max_firings": 2, "catch_up": {"window": "unlimited"}})).await;
    pass(&api, Span::from_secs(205));
    let used = "it was finished at 2026-12-01T00:03:25Z, since its 2 firings were used up (max_firings).";
    says(&api, "a/b", &minute(3), "finished", &["a/b did not run at 2026-12-01T00:03:00Z", used]).await;
    says(&api, "a/b", &minute(5), "finished", &["a/b will not run at 2026-12-01T00:05:00Z", used]).await;
}

#[tokio::test]
async fn what_is_due_and_not_decided_is_not_called_missing() {
    let api = with(json!({})).await;
    api.log.pass(Span::from_secs(61));
    let due = [
        "a/b was due at 2026-12-01T00:01:00Z, and that instant is not decided yet.",
        "Everything up to 2026-12-01T00:00:00Z is decided",
    ];
    says(&api, "a/b", &minute(1), "undecided", &due).await;
    let planned = ["a/b will run at 2026-12-01T00:05:00Z, if nothing changes", "Revision 1 is in force"];
    says(&api, "a/b", &minute(5), "planned", &planned).await;
    api.cut_off();
    let path = format!("/v1/explain/a/b?consistency=stale&at={}", minute(1));
    let told = api.get(&path).await;
    assert!(told.text.contains("No leader is in office"), "{}", told.text);
}

#[tokio::test]
async fn what_retention_has_dropped_is_said_to_be_forgotten() {
    let api = with(json!({})).await;
    run(&api, Span::from_secs(60));
    api.log.restate_and_drop();
    run(&api, Span::from_secs(60));
    let forgotten =
        ["What became of a/b at 2026-12-01T00:01:00Z is not known any more: the ledger reaches back to"];
    says(&api, "a/b", &minute(1), "forgotten", &forgotten).await;
    says(&api, "a/b", &minute(2), "fired", &["a/b ran for"]).await;
}

#[tokio::test]
async fn without_an_instant_it_is_about_now() {
    let api = with(json!({})).await;
    run(&api, Span::from_secs(60));
    let answer = api.get("/v1/explain/a/b").await;
    assert_eq!(
        (&answer.body["verdict"], &answer.body["at"]),
        (&json!("fired"), &json!(minute(1))),
        "{}",
        answer.text
    );
    assert_eq!(api.get("/v1/explain/a/b?at=yesterday").await.problem(), (400, "bad_request"));
}
