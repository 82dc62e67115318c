//! What fired reaches its receiver: at least one call of it was answered with success. Where receivers may refuse for good,
//! this is asked of what ended well only.

use std::collections::BTreeSet;

use campanile_core::cron::instant_text;
use campanile_core::time::Timestamp;

use super::{Fault, Finding, Promise, ended};
use crate::ledger::{Fact, Row};
use crate::receiver::Call;

pub(super) fn check(
    rows: &[Row],
    calls: &[Call],
    (until, promise): (Timestamp, Promise),
    findings: &mut Vec<Finding>,
) {
    let delivered: BTreeSet<&str> =
        calls.iter().filter(|call| call.is_delivered()).map(|call| call.firing.as_str()).collect();
    let ends = ended::ends(rows);
    let owed = |firing: &str| match promise {
        Promise::Delivered => true,
        Promise::Settled => ends.get(firing) == Some(&"succeeded"),
    };
    for row in rows {
        if let Fact::Fired { firing, .. } = &row.fact
            && firing.nominal <= until
            && !delivered.contains(firing.firing.as_str())
            && owed(&firing.firing)
        {
            let detail = format!(
                "{} of {} fired and no receiver took it",
                firing.firing,
                instant_text(firing.nominal)
            );
            findings.push(Finding { fault: Fault::Undelivered, detail });
        }
    }
}
