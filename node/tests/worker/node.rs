//! A node that serves a queue over HTTP, and can be unwell in several ways. It ends when it is dropped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use serde_json::{Value, json};

use super::fake::Queue;

/// What is asked of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Lease,
    Heartbeat,
    Settle,
}

/// How it takes that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Answers as the queue does.
    Well,
    /// The connection is open, and nothing comes.
    Silent,
    /// Does it, and the answer is lost: the connection closes.
    Mute,
    /// Does it so much later: a wait for work.
    Waits(Duration),
    /// Does it, and answers so much later.
    Slow(Duration),
    /// This problem, and nothing is done.
    Problem(u16, &'static str),
}

pub(crate) struct Node {
    pub(crate) address: SocketAddr,
    moods: Arc<Mutex<BTreeMap<Verb, Mood>>>,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    pub(crate) fn of(queue: &Queue) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let moods = Arc::new(Mutex::new(BTreeMap::new()));
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let (served, queue) = (moods.clone(), queue.clone());
        let router = axum::Router::new()
            .fallback(move |request: Request<Body>| answer(request, queue.clone(), served.clone()));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    served = axum::serve(listener, router) => served.unwrap(),
                    _ = ended => {}
                }
            });
        });
        Self { address, moods, end: Some(end), thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set(&self, verb: Verb, mood: Mood) {
        self.moods.lock().unwrap().insert(verb, mood);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn answer(
    request: Request<Body>,
    queue: Queue,
    moods: Arc<Mutex<BTreeMap<Verb, Mood>>>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body: Value = serde_json::from_slice(&to_bytes(body, usize::MAX).await.unwrap()).unwrap();
    let key =
        parts.headers.get("idempotency-key").map(|key| key.to_str().unwrap().to_owned()).unwrap_or_default();
    let path: Vec<&str> = parts.uri.path().split('/').skip(1).collect();
    let (verb, id) = match path.as_slice() {
        ["v1", "queues", "batch", "lease"] => (Verb::Lease, ""),
        ["v1", "leases", id, "heartbeat"] => (Verb::Heartbeat, *id),
        ["v1", "leases", id, "settle"] => (Verb::Settle, *id),
        _ => return respond(404, &json!({"code": "not_found", "status": 404, "detail": "no such path"})),
    };
    let mood = moods.lock().unwrap().get(&verb).copied().unwrap_or(Mood::Well);
    match mood {
        Mood::Silent => std::future::pending().await,
        Mood::Problem(status, code) => {
            if verb == Verb::Settle {
                queue.note_settle(id, &key);
            }
            return respond(status, &json!({"code": code, "status": status, "detail": "as the test says"}));
        }
        Mood::Waits(wait) => tokio::time::sleep(wait).await,
        Mood::Well | Mood::Mute | Mood::Slow(_) => {}
    }
    let (status, body) = match verb {
        Verb::Lease => queue.lease(&body, &key).await,
        Verb::Heartbeat => queue.heartbeat(id, &body),
        Verb::Settle => queue.settle(id, &body, &key),
    };
    if let Mood::Slow(wait) = mood {
        tokio::time::sleep(wait).await;
    }
    if mood == Mood::Mute {
        let broken = futures_util::stream::once(async { Err::<Vec<u8>, _>(std::io::Error::other("mute")) });
        return Response::new(Body::from_stream(broken));
    }
    respond(status, &body)
}

fn respond(status: u16, body: &Value) -> Response<Body> {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}
