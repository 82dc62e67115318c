//! Gaps between leaders, asked for by time and by name.

use std::sync::Arc;

use campanile_core::machine::Machine;
use campanile_core::time::Timestamp;
use campanile_storage::history::Window;

use super::Service;
use super::records::parse_position;
use crate::problem::Problem;
use crate::wire::outage::Outage;
use crate::wire::page::Page;

/// Which outages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// That ended after this.
    pub after: Option<Timestamp>,
    /// That ended before this.
    pub before: Option<Timestamp>,
    /// At most so many.
    pub limit: usize,
    /// Behind the one that this names.
    pub page_token: Option<String>,
}

impl Service {
    /// A page of outages, the newest first.
    ///
    /// # Errors
    /// `bad_request` for a token that this list did not give; `not_ready` while the index is built again.
    pub async fn outages(
        self: &Arc<Self>,
        machine: Arc<Machine>,
        filter: Filter,
    ) -> Result<Page<Outage>, Problem> {
        self.think(move |service| {
            let window = Window {
                after: filter.after.map(Timestamp::as_millis),
                before: filter.before.map(Timestamp::as_millis),
            };
            service.records().outages(&machine, window, filter.limit, filter.page_token.as_deref())
        })
        .await
    }

    /// One outage, with the schedules concerned.
    ///
    /// # Errors
    /// `not_found`; `not_ready` while the index is built again.
    pub async fn outage(self: &Arc<Self>, machine: Arc<Machine>, id: String) -> Result<Outage, Problem> {
        self.think(move |service| {
            let position = parse_position(&id).filter(|_| id.contains('.'));
            let found = match position {
                Some(position) => service.records().outage(&machine, position)?,
                None => None,
            };
            found.ok_or_else(|| {
                Problem::not_found(format!("there is no outage {id:?}, or retention has passed it"))
            })
        })
        .await
    }
}
