//! One request, as data: it can be sent more than once.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

/// One request to the API.
#[derive(Debug, Clone)]
pub struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) body: Option<Content>,
    pub(super) condition: Condition,
    pub(super) key: Option<String>,
    pub(super) patience: Option<Duration>,
    pub(super) is_raw: bool,
    pub(super) accept: Option<&'static str>,
    pub(super) last_event: Option<String>,
}

/// What a request carries.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// JSON.
    Json(Value),
    /// A text of another kind, and its media type.
    Text(String, &'static str),
}

/// What must be so for a write to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Condition {
    /// Nothing.
    #[default]
    None,
    /// The schedule must not exist.
    Absent,
    /// Its entity tag must be this.
    Unchanged(String),
}

impl Call {
    /// Asks for `path`, which begins with a slash; every segment that a user gave must be a checked name or id.
    #[must_use]
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into(), None)
    }

    /// Puts a whole definition.
    #[must_use]
    pub fn put(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::PUT, path.into(), Some(Content::Json(body)))
    }

    /// Puts a text of this media type.
    #[must_use]
    pub fn put_text(path: impl Into<String>, text: String, media_type: &'static str) -> Self {
        Self::new(Method::PUT, path.into(), Some(Content::Text(text, media_type)))
    }

    /// Asks for an act.
    #[must_use]
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::POST, path.into(), Some(Content::Json(body)))
    }

    /// Removes something.
    #[must_use]
    pub fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path.into(), None)
    }

    fn new(method: Method, path: String, body: Option<Content>) -> Self {
        debug_assert!(path.starts_with('/'), "a path begins with a slash: {path}");
        Self {
            method,
            path,
            query: Vec::new(),
            body,
            condition: Condition::None,
            key: None,
            patience: None,
            is_raw: false,
            accept: None,
            last_event: None,
        }
    }

    /// Adds a query parameter.
    #[must_use]
    pub fn query(mut self, name: &str, value: &(impl ToString + ?Sized)) -> Self {
        self.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a query parameter if there is a value.
    #[must_use]
    pub fn query_if(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.query(name, &value),
            None => self,
        }
    }

    /// What must be so for the write to be made.
    #[must_use]
    pub fn only_if(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }

    /// The idempotency key; a random one is made when it is left out.
    #[must_use]
    pub fn key(mut self, key: Option<String>) -> Self {
        self.key = key;
        self
    }

    /// How long one try may take, instead of its share of the time that is left: an answer that waits for something by
    /// design must not be cut off, and one that comes at once by design need not be waited for.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Leaves the body of the answer a text, so that no number in it loses a digit.
    #[must_use]
    pub(super) fn raw(mut self) -> Self {
        self.is_raw = true;
        self
    }

    /// Asks for an answer of this media type.
    #[must_use]
    pub(super) fn accept(mut self, media_type: &'static str) -> Self {
        self.accept = Some(media_type);
        self
    }

    /// Goes on with a stream behind the event that came last.
    #[must_use]
    pub(super) fn last_event(mut self, id: Option<&str>) -> Self {
        self.last_event = id.map(str::to_owned);
        self
    }

    /// Whether it asks without changing anything.
    pub(super) fn is_read(&self) -> bool {
        self.method == Method::GET
    }
}
