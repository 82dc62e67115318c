//! What users do meanwhile: clients that write and read, with time limits and keys, and workers.
//!
//! ```text
//!   clients: open ── deeds, one after another ── close ── (quiet) ── reads
//!   workers: lease ── work, in some manner ── settle …             well-behaved once it is quiet
//! ```
//! Which names things have is in [`names`], what may be said of a schedule in [`definitions`], what is asked in `deeds`,
//! and what of it a sweep has to have met in [`met`].

mod client;
mod deeds;
pub mod definitions;
pub mod met;
pub mod names;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use super::caller::Caller;
use super::clock::TrueTime;
use super::door::Doors;
use super::worker::Worker;
use crate::seed::Seed;
use client::Client;
pub use met::WANTED;

/// The parties of a world.
pub struct Parties {
    tasks: JoinSet<()>,
    over: Arc<AtomicBool>,
}

/// What every party is told of its world.
#[derive(Clone)]
pub struct Term {
    /// True time.
    pub time: TrueTime,
    /// From when on clients write nothing, in virtual milliseconds.
    pub quiet_from: u64,
    over: Arc<AtomicBool>,
}

/// How many clients.
const CLIENTS: usize = 3;
/// How many workers: more than queues, so that some race.
const WORKERS: usize = 7;
/// How long parties have to finish what they do when the world ends.
const LAST: Duration = Duration::from_secs(10);

/// Starts them; from `quiet_from` on clients write nothing.
#[must_use]
pub fn start(seed: Seed, doors: &Doors, time: TrueTime, quiet_from: u64) -> Parties {
    let (mut tasks, over) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
    let term = Term { time, quiet_from, over: Arc::clone(&over) };
    let caller =
        |who: usize, what: &str| Caller::new(who, seed.dice(&format!("{what} {who}")), doors.clone());
    for who in 0..CLIENTS {
        tasks.spawn(Client::new(caller(who, "client"), term.clone()).live());
    }
    for who in CLIENTS..CLIENTS + WORKERS {
        let queue = names::QUEUES[who % names::QUEUES.len()];
        tasks.spawn(Worker::new(caller(who, "worker"), queue, term.clone()).live());
    }
    Parties { tasks, over }
}

impl Parties {
    /// They end when what they do is done, or at last where they stand.
    pub async fn end(mut self) {
        self.over.store(true, Ordering::Relaxed);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST, all).await.is_err() {
            self.tasks.shutdown().await;
        }
    }
}

impl Term {
    /// Whether the world has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Whether clients write nothing any more.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.time.moment() >= self.quiet_from
    }
}
