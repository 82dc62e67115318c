//! A receiver that records every request, answers as it is told, and can be held.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    /// How many were under way when it came, this one included.
    pub(crate) beside: usize,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.header("campanile-attempt").parse().unwrap()
    }
}

/// What to answer: by the number of the attempt.
pub(crate) type Script = fn(attempt: u32) -> Response;

#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    state: Arc<Recorder>,
}

struct Recorder {
    script: Script,
    seen: watch::Sender<Vec<Seen>>,
    under_way: Mutex<usize>,
    /// How many requests went away before they were answered.
    hung_up: watch::Sender<usize>,
    /// A request below this path is answered when it gets a permit,
    held: Option<&'static str>,
    /// of these.
    gate: Semaphore,
}

impl Receiver {
    /// Answers at once.
    pub(crate) async fn start(script: Script) -> Self {
        Self::at("127.0.0.1:0", script).await
    }

    /// Answers at once, at that address.
    pub(crate) async fn at(address: &str, script: Script) -> Self {
        Self::with(address, script, None).await
    }

    /// Answers nothing until it is let go.
    pub(crate) async fn held(script: Script) -> Self {
        Self::holding("/", script).await
    }

    /// Answers nothing below that path until it is let go, and everything else at once.
    pub(crate) async fn holding(path: &'static str, script: Script) -> Self {
        Self::holding_at("127.0.0.1:0", path, script).await
    }

    /// The same, at that address.
    pub(crate) async fn holding_at(address: &str, path: &'static str, script: Script) -> Self {
        Self::with(address, script, Some(path)).await
    }

    async fn with(address: &str, script: Script, held: Option<&'static str>) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Recorder {
            script,
            seen: watch::Sender::new(Vec::new()),
            under_way: Mutex::new(0),
            hung_up: watch::Sender::new(0),
            held,
            gate: Semaphore::new(0),
        });
        let router = Router::new().fallback(any(receive)).with_state(Arc::clone(&state));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, state }
    }

    /// The port of its address.
    pub(crate) fn port(&self) -> u16 {
        self.url.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Answers so many more.
    pub(crate) fn let_go(&self, requests: usize) {
        self.state.gate.add_permits(requests);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.borrow().clone()
    }

    /// Returns once so many requests went away before they were answered.
    pub(crate) async fn wait_for_hang_ups(&self, count: usize) {
        let mut hung_up = self.state.hung_up.subscribe();
        super::stage::in_time(hung_up.wait_for(|seen| *seen >= count)).await.unwrap();
    }

    /// The requests, once there are so many.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<Seen> {
        let mut seen = self.state.seen.subscribe();
        let came = super::stage::in_time(seen.wait_for(|seen| seen.len() >= count)).await;
        came.unwrap().clone()
    }
}

pub(crate) fn ok(_attempt: u32) -> Response {
    (StatusCode::OK, "done").into_response()
}

async fn receive(State(state): State<Arc<Recorder>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let text = |value: &axum::http::HeaderValue| value.to_str().unwrap().to_owned();
    let beside = {
        let mut under_way = state.under_way.lock().unwrap();
        *under_way += 1;
        *under_way
    };
    let seen = Seen {
        path: uri.path().to_owned(),
        headers: headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: String::from_utf8(body.to_vec()).unwrap(),
        beside,
    };
    let attempt = seen.attempt();
    state.seen.send_modify(|all| all.push(seen));
    let waiting = Waiting { state: Arc::clone(&state), answered: false };
    if state.held.is_some_and(|path| uri.path().starts_with(path)) {
        state.gate.acquire().await.unwrap().forget();
    }
    *state.under_way.lock().unwrap() -= 1;
    waiting.answer();
    (state.script)(attempt)
}

/// A request that waits for its answer: dropped without one, its sender has hung up.
struct Waiting {
    state: Arc<Recorder>,
    answered: bool,
}

impl Waiting {
    fn answer(mut self) {
        self.answered = true;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.answered {
            self.state.hung_up.send_modify(|count| *count += 1);
        }
    }
}
