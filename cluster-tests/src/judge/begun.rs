//! No call without a committed Begin of this firing and attempt, with this token, before it.

use std::collections::BTreeMap;

use campanile_core::cron::instant_text;
use campanile_core::time::Timestamp;

use super::{Fault, Finding};
use crate::ledger::{Fact, Row};
use crate::receiver::Call;

pub(super) fn check(rows: &[Row], calls: &[Call], findings: &mut Vec<Finding>) {
    let mut leases: BTreeMap<(&str, u32), (u64, Timestamp)> = BTreeMap::new();
    for row in rows {
        if let Fact::Begun { firing, attempt, fencing_token } = &row.fact {
            leases.insert((&firing.firing, *attempt), (*fencing_token, row.at));
        }
    }
    for call in calls {
        if let Some(why) = wrong(call, leases.get(&(call.firing.as_str(), call.attempt)).copied()) {
            let Call { schedule, firing, attempt, fencing_token, received_at, .. } = call;
            let at = instant_text(*received_at);
            let what =
                format!("{schedule}: {firing}, attempt {attempt}, token {fencing_token}, received at {at}");
            findings.push(Finding { fault: Fault::Unbegun, detail: format!("{what}: {why}") });
        }
    }
}

/// The clocks of the receiver and of the nodes are one, so "before" needs no allowance.
fn wrong(call: &Call, lease: Option<(u64, Timestamp)>) -> Option<String> {
    match lease {
        None => Some("nothing was begun".into()),
        Some((token, _)) if token != call.fencing_token => Some(format!("was begun with token {token}")),
        Some((_, at)) if at > call.received_at => Some(format!("was begun later, at {}", instant_text(at))),
        Some(_) => None,
    }
}
