//! `campanile worker`: one process for each firing of a queue.
//!
//! ```text
//! client::worker (lease, heartbeat, settle) ─▶ process: start, feed, wait ─▶ exit code ─▶ Outcome
//!        ▲ stop                                    ▲ end, kill
//! signals: the first drains, the second kills, the third leaves
//! ```
//! There is no shell between the worker and the command. The worker holds nothing that its end could lose: what it had
//! leased is leased to another when the leases end. Should it be killed itself, its commands go on without a lease; the
//! systemd unit in `deploy/` ends them, and the fencing token is there for what gets away.

mod ends;
mod env;
mod process;
mod program;
mod tail;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::args::WorkerArgs;
use super::failure::{self, Exit, Failure};
use super::io::Io;
use super::session::{connect, duration};
use crate::client::worker::{Job, Options, Worker};
use crate::config::{Log, LogFormat};
use crate::telemetry;
use ends::Ends;
use process::Program;

/// How long output that nobody reads may hold up the end of the process.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// Works until it is told to stop. It runs outside of [`Io`], whose locks would keep the commands from printing.
#[must_use]
pub fn main(args: &WorkerArgs) -> ExitCode {
    let done = run(args);
    Io::with_process(|io| failure::settle(done, io)).into()
}

fn run(args: &WorkerArgs) -> Result<(), Failure> {
    let Some((name, arguments)) = args.command.split_first() else {
        return Err(Failure::usage("no command is given", "campanile worker --queue Q -- CMD ARGS"));
    };
    // A worker that cannot work must not take work.
    program::check(name).map_err(|why| Failure::usage(why, "name a program, not a line for a shell"))?;
    let format = if args.log_format == "json" { LogFormat::Json } else { LogFormat::Text };
    telemetry::start(&Log { level: args.log.clone(), format });
    let worker = Worker::new(connect(&args.connect)?, options(args))?;
    let program = Program {
        name: name.clone(),
        arguments: arguments.to_vec(),
        grace: duration(args.grace),
        prints: !args.quiet,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(work(worker, program, args));
    runtime.shutdown_timeout(LAST_OUTPUT);
    done
}

fn options(args: &WorkerArgs) -> Options {
    let name = args.name.clone().unwrap_or_else(host_and_process);
    let ttl = duration(args.ttl);
    Options { concurrency: args.concurrency, ttl, ..Options::new(&args.queue, name) }
}

fn host_and_process() -> String {
    let system = rustix::system::uname();
    format!("{}/{}", system.nodename().to_string_lossy(), std::process::id())
}

async fn work(worker: Worker, program: Program, args: &WorkerArgs) -> Result<(), Failure> {
    let mut signals = ends::Signals::listen()?;
    let (stop, ends) = (CancellationToken::new(), Ends::default());
    let shared = Arc::new((program, ends.clone()));
    let handler = {
        let stop = stop.clone();
        move |job: Job| handle(job, shared.clone(), stop.clone())
    };
    tracing::info!(queue = args.queue, concurrency = args.concurrency, "works");
    let running = worker.run(handler, stop.clone());
    tokio::pin!(running);
    let (mut told, mut drained_at) = (0, None);
    let done = loop {
        tokio::select! {
            biased;
            done = &mut running => break done,
            signal = signals.received() => {
                told += 1;
                tracing::info!(signal, "{}", what_follows(told));
                match told {
                    1 => stop.cancel(),
                    2 => ends.kill.cancel(),
                    _ => return Err(Failure::Said(Exit::Failed)),
                }
            }
            () = stop.cancelled(), if drained_at.is_none() && args.drain_within.is_some() => {
                drained_at = args.drain_within.map(|limit| Instant::now() + duration(limit));
            }
            () = at(drained_at), if !ends.end.is_cancelled() => {
                tracing::warn!("what still runs is stopped and left to others");
                ends.end.cancel();
            }
        }
    };
    let totals = done?;
    tracing::info!(settled = totals.settled, lost = totals.lost, "worked");
    if let Some(why) = ends.broken() {
        return Err(Failure::failed(why, "mend it, then start the worker again"));
    }
    if ends.has_cut_short() { Err(Failure::Said(Exit::Failed)) } else { Ok(()) }
}

/// Runs the command for one firing. A worker that cannot start its command takes no more firings: it would only use up
/// their attempts.
async fn handle(
    job: Job,
    shared: Arc<(Program, Ends)>,
    stop: CancellationToken,
) -> crate::client::worker::Outcome {
    let (program, ends) = &*shared;
    let outcome = process::run(program, &job, ends).await;
    if ends.broken().is_some() {
        stop.cancel();
    }
    outcome
}

fn what_follows(told: u32) -> &'static str {
    match told {
        1 => "takes no more; what runs may end (a second signal kills it)",
        2 => "kills what runs, which is left to others",
        _ => "leaves",
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
