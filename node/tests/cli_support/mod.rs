//! The command line in this process, and a node that answers as the test says and remembers what it was asked.

// Each test file takes what it needs of this; to the compiler it is a private module of each.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, dead_code, unreachable_pub)]

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use campanile::cli::{Exit, Io, Outcome, run};
use campanile_core::cron::parse_instant;
use serde_json::{Value, json};

/// What a node was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: axum::http::HeaderMap,
    pub body: Value,
}

impl Asked {
    /// `GET /path` or `GET /path?query`.
    pub fn line(&self) -> String {
        let query = if self.query.is_empty() { String::new() } else { format!("?{}", self.query) };
        format!("{} {}{query}", self.method, self.path)
    }

    pub fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    }
}

/// What it answers.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

/// A JSON answer.
pub fn answer(status: u16, body: Value) -> Answer {
    let headers =
        vec![("content-type", "application/json".to_owned()), ("campanile-applied-index", "90".to_owned())];
    Answer { status, headers, body: body.to_string() }
}

/// A problem with a code.
pub fn problem(status: u16, code: &str, detail: &str) -> Answer {
    answer(
        status,
        json!({"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail}),
    )
}

/// A node that answers as `script` says. It ends when it is dropped.
pub struct Node {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    pub fn start(script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (log, script) = (asked.clone(), Arc::new(script));
        let router = axum::Router::new()
            .fallback(move |request: Request<Body>| handle(request, log.clone(), script.clone()));
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
        Self { address, asked, end: Some(end), thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn lines(&self) -> Vec<String> {
        self.asked().iter().map(Asked::line).collect()
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

async fn handle<S>(request: Request<Body>, log: Arc<Mutex<Vec<Asked>>>, script: Arc<S>) -> Response<Body>
where
    S: Fn(&Asked) -> Answer,
{
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let asked = Asked {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
    };
    log.lock().unwrap().push(asked.clone());
    let answer = script(&asked);
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(answer.body)).unwrap()
}

/// An address on which nothing listens.
pub fn dead_url() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    pub exit: Exit,
    pub out: String,
    pub err: String,
}

/// Runs `campanile` with `args`.
pub fn cli(args: &[&str]) -> Ran {
    cli_reading(args, "")
}

/// Runs `campanile` with `args` and `input` on its standard input.
pub fn cli_reading(args: &[&str], input: &str) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = exit_of(args, &mut out, &mut err, &mut input.as_bytes());
    Ran { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

/// Runs `campanile` in the given surroundings.
pub fn exit_of(args: &[&str], out: &mut dyn Write, err: &mut dyn Write, input: &mut dyn Read) -> Exit {
    let args = ["campanile"].iter().chain(args).map(OsString::from);
    let now = parse_instant("2026-12-01T08:00:00Z").unwrap();
    match run(args, &mut Io { out, err, input, terminal: false, color: false, now }) {
        Outcome::Exit(exit) => exit,
        Outcome::Local(command) => panic!("not a client command: {command:?}"),
    }
}
