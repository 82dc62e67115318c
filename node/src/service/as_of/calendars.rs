//! Calendars as they were at an earlier moment, with the versions before that a plan of then knew.

use std::cell::RefCell;
use std::sync::Arc;

use campanile_core::calendar::Calendar;
use campanile_core::event::Event;
use campanile_core::id::LogIndex;
use campanile_core::series::Calendars;
use campanile_core::state::KEPT_VERSIONS;
use campanile_core::time::Timestamp;
use campanile_storage::history::{Entry, Order};

use super::moment::Moment;
use crate::problem::Problem;
use crate::service::records::changes::up_to;
use crate::service::records::places::calendar_named;
use crate::service::records::{Records, rebuilding};

/// How many keys are read at once.
const BATCH: usize = 16;

/// The calendars of then.
pub(super) struct CalendarsThen<'a> {
    records: &'a Records,
    moment: Moment,
    /// Why an answer was not to be had.
    failed: RefCell<Option<Problem>>,
}

/// A calendar, and what it was before, each with the last instant for which it counts; the newest last.
type Versions = (Arc<Calendar>, Vec<(Arc<Calendar>, Timestamp)>);

impl<'a> CalendarsThen<'a> {
    pub(super) fn new(records: &'a Records, moment: Moment) -> Self {
        Self { records, moment, failed: RefCell::default() }
    }

    /// Whether every answer was one.
    pub(super) fn close(self) -> Result<(), Problem> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }

    fn versions(&self, name: &str) -> Option<Versions> {
        self.read(name).unwrap_or_else(|problem| {
            self.failed.borrow_mut().get_or_insert(problem);
            None
        })
    }

    fn read(&self, name: &str) -> Result<Option<Versions>, Problem> {
        let mut known = Known::default();
        let mut last: Option<Entry> = None;
        loop {
            let (history, window) = (self.records.history(), up_to(self.moment.index));
            let found = match last {
                Some(last) => history.scan_from(last.key, window, BATCH, Order::Descending),
                None => history.scan(calendar_named(name).0, window, BATCH, Order::Descending),
            };
            let entries = found.map_err(|wrong| rebuilding(&wrong))?;
            for entry in &entries {
                let Some(row) = self.records.row_of(entry)? else { continue };
                if known.hear(name, row.at, row.event) {
                    return Ok(known.versions());
                }
            }
            last = entries.last().copied();
            if entries.len() < BATCH {
                return Ok(known.versions());
            }
        }
    }
}

impl Calendars for CalendarsThen<'_> {
    fn calendar(&self, name: &str) -> Option<Arc<Calendar>> {
        self.versions(name).map(|(calendar, _)| calendar)
    }

    fn before(&self, name: &str) -> Vec<(Arc<Calendar>, Timestamp)> {
        self.versions(name).map(|(_, before)| before).unwrap_or_default()
    }

    fn changed_at(&self) -> LogIndex {
        LogIndex(self.moment.index)
    }
}

/// What rows tell of one calendar, the newest first.
#[derive(Debug, Default)]
struct Known {
    current: Option<Arc<Calendar>>,
    /// When what is heard next was replaced.
    replaced_at: Option<Timestamp>,
    /// The newest first.
    before: Vec<(Arc<Calendar>, Timestamp)>,
}

impl Known {
    /// Whether no older row matters.
    fn hear(&mut self, wanted: &str, at: Timestamp, event: Event) -> bool {
        match event {
            Event::CalendarPut { name, calendar, .. } if *name == *wanted => {
                self.add(calendar);
                self.replaced_at = Some(at);
                self.before.len() >= KEPT_VERSIONS
            }
            Event::CalendarStanding { name, calendar, before } if *name == *wanted => {
                self.add(calendar);
                self.before.extend(before.into_iter().rev());
                self.before.truncate(KEPT_VERSIONS);
                true
            }
            // What was before a removal is no version of what came after it.
            Event::CalendarDeleted { name, .. } => *name == *wanted,
            _ => false,
        }
    }

    fn add(&mut self, calendar: Arc<Calendar>) {
        match (self.current.is_some(), self.replaced_at) {
            (true, Some(replaced_at)) => self.before.push((calendar, replaced_at)),
            _ => self.current = Some(calendar),
        }
    }

    fn versions(mut self) -> Option<Versions> {
        self.before.reverse();
        self.current.map(|current| (current, self.before))
    }
}
