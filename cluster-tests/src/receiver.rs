//! The other end of the webhooks: writes down every call by its own clock, and answers as it was told to.
//!
//! It does not judge: a call without our headers, or the tenth of one firing, is written down like any other.

mod manner;

mod rough;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use campanile_core::cron::parse_instant;
use campanile_core::time::{Span, Timestamp};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use manner::Manner;
pub use rough::Rough;

/// A call that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When it arrived, by the clock of this process.
    pub received_at: Timestamp,
    /// The path of its URL.
    pub path: String,
    /// `Idempotency-Key`: the firing.
    pub firing: String,
    /// `Campanile-Schedule`.
    pub schedule: String,
    /// `Campanile-Nominal`.
    pub nominal: Option<Timestamp>,
    /// `Campanile-Attempt`.
    pub attempt: u32,
    /// `Campanile-Fencing-Token`.
    pub fencing_token: u64,
    /// `Campanile-Kind`.
    pub kind: String,
    /// `Campanile-Node`: who sent it. Of a command that a worker ran, the worker.
    pub node: String,
    /// What it was answered; `None` while it waits for its answer, and for ever when the sender went away before.
    pub answered: Option<u16>,
    /// How long the answer asked the sender to wait before it tries again.
    pub asked_to_wait: Option<Span>,
    /// Whether the receiver compared its fencing token, and took it only if it was the greatest so far.
    pub is_fenced: bool,
}

impl Call {
    /// Whether the receiver took it over.
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.answered.is_some_and(|status| (200..300).contains(&status))
    }
}

/// A running receiver; dropped, it hangs up.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    record: Record,
    servers: Vec<JoinHandle<()>>,
}

/// What was written down, and how it is to be answered. Clones are the same one.
#[derive(Debug, Clone, Default)]
struct Record(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    calls: Mutex<Calls>,
    manners: Mutex<BTreeMap<String, Manner>>,
}

#[derive(Debug, Default)]
struct Calls {
    all: Vec<Call>,
    /// The greatest token of each schedule that was accepted where tokens are compared.
    greatest: BTreeMap<String, u64>,
}

/// Where a call was written down.
struct Added {
    place: usize,
    /// Whether its token was the greatest, where tokens are compared.
    accepted: bool,
}

impl Receiver {
    /// Starts one on a free port of loopback. Paths that nothing was said about are answered 200.
    ///
    /// # Panics
    /// When there is no free port.
    pub async fn start() -> Self {
        let (listener, address) = listen().await;
        let record = Record::default();
        let router = Router::new().fallback(receive).with_state(record.clone());
        let server = tokio::spawn(async move {
            // It ends with the test; an error before shows as calls that are missing.
            let _ = axum::serve(listener, router).await;
        });
        Self { address, record, servers: vec![server] }
    }

    /// The URL of a path, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// From now on, calls to `path` are answered in this manner.
    pub fn answer(&self, path: &str, manner: Manner) {
        lock(&self.record.0.manners).insert(path.to_owned(), manner);
    }

    /// Opens a rough door, and says its URL without a path.
    ///
    /// # Panics
    /// When there is no free port.
    pub async fn open(&mut self, rough: Rough) -> String {
        let (listener, address) = listen().await;
        self.servers.push(tokio::spawn(rough::serve(listener, rough, self.record.clone())));
        format!("http://{address}")
    }

    /// Every call so far, in the order of arrival.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.record.0.calls).all.clone()
    }

    /// How many calls have arrived.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.record.0.calls).all.len()
    }

    /// Forgets every call: for long measurements that need their number only.
    pub fn forget(&self) {
        lock(&self.record.0.calls).all.clear();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.servers.iter().for_each(JoinHandle::abort);
    }
}

impl Record {
    /// Writes a call down as it arrives, and compares its token if it is to be compared: both at once, so that the order of
    /// the record is the one in which tokens were compared.
    fn add(&self, mut call: Call, is_fenced: bool) -> Added {
        let mut calls = lock(&self.0.calls);
        call.is_fenced = is_fenced;
        let accepted = is_fenced && {
            let greatest = calls.greatest.entry(call.schedule.clone()).or_default();
            let is_greater = call.fencing_token > *greatest;
            *greatest = call.fencing_token.max(*greatest);
            is_greater
        };
        calls.all.push(call);
        Added { place: calls.all.len() - 1, accepted }
    }

    fn answered(&self, place: usize, status: u16, asked_to_wait: Option<Span>) {
        // The record may have been forgotten meanwhile.
        if let Some(call) = lock(&self.0.calls).all.get_mut(place) {
            call.answered = Some(status);
            call.asked_to_wait = asked_to_wait;
        }
    }

    fn manner(&self, path: &str) -> Manner {
        lock(&self.0.manners).get(path).copied().unwrap_or(Manner::Status(200))
    }
}

/// The wall clock of this machine, which the nodes on it share.
#[must_use]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(since.as_millis() as i64)
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    (listener, address)
}

async fn receive(State(record): State<Record>, uri: Uri, headers: HeaderMap) -> Response {
    let call = call(uri.path(), &headers);
    let (manner, attempt) = (record.manner(uri.path()), call.attempt);
    let Added { place, accepted } = record.add(call, matches!(manner, Manner::Fenced(_)));
    let answer = manner.answer(attempt, accepted).await;
    record.answered(place, answer.status, answer.asked_to_wait());
    answer.into_response()
}

fn call(path: &str, headers: &HeaderMap) -> Call {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    Call {
        received_at: now(),
        path: path.to_owned(),
        firing: text("idempotency-key"),
        schedule: text("campanile-schedule"),
        nominal: parse_instant(&text("campanile-nominal")),
        attempt: text("campanile-attempt").parse().unwrap_or_default(),
        fencing_token: text("campanile-fencing-token").parse().unwrap_or_default(),
        kind: text("campanile-kind"),
        node: text("campanile-node"),
        answered: None,
        asked_to_wait: None,
        is_fenced: false,
    }
}

/// Nothing panics while it holds one of these.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with the record in hand")
}
