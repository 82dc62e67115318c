//! Two specs that are told the same in English have the same next 1,000 instants, from wherever one asks.
//!
//! The seed is printed; `SEED=` draws the same again, `CASES=` draws more families of specs.
#![allow(clippy::expect_used, clippy::print_stderr, reason = "a test that says what it drew")]

mod seed;

use std::collections::BTreeMap;

use campanile_core::cron::{Cron, CronText, DayMatch, DstGap, DstOverlap, parse_instant};
use campanile_core::time::{Span, Timestamp};
use seed::seed_and_cases;

/// Zones with every kind of change, with none, and some that share the last part of their names.
const ZONES: [&str; 20] = [
    "Europe/Berlin",
    "Europe/Paris",
    "America/New_York",
    "US/Eastern",
    "Canada/Eastern",
    "US/Central",
    "Canada/Central",
    "Australia/West",
    "Brazil/West",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "America/Nuuk",
    "Africa/Casablanca",
    "America/Sao_Paulo",
    "America/Argentina/Buenos_Aires",
    "America/Buenos_Aires",
    "Asia/Tokyo",
    "UTC",
    "Etc/UTC",
    "Etc/GMT+5",
];

/// Spellings of one field that are close to each other, or the same.
const SECONDS: [&[&str]; 3] = [&["", "0 "], &["* ", "*/1 ", "0-59 "], &["*/30 ", "0,30 ", "0 ", "30 "]];
const MINUTES: [&[&str]; 6] = [
    &["*", "*/1", "0-59", "0-58"],
    &["*/15", "0,15,30,45", "0-59/15", "0-45/15", "0-44/15"],
    &["0", "*/60"],
    &["30", "30-30", "23"],
    &["*/7", "0-59/7", "0,7,14,21,28,35,42,49,56", "0-49/7"],
    &["0,1,59", "0-1,59", "0,59"],
];
const HOURS: [&[&str]; 6] = [
    &["*", "0-23", "*/1", "0-22"],
    &["2", "2-2"],
    &["1", "0,1", "1,2"],
    &["*/2", "0-23/2", "0-20/2", "0-22/2"],
    &["9-17", "9,10,11,12,13,14,15,16,17", "9-17/2"],
    &["0", "23", "0,23"],
];
const DATES: [&[&str]; 5] = [
    &["*", "*", "?", "1-31", "*/1", "1-30,31"],
    &["13", "13-13", "13W"],
    &["L", "31", "LW", "28-31"],
    &["1,15", "1,15,L", "1W,15"],
    &["*/2", "1-31/2"],
];
const MONTHS: [&[&str]; 3] = [&["*", "*", "1-12", "*/1"], &["3", "MAR", "3,10"], &["1-11", "12", "2,4"]];
const WEEKDAYS: [&[&str]; 5] = [
    &["*", "*", "?", "0-6", "1-7", "+*"],
    &["5", "+5", "FRI", "5L", "5#1"],
    &["0", "7", "SUN", "SUNL", "+7"],
    &["1-5", "MON-FRI", "1,2,3,4,5", "+1-5"],
    &["0,6", "6-7", "SAT,SUN"],
];

/// A spec that owns its text.
#[derive(Debug, Clone)]
struct Spec {
    text: String,
    zone: &'static str,
    day_match: DayMatch,
    dst_gap: DstGap,
    dst_overlap: DstOverlap,
}

impl Spec {
    fn parse(&self) -> Option<Cron> {
        let Self { text, zone, day_match, dst_gap, dst_overlap } = self;
        let spec = CronText {
            text,
            time_zone: zone,
            day_match: *day_match,
            dst_gap: *dst_gap,
            dst_overlap: *dst_overlap,
        };
        match Cron::parse(&spec) {
            Ok(cron) => Some(cron),
            Err(error) if error.detail.contains("never fires") => None,
            Err(error) => panic!("{text}: {error:?}"),
        }
    }
}

/// splitmix64: small, and every seed is a good one.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    fn pick<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len() as u64) as usize]
    }
}

