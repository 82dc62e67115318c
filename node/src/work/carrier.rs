//! Carries batches to the log: proposes where this node leads, and asks the leader where it does not.
//!
//! At most [`UNDER_WAY`] at once: while they are, what comes meanwhile grows into the next batch, so that a busy node makes
//! few large entries and a quiet one waits for nothing.

use campanile_raft::runtime;
use std::sync::Arc;
use std::time::Duration;

use campanile_core::command::{Body, Work};
use campanile_core::reply::{Rejection, Reply, Worked};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::batch::Batch;
use super::{Ask, frame};
use crate::service::Clock;
use crate::service::quorum::{Quorum, Undone};

/// How many batches are carried at once.
const UNDER_WAY: usize = 2;
/// How long one try may take; a leader that was deposed without knowing answers never.
const TRY: Duration = Duration::from_secs(2);
/// How long to wait for news of a leader before trying again.
const PAUSE: Duration = Duration::from_millis(50);

/// Until the last who could ask is gone.
pub(super) async fn run(quorum: Arc<dyn Quorum>, clock: Clock, mut asks: mpsc::Receiver<Ask>) {
    let (room, carried) = (Arc::new(Semaphore::new(UNDER_WAY)), TaskTracker::new());
    let mut left_over = None;
    // Nobody closes the semaphore.
    while let Ok(place) = room.clone().acquire_owned().await {
        let first = match left_over.take() {
            Some(ask) => Some(ask),
            None => asks.recv().await,
        };
        let Some(first) = first else { break };
        let mut batch = Batch::of(first);
        while let Ok(ask) = asks.try_recv() {
            if let Err(ask) = batch.add(ask) {
                left_over = Some(ask);
                break;
            }
        }
        let (quorum, clock) = (Arc::clone(&quorum), Arc::clone(&clock));
        runtime::spawn_on(&carried, async move {
            carry(&*quorum, &clock, batch).await;
            drop(place);
        });
    }
    carried.close();
    carried.wait().await;
}

/// Until it is done, or nobody waits for it any more.
async fn carry(quorum: &dyn Quorum, clock: &Clock, mut batch: Batch) {
    let mut undone = Undone::Busy;
    while batch.drop_late(Instant::now(), &undone) {
        match try_once(quorum, clock, &batch).await {
            Ok(worked) => return batch.answer(worked),
            // What may have been done once stays so, whatever the next try says.
            Err(why) if !matches!(undone, Undone::Unknown(_)) => undone = why,
            Err(_) => {}
        }
        tracing::debug!(why = %undone, "what holders said is carried again");
        quorum.leader_change(PAUSE).await;
    }
}

async fn try_once(quorum: &dyn Quorum, clock: &Clock, batch: &Batch) -> Result<Worked, Undone> {
    let until = batch.deadline().unwrap_or_else(Instant::now).min(Instant::now() + TRY);
    let unknown = || Undone::Unknown("no answer in time".into());
    if quorum.leads() {
        let work = batch.work();
        let proposed = quorum.propose(clock(), Box::new(move |_, _| Some(Body::Work(work))));
        let reply = tokio::time::timeout_at(until, proposed).await.map_err(|_| unknown())??;
        return of_reply(reply);
    }
    let within = until.saturating_duration_since(Instant::now());
    let asked = frame::ask(quorum.view().format_level(), &batch.work(), within);
    let answer =
        tokio::time::timeout_at(until, quorum.forward(asked, within)).await.map_err(|_| unknown())??;
    frame::read_answer(&answer)
}

fn of_reply(reply: Option<Reply>) -> Result<Worked, Undone> {
    match reply {
        Some(Reply::Worked(worked)) => Ok(worked),
        Some(Reply::Rejected(Rejection::ClockBehind(_))) => Err(Undone::Busy),
        Some(Reply::Rejected(_)) => Err(Undone::NotSent("another leader has taken office".into())),
        other => Err(Undone::Unknown(format!("what holders said was answered by {other:?}"))),
    }
}

/// What the leader answers to a frame of another node: it carries it as if it had been said here.
pub(super) async fn answer(intake: &super::Intake, quorum: &dyn Quorum, asked: &[u8]) -> bytes::Bytes {
    let said = match frame::read_ask(asked) {
        Ok((work, within)) if quorum.leads() => hear(intake, work, within).await,
        Ok(_) => Err(Undone::NotSent("this node does not lead".into())),
        Err(why) => Err(Undone::NotSent(why)),
    };
    frame::answer(quorum.view().format_level(), &said)
}

async fn hear(intake: &super::Intake, work: Work, within: Duration) -> Result<Worked, Undone> {
    intake.say(work, Instant::now() + within.min(TRY)).await
}
