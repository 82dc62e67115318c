//! The process that is killed: this test binary, started again, writing the history until it dies.
//!
//! It says on standard output what has become durable, one line an operation, from the callback itself: what a line says
//! was promised. It keeps a bounded number of operations under way, so that the judge knows how far it can have come.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use campanile_storage::{
    Trouble,
    log::{Log, SledLog},
};

use crate::history::{self, History};

/// Operations under way at most.
pub(crate) const UNDER_WAY: u64 = 64;

const DIR: &str = "LOG_FAULTS_DIR";
const SEED: &str = "LOG_FAULTS_SEED";
const FROM: &str = "LOG_FAULTS_FROM";
const SYNC: &str = "LOG_FAULTS_SYNC";

/// Whether a log syncs as it must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// As shipped.
    Full,
    /// With the `fdatasync` taken out.
    Skipped,
}

/// In the process that is to be killed: write until then. Elsewhere: nothing.
pub(crate) fn run_if_child() {
    let Ok(dir) = env::var(DIR) else { return };
    let number = |name| env::var(name).ok().map(|number| number.parse::<u64>().expect("a number"));
    say("opening");
    let store = SledLog::open(Path::new(&dir)).expect("a log always opens");
    let store = if env::var(SYNC).is_ok() { store.without_fdatasync() } else { store };
    let log = Log::open(Box::new(store)).expect("a log always starts");
    say("opened");
    match (number(SEED), number(FROM)) {
        (Some(seed), Some(from)) => write(&log, seed, from),
        // Until it is killed, or until its parent is gone and the pipe with it.
        _ => drop(io::copy(&mut io::stdin(), &mut io::sink())),
    }
}

/// Write the history from operation `from` on, for ever.
fn write(log: &Log, seed: u64, from: u64) {
    let room = Arc::new((Mutex::new(0_u64), Condvar::new()));
    for n in from.. {
        let (lock, freed) = &*room;
        let mut under_way = lock.lock().expect("nobody panics with it");
        while *under_way >= UNDER_WAY {
            under_way = freed.wait(under_way).expect("nobody panics with it");
        }
        *under_way += 1;
        drop(under_way);
        let room = Arc::clone(&room);
        let done = move |result: Result<(), Trouble>| {
            result.expect("a write succeeds");
            say(&format!("acked {n}"));
            *room.0.lock().expect("nobody panics with it") -= 1;
            room.1.notify_one();
        };
        history::issue(log, seed, n, Box::new(done));
    }
}

/// One line in one write, past the test harness. With the parent gone there is nobody left to write for.
fn say(line: &str) {
    if writeln!(io::stdout().lock(), "\n> {line}").is_err() {
        std::process::exit(0);
    }
}

/// The child as its parent sees it. Killed when dropped.
pub(crate) struct Running {
    child: Child,
    heard: Arc<Heard>,
    moments: mpsc::Receiver<String>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Heard {
    /// One more than the last acknowledged operation.
    acknowledged: AtomicU64,
    opened: AtomicBool,
}

impl Running {
    /// Start writing the history in `dir`, from where it stands.
    pub(crate) fn writing(dir: &Path, history: &History, sync: Sync) -> Self {
        let mut command = command(dir, sync);
        command.env(SEED, history.seed.to_string()).env(FROM, history.steps.to_string());
        Self::spawn(command, history.steps)
    }

    /// Start opening the log in `dir`, and nothing else.
    pub(crate) fn opening(dir: &Path, sync: Sync) -> Self {
        Self::spawn(command(dir, sync), 0)
    }

    fn spawn(mut command: Command, steps: u64) -> Self {
        let mut child =
            command.stdout(Stdio::piped()).stdin(Stdio::piped()).spawn().expect("a process starts");
        let heard = Arc::new(Heard::default());
        heard.acknowledged.store(steps, Ordering::SeqCst);
        let (tell, moments) = mpsc::sync_channel(8);
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let listener = thread::spawn({
            let heard = Arc::clone(&heard);
            move || lines.map_while(Result::ok).for_each(|line| heard.take(&line, &tell))
        });
        Self { child, heard, moments, listener: Some(listener) }
    }

    /// Wait until it says that it begins to open the log.
    pub(crate) fn wait_for_opening(&self) {
        self.wait_for("opening");
    }

    /// Wait until it says that the log is open.
    pub(crate) fn wait_for_opened(&self) {
        self.wait_for("opened");
    }

    fn wait_for(&self, moment: &str) {
        while self.moments.recv().expect("the process does not end by itself") != moment {}
    }

    /// How many operations are acknowledged now.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.heard.acknowledged.load(Ordering::SeqCst)
    }

    /// Whether it had opened the log when it was last heard of.
    pub(crate) fn opened(&self) -> bool {
        self.heard.opened.load(Ordering::SeqCst)
    }

    /// Kill it (-9), wait for its end and hear what it said until then.
    pub(crate) fn kill(&mut self) {
        // It may have died already, of a failure that it told on standard error.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(listener) = self.listener.take() {
            listener.join().expect("the listener only counts");
        }
    }
}

fn command(dir: &Path, sync: Sync) -> Command {
    let mut command = Command::new(env::current_exe().expect("this test has a file"));
    command.args(["--exact", "the_process_that_is_killed", "--nocapture", "--quiet"]).env(DIR, dir);
    if sync == Sync::Skipped {
        command.env(SYNC, "skipped");
    }
    command
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Heard {
    fn take(&self, line: &str, tell: &mpsc::SyncSender<String>) {
        let Some(line) = line.strip_prefix("> ") else { return };
        if let Some(n) = line.strip_prefix("acked ").and_then(|n| n.parse::<u64>().ok()) {
            self.acknowledged.store(n + 1, Ordering::SeqCst);
            return;
        }
        if line == "opened" {
            self.opened.store(true, Ordering::SeqCst);
        }
        // Two moments fit; who does not wait for them does not miss them.
        let _ = tell.try_send(line.to_owned());
    }
}
