//! The ledger of one node against what the team has scheduled. Goes along with it, row by row, and keeps a line for each
//! schedule and nothing for a firing.

use std::collections::BTreeMap;

use campanile::service::records::read_row;
use campanile_core::event::{Event, Outcome, Row};
use campanile_core::firing::{EndState, FiringId, Kind};
use campanile_core::id::{LogIndex, Uid};
use campanile_core::time::{Span, Timestamp};
use campanile_core::verify::{Place, Scope, Verdict, Verifier};
use campanile_storage::ledger::{LedgerReader, Position};

use super::habit::Habit;
use crate::sim::invariants::Findings;

/// What is found here.
pub(super) const MISSING: &str = "nothing missing";
pub(super) const DOUBLED: &str = "nothing doubled";
pub(super) const EARLY: &str = "nothing early";
pub(super) const LATE: &str = "nothing late";
pub(super) const UNASKED: &str = "nothing that nobody asked for";
pub(super) const DELIVERED: &str = "every firing ends well";
pub(super) const READS: &str = "a ledger reads";
pub(super) const VERIFY: &str = "verify agrees";

/// How late a quiet cluster may decide: for what is due while a node is started again, an election and a little.
const LATEST: Span = Span::from_secs(60);
/// Rows that are read at once.
const PAGE: usize = 1_000;

/// What was counted of one ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Rows.
    pub rows: u64,
    /// Firings of an instant.
    pub fired: u64,
    /// Attempts that began.
    pub begun: u64,
    /// Firings that ended well.
    pub ended: u64,
    /// The latest decision.
    pub latest: Span,
}

/// See the head of the file.
pub(super) struct Account {
    node: usize,
    habits: Vec<Habit>,
    names: BTreeMap<String, usize>,
    lines: BTreeMap<Uid, Line>,
    read_to: Option<Position>,
    /// True time when it was last read: what comes later is of later.
    read_at: Timestamp,
    verifier: Verifier,
    counted: Counted,
}

/// How far a schedule has come.
struct Line {
    habit: usize,
    next: Timestamp,
}

impl Account {
    /// Of a node that has no row yet; `names` are those of the schedules, in the order of their habits.
    pub(super) fn new(node: usize, habits: Vec<Habit>, names: impl Iterator<Item = String>) -> Self {
        Self {
            node,
            habits,
            names: names.zip(0..).collect(),
            lines: BTreeMap::new(),
            read_to: None,
            read_at: Timestamp::EPOCH,
            verifier: Verifier::new(Scope::default()),
            counted: Counted::default(),
        }
    }

    /// What was counted so far.
    pub(super) const fn counted(&self) -> Counted {
        self.counted
    }

    /// How many schedules it has met.
    pub(super) fn schedules(&self) -> usize {
        self.lines.len()
    }

    /// Reads what has come since. `now` is true time.
    pub(super) fn read(&mut self, ledger: &LedgerReader, now: Timestamp, found: &mut Findings) {
        loop {
            let page = match ledger.read(self.read_to, PAGE, 4 << 20) {
                Ok(page) => page,
                Err(trouble) => return found.add(READS, || format!("node {}: {trouble}", self.node)),
            };
            let Some(last) = page.last() else {
                self.read_at = now;
                return;
            };
            // Retention must not drop what nobody has read: it keeps days, and this reads every hour.
            self.read_to = Some(last.position);
            for row in &page {
                match read_row(row) {
                    Ok(told) => self.hear(row.position, &told, now, found),
                    Err(error) => found.add(READS, || format!("node {}: {error:?}", self.node)),
                }
            }
        }
    }

