//! `PUT ?dry_run=true`: what would change is told, what would be refused is refused, and nothing is stored.

use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, minutely, schedule};

const DRY: &str = "/v1/schedules/a/b?dry_run=true";

fn daily(cron: &str) -> Value {
    schedule(&json!([{"cron": cron, "time_zone": "Europe/Berlin"}]))
}

/// The warnings of an answer by their codes.
fn codes(answer: &Value) -> Vec<&str> {
    answer["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_new_schedule_is_told_and_not_stored() {
    let api = Api::leader();
    let would = api.put(DRY, &daily("30 2 * * *")).await;
    assert_eq!(would.status, 200, "{}", would.text);
    let pointers: Vec<&str> = would.body["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| field["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(pointers, ["/specs", "/target"]);
    assert_eq!(
        (&would.body["change"], &would.body["text"]),
        (&json!("created"), &json!("At 02:30 every day, Berlin time"))
    );
    let ticks = &would.body["ticks"];
    assert_eq!(
        (ticks["added"].as_array().unwrap().len(), &ticks["removed"], &ticks["kept"]),
        (50, &json!([]), &json!(0))
    );
    assert_eq!(ticks["until"], ticks["added"][49]["nominal"], "compared up to the fiftieth");
    assert_eq!(would.body["next"].as_array().unwrap().len(), 10);
    assert_eq!(
        would.body["next"][0],
        json!({"nominal": "2026-12-01T01:30:00Z", "local": "2026-12-01T02:30:00+01:00", "note": "normal"})
    );
    assert_eq!((api.log.committed(), api.get("/v1/schedules/a/b").await.status.as_u16()), (0, 404));
}

#[tokio::test]
async fn an_edit_is_told_in_fields_and_in_ticks_up_to_a_horizon_that_is_said() {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &daily("30 2 * * MON,TUE")).await;
    let mut edit = daily("30 2 * * TUE,WED");
    edit["overlap"] = json!("skip");
    let would = api.put(DRY, &edit).await;
    assert_eq!(
        would.body["fields"],
        json!([
            {"pointer": "/specs/0/cron", "from": "30 2 * * MON,TUE", "to": "30 2 * * TUE,WED"},
            {"pointer": "/overlap", "from": "allow", "to": "skip"},
        ])
    );
    let ticks = &would.body["ticks"];
    let (added, removed) = (ticks["added"].as_array().unwrap(), ticks["removed"].as_array().unwrap());
    assert_eq!(
        (added[0]["nominal"].as_str(), removed[0]["nominal"].as_str()),
        (Some("2026-12-02T01:30:00Z"), Some("2026-12-07T01:30:00Z"))
    );
    // 50 of either are walked, and the new one's fiftieth comes first: the Wednesday of the 25th week.
    assert_eq!(ticks["until"], "2027-05-19T00:30:00Z");
    assert_eq!((added.len(), removed.len(), &ticks["kept"]), (25, 24, &json!(25)));
    let same = api.put(DRY, &daily("30 2 * * MON,TUE")).await;
    assert_eq!((&same.body["change"], &same.body["fields"]), (&json!("unchanged"), &json!([])));
    assert_eq!(same.body["ticks"]["added"], json!([]));
    assert_eq!(api.log.committed(), 1);
}

#[tokio::test]
async fn what_ends_or_is_rare_is_compared_for_a_year() {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &daily("0 0 1 1 *")).await;
    let mut edit = daily("0 0 1 1 *");
    edit["end_at"] = json!("2026-12-31T00:00:00Z");
    let would = api.put(DRY, &edit).await;
    let ticks = &would.body["ticks"];
    assert_eq!(ticks["until"], "2027-12-01T00:00:00Z");
    assert_eq!((ticks["removed"].as_array().unwrap().len(), &ticks["added"]), (1, &json!([])));
    assert_eq!(codes(&would.body), ["nothing_to_come"]);
}

