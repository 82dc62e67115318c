//! Sees to it that a world ends: one in which a task spins without letting time pass would hold its thread for ever.
//!
//! Such a world cannot be stopped from outside, only told: its seed is printed, and the program ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Which worlds run, and since when.
type Running = Mutex<BTreeMap<u64, Instant>>;

/// Watches worlds until it is dropped.
#[derive(Debug)]
pub(super) struct Watchdog(Arc<Running>);

impl Watchdog {
    /// One world may take so long of real time.
    pub(super) fn patient_for(patience: Duration) -> Self {
        let running = Arc::<Running>::default();
        let watched = Arc::downgrade(&running);
        std::thread::spawn(move || watch(&watched, patience));
        Self(running)
    }

    /// The world of this seed begins, and ends when what is returned is dropped.
    pub(super) fn begin(&self, seed: u64) -> Begun<'_> {
        self.lock().insert(seed, Instant::now());
        Begun { dog: self, seed }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A world that runs.
#[derive(Debug)]
pub(super) struct Begun<'a> {
    dog: &'a Watchdog,
    seed: u64,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.dog.lock().remove(&self.seed);
    }
}

#[allow(clippy::print_stderr, reason = "nobody else can say it any more")]
fn watch(running: &Weak<Running>, patience: Duration) {
    while let Some(running) = running.upgrade() {
        let late = |(seed, since): (&u64, &Instant)| (since.elapsed() > patience).then_some(*seed);
        let found = running.lock().unwrap_or_else(PoisonError::into_inner).iter().find_map(late);
        drop(running);
        if let Some(seed) = found {
            eprintln!("seed {seed}: the world does not end within {patience:?} of real time: a task spins");
            std::process::abort();
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}
