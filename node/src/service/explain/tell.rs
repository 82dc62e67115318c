//! The paragraph: plain sentences, the verdict first, then who and what brought it about, then how the time was spent.

mod fired;
mod skipped;
mod specs;

use campanile_core::definition::Definition;

use super::verdict::Verdict;
use super::words::{by, since, when};
use super::{Case, nominal::Dst};
use crate::service::records::instant::Stood;
use crate::wire::explain::Hop;

/// Everything in a paragraph.
pub(super) fn paragraph(case: &Case<'_>, hops: &[Hop]) -> String {
    let mut told = Vec::new();
    match case.verdict {
        Verdict::Fired => fired::tell(case, hops, &mut told),
        Verdict::Skipped => skipped::tell(case, &mut told),
        Verdict::NotNominal | Verdict::Excluded | Verdict::OutsideWindow => specs::tell(case, &mut told),
        Verdict::NotCreated => told.push(not_created(case)),
        Verdict::Deleted => {
            told.push(format!("{}: it was deleted{}.", did_not_run(case), stood(case)));
        }
        Verdict::Paused => paused(case, &mut told),
        Verdict::Parked => parked(case, &mut told),
        Verdict::Finished => finished(case, &mut told),
        Verdict::Planned => planned(case, &mut told),
        Verdict::Undecided => undecided(case, &mut told),
        Verdict::Forgotten => told.push(format!(
            "What became of {} at {} is not known any more: the ledger reaches back to {} only.",
            case.name,
            when(case.at),
            when(case.account.known_since)
        )),
        Verdict::Unaccounted => unaccounted(case, &mut told),
        Verdict::Unknown => told.push(unknown(case)),
    }
    told.join(" ")
}

impl Case<'_> {
    /// The definition that was in force.
    fn definition(&self) -> Option<&Definition> {
        self.account.definition.as_ref().map(|in_force| &*in_force.definition)
    }

    /// Which definition was in force, as a sentence.
    fn in_force(&self) -> Option<String> {
        let in_force = self.account.definition.as_ref()?;
        let since = in_force.since.map_or_else(
            || "as far back as the ledger reaches".to_owned(),
            |at| format!("since {}", when(at)),
        );
        let is = if self.at > self.now { "is" } else { "was" };
        Some(format!(
            "Revision {} {is} in force, {since}{}: {}.",
            in_force.revision,
            by(Some(&in_force.by)),
            self.english.trim_end_matches('.')
        ))
    }
}

/// `a/b did not run at 2026-…`.
fn did_not_run(case: &Case<'_>) -> String {
    let did = if case.at > case.now { "will not run" } else { "did not run" };
    format!("{} {did} at {}", case.name, when(case.at))
}

/// ` by ann at 2026-…`, of what brought its state about.
fn stood(case: &Case<'_>) -> String {
    let standing = &case.account.standing;
    format!("{}{}", by(standing.by.as_deref()), since(standing.since))
}

fn not_created(case: &Case<'_>) -> String {
    let created = case.account.created_later.clone().or_else(|| {
        let in_force = case.account.definition.as_ref()?;
        Some((in_force.since.unwrap_or(in_force.mark), in_force.by.clone()))
    });
    let Some((at, who)) = created else {
        return format!("{}: it did not exist yet.", did_not_run(case));
    };
    format!(
        "{}: it did not exist yet. It was created{} at {}, and only instants after that count.",
        did_not_run(case),
        by(Some(&who)),
        when(at)
    )
}

fn paused(case: &Case<'_>, told: &mut Vec<String>) {
    let standing = &case.account.standing;
    let is = if case.at > case.now { "has been" } else { "was" };
    told.push(format!("{}: it {is} paused{}{}.", did_not_run(case), stood(case), note(case)));
    if let Some(until) = standing.until {
        told.push(format!("The pause is to end by itself at {}.", when(until)));
    }
    told.push("The specs name that instant, but while a schedule is paused nothing of it is due.".into());
    told.extend(case.in_force());
}

/// `, with the note "…"`; nothing without one.
fn note(case: &Case<'_>) -> String {
    case.account.standing.note.as_ref().map_or_else(String::new, |note| format!(", with the note \"{note}\""))
}

