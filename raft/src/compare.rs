//! Whether this node's ledger is that of the others: running hashes compared as entries are applied.
//!
//! ```text
//!   entry with the leader's LedgerEnd -> own end there -> equal: go on
//!                                                      \-> differs: ask every voter -> most have mine: go on, the leader is told
//!                                                                                  \-> else: first difference -> mark -> stop
//! ```
//! A machine that is the same everywhere writes the same rows everywhere; where it does not, nothing that this node says can
//! be believed, and a snapshot would spread it. The leader's word counts unless most voters have what this node has. Must
//! not repair: a node that differs is marked ([`crate::differs`]), and starts empty.

use std::path::PathBuf;

use campanile_core::event::LedgerEnd;
use campanile_storage::Trouble;
use campanile_storage::ledger::{End, Head, LedgerReader, Position};
use futures_util::future::join_all;

use crate::differs::Differs;
use crate::transport::ends::{AskEnd, EndAnswer};
use crate::types::{Membership, Peer};

/// Compares this node's ledger with those of others.
pub struct Comparer {
    node: u64,
    data: PathBuf,
    reader: LedgerReader,
    ask: AskEnd,
}

/// Why a comparison ends this node.
#[derive(Debug, thiserror::Error)]
pub enum Unlike {
    /// Its ledger is another one.
    #[error(transparent)]
    Differs(#[from] Differs),
    /// Its ledger cannot be read, or the mark not be written.
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

impl Comparer {
    /// Of this node with its data directory and its ledger; others are asked by `ask`.
    #[must_use]
    pub const fn new(node: u64, data: PathBuf, reader: LedgerReader, ask: AskEnd) -> Self {
        Self { node, data, reader, ask }
    }

    /// Compares with the end that a leader stated. `agreed` is the last one that was compared before.
    ///
    /// # Errors
    /// This node differs and must stop; its data directory is marked.
    pub(crate) async fn compare(
        &self,
        stated: LedgerEnd,
        agreed: Option<LedgerEnd>,
        members: &Membership,
    ) -> Result<(), Unlike> {
        let Some(own) = self.reader.end_at(stated.index.0)?.map(EndAnswer::from) else {
            tracing::debug!(index = %stated.index, "the stated end of the ledger is dropped here");
            return Ok(());
        };
        let theirs = answer_of(stated);
        if own == theirs {
            return Ok(());
        }
        let said = self.ask_voters(stated.index.0, members).await;
        let like_me = said.iter().filter(|(_, said)| *said == own).count();
        if self.is_most(like_me, members) {
            tracing::error!(index = %stated.index, "the leader's ledger differs from that of most nodes, this one among them");
            return Ok(());
        }
        let witness = said.into_iter().find(|(_, said)| *said == theirs).map(|(witness, _)| witness);
        Err(self.found(stated.index.0, own, theirs, agreed, witness).await)
    }

    /// Asks the other voters whether they have the end that this node had at `end`. Says so when most of them have another
    /// one in common: what a leader must know before it states its own.
    ///
    /// # Errors
    /// As [`Comparer::compare`].
    pub(crate) async fn ask_most(
        &self,
        end: LedgerEnd,
        agreed: Option<LedgerEnd>,
        members: &Membership,
    ) -> Result<(), Unlike> {
        let own = answer_of(end);
        let said = self.ask_voters(end.index.0, members).await;
        for (witness, theirs) in &said {
            let alike = said.iter().filter(|(_, said)| said == theirs).count();
            if is_end(*theirs) && *theirs != own && 2 * alike > members.voter_ids().count() {
                let (theirs, witness) = (*theirs, Some(witness.clone()));
                return Err(self.found(end.index.0, own, theirs, agreed, witness).await);
            }
        }
        Ok(())
    }

    /// Whether so many others and this node are more than half of the voters.
    fn is_most(&self, others: usize, members: &Membership) -> bool {
        let voters: Vec<u64> = members.voter_ids().collect();
        2 * (others + usize::from(voters.contains(&self.node))) > voters.len()
    }

    async fn ask_voters(&self, index: u64, members: &Membership) -> Vec<((u64, Peer), EndAnswer)> {
        let others = members.voter_ids().filter(|voter| *voter != self.node);
        let peers = others.filter_map(|voter| Some((voter, members.get_node(&voter)?.clone())));
        let said = join_all(peers.map(|(voter, peer)| {
            let asked = (self.ask)(voter, &peer, index);
            async move { Some(((voter, peer), asked.await?)) }
        }));
        said.await.into_iter().flatten().collect()
    }

    /// Where it begins, told by somebody who has what was stated; then the mark.
    async fn found(
        &self,
        index: u64,
        own: EndAnswer,
        stated: EndAnswer,
        agreed: Option<LedgerEnd>,
        witness: Option<(u64, Peer)>,
    ) -> Unlike {
        let from = agreed.filter(|agreed| self.own(agreed.index.0) == Some(answer_of(*agreed)));
        let from = from.map_or_else(|| self.reader.base().index(), |agreed| agreed.index.0).min(index);
        let (after, first) = match witness {
            Some(witness) => self.bisect(witness, from, index).await,
            None => (Some(from), index),
        };
        let differs = Differs { index, own, stated, after, first };
        match differs.write(&self.data) {
            Ok(()) => differs.into(),
            Err(trouble) => trouble.into(),
        }
    }

    /// The last index at which the two agree, as far as that can be found out, and the first at which they differ. Running
    /// hashes that differ once differ ever after, so halving finds it.
    async fn bisect(&self, witness: (u64, Peer), from: u64, to: u64) -> (Option<u64>, u64) {
        let (mut agreed, mut differs) = (from, to);
        if self.is_alike(&witness, from).await == Some(false) {
            return (None, from);
        }
        while differs - agreed > 1 {
            let middle = agreed + (differs - agreed) / 2;
            match self.is_alike(&witness, middle).await {
                Some(true) => agreed = middle,
                Some(false) => differs = middle,
                None => break,
            }
        }
        (Some(agreed), differs)
    }

    /// Whether both had the same end there; `None` when one of them cannot say.
    async fn is_alike(&self, (node, peer): &(u64, Peer), index: u64) -> Option<bool> {
        let own = self.own(index)?;
        let theirs = (self.ask)(*node, peer, index).await.filter(|said| is_end(*said))?;
        Some(own == theirs)
    }

    fn own(&self, index: u64) -> Option<EndAnswer> {
        self.reader.end_at(index).ok().flatten().map(EndAnswer::from)
    }
}

/// The end of a ledger as the log states it; `None` while it is empty.
pub(crate) fn stated(head: Head) -> Option<LedgerEnd> {
    let Position { index, n } = head.position?;
    Some(LedgerEnd { index: campanile_core::id::LogIndex(index), n, hash: head.hash })
}

fn answer_of(LedgerEnd { index, n, hash }: LedgerEnd) -> EndAnswer {
    End { position: Some(Position::new(index.0, n)), hash }.into()
}

const fn is_end(answer: EndAnswer) -> bool {
    matches!(answer, EndAnswer::At { .. } | EndAnswer::Empty)
}
