//! Where firings go and what follows their ends, over HTTP: queues and workers, deadlines, secrets by name, chains.

use std::sync::Arc;

use campanile_core::attempt::{Report, Verdict};
use campanile_core::command::{Body, Condition, Extend, PutSecret, Request, SettleItem, Take, Work};
use campanile_core::reply::{Leased, Reply};
use campanile_core::secret::SecretText;
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, minutely};

fn request() -> Request {
    Request { by: "ann".into(), key: None }
}

/// A minutely schedule with these fields beside.
fn with(more: &Value) -> Value {
    let mut body = minutely();
    more.as_object().unwrap().iter().for_each(|(field, value)| body[field] = value.clone());
    body
}

fn batch() -> Value {
    json!({"queue": {"name": "batch"}})
}

impl Api {
    fn work(&self, work: Work) {
        let reply = self.log.commit(|_, _| Some(Body::Work(work)));
        assert!(matches!(reply, Some(Reply::Worked(_))), "{reply:?}");
    }

    /// A worker takes the next firing of the queue.
    fn take(&self, worker: &str) -> Leased {
        let (worker, ttl) = (Arc::from(worker), Span::from_secs(60));
        let take = Take { queue: "batch".into(), worker, most: 1, ttl, request: request() };
        let takes = vec![take];
        let reply = self.log.commit(|_, _| Some(Body::Work(Work { takes, ..Work::default() })));
        let Some(Reply::Worked(worked)) = reply else { panic!("{reply:?}") };
        worked.taken.into_iter().next().unwrap().unwrap().pop().unwrap()
    }

    fn settle(&self, leased: &Leased, verdict: Verdict) {
        let report =
            Report { verdict, sent_at: self.log.now(), status: None, error: "no".into(), output: "".into() };
        let item = SettleItem { firing: leased.firing, attempt: leased.lease.attempt, report };
        self.work(Work::settle(vec![item]));
    }

    /// The next minute comes.
    fn next_minute(&self) {
        self.log.pass(Span::from_secs(60));
        self.log.tick();
    }

