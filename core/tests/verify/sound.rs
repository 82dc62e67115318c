//! Worlds: what the machine does is found clean; a decision that is taken out, doubled or moved is found.

use std::collections::BTreeMap;

use campanile_core::event::{Event, Row, SkipReason};
use campanile_core::firing::Kind;
use campanile_core::id::LogIndex;
use campanile_core::plan::Options;
use campanile_core::time::{Span, Timestamp};
use campanile_core::verify::{Scope, Verdict, Verifier};

use crate::ledger::{Ledger, hear, ledger_of, verify, verify_in};
use crate::wide::wide;
use crate::world::{Dice, World, history};

/// The seeds of this run: a fixed share, more by `SEEDS`, one by `SEED`.
fn seeds(usual: u64) -> Vec<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<u64>().ok());
    match (number("SEED"), number("SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, count) => (1..=count.unwrap_or(usual)).collect(),
    }
}

fn lived(seed: u64) -> Ledger {
    // Every other cluster takes a moment for an outage, and lets little catch up.
    let hasty = Options {
        failover_grace: Span::from_secs(1),
        max_catch_up: 2,
        instants_per_tick: 40,
        ..Options::default()
    };
    let options = if seed.is_multiple_of(2) { Options::default() } else { hasty };
    let mut world = World::rough(seed);
    world.options = options;
    let mut dice = Dice::of(seed);
    world.live(&if seed.is_multiple_of(4) { history(&mut dice) } else { wide(&mut dice) });
    ledger_of(&world)
}

fn assert_clean(seed: u64, verdict: &Verdict) {
    assert!(verdict.is_clean(), "SEED={seed}: {:#?}", verdict.offenders);
    assert_eq!(verdict.counts.unverified, 0, "SEED={seed}: all of it can be judged");
}

#[test]
fn whatever_a_world_lives_through_is_found_clean_and_a_row_amiss_is_found() {
    let mut reasons = BTreeMap::new();
    let (mut tried, mut unseen) = (0, 0);
    for seed in seeds(60) {
        println!("SEED={seed}");
        let ledger = lived(seed);
        let verdict = verify(&ledger);
        assert_clean(seed, &verdict);
        assert_clean(seed, &verify_in(Scope::default(), &ledger));
        assert_eq!(verdict.counts.pending, 0, "SEED={seed}: the world ticked to its end");
        verdict
            .counts
            .skipped
            .iter()
            .for_each(|(reason, count)| *reasons.entry(*reason).or_insert(0) += count);
        let mut dice = Dice::of(seed ^ 0xbad);
        for _ in 0..8 {
            tried += 1;
            unseen += u64::from(!is_found(seed, &ledger, &mut dice));
        }
    }
    println!("{reasons:?}; {unseen} of {tried} were beyond what rows can tell");
    assert!(reasons.len() == 6 || seeds(60).len() < 20, "only {reasons:?} were skipped");
    assert!(unseen * 20 <= tried, "{unseen} of {tried} changes cannot be seen");
}

/// Changes one decision at random; whether that can be seen at all.
fn is_found(seed: u64, ledger: &Ledger, dice: &mut Dice) -> bool {
    let decisions: Vec<usize> = (0..ledger.len()).filter(|place| is_decision(&ledger[*place].1)).collect();
    let Some(place) = (!decisions.is_empty()).then(|| decisions[dice.below(decisions.len() as u64) as usize])
    else {
        return true;
    };
    let mut other = ledger.clone();
    let how = match dice.below(3) {
        0 => {
            other.remove(place);
            "taken out"
        }
        1 => {
            let later = place + dice.below((other.len() - place) as u64) as usize;
            let (index, at) = (other[later].0, other[later].1.at);
            let copy = Row { at, ..other[place].1.clone() };
            other.insert(later + 1, (index, copy));
            "doubled"
        }
        _ => {
            move_by(&mut other[place].1, Span::from_millis(1_000 * dice.below(3) + 1));
            "moved"
        }
    };
    if !verify(&other).is_clean() {
        return true;
    }
    let is_alone = how == "taken out" && says_what_no_other_does(ledger, place);
    assert!(is_alone, "SEED={seed}: {how}, and not found: {place} {:?}", ledger[place]);
    false
}

