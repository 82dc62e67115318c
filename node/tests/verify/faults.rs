//! Faults that are planted into an exported ledger: each is found, and named by what it is.

use campanile::wire::time::Instant;
use campanile::wire::verify::Verdict;
use campanile_core::event::{Event, Row as CoreRow, SkipReason};
use campanile_core::firing::{FiringId, Kind};
use campanile_core::id::{Revision, Run, Uid};
use campanile_core::time::{Span, Timestamp};
use campanile_core::verify::Scope;
use campanile_storage::ledger::Row;

use crate::forger::Forger;
use crate::story::{Story, read, with};
use crate::{export, verdict};

/// What is to be found.
struct Planted {
    /// By which word.
    fault: &'static str,
    /// At which instant, or at any.
    nominal: Option<Timestamp>,
    /// The place of the first row that is another one.
    from: usize,
}

/// The whole story must be accounted for, to its end.
fn to_the_end() -> Scope {
    Scope { until: Some(Story::told().end), ..Scope::default() }
}

/// The place of the `wanted`-th row that decides an instant of this schedule to fire, and the instant.
fn fired(rows: &[Row], of: Uid, wanted: usize) -> (usize, Timestamp) {
    let mut found = rows.iter().enumerate().filter_map(|(place, row)| match read(row).event {
        Event::Fired { firing, .. } if firing.uid == of => Some((place, firing.nominal)),
        _ => None,
    });
    found.nth(wanted).unwrap()
}

/// The place of the first row behind `from` for which this holds.
fn first(rows: &[Row], from: usize, wanted: impl Fn(&Event) -> bool) -> usize {
    from + rows[from..].iter().position(|row| wanted(&read(row).event)).unwrap()
}

fn assert_named(verdict: &Verdict, planted: &Planted, what: &str) {
    let nominal = planted.nominal.map(Instant);
    let named = verdict
        .offenders
        .iter()
        .any(|one| one.fault == planted.fault && (nominal.is_none() || one.nominal == nominal));
    assert!(named, "{what}: {} at {nominal:?} is not among {:#?}", planted.fault, verdict.offenders);
    assert!(!verdict.clean, "{what}");
}

type Plant = fn(&mut Vec<Row>) -> Planted;

const FAULTS: &[(&str, Plant)] = &[
    ("a firing removed", |rows| {
        let (place, nominal) = fired(rows, Story::told().uid("a/steady"), 100);
        rows.remove(place);
        Planted { fault: "missing", nominal: Some(nominal), from: place }
    }),
    ("a firing doubled", |rows| {
        let (place, nominal) = fired(rows, Story::told().uid("a/steady"), 100);
        rows.insert(place + 1, rows[place].clone());
        Planted { fault: "doubled", nominal: Some(nominal), from: place + 1 }
    }),
    ("a firing moved in time: its instant is missed", |rows| {
        let (place, nominal) = move_by(rows, Span::from_secs(3));
        Planted { fault: "missing", nominal: Some(nominal), from: place }
    }),
    ("a firing moved in time: another one is nobody's", |rows| {
        let (place, nominal) = move_by(rows, Span::from_secs(3));
        Planted { fault: "phantom", nominal: Some(nominal - Span::from_secs(3)), from: place }
    }),
    ("a firing for a paused schedule", |rows| {
        let uid = Story::told().uid("a/paused");
        let paused = first(rows, 0, |event| matches!(event, Event::Paused { uid: of, .. } if *of == uid));
        let later = first(rows, paused + 400, |event| matches!(event, Event::Fired { .. }));
        let at = read(&rows[later]).at;
        let nominal = Timestamp::from_millis(at.as_millis() / 10_000 * 10_000);
        let firing = FiringId { uid, nominal, run: Run(0) };
        let event = Event::Fired { firing, revision: Revision(1), kind: Kind::Scheduled };
        rows.insert(later, with(&rows[later], &CoreRow { at, event }));
        Planted { fault: "phantom", nominal: Some(nominal), from: later }
    }),
    ("a firing decided before its time", |rows| {
        let (place, nominal) = fired(rows, Story::told().uid("a/rest"), 20);
        let mut fact = read(&rows[place]);
        fact.at = fact.at - Span::from_secs(10);
        rows[place] = with(&rows[place], &fact);
        Planted { fault: "early", nominal: Some(nominal), from: place }
    }),
    ("a skip that counts one less", |rows| {
        let slow = Story::told().uid("b/slow");
        let place = first(rows, 1_000, |event| matches!(event, Event::Skipped { uid, .. } if *uid == slow));
        let mut fact = read(&rows[place]);
        let Event::Skipped { count, from, .. } = &mut fact.event else { unreachable!() };
        *count += 1;
        let nominal = *from;
        rows[place] = with(&rows[place], &fact);
        Planted { fault: "phantom", nominal: Some(nominal), from: place }
    }),
    ("a skip instead of a firing that never came, without its row", |rows| {
        let rest = Story::told().uid("a/rest");
        let gap = |event: &Event| matches!(event, Event::Skipped { uid, reason: SkipReason::PausedGap, .. } if *uid == rest);
        let place = first(rows, 0, gap);
        let Event::Skipped { from, .. } = read(&rows[place]).event else { unreachable!() };
        rows.remove(place);
        Planted { fault: "missing", nominal: Some(from), from: place }
    }),
    ("a lease that nobody got", |rows| {
        let begun = first(rows, 2_000, |event| matches!(event, Event::Begun { .. }));
        let Event::Begun { firing, .. } = read(&rows[begun]).event else { unreachable!() };
        rows.remove(begun);
        Planted { fault: "unbegun", nominal: Some(firing.nominal), from: begun }
    }),
    ("an end that is told twice", |rows| {
        let ended = first(rows, 2_000, |event| matches!(event, Event::Settled { .. }));
        let Event::Settled { firing, .. } = read(&rows[ended]).event else { unreachable!() };
        rows.insert(ended + 1, rows[ended].clone());
        Planted { fault: "doubled", nominal: Some(firing.nominal), from: ended + 1 }
    }),
    ("two firings of one schedule swapped", |rows| {
        let uid = Story::told().uid("a/steady");
        let ((one, earlier), (other, _)) = (fired(rows, uid, 50), fired(rows, uid, 60));
        let (first, second) = (rows[one].body.clone(), rows[other].body.clone());
        (rows[one].body, rows[other].body) = (second, first);
        Planted { fault: "doubled", nominal: Some(earlier), from: one }
    }),
    ("the order of two entries swapped", |rows| {
        let place = first(rows, 2_000, |event| matches!(event, Event::Fired { .. }));
        let begun = first(rows, place, |event| matches!(event, Event::Begun { .. }));
        let Event::Begun { firing, .. } = read(&rows[begun]).event else { unreachable!() };
        let decided =
            first(rows, 1_900, |event| matches!(event, Event::Fired { firing: of, .. } if *of == firing));
        rows.swap(decided, begun);
        Planted { fault: "phantom", nominal: Some(firing.nominal), from: decided }
    }),
];

