//! What has fired, for those who plan what is to fire again: an answer that is decided by, so it is whole or none.
//!
//! The index is written behind the ledger, so it is waited for; one that stays behind, or that was thrown away meanwhile,
//! ends the plan instead of shortening the answer. It reads files: never on a thread of the runtime, and never inside a
//! proposal, where everybody else would wait for a disk.

use std::cell::RefCell;
use std::collections::BTreeMap;

use campanile_core::id::{Run, Uid};
use campanile_core::machine::Machine;
use campanile_core::plan::Past;
use campanile_core::time::Timestamp;
use campanile_storage::history::{Entry, Order, Window};
use campanile_storage::ledger::Position;

use super::{INDEX_WITHIN, Records, read_row, rebuilding, rows, unreadable_ledger};
use crate::problem::{Code, Problem};

/// How many keys are read at once: about three of each firing.
const BATCH: usize = 4_096;

impl Records {
    /// What `plan` makes of everything that has fired up to the last entry that `machine` has applied.
    ///
    /// # Errors
    /// `not_ready` when the index is behind or being built again, `internal` when the ledger cannot be read: what was
    /// planned then is dropped, since it may not have seen everything.
    pub fn with_past<T>(&self, machine: &Machine, plan: impl FnOnce(&dyn Past) -> T) -> Result<T, Problem> {
        let applied = machine.applied().0;
        // Rows are appended before the machine that they come from is shown, so nothing up to it is missing. Asked before
        // the wait: a head that others move on meanwhile would ask for more than was waited for.
        let through = self.ledger.head().position.min(Some(Position::end_of(applied)));
        if !self.index.wait_for(applied, INDEX_WITHIN) {
            return Err(behind());
        }
        let past = Told {
            records: self,
            machine,
            through,
            known_since: self.known_since(machine)?,
            failed: RefCell::new(None),
        };
        let planned = plan(&past);
        match past.failed.into_inner() {
            Some(problem) => Err(problem),
            None => Ok(planned),
        }
    }

    /// Rows that were written before this instant may have been dropped by retention.
    pub(super) fn known_since(&self, machine: &Machine) -> Result<Timestamp, Problem> {
        let reaches = self.ledger.reaches(None).map_err(|trouble| unreadable_ledger(&trouble))?;
        if reaches {
            return Ok(Timestamp::from_millis(i64::MIN));
        }
        let oldest = match self.rows_behind(None, 1)?.first() {
            Some(oldest) => read_row(oldest)?.at,
            None => machine.clock(),
        };
        // Others of the same moment may be gone.
        Ok(oldest.successor())
    }
}

/// One reading of the past.
struct Told<'a> {
    records: &'a Records,
    machine: &'a Machine,
    /// The index must reach to here.
    through: Option<Position>,
    known_since: Timestamp,
    /// Why an answer was not whole.
    failed: RefCell<Option<Problem>>,
}

impl Past for Told<'_> {
    fn runs(&self, uid: Uid, after: Timestamp, until: Timestamp) -> BTreeMap<Timestamp, Run> {
        let mut runs = BTreeMap::new();
        if let Err(problem) = self.read(uid, after, until, &mut runs) {
            self.failed.borrow_mut().get_or_insert(problem);
        }
        let live = self.machine.live_of(uid).map(|firing| (firing.id.nominal, firing.id.run));
        for (nominal, run) in live.filter(|(nominal, _)| *nominal > after && *nominal <= until) {
            note(&mut runs, nominal, run);
        }
        runs
    }

    fn known_since(&self) -> Timestamp {
        self.known_since
    }
}

impl Told<'_> {
    fn read(
        &self,
        uid: Uid,
        after: Timestamp,
        until: Timestamp,
        runs: &mut BTreeMap<Timestamp, Run>,
    ) -> Result<(), Problem> {
        let window = Window { after: Some(after.as_millis()), before: Some(until.successor().as_millis()) };
        let mut last: Option<Entry> = None;
        loop {
            self.is_whole()?;
            let history = self.records.history();
            let entries = match last {
                Some(last) => history.scan_from(last.key, window, BATCH, Order::Ascending),
                None => history.scan(uid.0, window, BATCH, Order::Ascending),
            };
            let entries = entries.map_err(|wrong| rebuilding(&wrong))?;
            self.is_whole()?;
            for key in entries.iter().map(|entry| entry.key).filter(|key| key.run != rows::SKIPS) {
                note(runs, Timestamp::from_millis(key.nominal), Run(key.run));
            }
            last = entries.last().copied();
            if entries.len() < BATCH {
                return Ok(());
            }
        }
    }

    /// An index that was found odd is thrown away and built again, and answers with what it has by then.
    fn is_whole(&self) -> Result<(), Problem> {
        if self.records.history().reached() >= self.through { Ok(()) } else { Err(behind()) }
    }
}

fn note(runs: &mut BTreeMap<Timestamp, Run>, nominal: Timestamp, run: Run) {
    let highest = runs.entry(nominal).or_insert(run);
    *highest = run.max(*highest);
}

fn behind() -> Problem {
    Problem::new(
        Code::NotReady,
        "the index of the ledger is behind, and what has fired is not known for certain; ask again in a moment",
    )
}
