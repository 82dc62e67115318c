//! An example as a running process: what it says, a line of JSON for each firing, and its end.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use campanile_cluster_tests::process::Process;
use campanile_cluster_tests::wait;
use serde_json::Value;

/// An interpreter on a busy machine, or a few seconds' firings through a failover.
const WITHIN: Duration = Duration::from_secs(60);

/// A worker or a receiver. Dropped by a panic, it shows what it said.
pub(crate) struct Example {
    /// The language's name.
    pub(crate) name: String,
    process: Process,
}

impl Example {
    pub(crate) fn start(command: Command, name: &str, folder: &Path) -> Self {
        let process = Process::start(command, &folder.join(format!("{name}.log"))).unwrap();
        Self { name: name.to_owned(), process }
    }

    /// What it has said of firings so far.
    pub(crate) fn said(&self) -> Vec<Value> {
        let output = self.process.output();
        // The last line may be half written.
        let whole = output.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole
            .lines()
            .filter(|line| line.starts_with('{'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The same, once there are so many.
    pub(crate) async fn firings(&self, count: usize) -> Vec<Value> {
        let what = format!("{} firings done by the example in {}", count, self.name);
        wait::must(&what, WITHIN, async || Some(self.said()).filter(|said| said.len() >= count)).await
    }

    /// Where it listens.
    pub(crate) async fn url(&self) -> String {
        let what = format!("the receiver in {} to listen", self.name);
        wait::must(&what, WITHIN, async || {
            let output = self.process.output();
            let line = output.lines().find_map(|line| line.strip_prefix("listening on "))?;
            Some(line.to_owned())
        })
        .await
    }

    /// Asks it to end; it must do so by itself and without a complaint about it.
    pub(crate) async fn assert_drains(&mut self, within: Duration) {
        self.process.terminate();
        let status = self.process.ended(within).await;
        assert_eq!(status.and_then(|status| status.code()), Some(0), "the worker in {} drains", self.name);
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the example in {} said\n{}", self.name, self.process.output());
        }
    }
}
