//! Gaps between leaders: found by the index, and what they did read from the rows behind them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use campanile_core::event::{Event, SkipReason};
use campanile_core::firing::Kind;
use campanile_core::id::Uid;
use campanile_core::time::{Span, Timestamp};
use campanile_storage::history::{Entry, Key, Order, Window};
use campanile_storage::ledger::Position;

use super::rows::OUTAGES;
use super::{Records, Telling, cursor_token, read_cursor, read_row, rebuilding};
use campanile_core::machine::Machine;

use crate::problem::Problem;
use crate::wire::outage::{Concerned, LateFirings, Leader, Outage};
use crate::wire::page::Page;
use crate::wire::time::Instant;

/// What a gap did is decided by the next leader at once, a bounded batch a tick; rows of longer after it are about other
/// things.
const SEARCHED: Span = Span::from_secs(120);

/// The most rows behind an outage that are looked at when it is asked for alone, in a list, and in a whole page of a list.
const ROWS_OF_ONE: usize = 200_000;
const ROWS_IN_A_LIST: usize = 20_000;
const ROWS_OF_A_PAGE: usize = 100_000;
/// The most schedules that are named, and in a list.
const NAMED: usize = 100;
const NAMED_IN_A_LIST: usize = 10;

/// How much of an outage is told.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// At most so many rows behind it are looked at.
    rows: usize,
    /// At most so many schedules are named.
    schedules: usize,
}

/// What an outage did to one schedule.
#[derive(Debug, Default)]
struct Share {
    late: u64,
    max: Option<Span>,
    skipped: u64,
}

impl Records {
    /// The entries of outages that ended inside the window, the newest first.
    fn outages_back(&self, window: Window, behind: Option<Key>, limit: usize) -> Result<Vec<Entry>, Problem> {
        let found = match behind {
            Some(last) => self.history().scan_from(last, window, limit, Order::Descending),
            None => self.history().scan(OUTAGES.0, window, limit, Order::Descending),
        };
        found.map_err(|wrong| rebuilding(&wrong))
    }

    /// The first outage that ended after `at`, with its position.
    pub(super) fn outage_after(
        &self,
        at: Timestamp,
    ) -> Result<Option<(Position, Timestamp, Timestamp)>, Problem> {
        let behind = Window { after: Some(at.as_millis()), before: None };
        let found = self.history().scan(OUTAGES.0, behind, 1, Order::Ascending);
        let Some(entry) = found.map_err(|wrong| rebuilding(&wrong))?.pop() else { return Ok(None) };
        Ok(match self.row_of(&entry)?.map(|row| row.event) {
            Some(Event::Outage { from, to }) => Some((entry.key.position, from, to)),
            _ => None,
        })
    }

    /// The outage whose row is at `position`, if one is there.
    fn gap_at(&self, position: Position) -> Result<Option<(Timestamp, Timestamp)>, Problem> {
        let before = position.index.checked_sub(1).map(Position::end_of);
        let rows = self.rows_behind(before, position.n as usize + 1)?;
        let Some(row) = rows.iter().find(|row| row.position == position) else { return Ok(None) };
        Ok(match read_row(row)?.event {
            Event::Outage { from, to } => Some((from, to)),
            _ => None,
        })
    }
}

impl Records {
    /// A page of outages, the newest first. On a blocking thread.
    ///
    /// # Errors
    /// `bad_request` for a token that this list did not give; `not_ready` while the index is built again.
    pub(in crate::service) fn outages(
        &self,
        machine: &Machine,
        window: Window,
        limit: usize,
        page_token: Option<&str>,
    ) -> Result<Page<Outage>, Problem> {
        self.caught_up()?;
        let behind = page_token.map(|given| read_cursor(OUTAGES, given)).transpose()?;
        // One more than is asked for tells whether there is another page.
        let entries = self.outages_back(window, behind, limit + 1)?;
        let mut telling = Telling::new(self, machine);
        let (mut items, mut left) = (Vec::new(), ROWS_OF_A_PAGE);
        for (place, entry) in entries.iter().enumerate() {
            if place == limit || left == 0 {
                let last = place.checked_sub(1).and_then(|before| entries.get(before));
                return Ok(Page { items, next_page_token: last.map(|last| cursor_token(last.key)) });
            }
            let Some(gap) = self.gap_at(entry.key.position)? else { continue };
            let bounds = Bounds { rows: left.min(ROWS_IN_A_LIST), schedules: NAMED_IN_A_LIST };
            let (told, looked_at) = telling.outage(entry.key.position, gap, bounds)?;
            items.push(told);
            left = left.saturating_sub(looked_at);
        }
        Ok(Page { items, next_page_token: None })
    }

