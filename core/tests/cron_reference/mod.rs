//! What a cron text means, read a second time and as plainly as possible: every second is looked at, with jiff's own
//! civil types. Nothing of the searched code is used, so that an error would have to be made twice.
#![allow(clippy::expect_used, clippy::unwrap_used)]
#![allow(dead_code, reason = "each test that reads a second time asks a part of it")]

use campanile_core::cron::{DayMatch, DstGap, DstOverlap, Note};
use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

mod draw;

pub(crate) use draw::spec;

/// Zones with every kind of time change: whole, half and two hours, across midnight, many in a year, none, a lost date.
pub(crate) const ZONES: [&str; 14] = [
    "Europe/Berlin",
    "America/New_York",
    "America/Nuuk",
    "America/Sao_Paulo",
    "America/Havana",
    "America/St_Johns",
    "Antarctica/Troll",
    "Antarctica/Casey",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Africa/Cairo",
    "Asia/Almaty",
    "Pacific/Apia",
    "Asia/Pyongyang",
];

/// One item of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item {
    Every,
    Step(u32),
    One(u32),
    Range(u32, u32),
    /// From, to, step.
    Stepped(u32, u32, u32),
    /// `?`, a whole day field.
    Any,
    /// A month or weekday as it is spelled, and its number.
    Named(&'static str, u32),
    Last,
    LastWeekday,
    Nearest(u32),
    LastOf(u32),
    Nth(u32, u32),
}

#[derive(Debug, Clone)]
pub(crate) struct Reference {
    /// What is written instead of the fields, which say what it means.
    pub(crate) nickname: Option<&'static str>,
    /// Seconds first; with none of them the text has five fields.
    pub(crate) fields: [Vec<Item>; 6],
    pub(crate) plus: bool,
    pub(crate) zone: &'static str,
    pub(crate) day_match: DayMatch,
    pub(crate) dst_gap: DstGap,
    pub(crate) dst_overlap: DstOverlap,
}

impl Reference {
    /// The text that a user would write.
    pub(crate) fn text(&self) -> String {
        if let Some(nickname) = self.nickname {
            return nickname.to_owned();
        }
        let field = |items: &Vec<Item>| items.iter().map(Item::text).collect::<Vec<_>>().join(",");
        let mut fields: Vec<String> = self.fields.iter().map(field).collect();
        if self.plus {
            fields[5].insert(0, '+');
        }
        fields.join(" ").trim_start().to_owned()
    }

    /// Whether the wall clock at a second matches, whatever time changes make of it.
    pub(crate) fn matches_at(&self, second: i64) -> bool {
        self.matches(zone(self.zone).to_datetime(timestamp(second)))
    }

    /// The nominal seconds in (`after`, `until`], and how they stand to time changes.
    pub(crate) fn judged(&self, after: i64, until: i64) -> Vec<(i64, Note)> {
        let zone = zone(self.zone);
        let mut before = zone.to_datetime(timestamp(after));
        let judge = |second| {
            let here = zone.to_datetime(timestamp(second));
            let skipped = here.duration_since(before).as_secs() - 1;
            before = here;
            Some((second, self.judge(&zone, second, here, skipped)?))
        };
        (after + 1..=until).filter_map(judge).collect()
    }

    /// What a second is, at which the wall shows `here`, having skipped so many seconds since the one before.
    fn judge(&self, zone: &TimeZone, second: i64, here: DateTime, skipped: i64) -> Option<Note> {
        let pass = self.matches(here).then(|| pass(zone, second)).filter(|pass| self.takes(*pass));
        // The first second after a gap takes what fell into it.
        let run_after = !self.wildcard() && self.dst_gap == DstGap::RunAfter;
        pass.or_else(|| {
            let missed = |back| self.matches(here - jiff::SignedDuration::from_secs(back));
            let gap = run_after && skipped > 0 && skipped <= 3 * 3600;
            (gap && (1..=skipped).any(missed)).then_some(Note::MovedFromGap)
        })
    }

    fn wildcard(&self) -> bool {
        self.fields[..3].iter().any(|items| starred(items))
    }

    /// Whether this pass of a wall that exists twice counts.
    fn takes(&self, pass: Note) -> bool {
        match (pass, self.dst_overlap) {
            _ if self.wildcard() => true,
            (Note::FirstPass, DstOverlap::Second) | (Note::SecondPass, DstOverlap::First) => false,
            _ => true,
        }
    }

    fn matches(&self, at: DateTime) -> bool {
        let [second, minute, hour, date, month, weekday] = &self.fields;
        let any = |items: &Vec<Item>, value: i8, low| items.iter().any(|item| item.has(value as u32, low));
        let on_the_minute = second.is_empty() && at.second() == 0;
        let by_date = date.iter().any(|item| item.has_date(at));
        let by_weekday = weekday.iter().any(|item| item.has_weekday(at));
        let both = self.plus || self.day_match == DayMatch::All || starred(date) || starred(weekday);
        (on_the_minute || any(second, at.second(), 0))
            && any(minute, at.minute(), 0)
            && any(hour, at.hour(), 0)
            && any(month, at.month(), 1)
            && if both { by_date && by_weekday } else { by_date || by_weekday }
    }
}

