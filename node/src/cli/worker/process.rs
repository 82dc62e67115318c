//! One process for one firing: started, fed, waited for, and ended when it has to.
//!
//! It has a process group of its own, so that a signal reaches what it has started too, and a Ctrl-C at a terminal reaches
//! the worker alone.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::ends::Ends;
use super::env;
use super::tail::{Tail, copy};
use crate::client::worker::{Job, Outcome};

/// The exit code of `sysexits.h` for "try again later".
const EX_TEMPFAIL: i32 = 75;
/// How long what a command has left behind may go on printing: a pipe into a logger ends on its own within it.
const AFTERTALK: Duration = Duration::from_secs(1);
/// How often it is looked whether a group has ended; nothing tells.
const LOOK: Duration = Duration::from_millis(20);

/// What is run.
#[derive(Debug)]
pub(super) struct Program {
    /// Its path, or its name in `PATH`.
    pub(super) name: OsString,
    /// Its arguments, as they are.
    pub(super) arguments: Vec<OsString>,
    /// How long it may take to end after SIGTERM.
    pub(super) grace: Duration,
    /// Whether what it prints is printed.
    pub(super) prints: bool,
}

/// Runs `program` for `job`.
pub(super) async fn run(program: &Program, job: &Job, ends: &Ends) -> Outcome {
    let mut child = match start(program, job) {
        Ok(child) => child,
        Err(error) => return not_started(program, &error, ends),
    };
    let group = Group::of(&child);
    let _feeding = child.stdin.take().map(|stdin| feed(stdin, job));
    let (kept, mut readers) = read(&mut child, program.prints);
    let (status, cut) = tokio::select! {
        biased;
        status = child.wait() => (status, None),
        cut = has_to_end(job, ends) => (end(&mut child, group, program.grace, ends, job).await, Some(cut)),
    };
    finish(&mut readers, group).await;
    if matches!(cut, Some(Cut::Worker)) {
        ends.cut_short();
    }
    outcome(status, cut).output(kept.text())
}

fn start(program: &Program, job: &Job) -> io::Result<Child> {
    let mut command = Command::new(&program.name);
    command.args(&program.arguments).process_group(0).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    env::give(&mut command, job.leased());
    command.spawn()
}

/// A program that is gone stays gone; a machine that has no process left may have one later. Either way nothing was done.
fn not_started(program: &Program, error: &io::Error, ends: &Ends) -> Outcome {
    let why = format!("{} cannot be started: {error}", program.name.display());
    if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory) {
        ends.broke(why.clone());
    }
    Outcome::retry(why)
}

/// Writes the payload and closes the stream. That a command does not read it is its own affair.
fn feed(mut stdin: ChildStdin, job: &Job) -> AbortOnDropHandle<()> {
    let payload = job.leased().payload.0.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        let _ = stdin.write_all(payload.as_bytes()).await;
    }))
}

fn read(child: &mut Child, prints: bool) -> (Arc<Tail>, JoinSet<()>) {
    let kept = Arc::new(Tail::default());
    let mut readers = JoinSet::new();
    // A stream that breaks has ended: what it said until then is what there is.
    if let Some(out) = child.stdout.take() {
        let kept = kept.clone();
        readers.spawn(async move { drop(copy(out, prints.then(tokio::io::stdout), &kept).await) });
    }
    if let Some(err) = child.stderr.take() {
        let kept = kept.clone();
        readers.spawn(async move { drop(copy(err, prints.then(tokio::io::stderr), &kept).await) });
    }
    (kept, readers)
}

/// Who wants a command to end before it is done.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// The cluster: asked to, or the lease is lost.
    Job,
    /// The worker, which leaves.
    Worker,
}

async fn has_to_end(job: &Job, ends: &Ends) -> Cut {
    tokio::select! {
        biased;
        _ = job.stopped() => Cut::Job,
        () = ends.wanted() => Cut::Worker,
    }
}

/// SIGTERM to the group; SIGKILL when it has not ended within the grace, or when the worker is in a hurry.
async fn end(
    child: &mut Child,
    group: Group,
    grace: Duration,
    ends: &Ends,
    job: &Job,
) -> io::Result<ExitStatus> {
    tracing::debug!(firing = job.leased().firing, "its command is told to end");
    let ended = match ends.kill.is_cancelled() {
        true => false,
        false => {
            group.signal(Signal::TERM);
            // One that was stopped hears it only when it goes on.
            group.signal(Signal::CONT);
            within(grace, &ends.kill, group.gone(child)).await
        }
    };
    if !ended {
        tracing::warn!(firing = job.leased().firing, "its command did not end by itself, so it is killed");
        group.signal(Signal::KILL);
    }
    child.wait().await
}

/// Whether `work` ended in time.
async fn within(limit: Duration, hurry: &CancellationToken, work: impl Future<Output = ()>) -> bool {
    tokio::select! {
        biased;
        () = work => true,
        () = hurry.cancelled() => false,
        () = sleep(limit) => false,
    }
}

/// Hears the rest of the output. What was left behind and still holds the streams is killed: nothing of a firing goes on
/// once it is settled, unless it has closed them, as a daemon does.
async fn finish(readers: &mut JoinSet<()>, group: Group) {
    let mut all = async || while readers.join_next().await.is_some() {};
    if timeout(AFTERTALK, all()).await.is_err() {
        group.signal(Signal::KILL);
        // One that left the group as well is not waited for.
        let _ = timeout(AFTERTALK, all()).await;
    }
}

fn outcome(status: io::Result<ExitStatus>, cut: Option<Cut>) -> Outcome {
    let status = match (status, cut) {
        (_, Some(Cut::Job)) => return Outcome::cancelled(),
        (_, Some(Cut::Worker)) => {
            return Outcome::retry("the worker was stopped before the command had ended");
        }
        (Err(error), None) => return Outcome::retry(format!("how the command ended is not known: {error}")),
        (Ok(status), None) => status,
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => Outcome::succeeded(),
        (Some(EX_TEMPFAIL), _) => Outcome::retry(format!("exit code {EX_TEMPFAIL}")),
        (Some(code), _) => Outcome::failed(format!("exit code {code}")),
        (None, Some(signal)) => Outcome::failed(format!("killed by signal {signal}")),
        (None, None) => Outcome::failed(status.to_string()),
    }
}

/// The process group of a command.
#[derive(Debug, Clone, Copy)]
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        // The group is named after its first process. The number stays taken while anybody is in the group.
        Self(child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)))
    }

    /// A group that has ended hears nothing, which is no failure.
    fn signal(self, signal: Signal) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Waits until the command and everybody else in its group have ended.
    async fn gone(self, child: &mut Child) {
        let _ = child.wait().await;
        while self.0.is_some_and(|group| test_kill_process_group(group).is_ok()) {
            sleep(LOOK).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_mean_what_the_contract_says() {
        let raw = |status| outcome(Ok(ExitStatus::from_raw(status)), None);
        for (status, wanted) in [
            (0, Outcome::succeeded()),
            (75 << 8, Outcome::retry("exit code 75")),
            (1 << 8, Outcome::failed("exit code 1")),
            (255 << 8, Outcome::failed("exit code 255")),
            (9, Outcome::failed("killed by signal 9")),
        ] {
            assert_eq!(raw(status), wanted);
        }
        let told = |cut| outcome(Ok(ExitStatus::from_raw(0)), Some(cut));
        assert_eq!(told(Cut::Job), Outcome::cancelled());
        assert_eq!(told(Cut::Worker), Outcome::retry("the worker was stopped before the command had ended"));
    }
}
