//! One node's HTTP API, as anybody with a token reaches it.
//!
//! Answers are plain JSON: a test that read them with the product's own types would not notice when those and the contract
//! part. Nothing is repeated here; a test that wants to try again says so.

use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;

/// Longer than the node's own deadline for a write that waits for a leader.
const PATIENCE: Duration = Duration::from_secs(40);

/// A node's API.
#[derive(Debug, Clone)]
pub struct Api {
    http: Client,
    base: String,
    token: String,
}

/// What it answered.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The `ETag` header.
    pub etag: Option<String>,
    /// The body; `Null` when it is empty, a text when it is no JSON.
    pub body: Value,
}

impl Reply {
    /// The stable code of a problem.
    #[must_use]
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// Whether it is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Api {
    /// The API at a URL without path, with a token.
    #[must_use]
    pub fn new(http: Client, base: &str, token: &str) -> Self {
        Self { http, base: base.to_owned(), token: token.to_owned() }
    }

    /// Where it is.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A request to be dressed by hand: its path begins with a slash.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token)
    }

    /// Sends it.
    ///
    /// # Errors
    /// When no whole answer came.
    pub async fn send(request: RequestBuilder) -> reqwest::Result<Reply> {
        let response = request.send().await?;
        let status = response.status().as_u16();
        let etag = response.headers().get("etag").and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let text = response.text().await?;
        let body = match text.is_empty() {
            true => Value::Null,
            false => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        };
        Ok(Reply { status, etag, body })
    }

    /// `GET`.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub async fn get(&self, path: &str) -> reqwest::Result<Reply> {
        Self::send(self.request(Method::GET, path)).await
    }

    /// `PUT`.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub async fn put(&self, path: &str, body: &Value) -> reqwest::Result<Reply> {
        Self::send(self.request(Method::PUT, path).json(body)).await
    }

    /// `POST`.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub async fn post(&self, path: &str, body: &Value) -> reqwest::Result<Reply> {
        Self::send(self.request(Method::POST, path).json(body)).await
    }
}

/// An HTTP client for many [`Api`]s.
///
/// # Panics
/// When this machine has no cryptography at all.
#[must_use]
pub fn client() -> Client {
    // Nothing here speaks TLS, but the client wants a provider, and would look for certificates that may not be there. An
    // error says that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .timeout(PATIENCE)
        .connect_timeout(Duration::from_secs(5))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .tls_certs_only(std::iter::empty())
        .no_proxy()
        .build()
        .expect("an HTTP client for loopback")
}
