//! Every node has the same rows at the same positions, down to the running hash.

use super::{Fault, Finding};
use crate::ledger::{Ledger, Position, Row};

pub(super) fn check(ledgers: &[(usize, Ledger)], position: Position, findings: &mut Vec<Finding>) {
    let Some(((first, of_first), others)) = ledgers.split_first() else { return };
    for (node, ledger) in others {
        if let Some(difference) = difference(of_first.up_to(position), ledger.up_to(position)) {
            let detail = format!("nodes {first} and {node}: {difference}");
            findings.push(Finding { fault: Fault::Parted, detail });
        }
    }
}

fn difference(one: &[Row], other: &[Row]) -> Option<String> {
    if let Some((left, right)) = one.iter().zip(other).find(|(left, right)| left.json != right.json) {
        return Some(format!("{} and {}", left.json, right.json));
    }
    (one.len() != other.len()).then(|| format!("{} rows and {}", one.len(), other.len()))
}
