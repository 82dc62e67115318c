//! The three calls of a worker, typed: ask for leases, say that one lives, say what came of the work.
//!
//! Each goes to any endpoint that answers and is sent again until an instant that the caller names. Requests for leases and
//! outcomes carry one `Idempotency-Key` through all tries, so that a lost answer neither takes two leases nor settles
//! twice; a heartbeat needs none, since a second one changes nothing.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Answer, Call, Client, Error};
use crate::wire::lease::{Heartbeat, HeartbeatRequest, LeaseRequest, Leased, SettleRequest, Settled};

/// How long a node that lives may take for what it does at once: a command through the log, forwarded once.
pub(super) const PROMPT: Duration = Duration::from_secs(10);

impl Client {
    /// Asks for leases of a queue, and waits for work as long as the request says.
    ///
    /// The leases are counted from before this was called: [`worker`](super::worker) does that for you.
    ///
    /// # Errors
    /// A request or a right that is wrong, at once; what has gone wrong last, at `until`.
    pub async fn lease(
        &self,
        queue: &str,
        request: &LeaseRequest,
        until: Instant,
    ) -> Result<Vec<Leased>, Error> {
        read(&self.insist(&self.lease_call(queue, request)?, until).await?)
    }

    /// Says that the work of a lease goes on, which extends it.
    ///
    /// # Errors
    /// [`Error::is_lease_lost`] when it is somebody else's by now: the work must stop. Else as [`Client::lease`].
    pub async fn heartbeat(
        &self,
        lease: &str,
        request: &HeartbeatRequest,
        until: Instant,
    ) -> Result<Heartbeat, Error> {
        read(&self.insist(&heartbeat_call(lease, request)?.patience(self.prompt()), until).await?)
    }

    /// Says what came of the work of a lease. Sent again, it is answered the same.
    ///
    /// # Errors
    /// [`Error::is_lease_lost`] when it was somebody else's by now: the outcome changed nothing. Else as
    /// [`Client::lease`].
    pub async fn settle(
        &self,
        lease: &str,
        request: &SettleRequest,
        until: Instant,
    ) -> Result<Settled, Error> {
        let call = Call::post(format!("/v1/leases/{}/settle", segment(lease)?), body(request)?).raw();
        // A node that hangs must leave time for the others.
        let left = until.saturating_duration_since(Instant::now());
        let patience = (left / 6).max(Duration::from_millis(500)).min(self.prompt());
        read(&self.insist(&self.with_key(&call.patience(patience))?, until).await?)
    }

    /// How long a node may take for what it does at once: no longer than any request of this client.
    pub(super) fn prompt(&self) -> Duration {
        PROMPT.min(self.options.timeout)
    }

    /// A request for leases that can be sent again and again.
    pub(super) fn lease_call(&self, queue: &str, request: &LeaseRequest) -> Result<Call, Error> {
        let wait = Duration::from_millis(request.wait.0.as_millis());
        let path = format!("/v1/queues/{}/lease", segment(queue)?);
        self.with_key(&Call::post(path, body(request)?).raw().patience(wait + self.prompt()))
    }
}

/// A heartbeat that can be sent again and again.
pub(super) fn heartbeat_call(lease: &str, request: &HeartbeatRequest) -> Result<Call, Error> {
    Ok(Call::post(format!("/v1/leases/{}/heartbeat", segment(lease)?), body(request)?).raw())
}

/// An answer as what it has to be.
pub(super) fn read<T: DeserializeOwned>(answer: &Answer) -> Result<T, Error> {
    let text = answer.body.as_str().unwrap_or_default();
    serde_json::from_str(text)
        .map_err(|error| Error::Unusable(format!("the node's answer is not understood: {error}")))
}

fn body(request: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(request).map_err(|error| Error::Unusable(format!("no JSON: {error}")))
}

/// A segment of a path. Names and leases are of letters that need no escaping; anything else would ask for another path.
fn segment(text: &str) -> Result<&str, Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'~');
    if matches!(text, "" | "." | "..") || !text.bytes().all(plain) {
        return Err(Error::Unusable(format!("{text:?} is neither the name of a queue nor a lease")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_ask_for_another_path_is_no_segment() {
        for good in ["batch", "lse_0123abc", "a.b-c_d"] {
            assert_eq!(segment(good), Ok(good));
        }
        for bad in ["", ".", "..", "a/b", "a?b", "a b", "a%2fb", "ä"] {
            assert!(segment(bad).is_err(), "{bad:?}");
        }
    }
}
