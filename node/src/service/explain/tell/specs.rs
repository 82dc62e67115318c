//! Why the specs do not name an instant, and what they name instead.

use campanile_core::cron::Note;

use super::{Case, did_not_run, dst, zone_clock};
use crate::service::explain::nominal::Outside;
use crate::service::explain::words::{by, since, when};
use crate::service::records::instant::Stood;

pub(super) fn tell(case: &Case<'_>, told: &mut Vec<String>) {
    told.push(format!("{}: {}.", did_not_run(case), why_not(case)));
    told.extend(dst(case));
    told.extend(case.in_force());
    told.push(nearest(case));
    told.extend(offer(case));
    told.extend(state(case));
}

fn why_not(case: &Case<'_>) -> String {
    if let Some((place, text)) = &case.nominal.excluded {
        return format!(
            "its specs name that instant, and the exclusion at /exclude/{place} takes it out ({text})"
        );
    }
    match case.nominal.outside {
        Some(Outside::Before(start)) => {
            format!("its specs name that instant, and its window begins only at {} (start_at)", when(start))
        }
        Some(Outside::Behind(end)) => {
            format!("its specs name that instant, and its window ended at {} (end_at)", when(end))
        }
        None => format!("that is no instant of its specs ({})", zone_clock(case)),
    }
}

fn nearest(case: &Case<'_>) -> String {
    let before = case.nominal.before.map(|found| when(found.at));
    let after = case.nominal.after.map(|found| when(found.at));
    match (before, after) {
        (Some(before), Some(after)) => {
            format!("The nearest instants are {before} before it and {after} behind it.")
        }
        (Some(before), None) => format!("The last instant of its specs is {before}."),
        (None, Some(after)) => format!("The first instant of its specs is {after}."),
        (None, None) => "Its specs name no instant at all.".into(),
    }
}

/// What was probably meant.
fn offer(case: &Case<'_>) -> Option<String> {
    if let Some(neighbour) = case.account.neighbour {
        return Some(format!(
            "In the same minute, at {}, it ran for another reason: see firing {neighbour}.",
            when(neighbour.nominal)
        ));
    }
    // One of the two that are nearest: of a schedule that has several a minute no other is meant.
    let nearest = [case.nominal.before, case.nominal.after].map(|found| found.map(|found| found.at));
    let meant = case.nominal.same_minute.filter(|meant| nearest.contains(&Some(*meant)))?;
    Some(format!("In the same minute there is {}: ask about that one.", when(meant)))
}

/// That it was paused or gone as well.
fn state(case: &Case<'_>) -> Option<String> {
    let standing = &case.account.standing;
    let who = by(standing.by.as_deref());
    match standing.state {
        Stood::Active | Stood::Deleted => None,
        state => Some(format!("Besides, it was {}{who}{}.", state.as_str(), since(standing.since))),
    }
}

/// How an instant stands to daylight saving, when that is worth a word.
pub(super) fn dst_of_nominal(case: &Case<'_>) -> Option<String> {
    let zone = &case.nominal.zone;
    Some(match case.nominal.note? {
        Note::Normal => return None,
        Note::MovedFromGap => format!(
            "The clocks of {zone} went forward then, so this is the first instant after the gap that the wall time of its specs \
             fell into."
        ),
        Note::FirstPass => {
            format!(
                "The clocks of {zone} went back afterwards: that wall time came twice, and this is the first pass."
            )
        }
        Note::SecondPass => {
            format!(
                "The clocks of {zone} had gone back: that wall time came twice, and this is the second pass."
            )
        }
    })
}