/// The hundredth firing of the steady schedule has a later nominal; answers the one it had.
fn move_by(rows: &mut [Row], span: Span) -> (usize, Timestamp) {
    let (place, nominal) = fired(rows, Story::told().uid("a/steady"), 100);
    let mut fact = read(&rows[place]);
    let Event::Fired { firing, .. } = &mut fact.event else { unreachable!() };
    firing.nominal = nominal - span;
    rows[place] = with(&rows[place], &fact);
    (place, nominal)
}

#[test]
fn each_planted_fault_is_found_and_named_however_well_it_is_hidden() {
    for (what, plant) in FAULTS {
        let mut rows = Story::told().rows.clone();
        let planted = plant(&mut rows);
        for forger in Forger::ALL {
            let what = format!("{what}, {forger:?}");
            let forged = forger.hide(rows.clone());
            let from = forged[planted.from].position.to_string();
            let verdict = verdict(export(&forged), to_the_end());
            assert_named(&verdict, &planted, &what);
            let chain = &verdict.chain;
            match forger {
                Forger::Clumsy => {
                    let broken = chain.broken.as_ref().unwrap();
                    assert_eq!(broken.position, Some(from), "{what}: {}", broken.why);
                }
                Forger::Careful => {
                    let broken = chain.broken.as_ref().unwrap();
                    assert!(broken.why.contains("states that the hash"), "{what}: {}", broken.why);
                }
                Forger::Perfect => assert!(chain.ok, "{what}: {:?}", chain.broken),
            }
        }
    }
}

#[test]
fn the_last_hundred_rows_cut_off_show_however_the_end_is_made() {
    let story = Story::told();
    let whole = export(&story.rows);
    let cut = &story.rows[..story.rows.len() - 100];
    // The bytes end: whatever is left of the file.
    let short = verdict(whole[..whole.len() - 4_000].to_vec(), Scope::default());
    let why = short.chain.broken.as_ref().unwrap().why.clone();
    assert!(!short.clean && why.contains("cut off"), "{why}");
    // An end is made behind the rows that are left: what was due by now is missing.
    let ended = verdict(export(cut), to_the_end());
    assert!(ended.chain.ok && ended.missing > 0, "{ended:#?}");
    assert!(
        ended
            .offenders
            .iter()
            .any(|one| one.fault == "missing" && one.schedule.as_deref() == Some("a/steady"))
    );
}

#[test]
fn a_byte_that_flips_is_named_with_the_row_before_it() {
    let story = Story::told();
    let whole = export(&story.rows);
    for place in (whole.len() / 7..whole.len()).step_by(whole.len() / 7) {
        let mut flipped = whole.clone();
        flipped[place] ^= 0x10;
        let verdict = verdict(flipped, Scope::default());
        let why = verdict.chain.broken.as_ref().unwrap().why.clone();
        assert!(!verdict.clean && why.contains("at byte"), "at {place}: {why}");
    }
    // The checksums made anew over it: the chain names the very row, and that it cannot be read if it cannot.
    let mut rows = story.rows.clone();
    let mut body = rows[1_234].body.to_vec();
    body[0] ^= 0x10;
    rows[1_234].body = body.into();
    let named = Some(rows[1_234].position.to_string());
    for forger in [Forger::Clumsy, Forger::Careful] {
        let rows = if forger == Forger::Clumsy { rows.clone() } else { rechained_blindly(&rows) };
        let verdict = verdict(export(&rows), Scope::default());
        let unreadable = verdict.offenders.iter().find(|one| one.detail.contains("cannot be read"));
        assert_eq!(unreadable.unwrap().position, named, "{forger:?}");
    }
}

/// A chain over rows that need not be readable.
fn rechained_blindly(rows: &[Row]) -> Vec<Row> {
    Forger::Careful.hide(rows.to_vec())
}