    /// The outage of that name; `None` when there is none. On a blocking thread.
    ///
    /// # Errors
    /// As [`Records::outages`].
    pub(in crate::service) fn outage(
        &self,
        machine: &Machine,
        position: Position,
    ) -> Result<Option<Outage>, Problem> {
        let Some(gap) = self.gap_at(position)? else { return Ok(None) };
        let bounds = Bounds { rows: ROWS_OF_ONE, schedules: NAMED };
        Ok(Some(Telling::new(self, machine).outage(position, gap, bounds)?.0))
    }
}

impl Telling<'_> {
    /// An outage told, and how many rows that took.
    fn outage(
        &mut self,
        position: Position,
        (from, to): (Timestamp, Timestamp),
        bounds: Bounds,
    ) -> Result<(Outage, usize), Problem> {
        let mut shares: BTreeMap<Uid, Share> = BTreeMap::new();
        let (mut late, mut skipped) = (Vec::new(), BTreeMap::<String, u64>::new());
        let inside = |nominal: Timestamp| nominal > from && nominal <= to;
        let mut looked_at = 0;
        let more = self.records.walk(Some(position), bounds.rows.min(self.records.most), |_, row| {
            looked_at += 1;
            if row.at > to + SEARCHED {
                return Ok(ControlFlow::Break(()));
            }
            match row.event {
                Event::Fired { firing, kind: Kind::Scheduled | Kind::CatchUp, .. }
                    if inside(firing.nominal) =>
                {
                    let lateness = row.at.since(firing.nominal);
                    late.push(lateness.as_millis());
                    let share = shares.entry(firing.uid).or_default();
                    share.late += 1;
                    share.max = share.max.max(Some(lateness));
                }
                Event::Skipped { uid, reason, to, count, .. } if inside(to) && is_by_lateness(reason) => {
                    *skipped.entry(reason.as_str().to_owned()).or_default() += count;
                    shares.entry(uid).or_default().skipped += count;
                }
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
        late.sort_unstable();
        let (schedules, others) = self.concerned(shares, bounds.schedules)?;
        let told = Outage {
            id: position.to_string(),
            from: Instant(from),
            to: Instant(to),
            length_ms: to.since(from).as_millis(),
            previous_leader: self.leader_before(position.index)?,
            next_leader: self.leader_before(position.index + 1)?,
            late: LateFirings {
                firings: late.len() as u64,
                median_ms: late.get(late.len().saturating_sub(1) / 2).copied(),
                max_ms: late.last().copied(),
            },
            skipped,
            schedules,
            more: others,
            complete: more.is_none(),
        };
        Ok((told, looked_at))
    }

    /// The schedules concerned, the latest first and those that were only skipped last, and how many are left out.
    fn concerned(
        &mut self,
        shares: BTreeMap<Uid, Share>,
        most: usize,
    ) -> Result<(Vec<Concerned>, u64), Problem> {
        let mut all: Vec<(Uid, Share)> = shares.into_iter().collect();
        all.sort_by_key(|(uid, share)| (std::cmp::Reverse((share.max, share.skipped)), *uid));
        let others = all.len().saturating_sub(most) as u64;
        all.truncate(most);
        let named = all.into_iter().map(|(uid, share)| {
            Ok(Concerned {
                schedule: self.name_of(uid)?.map(|name| name.to_string()),
                uid: uid.to_string(),
                late: share.late,
                max_ms: share.max.map(Span::as_millis),
                skipped: share.skipped,
            })
        });
        Ok((named.collect::<Result<_, Problem>>()?, others))
    }

    /// Who was in office before the entry at `index`.
    fn leader_before(&mut self, index: u64) -> Result<Option<Leader>, Problem> {
        let Some(last) = index.checked_sub(1) else { return Ok(None) };
        let found = self.records.office_entry(last)?;
        let Some((entry, (node, term))) = found.zip(self.office_at(last)?) else { return Ok(None) };
        Ok(Some(Leader { node, term, epoch: entry.key.position.index }))
    }
}

impl Records {
    /// The entry by which the leader took office that was in it at `index`.
    pub(super) fn office_entry(&self, index: u64) -> Result<Option<Entry>, Problem> {
        let window = super::changes::up_to(index);
        let found = self.history().scan(super::rows::OFFICES.0, window, 1, Order::Descending);
        Ok(found.map_err(|wrong| rebuilding(&wrong))?.pop())
    }
}

/// Whether instants are skipped so because they are late. One that met a running firing may have met it since it was late.
const fn is_by_lateness(reason: SkipReason) -> bool {
    match reason {
        SkipReason::TooLate | SkipReason::Coalesced | SkipReason::Limit | SkipReason::Overlap => true,
        SkipReason::PausedGap | SkipReason::Superseded => false,
    }
}
