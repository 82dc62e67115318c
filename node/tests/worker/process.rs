//! `campanile worker` as a process. It is killed when it is dropped.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::fake::PATIENCE;
use super::node::Node;

pub(crate) struct Process {
    child: Child,
    out: Option<JoinHandle<String>>,
    err: Option<JoinHandle<String>>,
}

/// How a worker ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The command line of a worker for these nodes, without what the developer's environment says.
pub(crate) fn worker(nodes: &[&Node], flags: &[&str], command: &[&str]) -> Command {
    let mut line = Command::new(env!("CARGO_BIN_EXE_campanile"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CAMPANILE_"))
    {
        line.env_remove(name);
    }
    line.args(["worker", "--queue", "batch", "--name", "host-1/7"]);
    nodes.iter().for_each(|node| {
        line.args(["--endpoint", &node.url()]);
    });
    line.args(flags).arg("--").args(command);
    line
}

impl Process {
    /// Starts a worker that runs a line of shell for each firing.
    pub(crate) fn shell(nodes: &[&Node], flags: &[&str], line: &str) -> Self {
        Self::start(worker(nodes, flags, &["/bin/sh", "-c", line]))
    }

    pub(crate) fn start(mut line: Command) -> Self {
        let mut child =
            line.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().map(drain);
        let err = child.stderr.take().map(drain);
        Self { child, out, err }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success(), "kill -s {signal}");
    }

    /// Waits until it has ended.
    #[track_caller]
    pub(crate) fn ended(mut self) -> Ended {
        let mut code = None;
        let ended = wait_for(|| self.child.try_wait().unwrap().map(|status| code = status.code()).is_some());
        if !ended {
            let _ = self.child.kill();
        }
        let said = |stream: Option<JoinHandle<String>>| stream.map(|all| all.join().unwrap()).unwrap();
        let (out, err) = (said(self.out.take()), said(self.err.take()));
        assert!(ended, "the worker does not end\n{err}");
        Ended { code, out, err }
    }

    /// Drains it and waits for its end.
    #[track_caller]
    pub(crate) fn stopped(self) -> Ended {
        self.signal("TERM");
        self.ended()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn drain(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    })
}

/// Looks until `seen`, or for as long as a test waits.
pub(crate) fn wait_for(mut seen: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !seen() {
        if began.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Whether a process lives. One that is dead and not yet waited for does not.
pub(crate) fn lives(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// The lines of a file, once there are so many.
#[track_caller]
pub(crate) fn lines(file: &Path, count: usize) -> Vec<String> {
    let read = || std::fs::read_to_string(file).unwrap_or_default();
    assert!(wait_for(|| read().lines().count() >= count), "{} never had {count} lines", file.display());
    read().lines().map(str::to_owned).collect()
}
