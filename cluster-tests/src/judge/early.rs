//! Nothing arrives before its nominal instant, by the receiver's clock.

use campanile_core::cron::instant_text;

use super::{Fault, Finding};
use crate::receiver::Call;

pub(super) fn check(calls: &[Call], findings: &mut Vec<Finding>) {
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
