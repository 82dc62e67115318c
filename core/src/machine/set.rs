//! Apply: a set of schedules put and removed by one entry, all of it or nothing.
//!
//! A part that is refused undoes those before it: the state is persistent, so the one from before the entry is kept for
//! nothing and put back.

use std::collections::BTreeSet;

use super::cycle::Look;
use super::{Turn, schedule};
use crate::command::Apply;
use crate::definition::ScheduleName;
use crate::id::{CREATES_PER_ENTRY, Revision};
use crate::reply::{Change, Rejection, Reply, Written};

pub(super) fn apply(turn: &mut Turn<'_>, command: &Apply) -> Result<Reply, Rejection> {
    check(command)?;
    let (before, told) = (turn.state.clone(), turn.events.len());
    let result = carry_out(turn, command);
    if result.is_err() {
        *turn.state = before;
        turn.events.truncate(told);
    }
    result.map(Reply::Applied)
}

fn check(command: &Apply) -> Result<(), Rejection> {
    if command.puts.len() > CREATES_PER_ENTRY {
        return Err(Rejection::Limit(format!("more than {CREATES_PER_ENTRY} schedules in one set").into()));
    }
    let mut names: BTreeSet<&ScheduleName> = BTreeSet::new();
    let puts = command.puts.iter().map(|put| &put.name);
    match puts.chain(command.prunes.iter().map(|prune| &prune.name)).find(|name| !names.insert(name)) {
        Some(name) => Err(Rejection::Invalid(format!("{name} stands in the set twice").into())),
        None => Ok(()),
    }
}

fn carry_out(turn: &mut Turn<'_>, command: &Apply) -> Result<Vec<Written>, Rejection> {
    let mut written = Vec::with_capacity(command.puts.len() + command.prunes.len());
    for (place, put) in command.puts.iter().enumerate() {
        written.push(schedule::put_in_set(turn, put, place).map_err(|why| of_part(place, why))?);
    }
    for prune in &command.prunes {
        let uid = prune.seen.map(|seen| seen.uid).unwrap_or_default();
        let reply = schedule::delete(turn, prune).map_err(|why| of_part(written.len(), why))?;
        let change = if reply == Reply::Deleted(true) { Change::Changed } else { Change::Unchanged };
        written.push(Written { uid, revision: Revision(0), updated_index: turn.moment.index, change });
    }
    let mut look = Look::default();
    for (place, put) in command.puts.iter().enumerate() {
        look.check(turn, &put.name, &put.definition).map_err(|why| of_part(place, why))?;
    }
    Ok(written)
}

/// What has raced is planned anew as a whole, as each part alone would be.
fn of_part(place: usize, rejection: Rejection) -> Rejection {
    match rejection {
        Rejection::Raced => Rejection::Raced,
        rejection => Rejection::Part(u32::try_from(place).unwrap_or(u32::MAX), Box::new(rejection)),
    }
}
