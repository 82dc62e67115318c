//! A target that the dispatcher would refuse is refused when it comes, with what to do about it.

use serde_json::{Value, json};

use crate::fake::{Api, minutely};

fn calling(url: &str) -> Value {
    let mut body = minutely();
    body["target"]["webhook"]["url"] = json!(url);
    body
}

const METADATA: &str = "169.254.169.254 is a link-local address (cloud metadata) and is never called";
const ADD: &str = "add \"10.0.0.0/8\" or the host to egress.allow of every node";

#[tokio::test]
async fn b146_an_address_that_is_not_of_the_internet_is_422_at_its_url_with_its_reason_and_what_to_add() {
    let api = Api::leader();
    for (url, detail, hint) in [
        (
            "http://169.254.169.254/latest/meta-data/",
            METADATA,
            "nothing but an entry of exactly \"169.254.169.254\"",
        ),
        ("http://10.1.2.3/", "10.1.2.3 is a private address", ADD),
        ("http://0xa010203:8080/", "10.1.2.3 is a private address", ADD),
        (
            "https://[::ffff:10.1.2.3]/",
            "::ffff:10.1.2.3 stands for 10.1.2.3, which is a private address",
            ADD,
        ),
        (
            "http://localhost:9/",
            "localhost is a name of loopback addresses",
            "add \"127.0.0.0/8\" or \"localhost\"",
        ),
    ] {
        let answer = api.put("/v1/schedules/a/b", &calling(url)).await;
        assert_eq!(answer.problem(), (422, "invalid_schedule"), "{url}");
        let flaw = &answer.body["errors"][0];
        assert_eq!(flaw["pointer"], "/target/webhook/url", "{url}");
        assert_eq!(flaw["detail"], detail, "{url}");
        assert!(flaw["hint"].as_str().unwrap().starts_with(hint), "{url}: {flaw}");
    }
    assert_eq!(api.log.committed(), 0);
}

#[tokio::test]
async fn a_set_a_dry_run_and_a_patch_are_judged_as_a_put_is() {
    let api = Api::leader();
    let mut bad = calling("http://10.1.2.3/");
    let dry = api.put("/v1/schedules/a/b?dry_run=true", &bad).await;
    assert_eq!(dry.problem(), (422, "invalid_schedule"));
    bad["namespace"] = json!("a");
    bad["name"] = json!("b");
    let set = api.post("/v1/apply", &json!({"schedules": [bad]})).await;
    assert_eq!(set.body["errors"][0]["pointer"], "/schedules/0/target/webhook/url", "{}", set.text);
    assert_eq!(api.put("/v1/schedules/a/b", &minutely()).await.status, 201);
    let change = json!({"target": {"webhook": {"url": "http://10.1.2.3/"}}}).to_string();
    let patch = api.ask("PATCH", "/v1/schedules/a/b", &[], &change).await;
    assert_eq!(patch.body["errors"][0]["pointer"], "/target/webhook/url", "{}", patch.text);
}

#[tokio::test]
async fn a_target_and_times_that_are_wrong_are_told_together() {
    let api = Api::leader();
    let mut body = calling("http://10.1.2.3/");
    body["specs"] = json!([{"at": "2001-01-01T00:00:00Z"}]);
    let answer = api.put("/v1/schedules/a/b", &body).await;
    let pointers: Vec<&Value> =
        answer.body["errors"].as_array().unwrap().iter().map(|flaw| &flaw["pointer"]).collect();
    assert_eq!(pointers, ["/target/webhook/url", "/specs/0/at"], "{}", answer.text);
}

#[tokio::test]
async fn a_name_is_not_looked_up_when_its_schedule_is_put() {
    let api = Api::leader();
    let answer = api.put("/v1/schedules/a/b", &calling("http://no-such-name.invalid/")).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}
