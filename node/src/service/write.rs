//! One write: planned under the office, proposed, and planned again when something came between.
//!
//! Every write carries a key, the client's or one drawn here, so that whoever does not know what became of it may simply
//! ask again. It must not act anywhere but in the log.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use campanile_core::command::{Body, Request, RequestKey};
use campanile_core::firing::Kind;
use campanile_core::machine::Machine;
use campanile_core::plan::Planner;
use campanile_core::reply::{Fingerprint, Rejection, Reply};
use campanile_core::time::{Span, Timestamp};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::Service;
use super::quorum::Undone;
use crate::problem::{Code, Problem};

/// How often a write that was overtaken is planned again before it gives up: each round loses only to another write of
/// the same schedule, or to a tick of it.
pub(super) const ROUNDS: usize = 32;
/// A trigger whose millisecond is taken asks again after the next.
const NEXT_MILLISECOND: Duration = Duration::from_millis(2);
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
        // Without randomness a key could not be told from another's; the operating system does not fail here.
        getrandom::fill(&mut bits).expect("the operating system gives random bits");
        Self::Own(bits.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
    }
}

impl Caller {
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

/// What a plan says.
#[derive(Debug)]
pub enum Planned {
    /// Propose this.
    Propose(Box<Body>),
    /// This very millisecond is taken; plan again in the next.
    NextMillisecond,
    /// It cannot be done, and the user must hear why.
    Refuse(Problem),
}

/// Why a write has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The user must hear this.
    Problem(Box<Problem>),
    /// This node could not do it; whoever sent it here asks elsewhere, or again.
    Undone(Undone),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

/// Plans a write from the state under which it will be judged.
pub type PlanWrite = Arc<dyn Fn(&mut Planner, Timestamp, &Machine) -> Planned + Send + Sync>;

impl Service {
    /// Proposes what `plan` says until the log takes or refuses it.
    ///
    /// # Errors
    /// The refusal as a problem; or that it was not, or may have been, done.
    pub async fn write(self: &Arc<Self>, caller: &Caller, plan: PlanWrite) -> Result<Reply, Failure> {
        self.write_or(caller, plan, refused).await
    }

    /// The same for a write of which `refused` says what a user hears of a refusal.
    ///
    /// # Errors
    /// As [`Service::write`].
    pub(super) async fn write_or(
        self: &Arc<Self>,
        caller: &Caller,
        plan: PlanWrite,
        refused: impl Fn(Rejection) -> Failure,
    ) -> Result<Reply, Failure> {
        let mut now = self.now();
        for _ in 0..ROUNDS {
            // What was answered is a fact of the log, whatever the state is now; only what is new is planned.
            if let Some(reply) = self.recall(caller)? {
                return Ok(reply);
            }
            match self.try_write(caller, now, &plan, &refused).await? {
                Tried::Answered(reply) => return Ok(reply),
                Tried::Overtaken => now = self.now(),
                Tried::TooEarly => now = self.next_millisecond().await,
            }
        }
        Err(overtaken())
    }

    /// The answer that this very request got before.
    pub(super) fn recall(&self, caller: &Caller) -> Result<Option<Reply>, Failure> {
        self.quorum().view().requests().recall(&caller.request()).map_err(refused)
    }

    /// The wall clock brings the next millisecond by itself. One that was set back would let a user wait for as long as
    /// that; then the log's time, which is ahead of it anyhow, goes on by one.
    async fn next_millisecond(&self) -> Timestamp {
        tokio::time::sleep(NEXT_MILLISECOND).await;
        let (now, log) = (self.now(), self.quorum().view().clock());
        if now < log { log.successor() } else { now }
    }

