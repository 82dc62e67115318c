//! What is wrong between callers and the log.

use campanile_core::attempt::Verdict;
use campanile_core::cron::instant_text;
use campanile_core::definition::{Policy, ScheduleName};
use campanile_core::plan::ResumeFrom;
use campanile_core::reply::Reply;
use serde_json::{Value, json};

use super::super::handmade::{Handmade, every, name, queued};
use super::super::{Bounds, Invariant, kept, keys, linear, reported};
use crate::sim::story::{Call, Moment, Outcome};

fn call(
    method: &'static str,
    path: &str,
    key: Option<&str>,
    within: (Moment, Moment),
    outcome: Outcome,
) -> Call {
    Call {
        client: 1,
        node: 0,
        method,
        path: path.into(),
        key: key.map(Into::into),
        body: None,
        asked: within.0,
        ended: Some((within.1, outcome)),
    }
}

/// How the API shows a schedule as it stands.
fn shown(history: &Handmade, of: &str) -> Value {
    let schedule = history.machine.named(&name(of)).unwrap();
    let (state, note) = match schedule.is_active() {
        true => ("active", None),
        false => ("paused", Some("tea")),
    };
    json!({
        "uid": schedule.uid.to_string(), "revision": schedule.revision.0,
        "updated_at": instant_text(schedule.updated_at), "status": {"state": state, "note": note}
    })
}

const PATH: &str = "/v1/schedules/n/a";

/// A schedule that was put under the key `put`, triggered under `go`, put otherwise under `edit`, removed under `rm`; each
/// takes a tenth of a second.
fn told() -> Handmade {
    let mut history = Handmade::new();
    let within = |history: &mut Handmade, at: Moment| {
        history.moment = at;
        (at - 50, at + 50)
    };
    let lasts = within(&mut history, 2_000);
    history.put("n/a", every(10, Policy::default()), Some("put"));
    let body = shown(&history, "n/a");
    history.story.calls.push(call("PUT", PATH, Some("put"), lasts, Outcome::Ok(201, body.clone())));
    history.story.calls.push(call("GET", PATH, None, (2_500, 2_600), Outcome::Ok(200, body)));
    let lasts = within(&mut history, 3_000);
    let Reply::Fired(firing) = history.trigger("n/a", Some("go")) else { panic!("it fires") };
    let fired = json!({"id": firing.to_string()});
    history.story.calls.push(call(
        "POST",
        "/v1/schedules/n/a/trigger",
        Some("go"),
        lasts,
        Outcome::Ok(202, fired),
    ));
    let lasts = within(&mut history, 4_000);
    history.put("n/a", every(20, Policy::default()), Some("edit"));
    let body = shown(&history, "n/a");
    history.story.calls.push(call("PUT", PATH, Some("edit"), lasts, Outcome::Ok(200, body)));
    let lasts = within(&mut history, 5_000);
    history.pause("n/a", None);
    let body = shown(&history, "n/a");
    history.story.calls.push(call("POST", "/v1/schedules/n/a/pause", None, lasts, Outcome::Ok(200, body)));
    let lasts = within(&mut history, 6_000);
    history.resume("n/a", ResumeFrom::Now);
    let body = shown(&history, "n/a");
    history.story.calls.push(call("POST", "/v1/schedules/n/a/resume", None, lasts, Outcome::Ok(200, body)));
    let lasts = within(&mut history, 7_000);
    history.delete("n/a", Some("rm"));
    history.story.calls.push(call("DELETE", PATH, Some("rm"), lasts, Outcome::Ok(204, Value::Null)));
    history.story.calls.push(call("GET", PATH, None, (7_500, 7_600), Outcome::Fail(404, "not_found".into())));
    history
}

#[test]
fn calls_that_agree_with_the_log_are_nothing_wrong() {
    let bounds = Bounds::default();
    let properties: [Box<dyn Invariant>; 3] = [
        Box::new(keys::Keys::default()),
        Box::new(kept::Kept::new(bounds)),
        Box::new(linear::Linear::new(bounds)),
    ];
    for mut property in properties {
        let found = told().judge(&mut *property);
        assert!(found.is_clean(), "{found:#?}");
    }
}

/// The place of the first call with that key.
fn with_key<'a>(history: &'a mut Handmade, key: &str) -> &'a mut Call {
    history.story.calls.iter_mut().find(|call| call.key.as_deref() == Some(key)).unwrap()
}

#[test]
fn a_write_that_was_acknowledged_and_lost_is_found() {
    for key in ["put", "go", "edit", "rm"] {
        let mut history = told();
        let of_key = |made: &super::super::handmade::Made| {
            format!("{:?}", made.command).contains(&format!("\"c:{key}\""))
        };
        history.made.retain(|made| !of_key(made));
        history.assert_found("acknowledged writes are kept", &format!("with key Some(\"{key}\")"));
        history.assert_found("acknowledged writes are kept", "is not in the log");
    }
}

#[test]
fn an_answer_before_its_commit_or_of_something_else_is_found() {
    let mut history = told();
    with_key(&mut history, "edit").ended.as_mut().unwrap().0 = 3_980;
    history.assert_found("acknowledged writes are kept", "was answered before entry");
    let mut history = told();
    with_key(&mut history, "go").ended = Some((3_050, Outcome::Ok(202, json!({"id": "frg_other"}))));
    history.assert_found("acknowledged writes are kept", "is Fired(");
    let mut history = told();
    let Some((_, Outcome::Ok(_, body))) = &mut with_key(&mut history, "put").ended else { unreachable!() };
    body["uid"] = json!("77");
    history.assert_found("acknowledged writes are kept", "is Schedule(");
}

