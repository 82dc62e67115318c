//! A worker as one call: lease, heartbeat, settle, over and over, until it is told to stop.
//!
//! ```text
//! stop? ─▶ poll: leases for the free places ─▶ one task a lease ─▶ handler(Job) ─▶ Outcome ─▶ settle
//!                                                  └─ keep: a heartbeat every third of the ttl; tells the job when to stop
//! ```
//! A lease is counted on this process's monotonic clock from before it was asked for. When that count is over, nobody has to
//! say so: the job is told to stop, and what comes of it is dropped. The count errs to the safe side, so that no wall clock
//! has to be right. What a stalled process did in between is fenced by [`Leased::fencing_token`], which whatever the job
//! writes to should compare.
//!
//! Work is done at least once: the same firing can come again, as another attempt with a greater fencing token.
//!
//! ```no_run
//! use campanile::client::worker::{Job, Options, Outcome, Worker};
//! use campanile::client::{Client, Endpoint, Error};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn reindex(_payload: &str) -> Result<String, std::io::Error> { Ok(String::new()) }
//! # async fn example() -> Result<(), Error> {
//! let endpoints = vec![Endpoint::parse("http://node1:7700")?, Endpoint::parse("http://node2:7700")?];
//! let client = Client::new(campanile::client::Options {
//!     endpoints,
//!     token: None,
//!     timeout: std::time::Duration::from_secs(30),
//! })?;
//! let stop = CancellationToken::new();
//! let worker = Worker::new(client, Options { concurrency: 4, ..Options::new("batch", "indexer-1") })?;
//! let totals = worker
//!     .run(
//!         async |job: Job| {
//!             tokio::select! {
//!                 done = reindex(&job.leased().payload.0) => match done {
//!                     Ok(said) => Outcome::succeeded().output(said),
//!                     Err(error) => Outcome::retry(error.to_string()),
//!                 },
//!                 _ = job.stopped() => Outcome::cancelled(),
//!             }
//!         },
//!         stop,
//!     )
//!     .await?;
//! println!("{} settled", totals.settled);
//! # Ok(())
//! # }
//! ```

mod job;
mod keep;
mod poll;
mod term;
mod work;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use campanile_core::definition::ScheduleName;
use campanile_core::time::Span;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::{Client, Error};
use crate::wire::lease::{DEFAULT_TTL, Leased, MAX_TTL, MAX_WAIT, MAX_WORKER, MIN_TTL};
use crate::wire::text::check_free;

pub use job::{Job, Outcome, Stop};
use poll::Polled;
use work::Ended;

/// The most leases that one worker works on at once.
pub const MAX_CONCURRENCY: usize = 1000;

const WAIT: Duration = Duration::from_secs(20);

/// What a worker works on, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The queue.
    pub queue: String,
    /// Who works, for people who look at a firing later; 1 to 200 printable characters.
    pub name: String,
    /// How many leases at once; 1 to [`MAX_CONCURRENCY`].
    pub concurrency: usize,
    /// How long a lease lasts when no heartbeat extends it: how long a dead worker's work waits. 1 s to 1 h, in whole
    /// milliseconds.
    pub ttl: Duration,
    /// How long a node may wait for work before it answers that there is none; at most 60 s, and no more than a third of
    /// `ttl` is used, since the lease is counted from before the wait.
    pub wait: Duration,
}

impl Options {
    /// One lease of 60 s at a time, and 20 s of waiting for work.
    #[must_use]
    pub fn new(queue: impl Into<String>, name: impl Into<String>) -> Self {
        let ttl = Duration::from_millis(DEFAULT_TTL.as_millis());
        Self { queue: queue.into(), name: name.into(), concurrency: 1, ttl, wait: WAIT }
    }

