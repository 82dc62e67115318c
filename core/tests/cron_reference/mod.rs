//! What a cron text means, read a second time and as plainly as possible: every second is looked at, with jiff's own
//! civil types. Nothing of the searched code is used, so that an error would have to be made twice.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use proptest::prelude::*;

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
    Last,
    LastWeekday,
    Nearest(u32),
    LastOf(u32),
    Nth(u32, u32),
}

#[derive(Debug, Clone)]
pub(crate) struct Reference {
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
        let field = |items: &Vec<Item>| items.iter().map(Item::text).collect::<Vec<_>>().join(",");
        let mut fields: Vec<String> = self.fields.iter().map(field).collect();
        if self.plus {
            fields[5].insert(0, '+');
        }
        fields.join(" ")
    }

    /// The nominal seconds in (`after`, `until`].
    pub(crate) fn instants(&self, after: i64, until: i64) -> Vec<i64> {
        let zone = zone(self.zone);
        let wall = |second| zone.to_datetime(timestamp(second));
        (after + 1..=until)
            .filter(|second| {
                let here = wall(*second);
                if self.matches(here) && self.takes(&zone, *second, here) {
                    return true;
                }
                // The first second after a gap takes what fell into it.
                let seconds = here.duration_since(wall(*second - 1)).as_secs() - 1;
                let run_after = !self.wildcard() && self.dst_gap == DstGap::RunAfter;
                run_after && seconds > 0 && seconds <= 3 * 3600 && {
                    let missed = |back: i64| here - jiff::SignedDuration::from_secs(back);
                    (1..=seconds).any(|back| self.matches(missed(back)))
                }
            })
            .collect()
    }

    fn wildcard(&self) -> bool {
        self.fields[..3].iter().any(|items| starred(items))
    }

    /// Whether this pass of a wall that exists twice counts.
    fn takes(&self, zone: &TimeZone, second: i64, here: DateTime) -> bool {
        let AmbiguousOffset::Fold { before, after } = zone.to_ambiguous_timestamp(here).offset() else {
            return true;
        };
        if self.wildcard() || before.seconds() - after.seconds() > 3 * 3600 {
            return true;
        }
        let first = zone.to_offset(timestamp(second)) == before;
        match self.dst_overlap {
            DstOverlap::First => first,
            DstOverlap::Second => !first,
            DstOverlap::Both => true,
        }
    }

    fn matches(&self, at: DateTime) -> bool {
        let [second, minute, hour, date, month, weekday] = &self.fields;
        let any = |items: &Vec<Item>, value: i8, low| items.iter().any(|item| item.has(value as u32, low));
        let by_date = date.iter().any(|item| item.has_date(at));
        let by_weekday = weekday.iter().any(|item| item.has_weekday(at));
        let both = self.plus || self.day_match == DayMatch::All || starred(date) || starred(weekday);
        any(second, at.second(), 0)
            && any(minute, at.minute(), 0)
            && any(hour, at.hour(), 0)
            && any(month, at.month(), 1)
            && if both { by_date && by_weekday } else { by_date || by_weekday }
    }
}

fn starred(items: &[Item]) -> bool {
    matches!(items[0], Item::Every | Item::Step(_))
}

impl Item {
    fn text(&self) -> String {
        match self {
            Self::Every => "*".to_owned(),
            Self::Step(step) => format!("*/{step}"),
            Self::One(value) => value.to_string(),
            Self::Range(low, high) => format!("{low}-{high}"),
            Self::Last => "L".to_owned(),
            Self::LastWeekday => "LW".to_owned(),
            Self::Nearest(day) => format!("{day}W"),
            Self::LastOf(weekday) => format!("{weekday}L"),
            Self::Nth(weekday, nth) => format!("{weekday}#{nth}"),
        }
    }

    fn has(&self, value: u32, low: u32) -> bool {
        match *self {
            Self::Every => true,
            Self::Step(step) => (value - low).is_multiple_of(step),
            Self::One(only) => value == only,
            Self::Range(from, to) => (from..=to).contains(&value),
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

fn field(low: u32, high: u32) -> impl Strategy<Value = Vec<Item>> {
    let one = move || (low..=high).prop_map(Item::One);
    let range = move || (low..=high, low..=high).prop_map(|(a, b)| Item::Range(a.min(b), a.max(b)));
    prop_oneof![
        3 => Just(vec![Item::Every]),
        2 => (1..=high).prop_map(|step| vec![Item::Step(step)]),
        3 => one().prop_map(|item| vec![item]),
        // The edges of hours and minutes are the edges of gaps and overlaps.
        2 => prop_oneof![Just(low), Just(high)].prop_map(|edge| vec![Item::One(edge)]),
        3 => prop::collection::vec(prop_oneof![one(), range()], 1..4),
    ]
}

fn hours() -> impl Strategy<Value = Vec<Item>> {
    // Most time changes are at night.
    let night = prop::collection::vec((0_u32..5).prop_map(Item::One), 1..4);
    prop_oneof![2 => night, 1 => Just(vec![Item::One(23)]), 2 => field(0, 23)]
}

fn dates() -> impl Strategy<Value = Vec<Item>> {
    let marked = prop_oneof![
        Just(Item::Last),
        Just(Item::LastWeekday),
        (1_u32..=31).prop_map(Item::Nearest),
        (1_u32..=31).prop_map(Item::One)
    ];
    prop_oneof![4 => Just(vec![Item::Every]), 3 => field(1, 31), 2 => prop::collection::vec(marked, 1..3)]
}

fn weekdays() -> impl Strategy<Value = Vec<Item>> {
    let marked = prop_oneof![
        (0_u32..=7).prop_map(Item::LastOf),
        (0_u32..=7, 1_u32..=5).prop_map(|(weekday, nth)| Item::Nth(weekday, nth)),
        (0_u32..=7).prop_map(Item::One)
    ];
    prop_oneof![4 => Just(vec![Item::Every]), 3 => field(0, 7), 2 => prop::collection::vec(marked, 1..3)]
}

/// A random text and options; the zone is the caller's.
pub(crate) fn spec() -> impl Strategy<Value = Reference> {
    let seconds = prop_oneof![5 => Just(vec![Item::One(0)]), 1 => field(0, 59)];
    let months = prop_oneof![4 => Just(vec![Item::Every]), 1 => field(1, 12)];
    let fields = (seconds, field(0, 59), hours(), dates(), months, weekdays());
    let options = (
        prop_oneof![3 => Just(DayMatch::Any), 1 => Just(DayMatch::All)],
        prop_oneof![3 => Just(DstGap::RunAfter), 1 => Just(DstGap::Skip)],
        prop_oneof![2 => Just(DstOverlap::First), 1 => Just(DstOverlap::Second), 1 => Just(DstOverlap::Both)],
    );
    (fields, options, prop::bool::weighted(0.1)).prop_map(
        |((second, minute, hour, date, month, weekday), (day_match, dst_gap, dst_overlap), plus)| Reference {
            fields: [second, minute, hour, date, month, weekday],
            plus,
            zone: "UTC",
            day_match,
            dst_gap,
            dst_overlap,
        },
    )
}
