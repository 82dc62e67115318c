//! The definitions that a schedule has had, over HTTP.

use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, schedule};

const PATH: &str = "/v1/schedules/a/b";

async fn put(api: &Api, every: &str) {
    let answer = api.put(PATH, &schedule(&json!([{"every": every}]))).await;
    assert!(answer.status.is_success(), "{}", answer.text);
    api.log.pass(Span::from_secs(1));
}

fn told(page: &Value) -> Vec<(u64, &str)> {
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|one| {
            (one["revision"].as_u64().unwrap(), one["definition"]["specs"][0]["every"].as_str().unwrap())
        })
        .collect()
}

#[tokio::test]
async fn each_change_of_a_definition_is_a_revision_the_newest_first_in_pages() {
    let api = Api::leader();
    for every in ["1h", "2h", "2h", "3h"] {
        put(&api, every).await;
    }
    // Neither a pause nor a firing changes the definition.
    api.post(&format!("{PATH}/pause"), &json!({})).await;
    let all = api.get(&format!("{PATH}/revisions")).await;
    assert_eq!(told(&all.body), [(3, "3h"), (2, "2h"), (1, "1h")], "{}", all.text);
    let newest = &all.body["items"][0];
    assert_eq!((&newest["by"], &newest["at"]), (&json!("anonymous"), &json!("2026-12-01T00:00:03Z")));
    assert_eq!(
        api.get(&format!("/v1/ledger?after={}&limit=1", newest["position"].as_str().unwrap())).await.status,
        200
    );

    let first = api.get(&format!("{PATH}/revisions?limit=2")).await.body;
    assert_eq!(told(&first), [(3, "3h"), (2, "2h")]);
    let token = first["next_page_token"].as_str().unwrap();
    let second = api.get(&format!("{PATH}/revisions?limit=2&page_token={token}")).await.body;
    assert_eq!((told(&second), &second["next_page_token"]), (vec![(1, "1h")], &Value::Null));
}

#[tokio::test]
async fn a_revision_can_be_put_again() {
    let api = Api::leader();
    put(&api, "1h").await;
    put(&api, "2h").await;
    let old = api.get(&format!("{PATH}/revisions")).await.body["items"][1]["definition"].clone();
    let answer = api.put(PATH, &old).await;
    assert_eq!((answer.status.as_u16(), &answer.body["revision"]), (200, &json!(3)), "{}", answer.text);
    assert_eq!(told(&api.get(&format!("{PATH}/revisions")).await.body)[0], (3, "1h"));
}

#[tokio::test]
async fn a_name_that_was_created_again_has_the_revisions_of_this_life_only() {
    let api = Api::leader();
    put(&api, "1h").await;
    put(&api, "2h").await;
    api.ask("DELETE", PATH, &[], "").await;
    assert_eq!(api.get(&format!("{PATH}/revisions")).await.problem(), (404, "not_found"));
    put(&api, "5h").await;
    assert_eq!(told(&api.get(&format!("{PATH}/revisions")).await.body), [(1, "5h")]);
    let forged = api.get(&format!("{PATH}/revisions?page_token=nonsense")).await;
    assert_eq!(forged.problem(), (400, "bad_request"));
}