/// Which pass of its wall a second is in; a jump of more than three hours makes no passes.
///
/// Found by looking for the other second that shows the same wall. jiff's own answer (1.0.2) is wrong where the listed
/// changes of a zone end with one that changes nothing (Nuuk, October 2023): it finds an overlap that never was.
fn pass(zone: &TimeZone, second: i64) -> Note {
    const FAR: i64 = 3 * 3600;
    let offset = |second| i64::from(zone.to_offset(timestamp(second)).seconds());
    let here = offset(second);
    let shown_at = |other: i64| other + offset(other) == second + here;
    let is_pass = |distance: i64, other: i64| (1..=FAR).contains(&distance) && shown_at(other);
    let after = zone.following(timestamp(second)).map(|change| change.timestamp().as_second());
    let before = zone.preceding(timestamp(second + 1)).map(|change| change.timestamp().as_second());
    let comes_again = after.take_while(|change| *change <= second + FAR).any(|change| {
        let distance = here - offset(change);
        is_pass(distance, second + distance)
    });
    let has_been = before.take_while(|change| *change > second - FAR).any(|change| {
        let distance = offset(change - 1) - here;
        is_pass(distance, second - distance)
    });
    match (comes_again, has_been) {
        (_, true) => Note::SecondPass,
        (true, _) => Note::FirstPass,
        _ => Note::Normal,
    }
}

fn starred(items: &[Item]) -> bool {
    matches!(items.first(), Some(Item::Every | Item::Any | Item::Step(_)))
}

impl Item {
    fn text(&self) -> String {
        match self {
            Self::Every => "*".to_owned(),
            Self::Step(step) => format!("*/{step}"),
            Self::One(value) => value.to_string(),
            Self::Range(low, high) => format!("{low}-{high}"),
            Self::Stepped(low, high, step) => format!("{low}-{high}/{step}"),
            Self::Any => "?".to_owned(),
            Self::Named(name, _) => (*name).to_owned(),
            Self::Last => "L".to_owned(),
            Self::LastWeekday => "LW".to_owned(),
            Self::Nearest(day) => format!("{day}W"),
            Self::LastOf(weekday) => format!("{weekday}L"),
            Self::Nth(weekday, nth) => format!("{weekday}#{nth}"),
        }
    }

    fn has(&self, value: u32, low: u32) -> bool {
        match *self {
            Self::Every | Self::Any => true,
            Self::Step(step) => (value - low).is_multiple_of(step),
            Self::One(only) | Self::Named(_, only) => value == only,
            Self::Range(from, to) => (from..=to).contains(&value),
            Self::Stepped(from, to, step) => {
                (from..=to).contains(&value) && (value - from).is_multiple_of(step)
            }
            _ => false,
        }
    }

    fn has_date(&self, at: DateTime) -> bool {
        let (day, last) = (at.day() as u32, at.days_in_month() as u32);
        match *self {
            Self::Last => day == last,
            Self::LastWeekday => nearest(at, last) == day,
            Self::Nearest(wanted) => wanted <= last && nearest(at, wanted) == day,
            plain => plain.has(day, 1),
        }
    }

    fn has_weekday(&self, at: DateTime) -> bool {
        let weekday = at.weekday().to_sunday_zero_offset() as u32;
        let (day, last) = (at.day() as u32, at.days_in_month() as u32);
        match *self {
            Self::LastOf(wanted) => wanted % 7 == weekday && day + 7 > last,
            Self::Nth(wanted, nth) => wanted % 7 == weekday && day.div_ceil(7) == nth,
            plain => {
                plain.has(weekday, 0) || weekday == 0 && !matches!(plain, Self::Step(_)) && plain.has(7, 0)
            }
        }
    }
}

/// The day from Monday to Friday nearest to a day of the month of `at`, found by trying the nearest first.
fn nearest(at: DateTime, day: u32) -> u32 {
    let workday = |day: i32| {
        let date = (1..=i32::from(at.days_in_month()))
            .contains(&day)
            .then(|| at.date().with().day(day as i8).build());
        date.is_some_and(|date| !matches!(date.unwrap().weekday().to_sunday_zero_offset(), 0 | 6))
    };
    let day = day as i32;
    [day, day - 1, day + 1, day + 2, day - 2].into_iter().find(|day| workday(*day)).unwrap() as u32
}

pub(crate) fn zone(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).expect(name)
}

fn timestamp(second: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(second).expect("in range")
}

/// The seconds since 1900 at which the offset of a zone changes, up to 2060.
pub(crate) fn changes(name: &str) -> Vec<i64> {
    let zone = zone(name);
    let start = timestamp(-2_208_988_800);
    zone.following(start)
        .map(|change| change.timestamp().as_second())
        .take_while(|second| *second < 2_840_140_800)
        .collect()
}
