//! What happened, as a hash of all of it and as the last lines of it.
//!
//! Two runs are the same when their hashes are. Lines are written down only when somebody wants to read them: they are for
//! people, the hash is over the numbers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// How many lines are kept.
const KEPT: usize = 4_000;
/// And how many of them before what is marked.
const MARKED: usize = 80;

/// The trace of a world. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Trace(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    began: Instant,
    hash: u64,
    events: u64,
    loud: bool,
    lines: VecDeque<String>,
    reached: BTreeMap<&'static str, u64>,
    marked: Option<Vec<String>>,
}

impl Trace {
    /// Begins now; `loud` keeps lines.
    #[must_use]
    pub fn begin(loud: bool) -> Self {
        let began = Instant::now();
        let (lines, reached) = (VecDeque::new(), BTreeMap::new());
        let inner =
            Inner { began, hash: 0xcbf2_9ce4_8422_2325, events: 0, loud, lines, reached, marked: None };
        Self(Arc::new(Mutex::new(inner)))
    }

    /// Virtual milliseconds since the world began.
    #[must_use]
    pub fn moment(&self) -> u64 {
        self.lock().moment()
    }

    /// Something happened: numbers that say what, and a line for people.
    pub fn note(&self, what: &'static str, numbers: &[u64], line: impl FnOnce() -> String) {
        let mut inner = self.lock();
        let moment = inner.moment();
        inner.events += 1;
        inner.mix(what.as_bytes());
        inner.mix(&moment.to_le_bytes());
        for number in numbers {
            inner.mix(&number.to_le_bytes());
        }
        if inner.loud {
            let line = format!("{:>9.3} {what} {}", moment as f64 / 1_000.0, line());
            if inner.lines.len() == KEPT {
                inner.lines.pop_front();
            }
            inner.lines.push_back(line);
        }
    }

    /// A branch was taken that a sweep has to have met (see [`super::coverage`]).
    pub fn reach(&self, branch: &'static str) {
        *self.lock().reached.entry(branch).or_default() += 1;
    }

    /// Which branches were taken, and how often.
    #[must_use]
    pub fn reached(&self) -> BTreeMap<&'static str, u64> {
        self.lock().reached.clone()
    }

    /// Keeps the lines before this moment, the first time.
    pub fn mark(&self) {
        let mut inner = self.lock();
        if inner.marked.is_none() {
            let last = inner.lines.iter().rev().take(MARKED).rev().cloned().collect();
            inner.marked = Some(last);
        }
    }

    /// The lines before the moment that was marked.
    #[must_use]
    pub fn marked(&self) -> Vec<String> {
        self.lock().marked.clone().unwrap_or_default()
    }

    /// The hash, and over how many events.
    #[must_use]
    pub fn hash(&self) -> (u64, u64) {
        let inner = self.lock();
        (inner.hash, inner.events)
    }

    /// The last lines; none unless it is loud.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lock().lines.iter().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn moment(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// FNV-1a: small, and the same everywhere.
    fn mix(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// FNV-1a over some bytes, for what is noted by its content.
#[must_use]
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
