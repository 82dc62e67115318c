//! The fencing tokens of a schedule name only grow, whoever led when they were given.

use std::collections::BTreeMap;

use super::lives::Lives;
use super::{Fault, Finding};
use crate::ledger::{Fact, Row};

pub(super) fn check(rows: &[Row], lives: &Lives, findings: &mut Vec<Finding>) {
    let mut highest: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        let Fact::Begun { firing, attempt, fencing_token } = &row.fact else { continue };
        let name = lives.name(&firing.uid);
        let before = highest.insert(name, *fencing_token).unwrap_or_default();
        if *fencing_token <= before {
            let detail =
                format!("{name}: attempt {attempt} of {} got {fencing_token} after {before}", firing.firing);
            findings.push(Finding { fault: Fault::Backward, detail });
        }
    }
}
