//! Where a schedule promises it, no firing reaches its receiver twice, whoever died meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use super::{Fault, Finding};
use crate::ledger::{Fact, Row};
use crate::receiver::Call;

pub(super) fn check(rows: &[Row], calls: &[Call], findings: &mut Vec<Finding>) {
    let promised: BTreeSet<&str> = rows.iter().filter_map(|row| promises(&row.fact)).collect();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for call in calls.iter().filter(|call| promised.contains(&*call.schedule)) {
        let count = seen.entry(&call.firing).or_default();
        *count += 1;
        if *count == 2 {
            let Call { schedule, firing, attempt, .. } = call;
            let detail = format!("{schedule}: {firing} came again, as attempt {attempt}");
            findings.push(Finding { fault: Fault::Resent, detail });
        }
    }
}

/// The schedule that this row gives the promise to.
fn promises(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::Defined { schedule, definition, .. } if definition["delivery"] == "at_most_once" => {
            Some(schedule)
        }
        _ => None,
    }
}