#[tokio::test]
async fn the_conditions_of_the_put_are_checked() {
    let api = Api::leader();
    let body = minutely().to_string();
    let tag = api.put("/v1/schedules/a/b", &minutely()).await.header("etag").to_owned();
    for (path, header, code) in [
        (DRY, ("if-none-match", "*"), (409, "already_exists")),
        (DRY, ("if-match", "\"999\""), (412, "version_conflict")),
        ("/v1/schedules/a/none?dry_run=true", ("if-match", tag.as_str()), (412, "version_conflict")),
    ] {
        let real = api.ask("PUT", path.split('?').next().unwrap(), &[header], &body).await;
        let would = api.ask("PUT", path, &[header], &body).await;
        assert_eq!((would.problem(), &would.body), (code, &real.body), "{path}");
    }
    assert_eq!(api.ask("PUT", DRY, &[("if-match", &tag)], &body).await.status, 200);
    let wrong = api.put("/v1/schedules/a/b?dry_run=yes", &minutely()).await;
    assert_eq!(wrong.problem(), (400, "bad_request"));
}

#[tokio::test]
async fn exclusions_that_leave_nothing_are_refused_by_the_dry_run_and_the_put() {
    let api = Api::leader();
    let mut body = daily("30 2 * * *");
    // 02:30 is moved to 03:00 on the day on which it does not exist.
    body["exclude"] = json!([{"cron": "* 2,3 * * *", "time_zone": "Europe/Berlin"}]);
    for path in [DRY, "/v1/schedules/a/b"] {
        let answer = api.put(path, &body).await;
        assert_eq!(answer.problem(), (422, "invalid_schedule"), "{path}");
        assert_eq!(answer.body["errors"][0]["pointer"], "/exclude", "{path}");
        assert!(
            answer.body["errors"][0]["detail"].as_str().unwrap().contains("never fires"),
            "{}",
            answer.text
        );
    }
    body["exclude"] = json!([{"calendar": "holidays"}]);
    for path in [DRY, "/v1/schedules/a/b"] {
        let answer = api.put(path, &body).await;
        assert_eq!(answer.body["errors"][0]["pointer"], "/exclude/0/calendar", "{}", answer.text);
    }
    assert_eq!(api.log.committed(), 0);
}

#[tokio::test]
async fn what_keeps_an_edit_from_firing_as_it_says_is_warned_about() {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &minutely()).await;
    api.log.pass(Span::from_secs(90));
    api.log.tick();
    api.post("/v1/schedules/a/b/pause", &json!({"until": "2026-12-02T00:00:00Z"})).await;
    let mut edit = minutely();
    edit["max_firings"] = json!(1);
    edit["jitter"] = json!("5m");
    let would = api.put(DRY, &edit).await;
    assert_eq!(codes(&would.body), ["jitter_cut", "max_firings_used", "stays_paused"], "{}", would.text);
    assert_eq!(would.body["ticks"]["added"], json!([]));
    assert_eq!(would.body["ticks"]["removed"].as_array().unwrap().len(), 50, "it fires no more");
    let put = api.put("/v1/schedules/a/b", &edit).await;
    assert_eq!(
        codes(&put.body["status"]),
        ["jitter_cut", "max_firings_used"],
        "a pause is told by the state"
    );
    let mut rare = schedule(&json!([{"cron": "30 2 * * *"}]));
    rare["exclude"] =
        json!([{"cron": "* * * 1-11 *"}, {"cron": "* * 2-31 12 *"}, {"dates": ["2026-12-01", "2027-12-01"]}]);
    let would = api.put("/v1/schedules/a/rare?dry_run=true", &rare).await;
    assert_eq!(codes(&would.body), ["all_excluded"], "{}", would.text);
}

#[tokio::test]
async fn a_resume_goes_on_from_the_mark_where_the_definition_backfills_by_itself() {
    let api = Api::leader();
    for (name, more, fired) in [("by-itself", json!(true), 5), ("now", json!(false), 0)] {
        let mut body = minutely();
        body["automatic_backfill"] = more;
        let path = format!("/v1/schedules/a/{name}");
        api.put(&path, &body).await;
        api.post(&format!("{path}/pause"), &json!({})).await;
        api.log.pass(Span::from_secs(300));
        let resumed = api.ask("POST", &format!("{path}/resume"), &[], "{}").await;
        assert_eq!(resumed.body["status"]["fired"], fired, "{name}: {}", resumed.text);
    }
    let mut body = minutely();
    body["automatic_backfill"] = json!(true);
    api.put("/v1/schedules/a/said", &body).await;
    api.post("/v1/schedules/a/said/pause", &json!({})).await;
    api.log.pass(Span::from_secs(300));
    let resumed = api.post("/v1/schedules/a/said/resume", &json!({"catch_up": false})).await;
    assert_eq!(resumed.body["status"]["fired"], 0, "what is said counts");
}
