//! What became of an instant, in a word.

use campanile_core::time::Timestamp;

use super::Case;
use crate::service::records::instant::Stood;

/// What became of an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It fired.
    Fired,
    /// It was decided not to fire.
    Skipped,
    /// The schedule was paused.
    Paused,
    /// It could not be evaluated.
    Parked,
    /// It is no instant of the specs.
    NotNominal,
    /// An exclusion takes it out.
    Excluded,
    /// It is before the first or behind the last instant that counts.
    OutsideWindow,
    /// Nothing more could come.
    Finished,
    /// There was no such schedule yet.
    NotCreated,
    /// There was no such schedule any more.
    Deleted,
    /// It is still to come.
    Planned,
    /// It has come, and is not decided yet.
    Undecided,
    /// Retention has dropped what was said of it.
    Forgotten,
    /// Nothing accounts for it.
    Unaccounted,
    /// The definition cannot be evaluated here, or too much lies around the instant to look at.
    Unknown,
}

impl Verdict {
    /// Its word.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Fired => "fired",
            Self::Skipped => "skipped",
            Self::Paused => "paused",
            Self::Parked => "parked",
            Self::NotNominal => "not_nominal",
            Self::Excluded => "excluded",
            Self::OutsideWindow => "outside_window",
            Self::Finished => "finished",
            Self::NotCreated => "not_created",
            Self::Deleted => "deleted",
            Self::Planned => "planned",
            Self::Undecided => "undecided",
            Self::Forgotten => "forgotten",
            Self::Unaccounted => "unaccounted",
            Self::Unknown => "unknown",
        }
    }
}

/// What the rows say comes first, then what they do not reach, then the specs, then the state of the schedule.
pub(super) fn judge(case: &Case<'_>) -> Verdict {
    let (account, at) = (case.account, case.at);
    if !account.firings.is_empty() {
        return Verdict::Fired;
    }
    if account.skip.is_some() {
        return Verdict::Skipped;
    }
    if account.created_later.is_some() {
        return Verdict::NotCreated;
    }
    if account.standing.state == Stood::Deleted {
        return Verdict::Deleted;
    }
    if at < account.known_since && at <= case.now {
        return Verdict::Forgotten;
    }
    match case.nominal.is {
        Some(true) => of_nominal(case),
        Some(false) if case.nominal.excluded.is_some() => Verdict::Excluded,
        Some(false) if case.nominal.outside.is_some() => Verdict::OutsideWindow,
        Some(false) => Verdict::NotNominal,
        None if account.standing.state == Stood::Parked => Verdict::Parked,
        None => Verdict::Unknown,
    }
}

fn of_nominal(case: &Case<'_>) -> Verdict {
    let (account, at) = (case.account, case.at);
    let ends = account.standing.until.is_some_and(|until| until <= at);
    match account.standing.state {
        Stood::Paused if !ends => return Verdict::Paused,
        Stood::Parked => return Verdict::Parked,
        Stood::Finished => return Verdict::Finished,
        _ if used_up(case) => return Verdict::Finished,
        _ => {}
    }
    let begins_later = |definition: &super::InForce| definition.mark >= at && definition.revision == 1;
    if account.definition.as_ref().is_some_and(begins_later) {
        return Verdict::NotCreated;
    }
    match case.mark_now {
        _ if at > case.now => Verdict::Planned,
        Some(mark) if mark < at => Verdict::Undecided,
        _ if !account.searched => Verdict::Unknown,
        _ => Verdict::Unaccounted,
    }
}

/// The last of `max_firings` fired in the same decision: what came behind it was not decided any more.
fn used_up(case: &Case<'_>) -> bool {
    let account = case.account;
    let is_bounded = account.definition.as_ref().is_some_and(|it| it.definition.max_firings.is_some());
    let finished = account.finished_at.unwrap_or(Timestamp::NEVER);
    is_bounded && finished <= case.now && finished >= case.at
}
