//! What the holders of leases say (they begin, take, extend, settle), brought to the log from any node, in batches.
//!
//! ```text
//!   attempts of this node ─┐                        ┌─ leads: one entry, proposed ─┐
//!   workers over HTTP ─────┼─> asks ─> Batch ─> carry                              ├─> each its answer
//!   frames of other nodes ─┘                        └─ else: one frame, to the leader ┘
//! ```
//! A batch that is not done for certain is carried again, to whoever leads then, until each ask's time is up. That is
//! safe: `apply` takes one report an attempt, a take remembers its answer, an extension said twice is one, and a Begin that
//! finds its own attempt begun is told so. Nothing is decided here.

mod batch;
mod carrier;
mod frame;

use campanile_raft::runtime;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use campanile_core::attempt::Lease;
use campanile_core::command::{Begin, Extend, SettleItem, Take, Work};
use campanile_core::reply::{Extended, Leased, Refused, Rejection, SettledNow, Worked};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::service::Clock;
use crate::service::quorum::{Quorum, Undone};

/// How many asks may wait to be carried; whoever comes beyond waits for room.
const ASKS: usize = 4_096;

/// How long after its deadline an answer is still waited for: the carrier knows better what has become of an ask, unless it is
/// busy with others that wait longer.
const GRACE: Duration = Duration::from_millis(250);

/// The way to the log for holders. Clones are the same way; it ends with the last of them.
#[derive(Debug, Clone)]
pub struct Intake {
    asks: mpsc::Sender<Ask>,
}

/// Something to be said, and who hears the answer.
#[derive(Debug)]
struct Ask {
    work: Work,
    deadline: Instant,
    answer: oneshot::Sender<Result<Worked, Undone>>,
}

impl Intake {
    /// Opens the way over a cluster, in this runtime.
    #[must_use]
    pub fn start(quorum: Arc<dyn Quorum>, clock: Clock) -> Self {
        let (asks, incoming) = mpsc::channel(ASKS);
        runtime::spawn(carrier::run(quorum, clock, incoming));
        Self { asks }
    }

    /// Says what fits into one entry, and answers what came of each part.
    ///
    /// # Errors
    /// [`Undone::Unknown`] when it may have been heard and `deadline` is over, another when it certainly was not.
    pub async fn say(&self, work: Work, deadline: Instant) -> Result<Worked, Undone> {
        let (answer, heard) = oneshot::channel();
        let stopped = || Undone::Stopped("this node is stopping".into());
        let asked = self.asks.send(Ask { work, deadline, answer });
        match tokio::time::timeout_at(deadline, asked).await {
            Err(_) => return Err(Undone::Busy),
            Ok(sent) => sent.map_err(|_| stopped())?,
        }
        match tokio::time::timeout_at(deadline + GRACE, heard).await {
            Ok(heard) => heard.unwrap_or_else(|_| Err(stopped())),
            Err(_) => Err(Undone::Unknown("it waits to be carried to the leader".into())),
        }
    }

    /// Reports on an attempt.
    ///
    /// # Errors
    /// As [`Intake::say`].
    pub async fn settle(
        &self,
        item: SettleItem,
        deadline: Instant,
    ) -> Result<Result<SettledNow, Refused>, Undone> {
        let worked = self.say(Work { settles: vec![item], ..Work::default() }, deadline).await?;
        only(worked.settled)
    }

    /// Extends a lease.
    ///
    /// # Errors
    /// As [`Intake::say`].
    pub async fn extend(&self, item: Extend, deadline: Instant) -> Result<Result<Extended, Refused>, Undone> {
        let worked = self.say(Work { extends: vec![item], ..Work::default() }, deadline).await?;
        only(worked.extended)
    }

    /// Leases firings of a queue for a worker.
    ///
    /// # Errors
    /// As [`Intake::say`].
    pub async fn take(
        &self,
        take: Take,
        deadline: Instant,
    ) -> Result<Result<Vec<Leased>, Rejection>, Undone> {
        let worked = self.say(Work { takes: vec![take], ..Work::default() }, deadline).await?;
        only(worked.taken)
    }

    /// Begins attempts for this node.
    ///
    /// # Errors
    /// As [`Intake::say`].
    pub async fn begin(
        &self,
        begin: Begin,
        deadline: Instant,
    ) -> Result<Vec<Result<Lease, Refused>>, Undone> {
        let worked = self.say(Work { begins: vec![begin], ..Work::default() }, deadline).await?;
        only(worked.begun)
    }
}

/// What this node answers to a frame in which another one brings what its holders say; of frames of requests nothing.
pub async fn answer(intake: &Intake, quorum: &dyn Quorum, frame: &Bytes) -> Option<Bytes> {
    if frame.first() != Some(&frame::MARK) {
        return None;
    }
    Some(carrier::answer(intake, quorum, frame).await)
}

/// The one answer to the one thing that was said.
fn only<T>(answers: Vec<T>) -> Result<T, Undone> {
    answers.into_iter().next().ok_or_else(|| Undone::Unknown("the answer is empty".into()))
}
