//! Those who change a ledger, by how far they go to hide it.

use std::collections::BTreeMap;

use campanile_core::event::{Event, LedgerEnd};
use campanile_core::id::LogIndex;
use campanile_storage::ledger::{Hash, Position, Row, chain_hash};

use crate::story::{read, with};

/// How far somebody goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forger {
    /// Rows are changed, and nothing else.
    Clumsy,
    /// Rows of an entry are numbered anew, and the chain is made anew over all of them.
    Careful,
    /// What leaders stated of the chain is changed as well: nothing but the instants themselves can tell.
    Perfect,
}

impl Forger {
    pub(crate) const ALL: [Self; 3] = [Self::Clumsy, Self::Careful, Self::Perfect];

    /// Hides what was done to these rows.
    pub(crate) fn hide(self, rows: Vec<Row>) -> Vec<Row> {
        match self {
            Self::Clumsy => rows,
            Self::Careful => rechained(rows, |row, _, _| row),
            Self::Perfect => rechained(rows, restated),
        }
    }
}

/// Makes the chain anew. `before` sees each row behind those that are done.
fn rechained(
    rows: Vec<Row>,
    before: impl Fn(Row, &BTreeMap<Position, Hash>, Option<Position>) -> Row,
) -> Vec<Row> {
    let (mut hash, mut last) = (Hash::default(), None::<Position>);
    let mut done = BTreeMap::new();
    let mut chained = Vec::with_capacity(rows.len());
    for row in rows {
        let index = row.position.index.max(last.map_or(0, |last| last.index));
        let n = last.filter(|last| last.index == index).map_or(0, |last| last.n + 1);
        let mut row = before(row, &done, last);
        row.position = Position::new(index, n);
        row.hash = chain_hash(&hash, row.position, &row.body);
        (hash, last) = (row.hash, Some(row.position));
        done.insert(row.position, row.hash);
        chained.push(row);
    }
    chained
}

/// The row, stating the chain as it is by now.
fn restated(row: Row, done: &BTreeMap<Position, Hash>, last: Option<Position>) -> Row {
    let mut fact = read(&row);
    let end = match &mut fact.event {
        Event::LeaderEpoch { ledger: Some(end), .. } | Event::LedgerChecked { end } => end,
        _ => return row,
    };
    let stated = Position::new(end.index.0, end.n);
    let stated = if done.contains_key(&stated) { stated } else { last.unwrap() };
    *end = LedgerEnd { index: LogIndex(stated.index), n: stated.n, hash: done[&stated] };
    with(&row, &fact)
}
