//! The other end of the webhooks: writes down every call by its own clock, and answers as it was told to.
//!
//! It does not judge: a call without our headers, or the tenth of one firing, is written down like any other.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use campanile_core::cron::parse_instant;
use campanile_core::time::Timestamp;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

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
    /// `Campanile-Node`: who sent it.
    pub node: String,
    /// What it was answered; `None` while it waits for its answer, and for ever when the sender went away before.
    pub answered: Option<u16>,
}

impl Call {
    /// Whether the receiver took it over.
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.answered.is_some_and(|status| (200..300).contains(&status))
    }
}

/// How calls to a path are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// With this status, at once.
    Status(u16),
    /// With this status, after a while.
    After(Duration, u16),
    /// Attempts up to this number with 503, later ones with 200.
    FailFirst(u32),
    /// Never.
    Hang,
}

/// A running receiver; dropped, it hangs up.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    calls: Mutex<Vec<Call>>,
    manners: Mutex<BTreeMap<String, Manner>>,
}

impl Receiver {
    /// Starts one on a free port of loopback. Paths that nothing was said about are answered 200.
    ///
    /// # Panics
    /// When there is no free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared::default());
        let router = Router::new().fallback(receive).with_state(shared.clone());
        let server = tokio::spawn(async move {
            // It ends with the test; an error before shows as calls that are missing.
            let _ = axum::serve(listener, router).await;
        });
        Self { address, shared, server }
    }

    /// The URL of a path, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// From now on, calls to `path` are answered in this manner.
    pub fn answer(&self, path: &str, manner: Manner) {
        lock(&self.shared.manners).insert(path.to_owned(), manner);
    }

    /// Every call so far, in the order of arrival.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.shared.calls).clone()
    }

    /// How many calls have arrived.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.shared.calls).len()
    }

    /// Forgets every call: for long measurements that need their number only.
    pub fn forget(&self) {
        lock(&self.shared.calls).clear();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// The wall clock of this machine, which the nodes on it share.
#[must_use]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(since.as_millis() as i64)
}

async fn receive(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap) -> StatusCode {
    let call = call(uri.path(), &headers);
    let manner = lock(&shared.manners).get(uri.path()).copied().unwrap_or(Manner::Status(200));
    let attempt = call.attempt;
    let place = {
        let mut calls = lock(&shared.calls);
        calls.push(call);
        calls.len() - 1
    };
    let status = match manner {
        Manner::Status(status) => status,
        Manner::FailFirst(failing) => {
            if attempt <= failing {
                503
            } else {
                200
            }
        }
        Manner::After(wait, status) => {
            tokio::time::sleep(wait).await;
            status
        }
        Manner::Hang => std::future::pending().await,
    };
    // The record may have been forgotten meanwhile.
    if let Some(call) = lock(&shared.calls).get_mut(place) {
        call.answered = Some(status);
    }
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
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
    }
}

/// Nothing panics while it holds one of these.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with the record in hand")
}
