//! A queue in memory that keeps leases by the contract: they end, they are extended, and who lost one is told.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use campanile::clock::Clock;
use campanile::wire::time::Instant as At;
use campanile_core::time::{Span, Timestamp};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// How long a test waits for what must come: much longer than it takes, on a machine with other work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A queue that several nodes can serve.
#[derive(Clone, Default)]
pub(crate) struct Queue(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    more: Notify,
}

/// What a test looks at.
#[derive(Default)]
pub(crate) struct State {
    ready: VecDeque<Firing>,
    pub(crate) leases: Vec<Lease>,
    /// The bodies of the requests for leases.
    pub(crate) polls: Vec<Value>,
    /// Their idempotency keys.
    pub(crate) poll_keys: Vec<String>,
    /// The most leases that were held at one time.
    pub(crate) most_held: usize,
}

/// What waits for a worker.
struct Firing {
    payload: Value,
    /// The firing ends at the latest so long after its lease.
    deadline: Duration,
}

/// One lease that was given.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    pub(crate) id: String,
    pub(crate) until: Instant,
    deadline: Instant,
    pub(crate) beats: usize,
    /// Somebody else has it: whatever its holder says is refused.
    pub(crate) lost: bool,
    /// Its holder is asked to stop.
    pub(crate) stop: bool,
    pub(crate) settled: Option<Value>,
    /// The idempotency keys of the outcomes that were sent, and of the answers 503 to them too.
    pub(crate) settle_keys: Vec<String>,
    /// How often its holder was told that it is lost.
    pub(crate) refused: usize,
}

impl Lease {
    fn is_held(&self) -> bool {
        self.settled.is_none() && !self.lost && Instant::now() < self.until
    }

    /// The outcome and the error that was settled.
    pub(crate) fn said(&self) -> (String, String) {
        let text = |name: &str| self.settled.as_ref().unwrap()[name].as_str().unwrap_or_default().to_owned();
        (text("outcome"), text("error"))
    }

    pub(crate) fn output(&self) -> String {
        self.settled.as_ref().unwrap()["output"].as_str().unwrap().to_owned()
    }
}

impl Queue {
    pub(crate) fn with(payloads: impl IntoIterator<Item = Value>) -> Self {
        let queue = Self::default();
        payloads.into_iter().for_each(|payload| queue.push(payload));
        queue
    }

    pub(crate) fn push(&self, payload: Value) {
        self.push_until(payload, Duration::from_secs(900));
    }

    pub(crate) fn push_until(&self, payload: Value, deadline: Duration) {
        self.change(|state| state.ready.push_back(Firing { payload, deadline }));
        self.0.more.notify_one();
    }

