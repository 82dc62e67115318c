//! A child process that dies with the test, however the test ends, and the signals that it is sent.
//!
//! It knows nothing of clusters. Children are signalled by their own pid only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::wait;

/// A running process, its output in a file.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; what it writes is appended to `log`.
    ///
    /// # Errors
    /// When it cannot be started or its log not be opened.
    pub fn start(mut command: Command, log: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).append(true).open(log)?;
        writeln!(file, "--- started")?;
        let same: File = file.try_clone()?;
        let child = command.stdin(Stdio::null()).stdout(file).stderr(same).spawn()?;
        Ok(Self { child, log: log.to_owned() })
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// `kill -9`: no goodbye, no flush. Returns when the process is gone.
    pub fn kill(&mut self) {
        // It may have ended by itself; then there is nothing to kill, and waiting returns at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// `kill -STOP`: it stays, with its connections, and does nothing until [`Process::go_on`].
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// `kill -CONT`.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// `kill -TERM`: asks it to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits for its end; `None` when it still runs at the deadline.
    pub async fn ended(&mut self, within: Duration) -> Option<ExitStatus> {
        wait::until(within, async || self.child.try_wait().ok().flatten()).await
    }

    /// Everything that it has written, earlier lives under the same log included.
    #[must_use]
    pub fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn signal(&self, signal: Signal) {
        // A process that is gone cannot be paused, and needs not be.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last lines of a file.
#[must_use]
pub fn tail(file: &Path, lines: usize) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
