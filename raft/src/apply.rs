//! Applying the log: every replica, the same commands in the same order.
//!
//! ```text
//!   entry -> Command (decoded once) -> Machine::apply -> rows -> ledger      then, for the whole batch:
//!         \-> the leader's end of the ledger: compared  \-> reply            publish the view, then send the replies
//! ```
//! No side effect but the ledger, no fsync, no question to anybody while all is well: a full queue here delays heartbeats.
//! Whatever this cannot do (an unknown schema, a broken invariant, a failed write) and a ledger that is not that of the
//! others stop the node: to go on would part the replicas.

use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use campanile_core::command::{Body, Command};
use campanile_core::event::{Event, LedgerEnd, Row};
use campanile_core::format::FormatLevel;
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::machine::Machine;
use campanile_storage::codec::{CodecError, Kind};
use campanile_storage::ledger::Ledger;
use futures_util::{Stream, StreamExt};
use openraft::storage::{ApplyResponder, EntryResponder, RaftStateMachine};
use openraft::type_config::TypeConfigExt;
use openraft::type_config::alias::SnapshotOf;
use openraft::{AsyncRuntime, OptionalSend};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::compare::Comparer;
use crate::fatal::Fatal;
use crate::image::{self, Builder, Covered, Parcel, Site};
use crate::level;
use crate::local::Local;
use crate::policy::Policy;
use crate::types::{
    Answer, Entry, LogId, Membership, Payload, Proposal, SnapshotMeta, StoredMembership, Types,
};
use crate::view::View;

