//! `campanile serve`: from a configuration to a running node, and back down in order.
//!
//! ```text
//!   config ─> ports ─> consensus (log, ledger, images) ─> records ─> life (service, duties, dispatch) ─> HTTP ─> signals ─> stop
//! ```
//! Ports are taken first, since that is what most often fails. Here it is decided who is given what; nothing here knows
//! what a schedule is. Exit code 2 means that something about this machine or its configuration must be put right, and one
//! line says what; 1 that a node which ran had to stop.

mod clocks;
mod failure;
mod gauges;
mod held;
pub mod life;
mod node;
mod notify;
mod ports;
mod quorum;
mod ready;
mod segments;
mod signals;

use std::process::ExitCode;
use std::time::Duration;

use crate::cli::args::ServeArgs;
use crate::config::{self, Loaded};
use crate::telemetry;
use failure::Failure;

/// How long the tasks of a node that has ended may take to end too.
const QUIET_WITHIN: Duration = Duration::from_millis(500);

/// Runs a node until it is told to stop.
#[allow(
    clippy::print_stderr,
    reason = "the last line of a process that ends belongs on its terminal, whatever is logged"
)]
pub fn serve(args: &ServeArgs) -> ExitCode {
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
        }
    }
}

fn run(args: &ServeArgs) -> Result<(), Failure> {
    let Loaded { config, warnings } =
        config::load(args).map_err(|flaws| Failure::Usage(flaws.to_string()))?;
    telemetry::start(&config.log);
    for warning in warnings {
        tracing::warn!(warning);
    }
    let runtime = runtime()?;
    let ended = runtime.block_on(node::run(config));
    // So that nothing logs behind the reason, which is the last line. Nobody waits longer: a thread that waits for a disk which
    // never answers must not keep the process.
    runtime.shutdown_timeout(QUIET_WITHIN);
    ended
}

/// At least two workers, also on one core: a worker that plans a large tick must not hold up a heartbeat.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let workers = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name("campanile")
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::Usage(format!("no threads can be started ({error}): raise the limits of this user"))
        })
}
