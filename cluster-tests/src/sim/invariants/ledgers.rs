//! Equal ledgers: what a node has written is what the log says, row by row, whole entries, up to its end (DESIGN §3).
//!
//! A node may lack entries at the front which retention has dropped, and those after its end. Rows about membership, which the
//! adapter makes, are among them.

use campanile_core::event::{Event, Row};

use super::{Findings, Invariant};
use crate::sim::story::End;

/// Holds nothing.
#[derive(Debug)]
pub(super) struct Ledgers;

impl Invariant for Ledgers {
    fn name(&self) -> &'static str {
        "equal ledgers"
    }

    fn end(&mut self, end: &End<'_>, found: &mut Findings) {
        let kept_from = end.rows.iter().filter_map(|(_, row)| match row.event {
            Event::LedgerDropped { before } => Some(before.0),
            _ => None,
        });
        let kept_from = kept_from.max().unwrap_or(0);
        for (node, rows) in end.ledgers {
            if let Some(wrong) = wrong(rows, end.rows, kept_from) {
                found.add(self.name(), || format!("node {node} {wrong}"));
            }
        }
    }
}

/// The first difference of a node's rows from the log's.
fn wrong(rows: &[(u64, Row)], log: &[(u64, Row)], kept_from: u64) -> Option<String> {
    let (first, last) = (rows.first()?.0, rows.last()?.0);
    let from = log.partition_point(|(index, _)| *index < first);
    if let Some((index, _)) = log[..from].iter().find(|(index, _)| *index >= kept_from) {
        return Some(format!("begins at entry {first}, and lacks entry {index}, which was not dropped"));
    }
    let to = log.partition_point(|(index, _)| *index <= last);
    let wanted = &log[from..to];
    let parts = rows.iter().zip(wanted).find(|(has, wants)| has != wants);
    if let Some(((index, row), (of, wanted))) = parts {
        return Some(format!("has {row:?} at entry {index}, where the log has {wanted:?} at entry {of}"));
    }
    (rows.len() != wanted.len()).then(|| {
        format!("has {} rows of entries {first} to {last}, and the log {}", rows.len(), wanted.len())
    })
}
