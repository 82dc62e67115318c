//! The ledger of one node, for those who read it, and the question whether it is that of the others.

use campanile_core::event::LedgerEnd;
use campanile_storage::ledger::LedgerReader;
use openraft::async_runtime::WatchReceiver;

use super::Consensus;
use crate::compare;

impl Consensus {
    /// Reads the ledger.
    #[must_use]
    pub fn ledger(&self) -> LedgerReader {
        self.0.site.reader()
    }

    /// The end of this node's ledger, for the log to compare others with ([`campanile_core::command::Body::CheckLedger`]), after
    /// the other voters were asked whether they have the same. `None` while it is empty, and when most of them have
    /// another one: then this node stops, since its word would stop them.
    pub async fn compared_end(&self) -> Option<LedgerEnd> {
        let inner = &self.0;
        let end = compare::stated(inner.site.reader().head())?;
        // By then the others have heard that its entry is committed; who has not is not counted.
        tokio::time::sleep(2 * inner.options.heartbeat).await;
        let metrics = inner.raft.metrics().borrow_watched().clone();
        let agreed = inner.view.machine().keeping().checked;
        let members = metrics.membership_config.membership();
        match inner.comparer.ask_most(end, agreed, members).await {
            Ok(()) => Some(end),
            Err(unlike) => {
                inner.fatal.stop(unlike.to_string());
                None
            }
        }
    }
}