    pub(super) async fn try_write(
        self: &Arc<Self>,
        caller: &Caller,
        now: Timestamp,
        plan: &PlanWrite,
        refused: &impl Fn(Rejection) -> Failure,
    ) -> Result<Tried, Failure> {
        let said = Arc::new(Mutex::new(None));
        let kind = Arc::new(OnceLock::new());
        let (service, plan, saying, asked) = (self.clone(), plan.clone(), said.clone(), kind.clone());
        let propose = Box::new(move |at: Timestamp, machine: &Machine| {
            let planned = plan(&mut service.planner(), at, machine);
            match planned {
                Planned::Propose(body) => {
                    kind_of(&body).map(|kind| asked.set(kind));
                    return Some(*body);
                }
                other => *saying.lock().unwrap_or_else(PoisonError::into_inner) = Some(other),
            }
            None
        });
        let proposed = tokio::time::timeout_at(caller.deadline, self.quorum.propose(now, propose)).await;
        match proposed {
            Err(_) => Err(Failure::Undone(Undone::Unknown("no majority answered in time".into()))),
            Ok(Err(Undone::Busy)) => {
                Err(Problem::new(Code::RateLimited, "too many requests are under way; ask again").into())
            }
            Ok(Err(too_large @ Undone::TooLarge { .. })) => Err(too_large_for_the_log(&too_large)),
            Ok(Err(undone)) => Err(Failure::Undone(undone)),
            Ok(Ok(Some(Reply::Rejected(rejection)))) => match rejection {
                Rejection::Raced | Rejection::ClockBehind(_) => Ok(Tried::Overtaken),
                other => Err(refused(other)),
            },
            Ok(Ok(Some(reply))) => {
                if let (Reply::Fired(_), Some(kind)) = (&reply, kind.get()) {
                    self.count_fired(*kind);
                }
                Ok(Tried::Answered(reply))
            }
            Ok(Ok(None)) => match said.lock().unwrap_or_else(PoisonError::into_inner).take() {
                Some(Planned::Refuse(problem)) => Err(problem.into()),
                _ => Ok(Tried::TooEarly),
            },
        }
    }
}

/// The kind of the firing that a user asks for.
fn kind_of(body: &Body) -> Option<Kind> {
    match body {
        Body::Trigger(_) => Some(Kind::Manual),
        Body::Rerun(rerun) => Some(rerun.kind),
        _ => None,
    }
}

/// What became of one try.
pub(super) enum Tried {
    /// This is the answer.
    Answered(Reply),
    /// Another command came first.
    Overtaken,
    /// Not in this very millisecond.
    TooEarly,
}

/// The failure that others came first in every try.
pub(super) fn overtaken() -> Failure {
    Problem::new(Code::RateLimited, "others changed the same schedule in every try; ask again").into()
}

/// Nothing was proposed, and another try would not fit either.
fn too_large_for_the_log(undone: &Undone) -> Failure {
    let detail = format!("{undone}; do it in parts, each of which is atomic");
    Problem::new(Code::PayloadTooLarge, detail).into()
}

/// What a user hears of a refusal.
pub(super) fn refused(rejection: Rejection) -> Failure {
    let (code, why) = match rejection {
        Rejection::StaleEpoch(_) => {
            return Failure::Undone(Undone::NotSent("another leader has taken office".into()));
        }
        Rejection::Raced | Rejection::ClockBehind(_) => {
            (Code::RateLimited, "others changed the same schedule meanwhile; ask again".to_owned())
        }
        Rejection::NotFound => (Code::NotFound, "there is no such schedule".to_owned()),
        Rejection::AlreadyExists => {
            (Code::AlreadyExists, "the schedule exists, and If-None-Match asks that it does not".to_owned())
        }
        Rejection::VersionConflict(index) => (
            Code::VersionConflict,
            format!(
                "the schedule was changed: its ETag is \"{index}\" now; read it again and redo the change"
            ),
        ),
        Rejection::KeyReused => (
            Code::IdempotencyMismatch,
            "the Idempotency-Key was used for another request within 24 hours; use a new one for each"
                .to_owned(),
        ),
        Rejection::Invalid(why) => (Code::InvalidSchedule, why.into()),
        Rejection::Limit(why) => (Code::RateLimited, why.into()),
        Rejection::NoCalendar(name) => (
            Code::InvalidSchedule,
            format!("there is no calendar {name:?}; put it before the schedules that name it"),
        ),
        Rejection::NoSecret(name) => (
            Code::InvalidSchedule,
            format!("there is no secret {name:?}; put it first: PUT /v1/secrets/{name}"),
        ),
        Rejection::Cycle(path) => (
            Code::InvalidSchedule,
            format!(
                "the schedules that follow each other would go in a circle: {path}; take one of the steps out of on_failure \
                 or on_success"
            ),
        ),
        Rejection::InUse(users) => (
            Code::InUse,
            format!("{users} schedules name this calendar; change them first, or put an empty calendar"),
        ),
        // Whoever proposed the set knows the names of its parts, and says which one it is.
        Rejection::Part(_, why) => return refused(*why),
    };
    Problem::new(code, why).into()
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
