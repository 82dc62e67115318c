//! Nothing happens before its nominal instant: neither by the log's time nor by the receiver's clock.

use campanile_core::cron::instant_text;

use super::{Fault, Finding};
use crate::ledger::{Fact, Row};
use crate::receiver::Call;

pub(super) fn check(rows: &[Row], calls: &[Call], findings: &mut Vec<Finding>) {
    for row in rows {
        if let Fact::Fired { firing, .. } = &row.fact
            && row.at < firing.nominal
        {
            let (at, nominal) = (instant_text(row.at), instant_text(firing.nominal));
            let detail = format!("{} was fired at {at}, before its nominal {nominal}", firing.firing);
            findings.push(Finding { fault: Fault::Early, detail });
        }
    }
    for call in calls {
        if let Some(nominal) = call.nominal
            && call.received_at < nominal
        {
            let (at, nominal) = (instant_text(call.received_at), instant_text(nominal));
            let detail = format!("{} was received at {at}, before its nominal {nominal}", call.firing);
            findings.push(Finding { fault: Fault::Early, detail });
        }
    }
}
