//! What instants depend on beside definitions, as the rows tell it: calendars and their earlier versions, and zones.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::calendar::Calendar;
use crate::cron::tzdb_version;
use crate::definition::Definition;
use crate::event::Event;
use crate::id::LogIndex;
use crate::series::{Calendars, Series, Texts};
use crate::spec::Exclusion;
use crate::time::Timestamp;

/// How many earlier versions of a calendar planners know (`SEMANTICS` §3): an instant that is decided after more changes
/// than these is judged as planners see it. Their own number stands in [`crate::state::KEPT_VERSIONS`]; a test compares.
const KEPT_VERSIONS: usize = 4;

/// The rules in force.
#[derive(Debug, Default)]
pub(super) struct Rules {
    calendars: BTreeMap<Box<str>, Versions>,
    /// Counts the changes, so that a series knows whether it is of yesterday.
    changes: u64,
    texts: Texts,
    /// The versions of zones that leaders named and this program does not have.
    other_zones: Vec<Box<str>>,
}

#[derive(Debug)]
struct Versions {
    now: Arc<Calendar>,
    /// With the last instant for which each counts, the newest last.
    before: Vec<(Arc<Calendar>, Timestamp)>,
}

impl Calendars for Rules {
    fn calendar(&self, name: &str) -> Option<Arc<Calendar>> {
        self.calendars.get(name).map(|known| known.now.clone())
    }

    fn before(&self, name: &str) -> Vec<(Arc<Calendar>, Timestamp)> {
        self.calendars.get(name).map(|known| known.before.clone()).unwrap_or_default()
    }

    fn changed_at(&self) -> LogIndex {
        LogIndex(self.changes)
    }
}

impl Rules {
    /// Takes a row that may change them.
    pub(super) fn hear(&mut self, at: Timestamp, event: &Event) {
        match event {
            Event::CalendarPut { name, calendar, .. } => self.put(name, calendar, at),
            Event::CalendarDeleted { name, .. } => {
                self.calendars.remove(name);
            }
            Event::CalendarStanding { name, calendar, before } => {
                let stands = Versions { now: calendar.clone(), before: before.clone() };
                let known = self.calendars.get(name);
                if known.is_none_or(|known| known.now != stands.now || known.before != stands.before) {
                    self.calendars.insert(name.clone(), stands);
                    self.changes += 1;
                }
            }
            Event::ZonesUsed { version: zones } | Event::Restating { zones, .. } => self.compare(zones),
            _ => {}
        }
    }

    /// A change counts from its commit: what was in force counts up to there.
    fn put(&mut self, name: &str, calendar: &Arc<Calendar>, at: Timestamp) {
        let before = self.calendars.remove(name).map(|known| {
            let mut before = known.before;
            before.push((known.now, at));
            before.drain(..before.len().saturating_sub(KEPT_VERSIONS));
            before
        });
        let now = calendar.clone();
        self.calendars.insert(name.into(), Versions { now, before: before.unwrap_or_default() });
        self.changes += 1;
    }

    fn compare(&mut self, zones: &str) {
        let is_ours = zones.is_empty() || tzdb_version().is_some_and(|ours| *ours == *zones);
        if !is_ours && !self.other_zones.iter().any(|known| **known == *zones) {
            self.other_zones.push(zones.into());
        }
    }

    /// The last instant of which planners do not know any more what its calendars excluded.
    pub(super) fn forgotten(&self, definition: &Definition) -> Option<Timestamp> {
        let names = definition.exclude.iter().filter_map(Exclusion::calendar);
        let before = names.filter_map(|name| Some(&self.calendars.get(name)?.before));
        before.filter(|before| before.len() >= KEPT_VERSIONS).map(|before| before[0].1).max()
    }

    /// Whether a series was made before the last change.
    pub(super) fn is_old(&self, series: &Series) -> bool {
        series.rules_at() != self.changed_at()
    }

    /// The instants of a definition; none when it cannot be evaluated here.
    pub(super) fn series(&mut self, definition: &Definition) -> Option<Series> {
        let mut texts = std::mem::take(&mut self.texts);
        let series = Series::of(definition, self, &mut texts);
        self.texts = texts;
        series.ok()
    }

    /// A sentence, when leaders planned with other zones than this program has.
    pub(super) fn zones_differ(&self) -> Option<String> {
        let ours = tzdb_version().unwrap_or_else(|| "data without a version".into());
        let others = self.other_zones.join(", ");
        (!others.is_empty()).then(|| {
            format!("leaders planned with time-zone data {others}, and this program has {ours}: where rules changed between them, instants differ")
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_verifier_knows_as_many_versions_of_a_calendar_as_planners_do() {
        assert_eq!(super::KEPT_VERSIONS, crate::state::KEPT_VERSIONS);
    }
}
