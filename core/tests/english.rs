//! Two lists of specs and exclusions with the same text have the same next 1,000 instants.
//!
//! Cron texts and rules have their own tests of this (`cron_english`, `rrule_properties`); here they meet intervals, single
//! instants, unions and exclusions. `SEED=n` draws another set.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout)]

use std::collections::BTreeMap;

use campanile_core::calendar::parse_date;
use campanile_core::cron::{DayMatch, DstGap, DstOverlap, parse_instant};
use campanile_core::english::describe;
use campanile_core::series::{NoCalendars, Series, Texts};
use campanile_core::spec::{CronSpec, Exclusion, RuleSpec, Spec, Window};
use campanile_core::time::{Span, Timestamp};

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

const ZONES: [&str; 6] =
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "US/Central", "Canada/Saskatchewan"];

fn cron(dice: &mut Dice) -> CronSpec {
    CronSpec {
        text: dice
            .of(&[
                "30 2 * * *",
                "30 2 * * MON-SUN",
                "30 2 1-31 * *",
                "*/15 1,2 * * *",
                "0 0 12 * * *",
                "0 12 * * *",
            ])
            .into(),
        time_zone: dice.of(&ZONES).into(),
        day_match: DayMatch::Any,
        dst_gap: dice.of(&[DstGap::RunAfter, DstGap::Skip]),
        dst_overlap: dice.of(&[DstOverlap::First, DstOverlap::Second, DstOverlap::Both]),
    }
}

fn spec(dice: &mut Dice) -> Spec {
    match dice.below(5) {
        0 | 1 => Spec::Cron(Box::new(cron(dice))),
        2 => Spec::Every {
            every: Span::from_secs(dice.of(&[60, 3_600, 7_200, 86_400, 90_000])),
            anchor: Timestamp::from_millis(dice.of(&[0, 250, 60_000, 7_200_000])),
        },
        3 => Spec::At(parse_instant(dice.of(&["2026-12-25T10:00:00Z", "2026-12-25T10:00:00.5Z"])).unwrap()),
        _ => Spec::Rule(Box::new(RuleSpec {
            rule: dice.of(&["FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU", "FREQ=WEEKLY"]).into(),
            start: dice.of(&["2026-12-01T12:00:00", "2026-12-01T02:30:00"]).into(),
            time_zone: dice.of(&ZONES).into(),
            dst_gap: dice.of(&[DstGap::RunAfter, DstGap::Skip]),
            dst_overlap: dice.of(&[DstOverlap::First, DstOverlap::Second, DstOverlap::Both]),
        })),
    }
}

fn exclusion(dice: &mut Dice) -> Exclusion {
    let zone = |dice: &mut Dice| dice.of(&[None, Some("Asia/Tokyo")]).map(Into::into);
    match dice.below(3) {
        0 => Exclusion::Cron(Box::new(CronSpec {
            text: dice.of(&["* * 25 12 *", "0 0 25 12 *", "0 0 0 25 12 *", "* 12 * * *"]).into(),
            ..cron(dice)
        })),
        1 => Exclusion::Dates {
            dates: (0..dice.of(&[1, 2, 20])).map(|day| parse_date("2026-12-24").unwrap() + day).collect(),
            time_zone: zone(dice),
        },
        _ => Exclusion::Dates { dates: [parse_date("2026-12-25").unwrap()].into(), time_zone: zone(dice) },
    }
}

/// Specs and exclusions.
type Lists = (Vec<Spec>, Vec<Exclusion>);

#[test]
fn two_lists_with_the_same_text_have_the_same_next_thousand_instants() {
    let seed = std::env::var("SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    println!("seed {seed}");
    let (mut dice, mut texts) = (Dice(seed), Texts::default());
    let mut known: BTreeMap<String, Vec<Lists>> = BTreeMap::new();
    for _ in 0..6_000 {
        let specs: Vec<Spec> = (0..1 + dice.below(2)).map(|_| spec(&mut dice)).collect();
        let exclude: Vec<Exclusion> = (0..dice.below(2)).map(|_| exclusion(&mut dice)).collect();
        let text = describe(&specs, &exclude, &mut texts);
        let family = known.entry(text).or_default();
        if !family.contains(&(specs.clone(), exclude.clone())) {
            family.push((specs, exclude));
        }
    }
    let after = parse_instant("2026-12-01T00:00:00Z").unwrap();
    let mut compared = 0;
    for (text, family) in known.iter().filter(|(_, family)| family.len() > 1) {
        let instants = |(specs, exclude): &Lists| {
            let mut texts = Texts::default();
            let series =
                Series::of_specs(specs, exclude, Window::default(), &NoCalendars, &mut texts).unwrap();
            let all = std::iter::successors(series.next(after), |found| series.next(found.at));
            all.take(1_000).map(|found| found.at).collect::<Vec<_>>()
        };
        let first = instants(&family[0]);
        for other in &family[1..] {
            compared += 1;
            assert_eq!(first, instants(other), "{text:?}: {:?} and {other:?}", family[0]);
        }
    }
    assert!(compared > 50, "only {compared} pairs share a text");
}
