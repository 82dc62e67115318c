//! openraft's own store suite, on sled and on its twin in memory.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use campanile_core::time::Timestamp;
use campanile_raft::apply::Applier;
use campanile_raft::compare::Comparer;
use campanile_raft::fatal::Fatal;
use campanile_raft::log::LogAdapter;
use campanile_raft::policy::Policy;
use campanile_raft::runtime::Runtime;
use campanile_raft::stores::Stores;
use campanile_raft::transport::ends::AskEnd;
use campanile_raft::types::Types;
use campanile_raft::view::View;
use campanile_raft::{LogOpener, Options};
use campanile_storage::log::{MemoryDisk, MemoryLog};
use openraft::StorageError;
use openraft::testing::log::{StoreBuilder, Suite};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

type C = Types<Runtime>;

/// Makes empty stores for each test of the suite.
struct Builder {
    log: fn() -> Option<LogOpener>,
}

impl StoreBuilder<C, LogAdapter<Runtime>, Applier<Runtime>, TempDir> for Builder {
    async fn build(&self) -> Result<(TempDir, LogAdapter<Runtime>, Applier<Runtime>), StorageError<C>> {
        let dir = tempfile::tempdir().unwrap();
        let mut options = options(dir.path());
        if let Some(open_log) = (self.log)() {
            options.open_log = open_log;
        }
        let Stores { log, ledger, site, machine, covered } = Stores::open(&options).unwrap();
        let view = Arc::new(View::new(machine.clone()));
        let policy = Arc::new(Policy::new(u64::MAX, u64::MAX));
        // Nobody is there to be asked.
        let ask: AskEnd = Arc::new(|_, _, _| Box::pin(async { None }));
        let comparer = Comparer::new(1, dir.path().into(), site.reader(), ask);
        let applier = Applier::new(
            machine,
            covered,
            ledger,
            site,
            comparer,
            view,
            policy,
            Fatal::default(),
            TaskTracker::new().token(),
        );
        Ok((dir, LogAdapter::new(log), applier))
    }
}

fn options(dir: &Path) -> Options {
    Options::new("suite", dir, "localhost:1", Arc::new(|| Timestamp::EPOCH))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stores_on_sled_are_what_openraft_expects() {
    Suite::test_all(Builder { log: || None }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stores_in_memory_are_what_openraft_expects() {
    let log = || -> Option<LogOpener> {
        let disk = MemoryDisk::default();
        Some(Arc::new(move |_| Ok(Box::new(MemoryLog::open(&disk)))))
    };
    Suite::test_all(Builder { log }).await.unwrap();
}