fn parked(case: &Case<'_>, told: &mut Vec<String>) {
    let why = case.account.standing.note.as_deref().or(case.nominal.trouble.as_deref());
    told.push(format!(
        "{}: it was parked{}, since it could not be evaluated: {}.",
        did_not_run(case),
        since(case.account.standing.since),
        why.unwrap_or("the reason is not known any more")
    ));
    told.push("An edit or a resume releases it.".into());
}

fn finished(case: &Case<'_>, told: &mut Vec<String>) {
    let at = case.account.finished_at.or(case.account.standing.since);
    let most = case.definition().and_then(|definition| definition.max_firings);
    let why = match most {
        Some(1) => "its one firing was used up (max_firings 1)".to_owned(),
        Some(most) => format!("its {most} firings were used up (max_firings)"),
        None => "nothing more could come of it".to_owned(),
    };
    told.push(format!("{}: it was finished{}, since {why}.", did_not_run(case), since(at)));
    told.extend(case.in_force());
}

fn planned(case: &Case<'_>, told: &mut Vec<String>) {
    told.push(format!(
        "{} will run at {}, if nothing changes: that instant is still to come.",
        case.name,
        when(case.at)
    ));
    if case.account.standing.state == Stood::Paused
        && let Some(until) = case.account.standing.until
    {
        told.push(format!("It is paused now, and the pause ends by itself at {}.", when(until)));
    }
    told.extend(specs::dst_of_nominal(case));
    told.extend(case.in_force());
}

fn undecided(case: &Case<'_>, told: &mut Vec<String>) {
    told.push(format!("{} was due at {}, and that instant is not decided yet.", case.name, when(case.at)));
    told.push(match case.mark_now {
        _ if !case.is_led => {
            "No leader is in office: the next one decides it, late, with its own nominal.".to_owned()
        }
        Some(mark) => {
            format!("Everything up to {} is decided; the leader is on its way to this one.", when(mark))
        }
        None => "The leader is on its way to it.".to_owned(),
    });
    told.extend(case.in_force());
}

fn unknown(case: &Case<'_>) -> String {
    let (name, at) = (case.name, when(case.at));
    if !case.account.searched {
        return format!(
            "What became of {name} at {at} was not found: too much of it has fired since then to look at all of it here. Ask \
             for its firings around that instant."
        );
    }
    let why = case.nominal.trouble.as_deref().unwrap_or("its definition is not known any more");
    format!(
        "Whether {name} was due at {at} cannot be told here: {why}. Nothing was decided for that instant."
    )
}

fn unaccounted(case: &Case<'_>, told: &mut Vec<String>) {
    told.push(format!(
        "Nothing in the ledger accounts for {} at {}, though its specs name that instant.",
        case.name,
        when(case.at)
    ));
    told.push(
        "It was none then if a calendar or the time-zone data have been changed since; otherwise this must not be: ask \
         `campanile verify`."
            .into(),
    );
    told.extend(case.in_force());
}

/// The wall clock of the zone, for sentences about daylight saving.
fn zone_clock(case: &Case<'_>) -> String {
    let zone = &case.nominal.zone;
    case.nominal.local.as_ref().map_or_else(|| zone.clone(), |local| format!("{local} in {zone}"))
}

/// What daylight saving made of an instant that is none.
fn dst(case: &Case<'_>) -> Option<String> {
    let zone = &case.nominal.zone;
    Some(match case.nominal.dst? {
        Dst::MovedTo(at) => format!(
            "The clocks of {zone} went forward around then, and the wall time that the specs name did not exist: it was \
             due at {}, the first instant after the gap.",
            when(at)
        ),
        Dst::LeftOut => format!(
            "The clocks of {zone} went forward around then, and the wall time that the specs name did not exist: with \
             dst_gap \"skip\" it is left out."
        ),
        Dst::OtherPass { is_second } => format!(
            "The clocks of {zone} went back around then, and that wall time came twice: this is the {} pass, and the specs \
             take the {}.",
            if is_second { "second" } else { "first" },
            if is_second { "first" } else { "second" },
        ),
    })
}
