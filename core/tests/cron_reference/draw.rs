//! Random texts and options, of all that the dialect has.
//!
//! Must not draw what is refused, but for what never fires.

use campanile_core::cron::{DayMatch, DstGap, DstOverlap};
use proptest::prelude::*;

use super::{Item, Reference};

fn field(low: u32, high: u32) -> impl Strategy<Value = Vec<Item>> {
    let one = move || (low..=high).prop_map(Item::One);
    let range = move || (low..=high, low..=high).prop_map(|(a, b)| Item::Range(a.min(b), a.max(b)));
    // A step is at most as wide as its field, and 7 is the eighth name of a weekday.
    let width = if high == 7 { 7 } else { high - low + 1 };
    let step = move || (1..=width).prop_map(Item::Step);
    let stepped = move || {
        (low..=high, low..=high, 1..=width).prop_map(|(a, b, step)| Item::Stepped(a.min(b), a.max(b), step))
    };
    prop_oneof![
        3 => Just(vec![Item::Every]),
        2 => step().prop_map(|item| vec![item]),
        3 => one().prop_map(|item| vec![item]),
        1 => stepped().prop_map(|item| vec![item]),
        // The edges of hours and minutes are the edges of gaps and overlaps.
        2 => prop_oneof![Just(low), Just(high)].prop_map(|edge| vec![Item::One(edge)]),
        3 => prop::collection::vec(prop_oneof![4 => one(), 4 => range(), 1 => stepped(), 1 => step()], 1..4),
    ]
}

fn hours() -> impl Strategy<Value = Vec<Item>> {
    // Most time changes are at night.
    let night = prop::collection::vec((0_u32..5).prop_map(Item::One), 1..4);
    let small = (0_u32..3, 1_u32..4).prop_map(|(from, length)| vec![Item::Range(from, from + length)]);
    prop_oneof![2 => night, 2 => small, 1 => Just(vec![Item::One(23)]), 2 => field(0, 23)]
}

fn dates() -> impl Strategy<Value = Vec<Item>> {
    let marked = prop_oneof![
        Just(Item::Last),
        Just(Item::LastWeekday),
        (1_u32..=31).prop_map(Item::Nearest),
        (1_u32..=31).prop_map(Item::One)
    ];
    prop_oneof![
        8 => Just(vec![Item::Every]),
        1 => Just(vec![Item::Any]),
        3 => field(1, 31),
        2 => prop::collection::vec(marked, 1..3),
    ]
}

fn months() -> impl Strategy<Value = Vec<Item>> {
    let names =
        [("jan", 1), ("March", 3), ("MAR", 3), ("apr", 4), ("SEPTEMBER", 9), ("Oct", 10), ("nov", 11)];
    let named = prop::sample::select(names.to_vec()).prop_map(|(name, month)| Item::Named(name, month));
    prop_oneof![4 => Just(vec![Item::Every]), 1 => field(1, 12), 1 => prop::collection::vec(named, 1..4)]
}

fn weekdays() -> impl Strategy<Value = Vec<Item>> {
    let names = [("sun", 0), ("Sunday", 0), ("MON", 1), ("friday", 5), ("Sat", 6)];
    let marked = prop_oneof![
        (0_u32..=7).prop_map(Item::LastOf),
        (0_u32..=7, 1_u32..=5).prop_map(|(weekday, nth)| Item::Nth(weekday, nth)),
        (0_u32..=7).prop_map(Item::One),
        prop::sample::select(names.to_vec()).prop_map(|(name, weekday)| Item::Named(name, weekday)),
    ];
    prop_oneof![
        8 => Just(vec![Item::Every]),
        1 => Just(vec![Item::Any]),
        3 => field(0, 7),
        2 => prop::collection::vec(marked, 1..3),
    ]
}

/// The nicknames, and what they mean.
fn nicknames() -> impl Strategy<Value = (&'static str, [Vec<Item>; 6])> {
    let [zero, one, every] = [vec![Item::One(0)], vec![Item::One(1)], vec![Item::Every]];
    let fields = move |restricted: usize| {
        let of = |field: usize, value: &Vec<Item>| {
            if field <= restricted { value.clone() } else { every.clone() }
        };
        [vec![], zero.clone(), of(1, &zero), of(2, &one), of(3, &one), every.clone()]
    };
    let weekly = {
        let mut weekly = fields(1);
        weekly[5] = vec![Item::One(0)];
        weekly
    };
    prop::sample::select(vec![
        ("@hourly", fields(0)),
        ("@daily", fields(1)),
        ("@Midnight", fields(1)),
        ("@weekly", weekly),
        ("@monthly", fields(2)),
        ("@YEARLY", fields(3)),
        ("@annually", fields(3)),
    ])
}

/// A random text and options; the zone is the caller's.
pub(crate) fn spec() -> impl Strategy<Value = Reference> {
    let seconds = prop_oneof![4 => Just(vec![]), 2 => Just(vec![Item::One(0)]), 1 => field(0, 59)];
    // What a gap skips and what stands at its end are often the same minute.
    let minutes = prop_oneof![1 => Just(vec![Item::One(0)]), 3 => field(0, 59)];
    let fields = (seconds, minutes, hours(), dates(), months(), weekdays()).prop_map(
        |(second, minute, hour, date, month, weekday)| [second, minute, hour, date, month, weekday],
    );
    let text = prop_oneof![
        30 => (fields, prop::bool::weighted(0.1)).prop_map(|(fields, plus)| (None, fields, plus)),
        1 => nicknames().prop_map(|(nickname, fields)| (Some(nickname), fields, false)),
    ];
    let options = (
        prop_oneof![3 => Just(DayMatch::Any), 1 => Just(DayMatch::All)],
        prop_oneof![3 => Just(DstGap::RunAfter), 1 => Just(DstGap::Skip)],
        prop_oneof![2 => Just(DstOverlap::First), 1 => Just(DstOverlap::Second), 1 => Just(DstOverlap::Both)],
    );
    (text, options).prop_map(|((nickname, fields, plus), (day_match, dst_gap, dst_overlap))| Reference {
        nickname,
        fields,
        plus,
        zone: "UTC",
        day_match,
        dst_gap,
        dst_overlap,
    })
}
