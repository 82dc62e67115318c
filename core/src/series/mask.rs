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
    Dates(Dates),
    /// A calendar that was changed: each version up to the instant beside it, in order, the last for good.
    Versions(Vec<(Timestamp, Dates)>),
}

/// What a calendar covers in a zone.
#[derive(Debug, Clone)]
pub(super) struct Dates {
    calendar: Arc<Calendar>,
    time_zone: Box<str>,
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
                Dates::of(Arc::new(calendar), own.as_deref(), time_zone).map(Self::Dates)
            }
            Exclusion::Calendar { name, time_zone: own } => {
                let calendar = calendars.calendar(name).ok_or_else(|| no_calendar(name))?;
                let mut all = calendars.before(name);
                if all.is_empty() {
                    return Dates::of(calendar, own.as_deref(), time_zone).map(Self::Dates);
                }
                all.push((calendar, Timestamp::NEVER));
                let version = |(calendar, last)| Ok((last, Dates::of(calendar, own.as_deref(), time_zone)?));
                all.into_iter().map(version).collect::<Result<_, _>>().map(Self::Versions)
            }
        }
    }

    pub(super) fn covers(&self, at: Timestamp) -> bool {
        match self {
            Self::Cron(cron) => cron.covers(at),
            Self::Dates(dates) => dates.covers(at),
            Self::Versions(versions) => {
                versions.iter().find(|(last, _)| at <= *last).is_some_and(|(_, dates)| dates.covers(at))
            }
        }
    }

    /// The first instant at or after `at` that is not covered.
    pub(super) fn uncovered_from(&self, at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron(cron) => cron.uncovered_from(at),
            Self::Dates(dates) => Some(dates.uncovered_from(at)),
            Self::Versions(versions) => {
                let mut free = at;
                for (last, dates) in versions {
                    if free <= *last {
                        let found = dates.uncovered_from(free);
                        if found <= *last {
                            return Some(found);
                        }
                        free = last.successor();
                    }
                }
                Some(free)
            }
        }
    }

    /// Adds every second of the block that is covered, for instants at so many milliseconds behind it.
    pub(super) fn cover(&self, into: &mut SecondSet, millis: i64) {
        match self {
            Self::Cron(cron) => cron.cover(into),
            Self::Dates(dates) => dates.cover(into, into.first(), into.end()),
            Self::Versions(versions) => {
                let mut from = into.first();
                for (last, dates) in versions {
                    let first_after = (last.as_millis().saturating_sub(millis)).div_euclid(1000) + 1;
                    let to = first_after.clamp(from, into.end());
                    dates.cover(into, from, to);
                    from = to;
                }
            }
        }
    }
}

impl Dates {
    /// A calendar as it meets instants of a spec in `time_zone`: an exclusion's own zone comes before the calendar's.
    fn of(mut calendar: Arc<Calendar>, own: Option<&str>, time_zone: &str) -> Result<Self, CronError> {
        if own.is_some() && calendar.time_zone.is_some() {
            Arc::make_mut(&mut calendar).time_zone = None;
        }
        let time_zone = own.unwrap_or(time_zone);
        let zone = calendar.time_zone.as_deref().unwrap_or(time_zone);
        if known_zone(zone) {
            return Ok(Self { time_zone: time_zone.into(), calendar });
        }
        Err(CronError {
            kind: CronErrorKind::Zone,
            column: None,
            detail: format!("{zone:?} is no time zone"),
            hint: "an IANA name such as Europe/Berlin".into(),
        })
    }

    fn covers(&self, at: Timestamp) -> bool {
        self.calendar.cover(&self.time_zone).is_ok_and(|cover| cover.covers(at))
    }

    fn uncovered_from(&self, at: Timestamp) -> Timestamp {
        self.calendar.cover(&self.time_zone).map_or(at, |cover| cover.uncovered_from(at))
    }

    /// Adds the seconds of `from..to` that are covered.
    fn cover(&self, into: &mut SecondSet, from: i64, to: i64) {
        let Ok(cover) = self.calendar.cover(&self.time_zone) else { return };
        cover.ranges(from, to).for_each(|range| into.insert_range(range));
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