    /// The firings of a schedule, the newest nominal first.
    async fn firings(&self, name: &str) -> Vec<Value> {
        let list = self.get(&format!("/v1/schedules/{name}/firings")).await;
        list.body["items"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn a_queue_target_is_shown_with_its_key_and_put_back_unchanged() {
    let api = Api::leader();
    let body = with(&json!({"target": batch(), "concurrency_key": "db"}));
    let first = api.put("/v1/schedules/a/b", &body).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let queue = json!({"queue": {"name": "batch", "priority": 0, "concurrency_key": "db"}});
    assert_eq!((&first.body["target"], &first.body["concurrency_key"]), (&queue, &Value::Null));
    let again = api.put("/v1/schedules/a/b", &first.body).await;
    assert_eq!((again.status.as_u16(), &again.body), (200, &first.body));

    let patch = json!({"target": {"queue": {"priority": 7}}}).to_string();
    let patched = api.ask("PATCH", "/v1/schedules/a/b", &[], &patch).await;
    let queue = json!({"queue": {"name": "batch", "priority": 7, "concurrency_key": "db"}});
    assert_eq!((&patched.body["target"], &patched.body["revision"]), (&queue, &json!(2)));

    let patch = json!({"target": {"webhook": {"url": "http://a/"}}}).to_string();
    let both = api.ask("PATCH", "/v1/schedules/a/b", &[], &patch).await;
    assert_eq!(both.problem(), (422, "invalid_schedule"));
    assert_eq!(both.body["errors"][0]["pointer"], "/target");
    let patch = json!({"target": {"webhook": {"url": "http://a/"}, "queue": null}}).to_string();
    let moved = api.ask("PATCH", "/v1/schedules/a/b", &[], &patch).await;
    assert_eq!(moved.status, 200, "{}", moved.text);
    assert_eq!(moved.body["target"]["queue"], Value::Null);
}

#[tokio::test]
async fn what_follows_and_the_deadline_are_put_back_unchanged() {
    let api = Api::leader();
    let body = with(&json!({
        "deadline": "15m", "on_failure": {"queue": {"name": "told", "priority": 3}}, "on_success": {"schedule": "next"},
    }));
    let first = api.put("/v1/schedules/a/b", &body).await;
    assert_eq!(first.status, 201, "{}", first.text);
    assert_eq!(first.body["on_success"], json!({"schedule": "a/next"}), "the namespace of the schedule");
    assert_eq!(first.body["deadline"], "15m");
    assert_eq!(first.body["status"]["warnings"][0]["code"], "no_such_schedule");
    let again = api.put("/v1/schedules/a/b", &first.body).await;
    assert_eq!((again.status.as_u16(), &again.body), (200, &first.body));
}

#[tokio::test]
async fn a_secret_that_is_named_must_exist() {
    let api = Api::leader();
    let signed = json!({"webhook": {"url": "http://a/", "secret_ref": "hook"}});
    let body = with(&json!({"target": signed, "on_failure": signed}));
    for path in ["/v1/schedules/a/b", "/v1/schedules/a/b?dry_run=true"] {
        let answer = api.put(path, &body).await;
        assert_eq!(answer.problem(), (422, "invalid_schedule"), "{path}");
        let flaws = answer.body["errors"].as_array().unwrap();
        let pointers: Vec<&Value> = flaws.iter().map(|flaw| &flaw["pointer"]).collect();
        assert_eq!(pointers, ["/target/webhook/secret_ref", "/on_failure/webhook/secret_ref"], "{path}");
        assert_eq!(flaws[0]["hint"], "put the secret first: PUT /v1/secrets/hook");
    }
    assert_eq!(api.log.committed(), 0);
    let put = PutSecret {
        name: "hook".into(),
        text: SecretText::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        keep_previous: Span::ZERO,
        condition: Condition::None,
        request: request(),
    };
    api.log.commit(|_, _| Some(Body::PutSecret(put))).unwrap();
    let answer = api.put("/v1/schedules/a/b", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(answer.body["on_failure"]["webhook"]["secret_ref"], "hook");
    let ledger = api.get("/v1/ledger").await;
    assert!(ledger.text.contains("\"secret_put\"") && !ledger.text.contains("MfKQ9r8G"), "{}", ledger.text);
}

#[tokio::test]
async fn schedules_that_would_follow_each_other_in_a_circle_are_refused_with_the_way() {
    let api = Api::leader();
    let follows = |name: &str| with(&json!({"on_success": {"schedule": name}}));
    assert_eq!(api.put("/v1/schedules/a/b", &follows("a/c")).await.status, 201);
    assert_eq!(api.put("/v1/schedules/a/c", &follows("a/d")).await.status, 201);
    for path in ["/v1/schedules/a/d?dry_run=true", "/v1/schedules/a/d"] {
        let answer = api.put(path, &follows("b")).await;
        assert_eq!(answer.problem(), (422, "invalid_schedule"), "{path}");
        let detail = answer.body["detail"].as_str().unwrap();
        assert!(detail.contains("a/d -> a/b -> a/c -> a/d"), "{detail}");
    }
}

#[tokio::test]
async fn a_firing_of_a_queue_is_told_with_the_worker_and_the_end_of_its_lease() {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &with(&json!({"target": batch()}))).await;
    api.next_minute();
    let waiting = &api.firings("a/b").await[0];
    assert_eq!((&waiting["state"], &waiting["reason"]), (&json!("queued"), &json!("stands in queue batch")));

    let leased = api.take("host/1");
    let running = &api.firings("a/b").await[0];
    let attempt = &running["attempts"][0];
    assert_eq!((&running["state"], &attempt["holder"]), (&json!("running"), &json!({"worker": "host/1"})));
    assert_eq!(attempt["until"], "2026-12-01T00:02:00Z");
    api.log.pass(Span::from_secs(30));
    let (firing, attempt) = (leased.firing, leased.lease.attempt);
    let extend = Extend { firing, attempt, ttl: Span::from_secs(60) };
    api.work(Work { extends: vec![extend], ..Work::default() });
    assert_eq!(api.firings("a/b").await[0]["attempts"][0]["until"], "2026-12-01T00:02:30Z");

    api.settle(&leased, Verdict::Succeeded);
    let done = &api.firings("a/b").await[0];
    assert_eq!((&done["state"], &done["attempts"][0]["until"]), (&json!("succeeded"), &Value::Null));
    let rows = api.get("/v1/ledger").await;
    let begun = rows.body["items"].as_array().unwrap().iter().find(|row| row["type"] == "begun").unwrap();
    assert_eq!(begun["holder"], json!({"worker": "host/1"}));
}

#[tokio::test]
async fn a_firing_that_nobody_began_before_its_deadline_says_so() {
    let api = Api::leader();
    api.put("/v1/schedules/a/b", &with(&json!({"target": batch(), "deadline": "10s"}))).await;
    api.next_minute();
    api.log.pass(Span::from_secs(10));
    api.log.tick();
    let late = &api.firings("a/b").await[0];
    assert_eq!(
        (&late["state"], &late["reason"], &late["attempts"]),
        (&json!("timed_out"), &json!("its deadline came before anybody began it"), &json!([]))
    );
}

#[tokio::test]
async fn what_follows_the_end_of_a_firing_names_it_and_what_does_not_says_why() {
    let api = Api::leader();
    let follows =
        json!({"target": batch(), "retry": {"max_attempts": 1}, "on_failure": {"schedule": "clean"}});
    api.put("/v1/schedules/a/b", &with(&follows)).await;
    let rare = json!({"specs": [{"cron": "0 0 1 1 *"}], "target": batch()});
    api.put("/v1/schedules/a/clean", &rare).await;
    api.next_minute();
    api.settle(&api.take("w"), Verdict::Refused);
    api.log.pass(Span::from_millis(1));
    api.log.tick();
    let failed = &api.firings("a/b").await[0];
    let chained = &api.firings("a/clean").await[0];
    assert_eq!((&chained["kind"], &chained["cause"]), (&json!("chained"), &failed["id"]));
    assert_eq!((&failed["state"], &failed["cause"]), (&json!("failed"), &Value::Null));

    api.settle(&api.take("w"), Verdict::Succeeded);
    api.ask("DELETE", "/v1/schedules/a/clean", &[], "").await;
    api.next_minute();
    api.settle(&api.take("w"), Verdict::Refused);
    api.log.pass(Span::from_millis(1));
    api.log.tick();
    let failed = &api.firings("a/b").await[0];
    assert_eq!(failed["not_followed"], json!({"schedule": "a/clean", "reason": "no_schedule"}), "{failed}");
}

#[tokio::test]
async fn a_notice_stands_beside_the_firings_of_its_schedule() {
    let api = Api::leader();
    let told = json!({"target": batch(), "on_success": {"queue": {"name": "told"}}});
    api.put("/v1/schedules/a/b", &with(&told)).await;
    api.next_minute();
    api.settle(&api.take("w"), Verdict::Succeeded);
    api.log.pass(Span::from_millis(1));
    api.log.tick();
    let firings = api.firings("a/b").await;
    let told: Vec<[&Value; 3]> =
        firings.iter().map(|firing| [&firing["kind"], &firing["state"], &firing["cause"]]).collect();
    let (done, nothing) = (&firings[1]["id"], Value::Null);
    assert_eq!(
        told,
        [[&json!("notice"), &json!("queued"), done], [&json!("scheduled"), &json!("succeeded"), &nothing],]
    );
    assert_eq!(firings[0]["reason"], "stands in queue told");
}
