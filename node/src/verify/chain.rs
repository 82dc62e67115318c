//! The hash chain of a ledger as a pass finds it: where it ends, where it breaks, and whether what rows state of it is so.
//!
//! A chain that somebody made anew over changed rows is whole in itself. What leaders stated of its ends meanwhile was
//! committed by a quorum, so a forger would have to change those rows too; see `docs/guarantees.md`.

use std::collections::VecDeque;

use campanile_core::event::{Event, LedgerEnd};
use campanile_storage::ledger::{Hash, Position};

use super::heads::{Heads, KnownHead, Unmet};
use crate::wire::ledger::hex;

/// So many of the newest rows are remembered by their hashes. A leader states the end of its ledger as of the moment when
/// it proposes, so what it states is a few entries old.
const REMEMBERED: usize = 1 << 16;
/// So many breaks are named; all are counted.
const NAMED: usize = 100;

/// The chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    /// The last row and its running hash.
    pub head: Option<(Position, Hash)>,
    /// How many rows were passed.
    pub rows: u64,
    /// How many ends that rows state were compared with the row that they name.
    pub compared: u64,
    /// How many heads that somebody has kept were met.
    pub met: u64,
    /// Where it breaks: the first hundred places.
    pub breaks: Vec<Break>,
    /// How many breaks there are.
    pub broken: u64,
    recent: VecDeque<(Position, Hash)>,
    heads: Heads,
}

/// A place where a chain is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The row; the last good one where a file ends or is damaged.
    pub position: Option<Position>,
    /// What is wrong, in words.
    pub why: String,
}

impl Chain {
    /// Whether nothing is wrong with it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.broken == 0
    }

    /// One that must meet these heads, over rows behind `base`.
    pub(super) fn expecting(heads: Vec<KnownHead>, base: Option<(Position, Hash)>) -> Self {
        let mut chain = Self { heads: Heads::new(heads), ..Self::default() };
        if let Some((position, hash)) = base {
            chain.meet(position, hash);
        }
        chain
    }

    /// The next row.
    pub(super) fn pass(&mut self, position: Position, hash: Hash, flaw: Option<&str>) {
        if let Some(flaw) = flaw {
            self.add(Some(position), flaw.to_owned());
        }
        self.rows += 1;
        self.head = Some((position, hash));
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back((position, hash));
        self.meet(position, hash);
    }

    fn meet(&mut self, position: Position, hash: Hash) {
        let (met, unmet) = self.heads.meet(position, hash);
        self.met += met;
        self.add_each(unmet);
    }

    /// That was the last row.
    pub(super) fn end(&mut self) {
        let unmet = self.heads.end(self.head.map(|(position, _)| position));
        self.add_each(unmet);
    }

    fn add_each(&mut self, unmet: Vec<Unmet>) {
        unmet.into_iter().for_each(|(position, why)| self.add(position, why));
    }

    /// What the row states of the chain.
    pub(super) fn hear(&mut self, position: Position, event: &Event) {
        match event {
            Event::LeaderEpoch { ledger: Some(end), .. } | Event::LedgerChecked { end } => {
                self.compare(position, end);
            }
            _ => {}
        }
    }

    /// Something is wrong with a row that can be read.
    pub(super) fn flawed(&mut self, position: Position, why: String) {
        self.add(Some(position), why);
    }

    pub(super) fn unreadable(&mut self, position: Position, why: &str) {
        self.add(Some(position), format!("the row cannot be read: {why}"));
    }

    /// Nothing behind the last row can be read.
    pub(super) fn cut(&mut self, why: String) {
        let last = self.head.map(|(position, _)| position);
        self.add(last, why);
    }

    fn compare(&mut self, stater: Position, end: &LedgerEnd) {
        let stated = Position::new(end.index.0, end.n);
        let Some((oldest, _)) = self.recent.front().copied() else { return };
        if stated < oldest {
            return;
        }
        self.compared += 1;
        // Rows out of order are a break of their own; the search finds one of them or none, and both are told.
        let found = self.recent.binary_search_by_key(&stated, |(position, _)| *position);
        match found.ok().map(|place| self.recent[place].1) {
            Some(hash) if hash == end.hash => {}
            Some(hash) => self.add(
                Some(stated),
                format!(
                    "row {stater} states that the hash here was {}, and it is {}: a row up to here is another one",
                    hex(&end.hash),
                    hex(&hash)
                ),
            ),
            None => self.add(Some(stater), format!("it states that there is a row {stated}, and there is none")),
        }
    }

    fn add(&mut self, position: Option<Position>, why: String) {
        self.broken += 1;
        if self.breaks.len() < NAMED {
            self.breaks.push(Break { position, why });
        }
    }
}
