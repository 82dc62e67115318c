//! What a disk can do to a node: it takes no more, and the node ends by itself, saying why.
//!
//! A disk that is full for one process alone, without a file system of its own and without root: no file of that process may
//! grow beyond a bound, which is set and lifted while it runs.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use super::Cluster;
use crate::binary;

/// The binary, started so that a write beyond the bound of its files fails; without this the kernel would kill the process.
pub(super) fn bearing_limits(campanile: &Path) -> Command {
    let mut command = binary::command(Path::new("sh"), ["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
    command.arg(campanile);
    command
}

impl Cluster {
    /// From now on no file of a running node can grow beyond `bytes`: to the node, the disk is full.
    ///
    /// # Panics
    /// When the node does not run.
    pub fn fill_disk(&self, node: usize, bytes: u64) {
        let pid = self.pid(node).and_then(|pid| Pid::from_raw(pid.cast_signed())).expect("the node runs");
        let limit = Rlimit { current: Some(bytes), ..getrlimit(Resource::Fsize) };
        prlimit(Some(pid), Resource::Fsize, limit).expect("the limits of a child can be changed");
    }

    /// Waits until a node has ended by itself.
    ///
    /// # Panics
    /// When it still runs at the deadline.
    pub async fn wait_end(&mut self, node: usize, within: Duration) -> ExitStatus {
        let process = self.nodes[node - 1].process.as_mut().expect("the node was started");
        let ended = process.ended(within).await;
        ended.unwrap_or_else(|| panic!("after {within:?} node {node} still runs"))
    }

    /// What a node has said in its last life.
    #[must_use]
    pub fn last_life(&self, node: usize) -> String {
        let all = std::fs::read_to_string(&self.nodes[node - 1].place.log).unwrap_or_default();
        all.rsplit("--- started\n").next().unwrap_or_default().to_owned()
    }
}
