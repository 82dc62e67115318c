//! Answers remembered by idempotency key: a retry after a failover acts once.
//!
//! Part of the replicated state; bounded in time by each key's `keep` and in number by [`MAX_REMEMBERED`].

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::command::Request;
use crate::reply::{Fingerprint, Rejection, Reply};
use crate::time::Timestamp;

/// The most answers that are remembered; beyond, the one nearest to its end is forgotten.
pub const MAX_REMEMBERED: usize = 100_000;
/// How many ended ones one command forgets, so that none pays for a whole day.
const FORGET_AT_ONCE: usize = 64;

/// One remembered answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// Of the request that got it.
    pub fingerprint: Fingerprint,
    /// The answer.
    pub reply: Reply,
    /// It may be forgotten from here on.
    pub until: Timestamp,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    by_key: OrdMap<Arc<str>, Arc<Remembered>>,
    by_end: OrdSet<(Timestamp, Arc<str>)>,
}

impl Requests {
    /// The answer that this request got before.
    ///
    /// # Errors
    /// [`Rejection::KeyReused`] when the key was used for something else.
    pub fn recall(&self, request: &Request) -> Result<Option<Reply>, Rejection> {
        let Some(key) = &request.key else { return Ok(None) };
        match self.by_key.get(&*full_key(request, &key.text)) {
            None => Ok(None),
            Some(remembered) if remembered.fingerprint == key.fingerprint => {
                Ok(Some(remembered.reply.clone()))
            }
            Some(_) => Err(Rejection::KeyReused),
        }
    }

    /// The answers that the parts of this request got before, each with what names the part: a request that is done in
    /// several commands gives each the key of its own, a line break, and a name.
    pub fn parts_of<'a>(&'a self, request: &'a Request) -> impl Iterator<Item = (&'a str, &'a Reply)> {
        let whole =
            request.key.as_ref().map(|key| (full_key(request, &format!("{}\n", key.text)), key.fingerprint));
        let parts = whole.map(|(whole, fingerprint)| {
            let from = self.by_key.range(whole.clone()..);
            from.map_while(move |(key, remembered)| Some((key.strip_prefix(&*whole)?, remembered)))
                .filter(move |(_, remembered)| remembered.fingerprint == fingerprint)
        });
        parts.into_iter().flatten().map(|(part, remembered)| (part, &remembered.reply))
    }

    /// Remembers an answer. Refusals are not remembered: asking again asks anew.
    pub(crate) fn remember(&mut self, at: Timestamp, request: &Request, reply: &Reply) {
        let Some(key) = &request.key else { return };
        if matches!(reply, Reply::Rejected(_)) {
            return;
        }
        let until = at + key.keep;
        self.enter(
            full_key(request, &key.text),
            Remembered { fingerprint: key.fingerprint, reply: reply.clone(), until },
        );
    }

    /// Forgets some of those that have ended.
    pub(crate) fn forget_until(&mut self, at: Timestamp) {
        for _ in 0..FORGET_AT_ONCE {
            match self.by_end.get_min() {
                Some((until, _)) if *until <= at || self.by_key.len() > MAX_REMEMBERED => {
                    if let Some((_, key)) = self.by_end.remove_min() {
                        self.by_key.remove(&key);
                    }
                }
                _ => return,
            }
        }
    }

    pub(crate) fn enter(&mut self, key: Arc<str>, remembered: Remembered) {
        self.by_end.insert((remembered.until, key.clone()));
        self.by_key.insert(key, Arc::new(remembered));
    }

    /// In the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Remembered>)> {
        self.by_key.iter()
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

/// Keys of two principals do not meet.
fn full_key(request: &Request, text: &str) -> Arc<str> {
    format!("{}\n{text}", request.by).into()
}
