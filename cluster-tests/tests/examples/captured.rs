//! Genuine deliveries, caught on their way and sent on: as they came, late, or tampered with.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use campanile_cluster_tests::{api, wait};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const WITHIN: Duration = Duration::from_secs(60);

/// A webhook as the cluster sent it.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    headers: HeaderMap,
    body: Bytes,
}

/// Takes deliveries and keeps them; dropped, it hangs up.
pub(crate) struct Capture {
    url: String,
    caught: Arc<Mutex<Vec<Delivery>>>,
    server: JoinHandle<()>,
}

impl Capture {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let caught = Arc::default();
        let router = Router::new().fallback(catch).with_state(Arc::clone(&caught));
        let server = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, router).await;
        });
        Self { url, caught, server }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// Two firings, the one with the smaller fencing token first.
    pub(crate) async fn two_firings(&self) -> [Delivery; 2] {
        wait::must("two captured firings", WITHIN, async || {
            let mut caught = self.caught.lock().unwrap().clone();
            caught.sort_by_key(Delivery::fencing_token);
            let older = caught.first()?;
            let newer = caught.iter().find(|one| one.text("webhook-id") != older.text("webhook-id"))?;
            Some([older.clone(), newer.clone()])
        })
        .await
    }

    /// One that carries so many signatures; of several the newest, which no receiver has seen a newer one than.
    pub(crate) async fn next_with_signatures(&self, count: usize) -> Delivery {
        let what = format!("a captured firing with {count} signatures");
        wait::must(&what, WITHIN, async || {
            let caught = self.caught.lock().unwrap();
            let signatures = |one: &&Delivery| one.text("webhook-signature").split(' ').count();
            caught.iter().rev().find(|one| signatures(one) == count).cloned()
        })
        .await
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn catch(
    State(caught): State<Arc<Mutex<Vec<Delivery>>>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    caught.lock().unwrap().push(Delivery { headers, body });
    StatusCode::NO_CONTENT
}

impl Delivery {
    pub(crate) fn with_body(mut self, body: &'static str) -> Self {
        self.body = Bytes::from_static(body.as_bytes());
        self
    }

    /// With another value of a header.
    pub(crate) fn with(mut self, name: &'static str, change: impl FnOnce(&str) -> String) -> Self {
        let value = change(self.text(name)).parse().unwrap();
        self.headers.insert(HeaderName::from_static(name), value);
        self
    }

    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.headers.remove(name).unwrap();
        self
    }

    /// Sends it to a receiver; the status of its answer.
    pub(crate) async fn send(&self, url: &str) -> u16 {
        let mut headers = self.headers.clone();
        // Of the connection that it came by, not of the delivery.
        for name in ["host", "content-length"] {
            headers.remove(name);
        }
        let request = api::client().post(url).headers(headers).body(self.body.clone());
        request.send().await.unwrap().status().as_u16()
    }

    fn fencing_token(&self) -> u64 {
        self.text("campanile-fencing-token").parse().unwrap()
    }

    fn text(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
}
