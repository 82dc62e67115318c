//! The way of clients and workers to a node: a request to its API, by direct call of its handlers, over a network that may
//! lose either half.
//!
//! Every call is in the story: when it was sent, and what its caller knows of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::Value;

use super::host::Host;
use super::story::{Call, Condition, Moment, Outcome, Story};
use super::trace::Trace;
use crate::seed::Dice;

/// The largest answer that is read.
const ANSWER_LIMIT: usize = 8 << 20;

/// The doors of all machines. Clones are the same ones.
#[derive(Clone)]
pub struct Doors {
    hosts: Arc<Vec<Host>>,
    story: Arc<Mutex<Story>>,
    trace: Trace,
    dice: Arc<Mutex<Dice>>,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Who asks.
    pub client: usize,
    /// The place of the machine that is asked.
    pub node: usize,
    /// `PUT`, `POST`, …
    pub method: &'static str,
    /// With its query.
    pub path: String,
    /// The idempotency key.
    pub key: Option<String>,
    /// The body.
    pub body: Option<Value>,
    /// How long the caller waits.
    pub within: Duration,
}

impl Doors {
    /// Of these machines.
    #[must_use]
    pub fn of(hosts: Arc<Vec<Host>>, story: Arc<Mutex<Story>>, trace: Trace, dice: Dice) -> Self {
        Self { hosts, story, trace, dice: Arc::new(Mutex::new(dice)) }
    }

    /// How many machines there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.hosts.len()
    }

    /// Virtual milliseconds since the world began.
    #[must_use]
    pub fn moment(&self) -> Moment {
        self.trace.moment()
    }

    /// Asks, and waits for as long as the caller does.
    pub async fn ask(&self, ask: Ask) -> Outcome {
        self.ask_if(ask, None).await.0
    }

    /// Asks on a condition; with the entity tag of the answer.
    pub async fn ask_if(&self, ask: Ask, condition: Option<Condition>) -> (Outcome, Option<String>) {
        let place = self.begin(&ask);
        if let Some(condition) = &condition {
            self.story().conditions.insert(place, condition.clone());
        }
        let (outcome, tag) = self.call(place, ask, condition).await;
        let moment = self.trace.moment();
        let told = match &outcome {
            Outcome::Ok(status, _) => u64::from(*status),
            Outcome::Fail(status, _) => 1_000 + u64::from(*status),
            Outcome::Unknown => 0,
        };
        self.trace.note("told", &[place as u64, told], || format!("call {place}: {outcome:?}"));
        self.story().calls[place].ended = Some((moment, outcome.clone()));
        (outcome, tag)
    }

    fn begin(&self, ask: &Ask) -> usize {
        let mut story = self.story();
        let place = story.calls.len();
        story.calls.push(Call {
            client: ask.client,
            node: ask.node,
            method: ask.method,
            path: ask.path.clone(),
            key: ask.key.clone(),
            body: ask.body.clone(),
            asked: self.trace.moment(),
            ended: None,
        });
        self.trace.note("call", &[place as u64, ask.node as u64], || {
            format!(
                "call {place}: client {} -> machine {}: {} {}",
                ask.client, ask.node, ask.method, ask.path
            )
        });
        place
    }

    async fn call(&self, place: usize, ask: Ask, condition: Option<Condition>) -> (Outcome, Option<String>) {
        let (there, back, lost) = self.weather();
        tokio::time::sleep(there).await;
        let Some(running) = self.hosts[ask.node].running() else {
            return (Outcome::Fail(0, "connection_refused".into()), None);
        };
        let mut request = Request::builder().method(ask.method).uri(&ask.path);
        if let Some(key) = &ask.key {
            request = request.header("idempotency-key", key);
        }
        request = match condition {
            Some(Condition::Unchanged(tag)) => request.header("if-match", tag),
            Some(Condition::Absent) => request.header("if-none-match", "*"),
            None => request,
        };
        let body = ask.body.as_ref().map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = request.header("content-type", "application/json").body(body);
        let request = request.expect("a workload asks what is a request");
        let front = running.front.clone();
        let mut served = running.process.spawn(async move {
            let response = front.answer(request).await;
            let status = response.status().as_u16();
            let tag = response.headers().get("etag").and_then(|tag| tag.to_str().ok()).map(str::to_owned);
            (status, tag, to_bytes(response.into_body(), ANSWER_LIMIT).await.unwrap_or_default())
        });
        let answered = tokio::time::timeout(ask.within, &mut served).await;
        if answered.is_err() {
            // The caller hangs up, and the handler is dropped.
            served.abort();
        }
        if let Ok(Ok((status, _, bytes))) = &answered
            && let Some(defect) = defect(*status, bytes)
        {
            self.story().defects.push((place, defect));
        }
        tokio::time::sleep(back).await;
        match answered {
            Ok(Ok((status, tag, bytes))) if !lost => (read(status, &bytes), tag),
            _ => (Outcome::Unknown, None),
        }
    }

    /// How long it takes there and back, and whether the answer is lost.
    fn weather(&self) -> (Duration, Duration, bool) {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        let mut way = || dice.between(Duration::from_micros(300), Duration::from_millis(3));
        let (there, back) = (way(), way());
        (there, back, dice.below(100) < 2)
    }

    /// What has happened so far.
    pub(super) fn story(&self) -> MutexGuard<'_, Story> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an answer says that no node should ever say: that it has gone wrong, or nothing that can be read.
fn defect(status: u16, bytes: &[u8]) -> Option<String> {
    let code = serde_json::from_slice(bytes).map_or(Value::Null, |value: Value| value["code"].clone());
    let is_well = (200..300).contains(&status) || code.as_str().is_some_and(|code| code != "internal");
    (!is_well).then(|| format!("{status} {}", String::from_utf8_lossy(bytes)))
}

/// What an answer tells its caller.
fn read(status: u16, bytes: &[u8]) -> Outcome {
    let value: Value = serde_json::from_slice(bytes).unwrap_or(Value::Null);
    if (200..300).contains(&status) {
        return Outcome::Ok(status, value);
    }
    let code = value["code"].as_str().unwrap_or("none").to_owned();
    match code.as_str() {
        // A defect says nothing of what was done.
        "unknown_outcome" | "internal" | "none" => Outcome::Unknown,
        _ => Outcome::Fail(status, code),
    }
}
