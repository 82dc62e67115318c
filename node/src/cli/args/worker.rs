//! `campanile worker` as it is written.

use std::ffi::OsString;

use campanile_core::time::Span;
use clap::Args;

use super::{Connect, span};

/// `campanile worker`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "The command is started as it stands, without a shell, in a process group of its own. It finds the \
    payload (JSON) on standard input, and in its environment CAMPANILE_FIRING (the same in each attempt), _SCHEDULE, \
    _NOMINAL, _ATTEMPT, _FENCING_TOKEN (only grows: let what you write to refuse an older one), _QUEUE, _KIND, _RUN, _LEASE, \
    _DEADLINE, _CAUSE and TRACEPARENT.\n\n\
    It exits with 0: succeeded. With 75: to be tried again. Otherwise: failed. When the lease is lost, or the firing is to \
    stop, the group gets SIGTERM, and SIGKILL after the grace.\n\n\
    SIGTERM or SIGINT to the worker: it takes no more, and ends when what runs has ended. A second one kills what runs, \
    which is then tried again by others; a third ends the worker at once."
)]
pub struct WorkerArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// The queue to work on
    #[arg(short, long, value_name = "QUEUE")]
    pub queue: String,
    /// How many commands at once
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = concurrency)]
    pub concurrency: usize,
    /// How long a firing waits for another worker when this one dies
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = span)]
    pub ttl: Span,
    /// How long a command may take to end after SIGTERM
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = span)]
    pub grace: Span,
    /// Who works, for people who look at a firing later; host and process when it is left out
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// How long to wait for what runs after SIGTERM, before it is stopped and left to others; as long as it takes when
    /// it is left out
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub drain_within: Option<Span>,
    /// Do not print what the commands print; its last 16 KiB are kept with the attempt either way
    #[arg(long)]
    pub quiet: bool,
    /// What to log: error, warn, info, debug, trace, or a filter such as info,campanile=debug
    #[arg(long, value_name = "FILTER", default_value = "info", value_parser = level)]
    pub log: String,
    /// How to log
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    pub log_format: String,
    /// What to run for each firing
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

fn concurrency(text: &str) -> Result<usize, String> {
    const MAX: usize = crate::client::worker::MAX_CONCURRENCY;
    match text.parse() {
        Ok(number) if (1..=MAX).contains(&number) => Ok(number),
        _ => Err(format!("from 1 to {MAX}")),
    }
}

fn level(text: &str) -> Result<String, String> {
    crate::telemetry::checked_level(text.to_owned())
}