    /// One more row.
    pub(super) fn hear(&mut self, at: Position, row: &Row, now: Timestamp, found: &mut Findings) {
        self.counted.rows += 1;
        self.verifier.hear(Place { index: LogIndex(at.index), n: at.n }, row);
        if row.at > now {
            found.add(EARLY, || format!("node {}: {at:?} is of {:?}, and it is {now:?}", self.node, row.at));
        }
        if row.at + LATEST < self.read_at {
            let since = self.read_at;
            found.add(LATE, || {
                format!("node {}: {at:?} is of {:?}, and new since {since:?}", self.node, row.at)
            });
        }
        match &row.event {
            Event::Defined { uid, name, mark, .. } => {
                // Who is defined searches from there on: not from later.
                let from = (*mark).min(row.at);
                self.begin(*uid, name.as_str(), from, found);
            }
            Event::Fired { firing, kind: Kind::Scheduled, .. } => self.fired(*firing, row.at, found),
            Event::Begun { .. } => self.counted.begun += 1,
            Event::Settled { outcome: Outcome::End { state: EndState::Succeeded, .. }, .. } => {
                self.counted.ended += 1;
            }
            Event::Fired { .. } | Event::Deleted { .. } | Event::Parked { .. } | Event::Finished { .. } => {
                found.add(UNASKED, || format!("node {}: {at:?}: {:?}", self.node, row.event));
            }
            Event::Skipped { .. } => {
                found.add(MISSING, || format!("node {}: {at:?}: {:?}", self.node, row.event));
            }
            Event::Settled { .. } => {
                found.add(DELIVERED, || format!("node {}: {at:?}: {:?}", self.node, row.event));
            }
            _ => {}
        }
    }

    fn begin(&mut self, uid: Uid, name: &str, from: Timestamp, found: &mut Findings) {
        let Some(habit) = self.names.get(name).copied() else {
            return found.add(UNASKED, || format!("node {}: a schedule {name}", self.node));
        };
        let next = self.habits[habit].after(from);
        if self.lines.insert(uid, Line { habit, next }).is_some() {
            found.add(UNASKED, || format!("node {}: {name} is defined again", self.node));
        }
    }

    fn fired(&mut self, firing: FiringId, at: Timestamp, found: &mut Findings) {
        let (node, nominal) = (self.node, firing.nominal);
        self.counted.fired += 1;
        let Some(line) = self.lines.get_mut(&firing.uid) else {
            return found.add(UNASKED, || format!("node {node}: {firing:?}"));
        };
        let habit = &self.habits[line.habit];
        if at < nominal {
            found.add(EARLY, || format!("node {node}: {firing:?} was decided at {at:?}"));
        }
        let late = at.since(nominal);
        self.counted.latest = self.counted.latest.max(late);
        if late > LATEST {
            found.add(LATE, || format!("node {node}: {firing:?} was decided at {at:?}"));
        }
        if !habit.is_due(nominal) {
            return found.add(UNASKED, || format!("node {node}: {firing:?}: {}", told(habit)));
        }
        if nominal < line.next {
            return found.add(DOUBLED, || format!("node {node}: {firing:?}: {}", told(habit)));
        }
        line.pass(habit, node, nominal, found);
        line.next = habit.after(nominal);
    }

    /// What had to be decided by `now` was.
    pub(super) fn is_whole(&mut self, now: Timestamp, found: &mut Findings) {
        for line in self.lines.values_mut() {
            line.pass(&self.habits[line.habit], self.node, now - LATEST, found);
        }
    }

    /// What `campanile verify` says of all of it.
    pub(super) fn verdict(self, found: &mut Findings) -> Verdict {
        let (node, fired) = (self.node, self.counted.fired);
        let verdict = self.verifier.finish();
        for offender in &verdict.offenders {
            found.add(VERIFY, || format!("node {node}: {offender:?}"));
        }
        let counts = &verdict.counts;
        if counts.fired != fired || counts.unverified > 0 || verdict.zones_differ.is_some() {
            found.add(VERIFY, || {
                format!(
                    "node {node}: of {fired} it counts {}, {} unverified",
                    counts.fired, counts.unverified
                )
            });
        }
        verdict
    }
}

impl Line {
    /// Every instant before this one was decided.
    fn pass(&mut self, habit: &Habit, node: usize, before: Timestamp, found: &mut Findings) {
        while self.next < before {
            let missing = self.next;
            found.add(MISSING, || format!("node {node}: {missing:?}: {}", told(habit)));
            self.next = habit.after(missing);
        }
    }
}

fn told(habit: &Habit) -> String {
    format!("{} in {}", habit.rhythm.cron(), habit.zone.name)
}

#[cfg(test)]
mod tests;
