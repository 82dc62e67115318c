//! Secrets over HTTP: they go in and never come out, not even in what is told of a wrong one.

use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Answer, Api, schedule};

const PATH: &str = "/v1/secrets/hook";
/// "campanile-tests-first-key-000001", and another; of nobody.
const FIRST: &str = "whsec_Y2FtcGFuaWxlLXRlc3RzLWZpcnN0LWtleS0wMDAwMDE=";
const SECOND: &str = "whsec_Y2FtcGFuaWxlLXRlc3RzLW90aGVyLWtleS0wMDAwMDI=";

/// No answer holds a secret, or a part of one.
fn check_silent(answer: &Answer) {
    for text in [FIRST, SECOND] {
        assert!(!answer.text.contains(&text[6..20]), "{}", answer.text);
    }
}

async fn put(api: &Api, body: Value) -> Answer {
    let answer = api.put(PATH, &body).await;
    check_silent(&answer);
    answer
}

fn user() -> Value {
    let mut body = schedule(&json!([{"every": "1m"}]));
    body["target"]["webhook"]["secret_ref"] = "hook".into();
    body
}

#[tokio::test]
async fn a_secret_is_put_rotated_listed_and_removed_and_never_shown() {
    let leader = Api::leader();
    let follower = Api::follower_of(&leader);
    let created = put(&follower, json!({"secret": FIRST})).await;
    let wanted = json!({"name": "hook", "created_at": "2026-12-01T00:00:00Z", "rotated_at": "2026-12-01T00:00:00Z",
        "previous_until": null, "users": 0, "updated_by": "anonymous"});
    assert_eq!((created.status.as_u16(), &created.body), (201, &wanted), "{}", created.text);
    let again = put(&leader, json!({"secret": format!(" {FIRST}\n")})).await;
    assert_eq!(
        (again.status.as_u16(), again.header("etag")),
        (200, created.header("etag")),
        "it is the same"
    );
    leader.log.pass(Span::from_secs(60));
    let rotated = put(&leader, json!({"secret": SECOND, "keep_previous": "1h"})).await;
    assert_eq!(
        (&rotated.body["rotated_at"], &rotated.body["previous_until"]),
        (&json!("2026-12-01T00:01:00Z"), &json!("2026-12-01T01:01:00Z"))
    );
    let view = leader.log.view();
    let signing: Vec<&str> =
        view.secret("hook").unwrap().signing(leader.log.now()).map(|text| text.expose()).collect();
    assert_eq!(signing, [SECOND, FIRST], "both sign for an hour");
    leader.log.pass(Span::from_secs(3_600));
    for path in [PATH, "/v1/secrets", "/v1/ledger", "/v1/secrets?consistency=stale"] {
        check_silent(&leader.get(path).await);
    }
    let listed = leader.get("/v1/secrets").await.body["items"][0].clone();
    assert_eq!((&listed["name"], &listed["previous_until"]), (&json!("hook"), &Value::Null));
    for _ in 0..2 {
        assert_eq!(follower.ask("DELETE", PATH, &[], "").await.status, 204, "delete is idempotent");
    }
    assert_eq!(leader.get(PATH).await.problem(), (404, "not_found"));
}

#[tokio::test]
async fn one_that_schedules_name_says_who_and_stays() {
    let api = Api::leader();
    let early = api.put("/v1/schedules/x/a", &user()).await;
    assert_eq!(early.status, 422, "it does not exist yet: {}", early.text);
    put(&api, json!({"secret": FIRST})).await;
    for name in ["b", "a"] {
        assert_eq!(api.put(&format!("/v1/schedules/x/{name}"), &user()).await.status, 201);
    }
    assert_eq!(api.get(PATH).await.body["users"], 2);
    let refused = api.ask("DELETE", PATH, &[], "").await;
    assert_eq!(refused.problem(), (409, "in_use"));
    assert!(refused.body["detail"].as_str().unwrap().contains("x/a, x/b"), "{}", refused.text);
}

#[tokio::test]
async fn a_text_that_is_no_key_is_refused_without_being_repeated() {
    let api = Api::leader();
    let (bare, cut) = (&FIRST[6..], &FIRST[..20]);
    for (body, pointer) in [
        (json!({}), "/secret"),
        (json!({"secret": bare}), "/secret"),
        (json!({"secret": cut}), "/secret"),
        (json!({"secret": format!("whsk_{bare}")}), "/secret"),
        (json!({"secret": FIRST.repeat(9)}), "/secret"),
        (json!({"secret": [FIRST]}), "/secret"),
        (json!({"secret": FIRST, "keep_previous": "31d"}), "/keep_previous"),
        (json!({"secret": FIRST, "keep": "1h"}), "/keep"),
    ] {
        let answer = put(&api, body).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["errors"][0]["pointer"]),
            (422, &json!(pointer)),
            "{}",
            answer.text
        );
    }
    let broken = api.ask("PUT", PATH, &[], &format!("{{\"secret\": \"{FIRST}\"")).await;
    assert_eq!(broken.problem(), (400, "bad_request"));
    check_silent(&broken);
    check_silent(&api.ask("PUT", PATH, &[], FIRST).await);
    assert_eq!(
        api.put("/v1/secrets/a%20b", &json!({"secret": FIRST})).await.body["errors"][0]["pointer"],
        "/name"
    );
    assert_eq!(api.log.committed(), 0);
}

#[tokio::test]
async fn writes_of_a_secret_ask_for_what_they_have_seen_and_a_key_says_nothing_of_it() {
    let api = Api::leader();
    let body = json!({"secret": FIRST}).to_string();
    let key = [("idempotency-key", "rotate-1")];
    let tag = api.ask("PUT", PATH, &key, &body).await.header("etag").to_owned();
    check_silent(&api.ask("PUT", PATH, &key, &json!({"secret": SECOND}).to_string()).await);
    assert!(!format!("{:?}", api.log.view().requests()).contains(&FIRST[6..20]));
    assert!(!format!("{:?}", api.log.view()).contains(&FIRST[6..20]));
    assert_eq!(
        api.ask("PUT", PATH, &[("if-none-match", "*")], &body).await.problem(),
        (409, "already_exists")
    );
    for method in ["PUT", "DELETE"] {
        let stale = api.ask(method, PATH, &[("if-match", "\"999\"")], &body).await;
        assert_eq!(stale.problem(), (412, "version_conflict"));
    }
    let none = api.ask("PUT", "/v1/secrets/none", &[("if-match", &tag)], &body).await;
    assert_eq!(none.problem(), (412, "version_conflict"));
}
