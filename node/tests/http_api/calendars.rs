//! Calendars over HTTP: dates, spans and iCalendar texts; conditions; who names one; which ticks would move.

use serde_json::{Value, json};

use crate::fake::{Api, schedule};

const PATH: &str = "/v1/calendars/holidays";
const ICAL: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:Feiertage\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20261225\r\n\
SUMMARY:Weihnachten\r\nEND:VEVENT\r\nBEGIN:VTODO\r\nEND:VTODO\r\nEND:VCALENDAR\r\n";

/// A schedule at 02:30 each day that leaves the calendar out.
fn user() -> Value {
    let mut body = schedule(&json!([{"cron": "30 2 * * *", "time_zone": "Europe/Berlin"}]));
    body["exclude"] = json!([{"calendar": "holidays"}]);
    body
}

#[tokio::test]
async fn a_calendar_is_put_read_listed_and_removed() {
    let api = Api::leader();
    let body = json!({"description": "closed", "time_zone": "Europe/Berlin", "dates": ["2026-12-26", "2026-12-25", "2026-12-25"],
        "spans": [{"from": "2026-12-10T00:00:00Z", "to": "2026-12-11T00:00:00Z"}]});
    let created = api.put(PATH, &body).await;
    assert_eq!((created.status.as_u16(), created.header("etag")), (201, "\"2\""), "{}", created.text);
    assert_eq!(created.body["dates"], json!(["2026-12-25", "2026-12-26"]), "kept in order, each once");
    let again = api.put(PATH, &created.body).await;
    assert_eq!(
        (again.status.as_u16(), again.header("etag")),
        (200, "\"2\""),
        "what is printed is put again: {}",
        again.text
    );
    assert_eq!(api.get(PATH).await.body, created.body);
    api.put("/v1/calendars/another", &json!({})).await;
    let list = api.get("/v1/calendars?limit=1").await;
    assert_eq!(list.body["items"][0]["name"], "another");
    let rest = api
        .get(&format!("/v1/calendars?page_token={}", list.body["next_page_token"].as_str().unwrap()))
        .await;
    assert_eq!(
        (
            rest.body["items"].as_array().unwrap().len(),
            &rest.body["items"][0]["date_count"],
            &rest.body["items"][0]["span_count"]
        ),
        (1, &json!(2), &json!(1))
    );
    for _ in 0..2 {
        assert_eq!(api.ask("DELETE", PATH, &[], "").await.status, 204, "delete is idempotent");
    }
    assert_eq!(api.get(PATH).await.problem(), (404, "not_found"));
}

