//! Taking office, and losing it.
//!
//! ```text
//!   metrics say "leader of term t" (a hint) -> read index: a quorum agrees, everything committed is applied
//!     -> commit LeaderEpoch { node, incarnation, term, ledger, leaderless_since } -> its reply is the proof -> Some(office)
//!   metrics say anything else, or the disk hangs -> None at once
//! ```
//! A metrics borrow is never held across an await: openraft could not publish meanwhile, and would stand still.

use std::sync::Arc;
use std::time::Duration;

use crate::runtime::watch;
use campanile_core::command::{Body, Command, LeaderEpoch};
use campanile_core::id::{NodeId, Term};
use campanile_core::mutant::{self, Mutant};
use campanile_core::reply::Reply;
use campanile_storage::ledger::LedgerReader;
use openraft::async_runtime::WatchReceiver;
use openraft::type_config::TypeConfigExt;
use openraft::type_config::alias::WatchReceiverOf;
use openraft::{AsyncRuntime, ReadPolicy};

use crate::compare;
use crate::office::{Chancery, Office};
use crate::reign::Reign;
use crate::transport::clocks::WallClock;
use crate::types::Types;
use crate::watchdog::Alarms;

/// Waits between two tries of taking office: a quorum that is not there yet comes within an election or two.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
];

type Metrics<R> = WatchReceiverOf<Types<R>, openraft::metrics::RaftServerMetrics<Types<R>>>;

/// Who stands for office.
pub struct Candidate<R: AsyncRuntime> {
    /// What an office works with.
    pub chancery: Arc<Chancery<R>>,
    /// This node.
    pub node: NodeId,
    /// Counts the starts of its process.
    pub incarnation: u64,
    /// The wall clock, for the stamp of the epoch entry.
    pub clock: WallClock,
    /// Its ledger, whose end it states.
    pub ledger: LedgerReader,
    /// What it knows of leaders before it.
    pub reign: Arc<Reign>,
    /// Whether its disk hangs: then it takes no office, and loses the one that it has.
    pub alarms: Arc<Alarms>,
}

impl<R: AsyncRuntime> Candidate<R> {
    /// Takes office whenever this node leads and publishes it; ends when openraft has.
    pub async fn serve(self, offices: watch::Sender<Option<Office<R>>>) {
        let mut metrics: Metrics<R> = self.chancery.raft.server_metrics();
        let mut hangs = self.alarms.watch();
        let mut tries = 0;
        let mut lost = None;
        loop {
            let leads = self.leads(&mut metrics);
            let held = offices.borrow().as_ref().map(Office::term);
            if held.is_some() && held != leads {
                tracing::info!(node = %self.node, term = ?held, "lost office");
                lost = offices.send_replace(None).filter(|_| mutant::is_on(Mutant::NoEpochCheck));
            }
            if leads.is_some() && lost.is_some() {
                offices.send_replace(lost.take());
            }
            match leads {
                Some(term) if held != leads => match self.take(term).await {
                    Ok(office) => {
                        tracing::info!(node = %self.node, %term, epoch = %office.epoch(), "took office");
                        tries = 0;
                        offices.send_replace(Some(office));
                    }
                    Err(why) => {
                        tracing::debug!(node = %self.node, %term, %why, "cannot take office yet");
                        let pause = PAUSES[tries.min(PAUSES.len() - 1)];
                        tries += 1;
                        Types::<R>::sleep(pause).await;
                    }
                },
                _ => {
                    let has_ended = tokio::select! {
                        biased;
                        changed = metrics.changed() => changed.is_err(),
                        _ = hangs.changed() => false,
                    };
                    if has_ended {
                        break;
                    }
                }
            }
        }
        offices.send_replace(None);
    }

    /// The term that this node leads, as far as openraft has said; none while the disk hangs, when openraft may have lost it
    /// and wait for the disk before it says so. Marks what it has seen, so that the next change wakes.
    fn leads(&self, metrics: &mut Metrics<R>) -> Option<Term> {
        let metrics = metrics.borrow_and_update();
        let leader = metrics.vote.leader_id();
        let leads =
            metrics.state.is_leader() && metrics.vote.is_committed() && leader.voted_for == self.node.0;
        (leads && !self.alarms.disk_hangs()).then_some(Term(leader.term))
    }

    async fn take(&self, term: Term) -> Result<Office<R>, String> {
        let chancery = &self.chancery;
        let barrier = chancery.raft.ensure_linearizable(ReadPolicy::ReadIndex).await;
        barrier.map_err(|error| error.to_string())?;
        let machine = chancery.view.machine();
        // A node whose clock is ahead of the others may be elected: it takes office as of their time, so that the log's is
        // not carried away by the one entry that nobody could refuse.
        let at = chancery.stamp((self.clock)()).max(machine.clock());
        let epoch = LeaderEpoch {
            node: self.node,
            incarnation: self.incarnation,
            term,
            ledger: compare::stated(self.ledger.head()),
            leaderless_since: self.reign.leaderless_since(at, &machine),
        };
        let body = Body::LeaderEpoch(epoch);
        let command = Command { at, epoch: machine.epoch(), body };
        let pending = chancery.hand_over(term, &command).map_err(|error| error.to_string())?;
        match pending.reply().await.map_err(|error| error.to_string())? {
            Reply::InOffice(epoch) => Ok(Office::new(Arc::clone(chancery), epoch, term, at)),
            other => Err(format!("the log answered {other:?}")),
        }
    }
}
