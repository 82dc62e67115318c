//! Firings of all schedules, the newest decision first: the ledger read backwards, a stretch of entries at a time.
//!
//! The ledger is read forwards only, so a stretch is read whole and turned round. It grows while little is found in it and
//! shrinks when it holds more rows than one read takes; the rows looked at in all are bounded.

use campanile_core::event::Event;
use campanile_core::firing::FiringId;
use campanile_core::id::Run;
use campanile_storage::ledger::{Position, Row};

use super::rows::{parse_position, read_row};
use super::story::Story;
use super::{Filter, LOOKED_AT, Telling};
use crate::problem::Problem;
use crate::wire::firing::Firing;
use crate::wire::page::{Page, parts, token};

/// How many entries the first stretch has.
const FIRST_STRETCH: u64 = 64;
/// The most entries of a stretch.
const LONGEST_STRETCH: u64 = 1 << 16;
/// The most rows of one read: more than any single entry has.
const READ: usize = 16_384;

pub(super) fn page(telling: &mut Telling<'_>, filter: &Filter) -> Result<Page<Firing>, Problem> {
    let mut before = match &filter.page_token {
        Some(given) => Some(read_token(given)?),
        None => telling.records.ledger.head().position.map(|last| Position::new(last.index, last.n + 1)),
    };
    let oldest = telling.records.ledger.base().position.map_or(0, |position| position.index);
    let (mut items, mut looked_at, mut stretch) = (Vec::new(), 0, FIRST_STRETCH);
    while let Some(end) = before {
        let start = end.index.saturating_sub(stretch - 1);
        let Some(rows) = stretch_of(telling, start, end)? else {
            stretch = (stretch / 4).max(1);
            continue;
        };
        for row in rows.iter().rev() {
            looked_at += 1;
            items.extend(told(telling, row, filter)?);
            if items.len() == filter.limit || looked_at == LOOKED_AT {
                return Ok(Page { items, next_page_token: Some(token(&[&row.position.to_string()])) });
            }
        }
        before = (start > oldest).then(|| Position::new(start, 0));
        stretch = (stretch * 2).min(LONGEST_STRETCH);
    }
    Ok(Page { items, next_page_token: None })
}

/// The rows from entry `start` up to, and without, `end`; `None` when they are too many for one read.
fn stretch_of(telling: &Telling<'_>, start: u64, end: Position) -> Result<Option<Vec<Row>>, Problem> {
    let after = start.checked_sub(1).map(Position::end_of);
    let mut rows = telling.records.rows_behind(after, READ)?;
    let complete = rows.len() < READ
        && rows.last().is_none_or(|last| telling.records.ledger.head().position == Some(last.position))
        || rows.last().is_some_and(|last| last.position >= end);
    if !complete && start < end.index {
        return Ok(None);
    }
    rows.retain(|row| row.position < end);
    Ok(Some(rows))
}

/// The firing that a row decided, when it decided one and the filter wants it.
fn told(telling: &mut Telling<'_>, row: &Row, filter: &Filter) -> Result<Option<Firing>, Problem> {
    let read = read_row(row)?;
    let id = match &read.event {
        Event::Fired { firing, .. } => *firing,
        Event::Skipped { uid, to, .. } => FiringId { uid: *uid, nominal: *to, run: Run(0) },
        _ => return Ok(None),
    };
    if filter.after.is_some_and(|after| id.nominal <= after)
        || filter.before.is_some_and(|before| id.nominal >= before)
    {
        return Ok(None);
    }
    if let Some(namespace) = &filter.namespace
        && telling.name_of(id.uid)?.is_none_or(|name| name.namespace() != namespace)
    {
        return Ok(None);
    }
    // The last instant of a run of skips may have been fired since: that is another decision, with a row of its own.
    let told = match read.event {
        Event::Skipped { .. } => telling.finish_story(id, Story::of(row.position, &read))?,
        _ => telling.firing(id)?,
    };
    Ok(told.filter(|firing| filter.state.is_none_or(|state| firing.state == state)))
}

fn read_token(given: &str) -> Result<Position, Problem> {
    let [position] = parts::<1>(given)?;
    parse_position(&position).ok_or_else(|| Problem::bad_request("page_token is not one that this list gave"))
}