#[test]
fn an_effect_of_what_was_said_not_to_be_done_is_found_unless_another_try_did_it() {
    let mut history = told();
    with_key(&mut history, "go").ended = Some((3_050, Outcome::Fail(503, "no_quorum".into())));
    history.assert_found("acknowledged writes are kept", "did it: Fired(");
    let again = Call { ended: Some((3_100, Outcome::Unknown)), ..with_key(&mut history, "go").clone() };
    history.story.calls.push(again);
    assert!(history.judge(&mut kept::Kept::new(Bounds::default())).is_clean());
}

#[test]
fn a_key_that_acts_twice_is_found() {
    let mut history = told();
    history.moment = 8_000;
    history.put("n/a", every(10, Policy::default()), None);
    history.moment = 9_000;
    history.trigger("n/a", Some("other"));
    let last = history.made.last_mut().unwrap();
    let campanile_core::command::Body::Trigger(trigger) = &mut last.command.body else { unreachable!() };
    trigger.request.key.as_mut().unwrap().text = "c:go".into();
    history.assert_found("a key acts once", "the key go was answered");
}

#[test]
fn a_read_of_what_never_stood_meanwhile_is_found() {
    const PROPERTY: &str = "each schedule is linearizable";
    // Too old: the first definition, once the second is in force.
    let mut history = told();
    let old = history.story.calls[1].ended.clone().unwrap().1;
    history.story.calls.push(call("GET", PATH, None, (4_500, 4_600), old.clone()));
    history.assert_found(PROPERTY, "asked at 4500 shows what never stood");
    // Too new: before it was committed.
    let mut history = told();
    history.story.calls.push(call("GET", PATH, None, (1_200, 1_300), old));
    history.assert_found(PROPERTY, "asked at 1200 shows");
    // Gone while it was there, and there once it was gone.
    let mut history = told();
    let gone = Outcome::Fail(404, "not_found".into());
    history.story.calls.push(call("GET", PATH, None, (4_500, 4_600), gone.clone()));
    history.assert_found(PROPERTY, "asked at 4500 shows");
    let mut history = told();
    let last = history.story.calls[6].ended.clone().unwrap().1;
    assert_ne!(last, gone);
    history.story.calls.push(call(
        "GET",
        PATH,
        None,
        (7_500, 7_600),
        history.story.calls[5].ended.clone().unwrap().1,
    ));
    history.assert_found(PROPERTY, "asked at 7500 shows");
    // A write that shows another's state.
    let mut history = told();
    let Some((_, Outcome::Ok(_, body))) = &mut with_key(&mut history, "edit").ended else { unreachable!() };
    body["revision"] = json!(1);
    history.assert_found(PROPERTY, "asked at 3950 shows");
}

#[test]
fn a_read_that_overlaps_a_write_may_show_either_and_a_stale_one_is_not_judged() {
    let mut history = told();
    let old = history.story.calls[1].ended.clone().unwrap().1;
    let new = history.story.calls[3].ended.clone().unwrap().1;
    for outcome in [old.clone(), new] {
        history.story.calls.push(call("GET", PATH, None, (3_990, 4_020), outcome));
    }
    let stale = "/v1/schedules/n/a?consistency=stale";
    history.story.calls.push(call("GET", stale, None, (6_500, 6_600), old));
    assert!(history.judge(&mut linear::Linear::new(Bounds::default())).is_clean());
    assert!(ScheduleName::parse("n/a").is_ok());
}

#[test]
fn a_report_that_was_acknowledged_and_is_not_in_the_log_is_found() {
    const PROPERTY: &str = "acknowledged reports are kept";
    let mut history = Handmade::with(queued(10));
    history.tick_at(10_000);
    let firing = history.take(1, None)[0].firing;
    history.moment = 12_000;
    history.settle(firing, 1, Verdict::Succeeded).unwrap();
    let path = |attempt: u32| format!("/v1/leases/lse_{}_{attempt}/settle", &firing.to_string()[4..]);
    let done = Outcome::Ok(200, json!({}));
    history.story.calls.push(call("POST", &path(1), None, (11_900, 12_100), done.clone()));
    assert!(history.judge(&mut reported::Reported::new(Bounds::default())).is_clean());
    history.story.calls.push(call("POST", &path(2), None, (13_000, 13_100), done));
    history.assert_found(PROPERTY, "attempt 2 was acknowledged");
    history.story.calls.truncate(1);
    history.story.calls[0].ended.as_mut().unwrap().0 = 11_950;
    history.assert_found(PROPERTY, "and reported at Some(12000)");
    let mut said = call("POST", &path(1), None, (12_900, 13_000), Outcome::Fail(409, "lease_lost".into()));
    said.body = Some(json!({"outcome": "succeeded"}));
    history.story.calls = vec![said];
    history.assert_found(PROPERTY, "succeeded was taken at 12000, and called lost at 13000");
    history.story.calls[0].body = Some(json!({"outcome": "failed"}));
    assert!(history.judge(&mut reported::Reported::new(Bounds::default())).is_clean());
}