    /// Changes the state, and wakes who waits for a change.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.0.changed.notify_all();
        changed
    }

    /// Waits until `seen` finds what it looks for.
    #[track_caller]
    pub(crate) fn wait<T>(&self, what: &str, seen: impl Fn(&State) -> Option<T>) -> T {
        let began = Instant::now();
        let mut state = self.lock();
        loop {
            if let Some(found) = seen(&state) {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "{what} did not come; leases: {:#?}", state.leases);
            state = self.0.changed.wait_timeout(state, Duration::from_millis(100)).unwrap().0;
        }
    }

    /// Waits until so many leases are settled, and gives all of them.
    #[track_caller]
    pub(crate) fn settled(&self, count: usize) -> Vec<Lease> {
        self.wait("an outcome", |state| {
            let settled = state.leases.iter().filter(|lease| lease.settled.is_some()).count();
            (settled >= count).then(|| state.leases.clone())
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// What a node does with a request for leases.
    pub(super) async fn lease(&self, body: &Value, key: &str) -> (u16, Value) {
        self.change(|state| {
            state.polls.push(body.clone());
            state.poll_keys.push(key.to_owned());
        });
        let until = tokio::time::Instant::now() + length(&body["wait"]);
        loop {
            let more = self.0.more.notified();
            let given = self.change(|state| state.give(body));
            if !given.is_empty() || tokio::time::timeout_at(until, more).await.is_err() {
                return (200, Value::Array(given));
            }
        }
    }

    /// What a node does with a heartbeat.
    pub(super) fn heartbeat(&self, id: &str, body: &Value) -> (u16, Value) {
        self.change(|state| {
            let Some(lease) = state.held(id) else { return lost() };
            lease.beats += 1;
            lease.until = (Instant::now() + length(&body["ttl"])).min(lease.deadline);
            let (until, deadline) = (instant(lease.until), instant(lease.deadline));
            (200, json!({"until": until, "deadline": deadline, "stop": lease.stop}))
        })
    }

    /// What a node does with an outcome.
    pub(super) fn settle(&self, id: &str, body: &Value, key: &str) -> (u16, Value) {
        self.note_settle(id, key);
        self.change(|state| {
            let again =
                state.leases.iter().any(|lease| lease.id == id && lease.settled.as_ref() == Some(body));
            if !again {
                let Some(lease) = state.held(id) else { return lost() };
                lease.settled = Some(body.clone());
            }
            (200, json!({"firing": "frg_1", "attempt": 1, "state": body["outcome"], "retry_at": null}))
        })
    }

    /// An outcome came, whatever the node says to it.
    pub(super) fn note_settle(&self, id: &str, key: &str) {
        self.change(|state| {
            if let Some(lease) = state.leases.iter_mut().find(|lease| lease.id == id) {
                lease.settle_keys.push(key.to_owned());
            }
        });
    }
}

impl State {
    fn give(&mut self, body: &Value) -> Vec<Value> {
        let most = usize::try_from(body["max"].as_u64().unwrap()).unwrap();
        let firings: Vec<Firing> = self.ready.drain(..most.min(self.ready.len())).collect();
        let given = firings.iter().map(|firing| self.grant(firing, length(&body["ttl"]))).collect();
        let held = self.leases.iter().filter(|lease| lease.is_held()).count();
        self.most_held = self.most_held.max(held);
        given
    }

    fn grant(&mut self, firing: &Firing, ttl: Duration) -> Value {
        let number = self.leases.len() + 1;
        let (now, id) = (Instant::now(), format!("lse_{number}"));
        let deadline = now + firing.deadline;
        let until = (now + ttl).min(deadline);
        self.leases.push(Lease {
            id: id.clone(),
            until,
            deadline,
            beats: 0,
            lost: false,
            stop: false,
            settled: None,
            settle_keys: Vec::new(),
            refused: 0,
        });
        json!({
            "lease": id, "firing": format!("frg_{number}"), "schedule": "ns/name", "uid": "u1", "revision": 3,
            "queue": "batch", "nominal": "2026-12-01T01:30:00Z", "run": 0, "kind": "scheduled", "cause": null,
            "attempt": 2, "fencing_token": 4096 + number, "begun_at": instant(now), "until": instant(until),
            "deadline": instant(deadline), "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "labels": {}, "payload": firing.payload,
        })
    }

    fn held(&mut self, id: &str) -> Option<&mut Lease> {
        let lease = self.leases.iter_mut().find(|lease| lease.id == id)?;
        if lease.is_held() {
            return Some(lease);
        }
        lease.refused += 1;
        None
    }
}

fn lost() -> (u16, Value) {
    (
        409,
        json!({"code": "lease_lost", "status": 409, "title": "the lease is lost", "detail": "another attempt began"}),
    )
}

/// An instant of this process as the contract writes it.
fn instant(at: Instant) -> At {
    let (now, wall) = (Instant::now(), Clock::system().now());
    let ms = |duration: Duration| Span::from_millis(u64::try_from(duration.as_millis()).unwrap());
    let wall: Timestamp = match at.checked_duration_since(now) {
        Some(ahead) => wall + ms(ahead),
        None => wall - ms(now - at),
    };
    At(wall)
}

fn length(text: &Value) -> Duration {
    let span: Span = text.as_str().unwrap_or("0s").parse().unwrap();
    Duration::from_millis(span.as_millis())
}
