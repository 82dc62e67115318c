//! The ledger bounded: what stands is told again, so that a ledger that begins there can be understood; then what is older
//! is dropped. The ends of ledgers are only told here; whoever has the rows compares them.

use super::Turn;
use crate::command::{DropLedger, Restate};
use crate::event::{Event, LedgerEnd};
use crate::id::LogIndex;
use crate::reply::Reply;
use crate::schedule::Schedule;
use crate::state::{KEPT_RESTATEMENTS, Restated, Restating};

/// About how many bytes of definitions one entry tells again.
const DEFINITIONS: usize = 1 << 20;

pub(super) fn check(turn: &mut Turn<'_>, end: LedgerEnd) -> Reply {
    turn.state.keeping.checked = Some(end);
    turn.tell(Event::LedgerChecked { end });
    Reply::Refreshed(true)
}

/// The next part; the first begins. Planned for another place, it changes nothing.
pub(super) fn restate(turn: &mut Turn<'_>, command: Restate) -> Reply {
    let under_way = match (turn.state.keeping.restating, command.after) {
        (None, None) => begin(turn),
        (Some(under_way), Some(after)) if under_way.after == after => under_way,
        _ => return Reply::Refreshed(false),
    };
    let part = part_of(turn, under_way, command.most.max(1) as usize);
    let last = part.last().map(|schedule| schedule.uid);
    for schedule in &part {
        turn.tell(standing(schedule));
    }
    let more = last.is_some_and(|last| turn.state.schedules_after(Some(last)).next().is_some());
    if more {
        turn.state.keeping.restating = Some(Restating { after: last, ..under_way });
    } else {
        end(turn, under_way);
    }
    Reply::Refreshed(true)
}

fn begin(turn: &mut Turn<'_>) -> Restating {
    let (epoch, zones) = (turn.state.office.epoch, turn.state.rules.zones.clone());
    turn.tell(Event::Restating { epoch, zones });
    let calendars: Vec<Event> = turn
        .state
        .calendars
        .iter()
        .map(|(name, known)| Event::CalendarStanding {
            name: (**name).into(),
            calendar: known.calendar.clone(),
            before: known.before.clone(),
        })
        .collect();
    turn.events.extend(calendars);
    Restating { from: turn.moment.index, at: turn.moment.at, after: None }
}

fn part_of(turn: &Turn<'_>, under_way: Restating, most: usize) -> Vec<std::sync::Arc<Schedule>> {
    let mut bytes = 0;
    let within = |schedule: &&std::sync::Arc<Schedule>| {
        let before = bytes;
        bytes += schedule.definition.weight();
        before < DEFINITIONS
    };
    turn.state.schedules_after(under_way.after).take(most).take_while(within).cloned().collect()
}

fn standing(schedule: &Schedule) -> Event {
    Event::Standing {
        uid: schedule.uid,
        name: schedule.name.clone(),
        revision: schedule.revision,
        definition: schedule.definition.clone(),
        mark: schedule.mark,
        state: schedule.state.clone(),
        fired: schedule.fired,
        by: (*schedule.updated_by).into(),
    }
}

fn end(turn: &mut Turn<'_>, under_way: Restating) {
    let Restating { from, at, .. } = under_way;
    let keeping = &mut turn.state.keeping;
    keeping.restating = None;
    keeping.restated.push(Restated { from, at });
    let surplus = keeping.restated.len().saturating_sub(KEPT_RESTATEMENTS);
    keeping.restated.drain(..surplus);
    turn.tell(Event::Restated { from });
}

/// Everything before a place at which everything was told again.
pub(super) fn drop_rows(turn: &mut Turn<'_>, command: DropLedger) -> Reply {
    let keeping = &mut turn.state.keeping;
    let before: LogIndex = command.before;
    let may = before > keeping.floor && keeping.restated.iter().any(|place| place.from == before);
    if !may {
        return Reply::Refreshed(false);
    }
    keeping.floor = before;
    keeping.restated.retain(|place| place.from >= before);
    turn.tell(Event::LedgerDropped { before });
    Reply::Refreshed(true)
}