/// Some specs that are spelled alike: from one set of spellings in each field, with any options.
fn family(dice: &mut Dice) -> Vec<Spec> {
    let fields = [&SECONDS[..], &MINUTES, &HOURS, &DATES, &MONTHS, &WEEKDAYS].map(|sets| dice.pick(sets));
    let zones = [dice.pick(&ZONES), dice.pick(&ZONES)];
    (0..24)
        .map(|_| {
            let [second, minute, hour, date, month, weekday] = fields.map(|spellings| dice.pick(spellings));
            Spec {
                text: format!("{second}{minute} {hour} {date} {month} {weekday}"),
                zone: dice.pick(&zones),
                day_match: dice.pick(&[DayMatch::Any, DayMatch::Any, DayMatch::All]),
                dst_gap: dice.pick(&[DstGap::RunAfter, DstGap::Skip]),
                dst_overlap: dice.pick(&[DstOverlap::First, DstOverlap::Second, DstOverlap::Both]),
            }
        })
        .collect()
}

fn instants(cron: &Cron, after: Timestamp) -> Vec<Timestamp> {
    std::iter::successors(cron.next(after), |found| cron.next(found.at))
        .take(1000)
        .map(|found| found.at)
        .collect()
}

/// Two days before time changes, and anywhere in the next century.
fn starts(dice: &mut Dice) -> [Timestamp; 3] {
    let changes =
        ["2026-03-07T00:00:00Z", "2026-03-28T00:00:00Z", "2026-10-24T00:00:00Z", "2026-10-31T00:00:00Z"];
    let first = parse_instant("2026-01-01T00:00:00Z").expect("an instant");
    let near = parse_instant(dice.pick(&changes)).expect("an instant");
    [first, near, near + Span::from_secs(dice.below(100 * 366 * 86_400))]
}

/// How many specs had a text that another had too.
fn judge(specs: &[Spec], starts: &[Timestamp]) -> usize {
    let mut told: BTreeMap<String, Vec<(&Spec, Cron)>> = BTreeMap::new();
    for spec in specs {
        if let Some(cron) = spec.parse() {
            told.entry(cron.describe()).or_default().push((spec, cron));
        }
    }
    let mut shared = 0;
    for (english, specs) in told.iter().filter(|(_, specs)| specs.len() > 1) {
        for start in starts {
            let expected = instants(&specs[0].1, *start);
            for (spec, cron) in &specs[1..] {
                assert!(
                    instants(cron, *start) == expected,
                    "{english:?} is said of\n{:?}\n{spec:?}",
                    specs[0].0
                );
            }
        }
        shared += specs.len();
    }
    shared
}

#[test]
fn specs_that_are_told_the_same_have_the_same_next_thousand_instants() {
    let (seed, families) = seed_and_cases("cron_english", 40);
    let mut dice = Dice(seed);
    let mut shared = 0;
    for _ in 0..families {
        let specs = family(&mut dice);
        shared += judge(&specs, &starts(&mut dice));
    }
    eprintln!("{shared} specs had a text that another had too");
    assert!(shared > families as usize, "too few to mean anything");
}

#[test]
fn texts_that_others_tell_wrongly_are_told_apart() {
    let specs: Vec<Spec> = [
        ("0 0 13 * 5", DayMatch::Any),
        ("0 0 13 * 5", DayMatch::All),
        ("0 0 13 * +5", DayMatch::Any),
        ("0 0 13 * *", DayMatch::Any),
        ("0 0 * * 5", DayMatch::Any),
        ("0 0 * * 5", DayMatch::All),
        ("23 0-20/2 * * *", DayMatch::Any),
        ("23 */2 * * *", DayMatch::Any),
        ("23 0-22/2 * * *", DayMatch::Any),
        ("23 * * * *", DayMatch::Any),
    ]
    .into_iter()
    .flat_map(|(text, day_match)| {
        ["UTC", "Europe/Berlin"].map(|zone| Spec {
            text: text.to_owned(),
            zone,
            day_match,
            dst_gap: DstGap::RunAfter,
            dst_overlap: DstOverlap::First,
        })
    })
    .collect();
    judge(&specs, &[parse_instant("2026-01-01T00:00:00Z").expect("an instant")]);
    let told = |text: &str| {
        let spec = specs.iter().find(|spec| spec.text == text).and_then(Spec::parse);
        spec.map(|cron| cron.describe())
    };
    assert_eq!(
        told("0 0 13 * 5").as_deref(),
        Some("At 00:00 on day 13 of the month and also on Friday, UTC")
    );
    assert_eq!(
        told("23 0-20/2 * * *").as_deref(),
        Some("At minute 23 of hours 0, 2, 4, 6, 8, 10, 12, 14, 16, 18 and 20, UTC")
    );
}
