//! Applying the log: every replica, the same commands in the same order.
//!
//! ```text
//!   entry -> Command (decoded once) -> Machine::apply -> rows -> ledger      then, for the whole batch:
//!                                                     \-> reply             publish the view, then send the replies
//! ```
//! No side effect but the ledger, no fsync, no question to anybody: a full queue here delays heartbeats. Whatever this
//! cannot do (an unknown schema, a broken invariant, a failed write) stops the node: to go on would part the replicas.

use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use campanile_core::event;
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_storage::codec::{self, Kind};
use campanile_storage::ledger::Ledger;
use futures_util::{Stream, StreamExt};
use openraft::storage::{ApplyResponder, EntryResponder, RaftStateMachine};
use openraft::type_config::TypeConfigExt;
use openraft::type_config::alias::SnapshotOf;
use openraft::{AsyncRuntime, OptionalSend};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::fatal::Fatal;
use crate::image::{self, Builder, Covered, Parcel, Site};
use crate::policy::Policy;
use crate::types::{Answer, Entry, LogId, Payload, Proposal, SnapshotMeta, StoredMembership, Types};
use crate::view::View;

/// The state machine as openraft wants it.
pub struct Applier<R> {
    machine: Machine,
    last: Option<LogId>,
    membership: StoredMembership,
    ledger: Ledger,
    site: Site,
    view: Arc<View>,
    policy: Arc<Policy>,
    fatal: Fatal,
    runtime: PhantomData<fn() -> R>,
    /// Dropped last: who waits for it knows that the disk is let go.
    open: TaskTrackerToken,
}

/// What a batch made, until it is published.
struct Batch<R: AsyncRuntime> {
    rows: Vec<(u64, Vec<Vec<u8>>)>,
    replies: Vec<(ApplyResponder<Types<R>>, Answer)>,
}

impl<R: AsyncRuntime> Applier<R> {
    /// Goes on from a machine that covers `covered`. `open` lives as long as this or an image of it that is being made.
    #[must_use]
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another room's, and a struct of them would be made once"
    )]
    pub fn new(
        machine: Machine,
        covered: Covered,
        ledger: Ledger,
        site: Site,
        view: Arc<View>,
        policy: Arc<Policy>,
        fatal: Fatal,
        open: TaskTrackerToken,
    ) -> Self {
        let Covered { last, membership, .. } = covered;
        Self { machine, last, membership, ledger, site, view, policy, fatal, runtime: PhantomData, open }
    }

    fn covered(&self) -> Covered {
        Covered { last: self.last, membership: self.membership.clone(), ledger: self.ledger.head() }
    }

    async fn apply_all<S>(&mut self, mut entries: S) -> Result<(), io::Error>
    where
        S: Stream<Item = Result<EntryResponder<Types<R>>, io::Error>> + Unpin + OptionalSend,
    {
        let mut batch = Batch::<R> { rows: Vec::new(), replies: Vec::new() };
        while let Some(next) = entries.next().await {
            let (entry, responder) = next?;
            let (answer, rows) = self.apply_one(&entry)?;
            if !rows.is_empty() {
                batch.rows.push((entry.log_id.index, rows));
            }
            batch.replies.extend(responder.map(|responder| (responder, answer)));
        }
        self.finish(batch)
    }

    /// Rows before the view, the view before the replies: who hears a reply finds what it says.
    fn finish(&mut self, batch: Batch<R>) -> Result<(), io::Error> {
        let rows = batch.rows.iter().map(|(index, rows)| (*index, rows.as_slice()));
        self.ledger.append_entries(rows).map_err(io::Error::other)?;
        self.view.publish(self.machine.clone());
        batch.replies.into_iter().for_each(|(responder, answer)| responder.send(answer));
        Ok(())
    }

    fn apply_one(&mut self, entry: &Entry) -> Result<(Answer, Vec<Vec<u8>>), io::Error> {
        let index = LogIndex(entry.log_id.index);
        let applied = match &entry.payload {
            Payload::Normal(proposal) => self.decide(index, proposal)?,
            Payload::Blank => self.pass(index),
            Payload::Membership(membership) => {
                self.membership = StoredMembership::new(Some(entry.log_id), membership.clone());
                self.pass(index)
            }
        };
        self.last = Some(entry.log_id);
        Ok(applied)
    }

    fn decide(&mut self, index: LogIndex, proposal: &Proposal) -> Result<(Answer, Vec<Vec<u8>>), io::Error> {
        let command = proposal.command().map_err(io::Error::other)?;
        self.policy.count(proposal.bytes().len());
        let machine = &mut self.machine;
        // A panic here means that an invariant of the machine is broken. openraft would lose its worker and never say so.
        let (reply, rows) = catch_unwind(AssertUnwindSafe(|| machine.apply(index, &command)))
            .map_err(|_| io::Error::other(format!("an invariant of the machine broke at entry {index}")))?;
        let rows = rows.iter().map(|row| codec::encode(Kind::Event, event::SCHEMA, row));
        let rows = rows.collect::<Result<_, _>>().map_err(io::Error::other)?;
        Ok((Answer::Reply(reply), rows))
    }

    /// openraft's very first entry, the first membership, has the index 0, which to the machine is "before everything".
    fn pass(&mut self, index: LogIndex) -> (Answer, Vec<Vec<u8>>) {
        self.policy.count(0);
        if index > LogIndex(0) {
            self.machine.pass(index);
        }
        (Answer::Nothing, Vec::new())
    }

    async fn install(&mut self, meta: &SnapshotMeta, parcel: Parcel) -> Result<(), io::Error> {
        let site = self.site.clone();
        let saved = Types::<R>::spawn_blocking(move || {
            let incoming = parcel.into_incoming(&site)?;
            site.save(&incoming.covered, &incoming.body).map_err(io::Error::other)?;
            Ok::<_, io::Error>(incoming)
        });
        let incoming = saved.await??;
        assert_eq!(incoming.covered.meta(), *meta, "the image is not the one that was announced");
        self.ledger.adopt(incoming.staged).map_err(io::Error::other)?;
        self.machine = incoming.machine;
        self.last = incoming.covered.last;
        self.membership = incoming.covered.membership;
        self.policy.restart();
        self.view.publish(self.machine.clone());
        Ok(())
    }
}

impl<R: AsyncRuntime> RaftStateMachine<Types<R>> for Applier<R> {
    type SnapshotData = Parcel;
    type SnapshotBuilder = Builder<R>;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), io::Error> {
        Ok((self.last, self.membership.clone()))
    }

    async fn apply<S>(&mut self, entries: S) -> Result<(), io::Error>
    where
        S: Stream<Item = Result<EntryResponder<Types<R>>, io::Error>> + Unpin + OptionalSend,
    {
        let applied = self.apply_all(entries).await;
        applied.inspect_err(|error| self.fatal.stop(format!("cannot apply the log: {error}")))
    }

    async fn get_snapshot_builder(&mut self) -> Builder<R> {
        self.policy.restart();
        Builder::new(self.machine.clone(), self.covered(), self.site.clone(), self.open.clone())
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMeta, parcel: Parcel) -> Result<(), io::Error> {
        let installed = self.install(meta, parcel).await;
        installed.inspect_err(|error| self.fatal.stop(format!("cannot install an image: {error}")))
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<SnapshotOf<Types<R>, Parcel>>, io::Error> {
        Ok(image::current::<R>(&self.site))
    }
}
