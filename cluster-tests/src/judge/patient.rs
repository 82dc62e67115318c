//! A receiver that says how long to wait is not asked before, whoever asks: `Retry-After` outlives the sender.

use std::collections::BTreeMap;

use campanile_core::cron::instant_text;
use campanile_core::time::Timestamp;

use super::{Fault, Finding};
use crate::receiver::Call;

pub(super) fn check(calls: &[Call], findings: &mut Vec<Finding>) {
    let mut not_before: BTreeMap<&str, (u32, Timestamp)> = BTreeMap::new();
    for call in calls {
        let Call { firing, attempt, received_at, .. } = call;
        // The attempt that was told itself is none of those that had to wait.
        if let Some((told, until)) = not_before.get(&**firing)
            && attempt > told
            && received_at < until
        {
            let (at, until) = (instant_text(*received_at), instant_text(*until));
            let detail =
                format!("attempt {attempt} of {firing} came at {at}, and was asked not before {until}");
            findings.push(Finding { fault: Fault::Hasty, detail });
        }
        if let Some(wait) = call.asked_to_wait {
            not_before.insert(firing, (*attempt, *received_at + wait));
        }
    }
}
