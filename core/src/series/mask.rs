//! One exclusion, ready to be asked: a test of the local clock.

use std::sync::Arc;

use crate::calendar::Calendar;
use crate::cron::{Cron, CronError, CronErrorKind, SecondSet, known_zone};
use crate::spec::Exclusion;
use crate::time::Timestamp;

use super::{BadSpec, Calendars, List, Texts};

/// An exclusion.
#[derive(Debug, Clone)]
pub(super) enum Mask {
    Cron(Cron),
    Calendar { calendar: Arc<Calendar>, time_zone: Box<str> },
}

impl Mask {
    /// All exclusions as they meet the instants of a spec in `time_zone`.
    pub(super) fn all(
        exclude: &[Exclusion],
        time_zone: &str,
        calendars: &impl Calendars,
        texts: &mut Texts,
    ) -> Result<Vec<Self>, BadSpec> {
        let mask = |(place, exclusion)| {
            Self::of(exclusion, time_zone, calendars, texts).map_err(|error| BadSpec {
                list: List::Exclude,
                place,
                error,
            })
        };
        exclude.iter().enumerate().map(mask).collect()
    }

    fn of(
        exclusion: &Exclusion,
        time_zone: &str,
        calendars: &impl Calendars,
        texts: &mut Texts,
    ) -> Result<Self, CronError> {
        match exclusion {
            Exclusion::Cron(cron) => texts.crons.get(&cron.as_text()).map(Self::Cron),
            Exclusion::Dates { dates, time_zone: own } => {
                let calendar = Calendar {
                    description: "".into(),
                    time_zone: None,
                    dates: dates.to_vec(),
                    spans: Vec::new(),
                };
                Self::calendar(Arc::new(calendar), own.as_deref().unwrap_or(time_zone))
            }
            Exclusion::Calendar { name, time_zone: own } => {
                let mut calendar = calendars.calendar(name).ok_or_else(|| no_calendar(name))?;
                if own.is_some() && calendar.time_zone.is_some() {
                    Arc::make_mut(&mut calendar).time_zone = None;
                }
                Self::calendar(calendar, own.as_deref().unwrap_or(time_zone))
            }
        }
    }

    fn calendar(calendar: Arc<Calendar>, time_zone: &str) -> Result<Self, CronError> {
        let zone = calendar.time_zone.as_deref().unwrap_or(time_zone);
        if !known_zone(zone) {
            return Err(CronError {
                kind: CronErrorKind::Zone,
                column: None,
                detail: format!("{zone:?} is no time zone"),
                hint: "an IANA name such as Europe/Berlin".into(),
            });
        }
        Ok(Self::Calendar { calendar, time_zone: time_zone.into() })
    }

    pub(super) fn covers(&self, at: Timestamp) -> bool {
        match self {
            Self::Cron(cron) => cron.covers(at),
            Self::Calendar { calendar, time_zone } => {
                calendar.cover(time_zone).is_ok_and(|cover| cover.covers(at))
            }
        }
    }

    /// The first instant at or after `at` that is not covered.
    pub(super) fn uncovered_from(&self, at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron(cron) => cron.uncovered_from(at),
            Self::Calendar { calendar, time_zone } => {
                Some(calendar.cover(time_zone).map_or(at, |cover| cover.uncovered_from(at)))
            }
        }
    }

    /// Adds every second of the block that is covered.
    pub(super) fn cover(&self, into: &mut SecondSet) {
        match self {
            Self::Cron(cron) => cron.cover(into),
            Self::Calendar { calendar, time_zone } => {
                let Ok(cover) = calendar.cover(time_zone) else { return };
                for range in cover.ranges(into.first(), into.end()) {
                    into.insert_range(range);
                }
            }
        }
    }
}

fn no_calendar(name: &str) -> CronError {
    CronError {
        kind: CronErrorKind::Cron,
        column: None,
        detail: format!("there is no calendar {name:?}"),
        hint: "put it before the schedules that name it".into(),
    }
}
