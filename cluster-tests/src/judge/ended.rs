//! Every firing ends, and the ledger says how.

use std::collections::{BTreeMap, BTreeSet};

use campanile_core::cron::instant_text;
use campanile_core::time::Timestamp;

use super::{Fault, Finding};
use crate::ledger::{Fact, Row};

/// How each firing ended that did, in the word of the ledger.
pub(super) fn ends(rows: &[Row]) -> BTreeMap<&str, &str> {
    rows.iter().filter_map(|row| end(&row.fact)).collect()
}

fn end(fact: &Fact) -> Option<(&str, &str)> {
    match fact {
        Fact::Settled { firing, state: Some(state), .. } => Some((&firing.firing, state)),
        Fact::Cancelled { firing } => Some((&firing.firing, "cancelled")),
        _ => None,
    }
}

pub(super) fn check(rows: &[Row], until: Timestamp, findings: &mut Vec<Finding>) {
    let ended: BTreeSet<&str> = ends(rows).into_keys().collect();
    for row in rows {
        if let Fact::Fired { firing, .. } = &row.fact
            && firing.nominal <= until
            && !ended.contains(firing.firing.as_str())
        {
            let (id, nominal) = (&firing.firing, instant_text(firing.nominal));
            let detail = format!("{id} of {nominal} fired and never ended");
            findings.push(Finding { fault: Fault::Unsettled, detail });
        }
    }
}
