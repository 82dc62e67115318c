//! A receiver that compares fencing tokens accepts none that is older than one it has accepted of the same schedule.

use std::collections::BTreeMap;

use super::{Fault, Finding};
use crate::receiver::Call;

pub(super) fn check(calls: &[Call], findings: &mut Vec<Finding>) {
    let mut greatest: BTreeMap<&str, u64> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.is_fenced && call.is_delivered()) {
        let Call { schedule, firing, attempt, fencing_token, .. } = call;
        let before = greatest.insert(schedule, *fencing_token).unwrap_or_default();
        if *fencing_token <= before {
            let detail = format!(
                "{schedule}: {fencing_token} of {firing}, attempt {attempt}, was accepted after {before}"
            );
            findings.push(Finding { fault: Fault::Stale, detail });
        }
    }
}

/// How many calls came with an older token than one before of the same schedule, where tokens are compared.
pub(super) fn count_refused(calls: &[Call]) -> usize {
    calls.iter().filter(|call| call.is_fenced && call.answered == Some(412)).count()
}
