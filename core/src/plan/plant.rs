//! The bug that the failover test must find, and the simulation: a new leader repeats what its predecessor decided last.
//! Only in builds that are for that (`plant-duplicates`, [`Mutant::NoDuplicateRefusal`]).

use super::Planner;
use crate::command::OnTime;
use crate::mutant::{self, Mutant};
use crate::schedule::Schedule;
use crate::series::Series;

impl Planner {
    /// The last instant of a schedule, once in the life of a planner.
    pub(super) fn plant(&mut self, schedule: &Schedule, series: &Series) -> Option<OnTime> {
        if !(cfg!(feature = "plant-duplicates") || mutant::is_on(Mutant::NoDuplicateRefusal)) {
            return None;
        }
        let nominal = series.prev(schedule.mark.successor())?.at;
        let next_at = schedule.next_at?;
        (nominal == schedule.mark && self.repeated.insert(schedule.uid)).then_some(OnTime {
            uid: schedule.uid,
            revision: schedule.revision,
            nominal,
            next_at,
        })
    }
}
