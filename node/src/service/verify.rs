//! Verifications of this node's own ledger: one at a time, beside everything else, and over when nobody waits for it.

use campanile_raft::runtime;
use std::sync::Arc;

use campanile_raft::runtime::watch;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Service;
use crate::problem::{Code, Problem};
use crate::verify::{Asked, Ended, Found, OfLedger, Progress, verify};
use crate::wire::verify::Verdict;

/// A pass that was overtaken by retention begins again at what is left, this often.
const PASSES: usize = 3;

/// The one place for a verification: it reads the whole ledger, and two of them would only be slower.
#[derive(Debug, Clone)]
pub(super) struct Place(Arc<Semaphore>);

impl Default for Place {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// A verification that runs. It ends when this is dropped.
#[derive(Debug)]
pub struct Verification {
    node: u64,
    progress: watch::Receiver<Progress>,
    pass: runtime::Blocking<Result<Found, Ended>>,
    _stop: DropGuard,
}

impl Service {
    /// Begins to verify the ledger of this node as it is now.
    ///
    /// # Errors
    /// `rate_limited` while another one runs.
    pub fn verify(&self, asked: Asked) -> Result<Verification, Problem> {
        let Ok(place) = self.verifying.0.clone().try_acquire_owned() else {
            let why = "this node verifies its ledger for somebody else: ask again when that is over";
            return Err(Problem::new(Code::RateLimited, why));
        };
        let ledger = self.records.ledger().clone();
        let stop = self.stopping.child_token();
        let (tell, progress) = watch::channel(Progress::default());
        let stopped = stop.clone();
        let pass =
            runtime::blocking(move || run(&place, || OfLedger::now(ledger.clone()), &asked, &tell, &stopped));
        Ok(Verification { node: self.quorum.node().0, progress, pass, _stop: stop.drop_guard() })
    }
}

/// The place is held as long as the thread works, whoever has gone away meanwhile.
fn run(
    _place: &OwnedSemaphorePermit,
    source: impl Fn() -> OfLedger,
    asked: &Asked,
    tell: &watch::Sender<Progress>,
    stopped: &CancellationToken,
) -> Result<Found, Ended> {
    let pass = || {
        verify(source(), asked.clone(), |progress| {
            tell.send_replace(progress);
            !stopped.is_cancelled()
        })
    };
    let mut ended = pass();
    for _ in 1..PASSES {
        if ended != Err(Ended::Overtaken) {
            break;
        }
        ended = pass();
    }
    ended
}

/// News of a verification.
#[derive(Debug)]
pub enum News {
    /// It is so far.
    Progress(Progress),
    /// It is over.
    Verdict(Box<Verdict>),
    /// It came to nothing.
    Problem(Box<Problem>),
}

impl Verification {
    /// How far it is when that has changed, or what it came to. Nothing comes after the latter. Cancel safe.
    pub async fn next(&mut self) -> News {
        tokio::select! {
            biased;
            Ok(()) = self.progress.changed() => News::Progress(*self.progress.borrow_and_update()),
            found = &mut self.pass => match self.told(found) {
                Ok(verdict) => News::Verdict(Box::new(verdict)),
                Err(problem) => News::Problem(Box::new(problem)),
            },
        }
    }

    /// What it comes to.
    ///
    /// # Errors
    /// `not_ready` when the node stops, or the ledger was replaced under it again and again; `internal` when it panicked.
    pub async fn verdict(mut self) -> Result<Verdict, Problem> {
        let found = (&mut self.pass).await;
        self.told(found)
    }

    fn told(&self, found: Result<Result<Found, Ended>, tokio::task::JoinError>) -> Result<Verdict, Problem> {
        match found {
            Ok(Ok(found)) => Ok(Verdict::of(&found, Some(self.node))),
            Ok(Err(Ended::Unwatched)) => Err(Problem::new(Code::NotReady, "the node is stopping")),
            Ok(Err(Ended::Overtaken)) => Err(Problem::new(
                Code::NotReady,
                "rows were dropped or replaced while they were read; ask again in a moment",
            )),
            Err(_) => Err(Problem::new(Code::Internal, "verifying the ledger panicked")),
        }
    }
}
