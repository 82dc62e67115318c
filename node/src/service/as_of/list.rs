//! A page of the schedules that stood at an earlier moment, in the order of their uids, which is that of their creation.
//!
//! Names are not in order in the ledger, and a list by name would have to look at all of them for each page.

use std::sync::Arc;

use campanile_core::id::{LogIndex, Uid};
use campanile_core::machine::Machine;
use campanile_storage::history::{Order, Window};

use super::{AsOf, Then};
use crate::problem::Problem;
use crate::service::Service;
use crate::service::list::Filter;
use crate::service::records::places::SCHEDULES;
use crate::service::records::rebuilding;
use crate::service::show::Depth;
use crate::wire::as_of::ScheduleAsOf;
use crate::wire::page::{Page, parts, token};

/// The most schedules that one page looks at, those that were created later or gone by then included.
const LOOKED_AT: usize = 2_000;

impl Service {
    /// A page of the schedules that stood then.
    ///
    /// # Errors
    /// As [`Service::schedule_as_of`]; `bad_request` for a token that this list did not give.
    pub async fn list_as_of(
        self: &Arc<Self>,
        machine: Arc<Machine>,
        filter: Filter,
        as_of: AsOf,
    ) -> Result<Page<ScheduleAsOf>, Problem> {
        let after = filter.page_token.as_deref().map(read_token).transpose()?;
        self.think(move |service| {
            let mut then = Then::at(service, &machine, as_of)?;
            then.is_whole()?;
            then.page(&filter, after)
        })
        .await
    }
}

impl Then<'_> {
    fn page(&mut self, filter: &Filter, after: Option<Uid>) -> Result<Page<ScheduleAsOf>, Problem> {
        let (mut items, mut last) = (Vec::new(), after);
        for _ in 0..LOOKED_AT {
            let Some(uid) = self.next_uid(last)? else { return Ok(Page { items, next_page_token: None }) };
            if items.len() == filter.limit {
                return Ok(Page { items, next_page_token: last.map(token_of) });
            }
            last = Some(uid);
            if created_at(uid) > LogIndex(self.moment.index) {
                continue;
            }
            let Some(standing) = self.standing(uid)? else { continue };
            if filter.wants(&standing.name, &standing.definition, &standing.state) {
                items.push(self.show(uid, &standing, Depth::Row)?);
            }
        }
        Ok(Page { items, next_page_token: last.map(token_of) })
    }

    /// The next schedule that the ledger tells of, whenever.
    fn next_uid(&self, after: Option<Uid>) -> Result<Option<Uid>, Problem> {
        let behind = Window { after: after.map(|uid| uid.0.cast_signed()), before: None };
        let found = self.records.history().scan(SCHEDULES.0, behind, 1, Order::Ascending);
        let entries = found.map_err(|wrong| rebuilding(&wrong))?;
        Ok(entries.first().map(|entry| Uid(entry.key.nominal.cast_unsigned())))
    }
}

/// The entry that created a schedule: the low bits of its uid (`Uid::of`).
fn created_at(uid: Uid) -> LogIndex {
    LogIndex(uid.0 & ((1 << 40) - 1))
}

fn token_of(uid: Uid) -> String {
    token(&[&uid.to_string()])
}

fn read_token(given: &str) -> Result<Uid, Problem> {
    let [uid] = parts::<1>(given)?;
    uid.parse().map(Uid).map_err(|_| Problem::bad_request("page_token is not one that this list gave"))
}