#[tokio::test]
async fn an_icalendar_text_is_read_and_what_is_left_out_is_remarked() {
    let leader = Api::leader();
    let follower = Api::follower_of(&leader);
    let media = [("content-type", "text/calendar; charset=utf-8")];
    for (api, headers, body) in [
        (&leader, &media[..], ICAL.to_owned()),
        (&follower, &media[..], ICAL.to_owned()),
        (&leader, &[], ICAL.to_owned()),
        (&leader, &[], json!({"ical": ICAL}).to_string()),
    ] {
        let answer = api.ask("PUT", PATH, headers, &body).await;
        assert!(answer.status.is_success(), "{}", answer.text);
        assert_eq!(
            (&answer.body["dates"], &answer.body["description"]),
            (&json!(["2026-12-25"]), &json!("Feiertage"))
        );
        assert!(
            !answer.body["remarks"].as_array().unwrap().is_empty(),
            "the task is left out: {}",
            answer.text
        );
    }
    assert_eq!(leader.get(PATH).await.body.get("remarks"), None);
    let cut = leader.ask("PUT", PATH, &media, &ICAL[..100]).await;
    assert_eq!(cut.problem(), (422, "invalid_schedule"));
    let inside = leader.put(PATH, &json!({"ical": &ICAL[..100]})).await;
    assert_eq!(inside.body["errors"][0]["pointer"], "/ical", "{}", inside.text);
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_place() {
    let api = Api::leader();
    for (body, pointers) in [
        (json!({"dates": ["2026-02-30", 5]}), json!(["/dates/0", "/dates/1"])),
        (
            json!({"spans": [{"from": "2026-12-02T00:00:00Z", "to": "2026-12-01T00:00:00Z"}, {"from": "x"}, 7]}),
            json!(["/spans/0/to", "/spans/1/to", "/spans/1/from", "/spans/2"]),
        ),
        (json!({"time_zone": "Mars/Olympus"}), json!(["/time_zone"])),
        (json!({"date": []}), json!(["/date"])),
        (json!({"ical": ICAL, "dates": ["2026-12-25"]}), json!(["/ical"])),
        (json!({"description": "x".repeat(2000)}), json!(["/description"])),
        (
            json!({"dates": (0..6000).map(|n| format!("{}-01-{:02}", 2000 + n / 28, 1 + n % 28)).collect::<Vec<_>>()}),
            json!([""]),
        ),
    ] {
        let answer = api.put(PATH, &body).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
        let told: Value =
            answer.body["errors"].as_array().unwrap().iter().map(|flaw| flaw["pointer"].clone()).collect();
        assert_eq!(told, pointers, "{}", answer.text);
        assert!(
            answer.body["errors"].as_array().unwrap().iter().all(|flaw| flaw["hint"] != ""),
            "{}",
            answer.text
        );
    }
    assert_eq!(api.put("/v1/calendars/a%20b", &json!({})).await.body["errors"][0]["pointer"], "/name");
    assert_eq!(api.ask("PUT", PATH, &[], "dates: []").await.problem(), (400, "bad_request"));
    assert_eq!(api.log.committed(), 0);
}

#[tokio::test]
async fn writes_of_a_calendar_ask_for_what_they_have_seen() {
    let api = Api::leader();
    let tag = api.put(PATH, &json!({"dates": ["2026-12-25"]})).await.header("etag").to_owned();
    for dry in ["", "?dry_run=true"] {
        let path = format!("{PATH}{dry}");
        assert_eq!(
            api.ask("PUT", &path, &[("if-none-match", "*")], "{}").await.problem(),
            (409, "already_exists")
        );
        assert_eq!(
            api.ask("PUT", &path, &[("if-match", "\"9\"")], "{}").await.problem(),
            (412, "version_conflict")
        );
        let absent = api.ask("PUT", &format!("/v1/calendars/none{dry}"), &[("if-match", &tag)], "{}").await;
        assert_eq!(absent.problem(), (412, "version_conflict"));
    }
    assert_eq!(
        api.ask("DELETE", PATH, &[("if-match", "\"9\"")], "").await.problem(),
        (412, "version_conflict")
    );
    assert_eq!(api.ask("PUT", PATH, &[("if-match", &tag)], "{}").await.status, 200);
}

#[tokio::test]
async fn one_that_schedules_name_says_who_and_stays() {
    let api = Api::leader();
    api.put(PATH, &json!({})).await;
    for name in ["b", "a"] {
        assert_eq!(api.put(&format!("/v1/schedules/x/{name}"), &user()).await.status, 201);
    }
    assert_eq!(api.get(PATH).await.body["users"], 2);
    let refused = api.ask("DELETE", PATH, &[], "").await;
    assert_eq!(refused.problem(), (409, "in_use"));
    assert!(refused.body["detail"].as_str().unwrap().contains("x/a, x/b"), "{}", refused.text);
}

#[tokio::test]
async fn a_dry_run_tells_which_ticks_of_whom_would_move() {
    let api = Api::leader();
    api.put(PATH, &json!({"dates": ["2026-12-25"]})).await;
    api.put("/v1/schedules/x/user", &user()).await;
    api.put("/v1/schedules/x/other", &schedule(&json!([{"cron": "30 2 * * *"}]))).await;
    let mut unmoved = user();
    unmoved["specs"] = json!([{"cron": "0 0 1 6 *"}]);
    api.put("/v1/schedules/x/unmoved", &unmoved).await;
    let would = api.put(&format!("{PATH}?dry_run=true"), &json!({"dates": ["2026-12-24"]})).await;
    assert_eq!(would.status, 200, "{}", would.text);
    assert_eq!((&would.body["users"], &would.body["looked_at"]), (&json!(2), &json!(2)));
    let moved = &would.body["moved"];
    assert_eq!((moved.as_array().unwrap().len(), &moved[0]["schedule"]), (1, &json!("x/user")));
    assert_eq!(moved[0]["ticks"]["added"][0]["nominal"], "2026-12-25T01:30:00Z");
    assert_eq!(moved[0]["ticks"]["removed"][0]["nominal"], "2026-12-24T01:30:00Z");
    assert_eq!(api.get(PATH).await.body["dates"], json!(["2026-12-25"]), "nothing is stored");

    let next = api.get("/v1/schedules/x/user/next?count=1&after=2026-12-24T12:00:00Z").await;
    assert_eq!(next.body["items"][0]["nominal"], "2026-12-26T01:30:00Z");
    assert!(next.body["text"].as_str().unwrap().contains("holidays"), "{}", next.text);
    let question = json!({"specs": user()["specs"], "exclude": user()["exclude"], "after": "2026-12-24T12:00:00Z", "count": 1});
    assert_eq!(api.post("/v1/preview", &question).await.body["next"], next.body["items"]);
    let whole_years = json!({"spans": [{"from": "2026-01-01T00:00:00Z", "to": "9999-01-01T00:00:00Z"}]});
    let would = api.put(&format!("{PATH}?dry_run=true"), &whole_years).await;
    assert_eq!(would.body["warnings"][0]["code"], "all_excluded", "{}", would.text);
}