fn is_decision(row: &Row) -> bool {
    matches!(row.event, Event::Fired { kind: Kind::Scheduled | Kind::CatchUp, .. } | Event::Skipped { .. })
}

fn move_by(row: &mut Row, span: Span) {
    match &mut row.event {
        Event::Fired { firing, .. } => firing.nominal = firing.nominal - span,
        Event::Skipped { from, to, .. } => (*from, *to) = (*from - span, *to - span),
        _ => {}
    }
}

/// Two kinds of skips say what no other row does. One stands last before a rule pauses or parks its schedule, which then
/// decides nothing up to an edit, a removal or the end: without the row, its instants fall into the pause. The other is the
/// pause of a schedule that has fired as often as it may: of the rest nothing has to be said.
fn says_what_no_other_does(ledger: &[(LogIndex, Row)], place: usize) -> bool {
    let row = &ledger[place].1;
    let Event::Skipped { uid, reason, .. } = row.event else { return false };
    let is_of_it = |row: &&Row| row.event.uid() == Some(uid);
    let before = ledger[..place].iter().map(|(_, row)| row).filter(is_of_it);
    let mut most = before.filter_map(|row| match &row.event {
        Event::Defined { definition, .. } => Some(definition.max_firings),
        _ => None,
    });
    if reason == SkipReason::PausedGap && most.next_back().flatten().is_some() {
        return true;
    }
    let mut after = ledger[place + 1..].iter().map(|(_, row)| row).filter(is_of_it);
    let next = after
        .find(|row| is_decision(row) || matches!(row.event, Event::Paused { .. } | Event::Parked { .. }));
    next.is_some_and(|row| !is_decision(row))
}

#[test]
fn a_ledger_that_begins_where_everything_is_told_again_is_understood() {
    let mut began = 0;
    for seed in seeds(60) {
        println!("SEED={seed}");
        let ledger = lived(seed);
        let begins = |(_, row): &(LogIndex, Row)| matches!(row.event, Event::Restating { .. });
        for place in (1..ledger.len()).filter(|place| begins(&ledger[*place])) {
            began += 1;
            let mut verifier = Verifier::new(Scope { patience: Span::ZERO, ..Scope::default() });
            verifier.begins_midway();
            hear(&mut verifier, &ledger[place..]);
            let verdict = verifier.finish();
            assert!(verdict.is_clean(), "SEED={seed} from {place}: {:#?}", verdict.offenders);
        }
    }
    assert!(began > 0 || seeds(60).len() < 20, "nothing was told again in any of these lives");
}

#[test]
fn what_a_scope_leaves_out_is_in_no_count() {
    let ledger = lived(5);
    let all = verify(&ledger).counts;
    let middle = ledger[ledger.len() / 2].1.at;
    let with = |after, until| {
        let scope = Scope { after, until, patience: Span::ZERO, ..Scope::default() };
        verify_in(scope, &ledger)
    };
    let (first, second) = (with(None, Some(middle)), with(Some(middle), None));
    assert_clean(5, &first);
    assert_clean(5, &second);
    assert_eq!(first.counts.decided + second.counts.decided, all.decided);
    assert_eq!(first.counts.fired + second.counts.fired, all.fired);
    assert!(first.until <= middle && first.counts.decided > 0 && second.counts.decided > 0);
    let nobody = verify_in(Scope { namespace: Some("nobody".into()), ..Scope::default() }, &ledger);
    assert_clean(5, &nobody);
    assert_eq!((nobody.counts.schedules, nobody.counts.decided, nobody.counts.undelivered), (0, 0, 0));
    assert!(nobody.until > Timestamp::EPOCH);
}
