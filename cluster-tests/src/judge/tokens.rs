//! The fencing tokens of a schedule name only grow, whoever led when they were given.

use std::collections::BTreeMap;

use super::{Fault, Finding};
use crate::ledger::{Fact, Row};

/// The name of every schedule that was ever defined, by its uid.
pub(super) fn names(rows: &[Row]) -> BTreeMap<&str, &str> {
    rows.iter().filter_map(|row| name(&row.fact)).collect()
}

fn name(fact: &Fact) -> Option<(&str, &str)> {
    match fact {
        Fact::Defined { uid, schedule, .. } => Some((uid, schedule)),
        _ => None,
    }
}

pub(super) fn check(rows: &[Row], findings: &mut Vec<Finding>) {
    let names = names(rows);
    let mut highest: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        let Fact::Begun { firing, attempt, fencing_token } = &row.fact else { continue };
        let name = names.get(&*firing.uid).copied().unwrap_or(&firing.uid);
        let before = highest.insert(name, *fencing_token).unwrap_or_default();
        if *fencing_token <= before {
            let detail =
                format!("{name}: attempt {attempt} of {} got {fencing_token} after {before}", firing.firing);
            findings.push(Finding { fault: Fault::Backward, detail });
        }
    }
}
