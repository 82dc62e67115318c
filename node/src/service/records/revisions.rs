//! The definitions that a schedule has had, the newest first.

use campanile_core::event::Event;
use campanile_core::id::{Run, Uid};
use campanile_storage::history::{Key, Order, Window};

use super::{Records, parse_position, read_row, rebuilding, rows};
use crate::problem::Problem;
use crate::wire::page::{Page, parts, token};
use crate::wire::revision::Revision;
use crate::wire::time::Instant;

impl Records {
    /// A page of the definitions of one incarnation. Those that retention has passed are not in it.
    ///
    /// # Errors
    /// `not_ready` while the index is built again; `bad_request` for a token that this list did not give.
    pub async fn revisions(
        &self,
        uid: Uid,
        limit: usize,
        page_token: Option<String>,
    ) -> Result<Page<Revision>, Problem> {
        self.on_thread(move |records| {
            records.caught_up()?;
            records.revisions_now(uid, limit, page_token.as_deref())
        })
        .await
    }

    fn revisions_now(
        &self,
        uid: Uid,
        limit: usize,
        page_token: Option<&str>,
    ) -> Result<Page<Revision>, Problem> {
        let (history, all) = (self.history(), Window::default());
        let under = rows::definitions_of(uid);
        // One more than is asked for tells whether there is another page.
        let found = match page_token {
            Some(given) => history.scan_from(read_token(under, given)?, all, limit + 1, Order::Descending),
            None => history.scan(under.0, all, limit + 1, Order::Descending),
        };
        let mut entries = found.map_err(|wrong| rebuilding(&wrong))?;
        let more = entries.len() > limit;
        entries.truncate(limit);
        let mut items = Vec::with_capacity(entries.len());
        for entry in &entries {
            let Some(row) = self.row(entry)? else { continue };
            let read = read_row(&row)?;
            if let Event::Defined { revision, definition, by, .. } = &read.event {
                items.push(Revision {
                    revision: revision.0,
                    at: Instant(read.at),
                    by: by.to_string(),
                    position: row.position.to_string(),
                    definition: (&**definition).into(),
                });
            }
        }
        let next = entries.last().filter(|_| more).map(|last| token_of(last.key));
        Ok(Page { items, next_page_token: next })
    }
}

fn token_of(key: Key) -> String {
    token(&[&key.nominal.to_string(), &key.position.to_string()])
}

fn read_token(under: Uid, given: &str) -> Result<Key, Problem> {
    let [revision, position] = parts::<2>(given)?;
    match (revision.parse(), parse_position(&position)) {
        (Ok(nominal), Some(position)) => Ok(Key { uid: under.0, nominal, run: Run(0).0, position }),
        _ => Err(Problem::bad_request("page_token is not one that this list gave")),
    }
}