/// The state machine as openraft wants it.
pub struct Applier<R> {
    machine: Machine,
    last: Option<LogId>,
    membership: StoredMembership,
    ledger: Ledger,
    site: Site,
    comparer: Comparer,
    view: Arc<View>,
    policy: Arc<Policy>,
    fatal: Fatal,
    local: Local,
    runtime: PhantomData<fn() -> R>,
    /// The newest format level that this node reads.
    speaks: FormatLevel,
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
        comparer: Comparer,
        view: Arc<View>,
        policy: Arc<Policy>,
        fatal: Fatal,
        open: TaskTrackerToken,
    ) -> Self {
        let Covered { last, membership, .. } = covered;
        let (local, runtime, speaks) = (Local::default(), PhantomData, FormatLevel::NEWEST);
        let mut applier = Self {
            machine,
            last,
            membership,
            ledger,
            site,
            comparer,
            view,
            policy,
            fatal,
            local,
            runtime,
            speaks,
            open,
        };
        applier.retain();
        applier
    }

    /// On that node, for the mutants of the simulation.
    pub(crate) fn on(self, local: Local) -> Self {
        Self { local, ..self }
    }

    /// Refuses what is of a newer format level than this.
    #[must_use]
    pub fn speaking(self, speaks: FormatLevel) -> Self {
        Self { speaks, ..self }
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
            let command = command_of(&entry, self.machine.format_level(), self.speaks)?;
            if let Some(end) = command.as_ref().and_then(stated_by) {
                self.write(&mut batch)?;
                self.compare(end).await?;
            }
            let (answer, rows) = self.apply_one(&entry, command.as_ref())?;
            if !rows.is_empty() {
                batch.rows.push((entry.log_id.index, rows));
            }
            batch.replies.extend(responder.map(|responder| (responder, answer)));
        }
        self.finish(batch)
    }

    /// Puts the rows that were made up to now into the ledger.
    fn write(&mut self, batch: &mut Batch<R>) -> Result<(), io::Error> {
        let rows = std::mem::take(&mut batch.rows);
        let rows = rows.iter().map(|(index, rows)| (*index, rows.as_slice()));
        self.ledger.append_entries(rows).map_err(io::Error::other).map(|_| ())
    }

    /// Before the entry is applied: what a node that differs would make of it is worth nothing.
    async fn compare(&self, stated: LedgerEnd) -> Result<(), io::Error> {
        let head = self.ledger.head();
        if crate::compare::stated(head) == Some(stated) {
            return Ok(());
        }
        let (agreed, members) = (self.machine.keeping().checked, self.membership.membership());
        self.comparer.compare(stated, agreed, members).await.map_err(io::Error::other)
    }

    /// Rows before the view, the view before the replies: who hears a reply finds what it says.
    fn finish(&mut self, mut batch: Batch<R>) -> Result<(), io::Error> {
        self.write(&mut batch)?;
        self.retain();
        self.view.publish(self.machine.clone());
        batch.replies.into_iter().for_each(|(responder, answer)| responder.send(answer));
        Ok(())
    }

    /// What retention has dropped is hidden from readers at once, on every node at the same entry. Its files stay while a
    /// restart would need them: up to the newest durable image.
    fn retain(&mut self) {
        let floor = self.machine.keeping().floor.0;
        if floor > 0 {
            self.ledger.hide_prefix(floor);
            self.ledger.drop_prefix(floor.min(self.site.newest_index()));
        }
    }

    fn apply_one(
        &mut self,
        entry: &Entry,
        command: Option<&Command>,
    ) -> Result<(Answer, Vec<Vec<u8>>), io::Error> {
        // The entry that raises the level is itself still told at the one before.
        let (index, level) = (LogIndex(entry.log_id.index), self.machine.format_level());
        let (answer, rows) = match (&entry.payload, command) {
            (Payload::Membership(membership), _) => {
                self.membership = StoredMembership::new(Some(entry.log_id), membership.clone());
                (Answer::Nothing, self.members(index, membership))
            }
            (Payload::Normal(proposal), Some(command)) => self.decide(index, proposal, command)?,
            (Payload::Normal(_) | Payload::Blank, _) => {
                self.pass(index);
                (Answer::Nothing, Vec::new())
            }
        };
        self.last = Some(entry.log_id);
        let rows = rows
            .iter()
            .map(|row| level::write(Kind::Event, level, row))
            .collect::<Result<_, CodecError>>()
            .map_err(io::Error::other)?;
        Ok((answer, rows))
    }

    fn decide(
        &mut self,
        index: LogIndex,
        proposal: &Proposal,
        command: &Command,
    ) -> Result<(Answer, Vec<Row>), io::Error> {
        self.policy.count(proposal.bytes().len());
        let (local, machine) = (&self.local, &mut self.machine);
        // A panic here means that an invariant of the machine is broken. openraft would lose its worker and never say so.
        let (reply, rows) = catch_unwind(AssertUnwindSafe(|| local.apply(machine, index, command)))
            .map_err(|_| io::Error::other(format!("an invariant of the machine broke at entry {index}")))?;
        Ok((Answer::Reply(reply), rows))
    }

    /// The machine does not know who its replicas are, so the row is made here, of the entry and the log's time alone.
    fn members(&mut self, index: LogIndex, membership: &Membership) -> Vec<Row> {
        if !self.pass(index) {
            return Vec::new();
        }
        let voters = membership.voter_ids().map(NodeId).collect();
        let learners = membership.learner_ids().map(NodeId).collect();
        vec![Row { at: self.machine.clock(), event: Event::MembersChanged { voters, learners } }]
    }

    /// openraft's very first entry, the first membership, has the index 0, which to the machine is "before everything".
    /// Answers whether it is another one.
    fn pass(&mut self, index: LogIndex) -> bool {
        self.policy.count(0);
        let is_later = index > LogIndex(0);
        if is_later {
            self.machine.pass(index);
        }
        is_later
    }

    async fn install(&mut self, meta: &SnapshotMeta, parcel: Parcel) -> Result<(), io::Error> {
        let site = self.site.clone();
        let saved = Types::<R>::spawn_blocking(move || {
            let incoming = parcel.into_incoming(&site)?;
            site.save(&incoming.covered, &incoming.body).map_err(io::Error::other)?;
            Ok::<_, io::Error>(incoming)
        });
        let incoming = saved.await??;
        level::readable_by(self.speaks, incoming.machine.format_level()).map_err(io::Error::other)?;
        assert_eq!(incoming.covered.meta(), *meta, "the image is not the one that was announced");
        self.ledger.adopt(incoming.staged).map_err(io::Error::other)?;
        self.machine = incoming.machine;
        self.last = incoming.covered.last;
        self.membership = incoming.covered.membership;
        self.retain();
        self.policy.restart();
        self.view.publish(self.machine.clone());
        Ok(())
    }
}

/// The command of an entry, where the log has agreed on `allowed`. One that this version cannot follow is refused before it
/// is decoded, and so is one that raises the level above what this version reads.
fn command_of(
    entry: &Entry,
    allowed: FormatLevel,
    speaks: FormatLevel,
) -> Result<Option<Command>, io::Error> {
    let Payload::Normal(proposal) = &entry.payload else { return Ok(None) };
    let level = proposal.level().map_err(io::Error::other)?;
    level::in_order(level, allowed).map_err(io::Error::other)?;
    let command = proposal.command().map_err(io::Error::other)?;
    if let Body::SetFormatLevel(next) = command.body {
        level::readable_by(speaks, next).map_err(io::Error::other)?;
    }
    Ok(Some(command))
}

/// The end of its ledger, when a leader states it.
fn stated_by(command: &Command) -> Option<LedgerEnd> {
    match &command.body {
        Body::LeaderEpoch(epoch) => epoch.ledger,
        Body::CheckLedger(end) => Some(*end),
        _ => None,
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
