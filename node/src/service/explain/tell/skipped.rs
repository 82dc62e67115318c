//! Why an instant was decided not to fire.

use campanile_core::definition::CatchUpMode;
use campanile_core::event::SkipReason;
use campanile_core::time::Span;

use super::{Case, did_not_run, note, stood};
use crate::service::explain::words::{by, long, many, when};
use crate::service::records::instant::Skip;

/// Later than this, an instant was not decided when it came.
const LATE: Span = Span::from_secs(1);

pub(super) fn tell(case: &Case<'_>, told: &mut Vec<String>) {
    let Some(skip) = &case.account.skip else { return };
    told.push(format!("{}: the instant was skipped ({}).", did_not_run(case), skip.reason.as_str()));
    told.push(why(case, skip));
    told.push(decided(case, skip));
    told.extend(case.in_force());
}

fn why(case: &Case<'_>, skip: &Skip) -> String {
    let late = long(skip.decided.at.0.since(case.at));
    match skip.reason {
        SkipReason::PausedGap => format!(
            "It had been paused{}{}; the pause ended at {} without catching up on what fell into it.",
            stood(case),
            note(case),
            when(skip.decided.at.0)
        ),
        SkipReason::Overlap => overlap(case, skip, &late),
        SkipReason::TooLate => too_late(case, &late),
        SkipReason::Coalesced => format!(
            "It was decided {late} late{}, and with catch_up mode latest only the newest of what was missed fires{}.",
            because(case),
            skip.firing
                .map_or_else(String::new, |firing| format!(": {} did, as {firing}", when(firing.nominal)))
        ),
        SkipReason::Limit => format!(
            "It was decided {late} late{}, with more missed instants than may catch up at once: the newest fire, the older \
             ones are skipped.",
            because(case)
        ),
        SkipReason::Superseded => match &skip.skipped_ahead {
            Some((who, to)) => format!("The mark was set ahead to {}{}.", when(*to), by(Some(who))),
            None => "Its revision was replaced before it was decided.".into(),
        },
    }
}

fn overlap(case: &Case<'_>, skip: &Skip, late: &str) -> String {
    let rule = case.definition().map_or("skip", |definition| definition.policy.overlap.as_str());
    let key = case.definition().and_then(|definition| definition.concurrency_key.as_deref());
    let other = match (skip.firing, key) {
        (Some(firing), _) => format!("its firing for {} ({firing}) still ran", when(firing.nominal)),
        (None, Some(key)) => format!("another firing with the concurrency key {key:?} still ran"),
        (None, None) => "another of its firings still ran".to_owned(),
    };
    let full = if rule == "skip" { "" } else { ", and no more of them may wait" };
    // What runs when the instant is decided counts, and that may be long after it.
    if skip.decided.at.0.since(case.at) < LATE {
        return format!("When it came, {other}{full}: overlap is {rule}.");
    }
    format!("It was decided {late} late{}, and by then {other}{full}: overlap is {rule}.", because(case))
}

fn too_late(case: &Case<'_>, late: &str) -> String {
    let rule = case.definition().map(|definition| definition.policy.catch_up);
    let rule = match rule {
        Some(rule) if rule.mode == CatchUpMode::None => {
            "catch_up mode none fires nothing that was missed".into()
        }
        Some(rule) => match rule.window {
            Some(window) => format!("the catch-up window is {window}"),
            None => "the catch-up window was shorter".into(),
        },
        None => "that is beyond the catch-up window".to_owned(),
    };
    format!("It was decided {late} late{}, and {rule}.", because(case))
}

/// `, since no leader was in office from … to …`.
fn because(case: &Case<'_>) -> String {
    match (case.account.gap, case.account.new_leader) {
        (Some(gap), _) => {
            format!(", since no leader was in office from {} to {}", when(gap.from), when(gap.to))
        }
        (None, Some((at, node))) => format!(", since node {node} took office only at {}", when(at)),
        (None, None) => String::new(),
    }
}

fn decided(case: &Case<'_>, skip: &Skip) -> String {
    let who = match (skip.decided.node, skip.decided.term) {
        (Some(node), Some(term)) => format!("Node {node} (term {term})"),
        _ => "The leader".to_owned(),
    };
    let whole = match skip.count {
        1 => String::new(),
        count => format!(", with {} from {} to {}", many(count, "instant"), when(skip.from), when(skip.to)),
    };
    let again = if case.account.firings.is_empty() { "" } else { " It was fired later." };
    format!(
        "{who} decided that at {}, in entry {} of the log{whole}.{again}",
        when(skip.decided.at.0),
        skip.decided.index
    )
}
