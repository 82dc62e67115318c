//! Who asks for a write, and under which key: the same in every try, on every node.

use campanile_core::command::{Request, RequestKey};
use campanile_core::reply::Fingerprint;
use campanile_core::time::Span;
use campanile_raft::runtime;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::problem::Problem;

/// How long the answer to a client's key is remembered (`API.md`).
const CLIENT_KEY_KEPT: Span = Span::from_secs(24 * 3600);
/// How long the answer to our own key is: longer than any request can be retried inside.
const OWN_KEY_KEPT: Span = Span::from_secs(60);
/// The longest key of a client, in characters.
const MAX_KEY: usize = 255;

/// Who asks, under which key, and until when an answer is of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The principal.
    pub by: Box<str>,
    /// The key of the request; the same in every try.
    pub key: Key,
    /// What the request says, for a key that is used twice.
    pub fingerprint: Fingerprint,
    /// When to give up.
    pub deadline: Instant,
}

/// The key of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// The client sent it, and may send it again tomorrow.
    Client(Box<str>),
    /// Drawn here, for retries inside.
    Own(Box<str>),
}

impl Key {
    /// The client's key, checked, or a new one.
    ///
    /// # Errors
    /// `bad_request` when the client's is no key.
    pub fn of(header: Option<&str>) -> Result<Self, Problem> {
        match header {
            None => Ok(Self::draw()),
            Some(text)
                if text.is_empty()
                    || text.len() > MAX_KEY
                    || !text.bytes().all(|byte| byte.is_ascii_graphic()) =>
            {
                Err(Problem::bad_request(
                    "Idempotency-Key has 1-255 printable ASCII characters without blanks",
                ))
            }
            Some(text) => Ok(Self::Client(text.into())),
        }
    }

    /// 128 random bits: two requests of this cluster do not meet.
    fn draw() -> Self {
        let mut bits = [0u8; 16];
        runtime::fill(&mut bits);
        Self::Own(bits.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
    }
}

impl Caller {
    /// The same for one step of a request that is done in several, under a key of its own; no key of a client has a line
    /// break. What the steps were answered is found under the whole (`Requests::parts_of`).
    pub(in crate::service) fn for_part(&self, part: &str) -> Self {
        let key = match &self.key {
            Key::Client(text) => Key::Client(format!("{text}\n{part}").into()),
            Key::Own(text) => Key::Own(format!("{text}\n{part}").into()),
        };
        Self { key, ..self.clone() }
    }

    /// As the log knows it. The two kinds of keys never meet.
    #[must_use]
    pub fn request(&self) -> Request {
        let (text, keep) = match &self.key {
            Key::Client(text) => (format!("c:{text}"), CLIENT_KEY_KEPT),
            Key::Own(text) => (format!("i:{text}"), OWN_KEY_KEPT),
        };
        Request {
            by: self.by.clone(),
            key: Some(RequestKey { text: text.into(), fingerprint: self.fingerprint, keep }),
        }
    }
}

/// The first 16 bytes of a hash over method, path and body.
#[must_use]
pub fn fingerprint(method: &str, path: &str, body: &[u8]) -> Fingerprint {
    let mut hash = Sha256::new();
    for part in [method.as_bytes(), path.as_bytes(), body] {
        // The lengths keep the parts apart.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut fingerprint = Fingerprint::default();
    fingerprint.copy_from_slice(&hash.finalize()[..16]);
    fingerprint
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn keys_of_clients_are_kept_a_day_and_never_meet_our_own() {
        let caller = |key| Caller { by: "a".into(), key, fingerprint: [0; 16], deadline: Instant::now() };
        let key = |key| caller(key).request().key.unwrap();
        let (client, own) = (key(Key::of(Some("abc")).unwrap()), key(Key::Own("abc".into())));
        assert_eq!((client.keep, own.keep), (CLIENT_KEY_KEPT, OWN_KEY_KEPT));
        assert_ne!(client.text, own.text);
        assert_ne!(Key::of(None), Key::of(None));
        for bad in ["", "a b", "ä", &"x".repeat(256)] {
            assert!(Key::of(Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_fingerprint_tells_method_path_and_body_apart() {
        let all = [("PUT", "/a", "b"), ("PUT", "/ab", ""), ("PUTT", "/a", "b"), ("PUT", "/a", "c")]
            .map(|(method, path, body)| fingerprint(method, path, body.as_bytes()));
        let distinct: std::collections::BTreeSet<_> = all.into_iter().collect();
        assert_eq!(distinct.len(), 4);
    }
}
