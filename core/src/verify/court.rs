//! What a judgement is made with: the moment, the scope, and where it is entered.

use crate::cron::instant_text;
use crate::id::Uid;
use crate::time::Timestamp;

use super::Scope;
use super::calendars::Rules;
use super::order::Order;
use super::verdict::{Docket, Fault, Offender, Place};
use super::work::Work;
use crate::definition::ScheduleName;

/// Everything beside the schedule that is judged.
pub(super) struct Court<'a> {
    pub(super) scope: &'a Scope,
    pub(super) docket: &'a mut Docket,
    pub(super) order: &'a mut Order,
    pub(super) rules: &'a mut Rules,
    pub(super) work: &'a Work,
    /// The log's time at the row.
    pub(super) at: Timestamp,
    /// The row; none at the end of the ledger.
    pub(super) place: Option<Place>,
}

/// Which schedule it is about.
#[derive(Clone, Copy)]
pub(super) struct Party<'a> {
    pub(super) uid: Uid,
    pub(super) name: Option<&'a ScheduleName>,
}

impl Party<'_> {
    /// Its name, or what stands for it.
    pub(super) fn shown(&self) -> String {
        self.name.map_or_else(|| format!("schedule {}", self.uid), ToString::to_string)
    }
}

impl Court<'_> {
    /// Enters an offender; the sentence begins with the schedule.
    pub(super) fn enter(
        &mut self,
        fault: Fault,
        times: u64,
        party: Party<'_>,
        nominal: Option<Timestamp>,
        what: impl FnOnce() -> String,
    ) {
        let place = self.place;
        self.docket.enter(fault, times, || offender(fault, place, party, nominal, &what()));
    }
}

/// An offender whose sentence begins with the schedule and the instant.
pub(super) fn offender(
    fault: Fault,
    place: Option<Place>,
    party: Party<'_>,
    nominal: Option<Timestamp>,
    what: &str,
) -> Offender {
    let mut detail = party.shown();
    if let Some(nominal) = nominal {
        detail.push_str(" at ");
        detail.push_str(&instant_text(nominal));
    }
    detail.push(' ');
    detail.push_str(what);
    Offender { fault, place, schedule: party.name.cloned(), uid: Some(party.uid), nominal, detail }
}