    fn check(&self) -> Result<(), String> {
        ScheduleName::new("queue", &self.queue)
            .map_err(|bad| format!("the name of the queue {}", bad.why))?;
        if self.name.trim().is_empty() {
            return Err("the name of the worker is empty".into());
        }
        check_free(&self.name, MAX_WORKER, false).map_err(|why| format!("the name of the worker: {why}"))?;
        if !(1..=MAX_CONCURRENCY).contains(&self.concurrency) {
            return Err(format!("a concurrency of {}; from 1 to {MAX_CONCURRENCY}", self.concurrency));
        }
        let (ttl, wait) = (span(self.ttl), span(self.wait));
        if !(MIN_TTL..=MAX_TTL).contains(&ttl) {
            return Err(format!("a ttl of {ttl}; from {MIN_TTL} to {MAX_TTL}"));
        }
        if wait > MAX_WAIT {
            return Err(format!("a wait of {wait}; at most {MAX_WAIT}"));
        }
        Ok(())
    }
}

/// What a worker has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Outcomes that the cluster took.
    pub settled: u64,
    /// Leases that were lost before their outcome was taken. Their firings are somebody else's.
    pub lost: u64,
}

impl Totals {
    fn count(&mut self, ended: &Result<Ended, JoinError>) {
        match ended {
            Ok(Ended::Settled) => self.settled += 1,
            Ok(Ended::Lost) | Err(_) => self.lost += 1,
        }
    }
}

/// A worker of one queue.
#[derive(Debug)]
pub struct Worker {
    client: Arc<Client>,
    options: Options,
}

impl Worker {
    /// Sets a worker up; asks for nothing yet.
    ///
    /// # Errors
    /// [`Error::Unusable`] when an option is out of its bounds.
    pub fn new(client: Client, options: Options) -> Result<Self, Error> {
        options.check().map_err(Error::Unusable)?;
        Ok(Self { client: Arc::new(client), options })
    }

    /// Works until `stop`, then leases nothing more and waits for the jobs under way, whose heartbeats go on.
    ///
    /// While no node answers it keeps trying. A handler that panics has failed. A handler has to end when
    /// [`Job::stopped`] says so; until it does, its place is not free. When the future is dropped, the handlers are
    /// dropped too, and their leases run out.
    ///
    /// # Errors
    /// What no moment mends, such as a missing right or queue; the jobs under way have ended by then.
    pub async fn run<H, F>(self, handler: H, stop: CancellationToken) -> Result<Totals, Error>
    where
        H: Fn(Job) -> F,
        F: Future<Output = Outcome> + Send + 'static,
    {
        let mut totals = Totals::default();
        let mut jobs = JoinSet::new();
        let end = loop {
            while let Some(ended) = jobs.try_join_next() {
                totals.count(&ended);
            }
            let free = self.options.concurrency - jobs.len();
            if free == 0 {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break Ok(()),
                    Some(ended) = jobs.join_next() => totals.count(&ended),
                }
                continue;
            }
            match self.poll(free, &stop).await {
                Polled::Leased { leases, sent } => {
                    for leased in leases {
                        self.start(&mut jobs, leased, sent, &handler);
                    }
                }
                Polled::Stopped => break Ok(()),
                Polled::Refused(error) => break Err(error),
            }
        };
        tracing::info!(queue = self.options.queue, running = jobs.len(), "leases nothing more");
        while let Some(ended) = jobs.join_next().await {
            totals.count(&ended);
        }
        end.map(|()| totals)
    }

    fn start<H, F>(&self, jobs: &mut JoinSet<Ended>, leased: Leased, sent: tokio::time::Instant, handler: &H)
    where
        H: Fn(Job) -> F,
        F: Future<Output = Outcome> + Send + 'static,
    {
        let leased = Arc::new(leased);
        let (job, tell) = Job::new(leased.clone());
        // Nothing of it runs before its task has looked at the lease.
        let handling = handler(job);
        jobs.spawn(work::work(self.client.clone(), leased, sent, self.options.ttl, tell, handling));
    }
}

/// A duration as the contract writes it.
fn span(duration: Duration) -> Span {
    Span::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
