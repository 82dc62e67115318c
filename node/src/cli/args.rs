//! What can be written on the command line: every subcommand, flag and its help. The contract is `API.md`.
//!
//! Nothing here acts: names, instants and durations are parsed at this edge, so that a typing error is exit code 2 and
//! never a request.

mod backup;
mod calendar;
mod dead_letter;
mod import;
mod past;
mod queue;
mod reading;
mod schedule;
mod secret;
mod verify;
mod worker;

use std::path::PathBuf;

use campanile_core::cron::{instant_text, parse_instant};
use campanile_core::definition::check_segment;
use campanile_core::time::{Span, Timestamp};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use backup::{BackupArgs, RestoreArgs};
pub use calendar::{CalendarArgs, CalendarCommand, CalendarPutArgs};
pub use dead_letter::{Chosen, DeadLetterArgs, DeadLetterCommand, LetterFilter};
pub use import::{ImportArgs, ImportCommand, ImportCrontabArgs, ImportDkronArgs, ImportFrom, ImportK8sArgs};
pub use past::{BackfillArgs, BackfillCommand, FillArgs, MarkArgs, RerunArgs, RevisionsArgs};
pub use queue::{QueueArgs, QueueCommand, QueuePutArgs, Rate};
pub use reading::{
    ClusterArgs, ClusterCommand, ExplainArgs, ExportFormat, FactFilter, FiringArgs, FiringCommand,
    HealthArgs, LedgerArgs, LedgerCommand, LedgerFormat, OutageArgs, OutageCommand,
};
pub use schedule::{CreateArgs, ScheduleArgs, ScheduleCommand, ScheduleState, SetArgs, Sort, TriggerArgs};
pub use secret::{SecretArgs, SecretCommand, SecretPutArgs};
pub use verify::VerifyArgs;
pub use worker::WorkerArgs;

/// `campanile`: a highly available cron. Nodes, their users and their operators share this one binary.
#[derive(Debug, Parser)]
#[command(
    name = "campanile",
    version,
    about = "A highly available cron: three nodes, every firing committed before anything happens"
)]
#[command(after_help = "Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 not allowed, \
    6 no node or no quorum reached, 7 timed out, 8 a firing that was waited for failed (--wait).")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Three nodes on this machine with sample schedules and a receiver; Ctrl-C stops and removes it
    Demo(DemoArgs),
    /// Run a node
    Serve(ServeArgs),
    /// Look at a node's configuration
    Config {
        /// What to do with it.
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Schedules: list, look at, define, pause, trigger
    Schedule(ScheduleArgs),
    /// Calendars: named exclusions, shared by schedules
    Calendar(CalendarArgs),
    /// Backfills: ranges of instants that are gone through again (`schedule backfill` begins one)
    Backfill(BackfillArgs),
    /// Firings: what happened to each decided instant
    Firing(FiringArgs),
    /// Dead letters: firings that came to nothing and wait for somebody to look at them
    DeadLetter(DeadLetterArgs),
    /// Queues: how much waits for workers, limits, pauses
    Queue(QueueArgs),
    /// Secrets that requests are signed with
    Secret(SecretArgs),
    /// Work on a queue: run a command for each firing
    Worker(WorkerArgs),
    /// The ledger: every fact in the order of the log
    Ledger(LedgerArgs),
    /// Say whether every instant is accounted for: re-derives all of them from the ledger of each node, or from an export
    Verify(Box<VerifyArgs>),
    /// Take a backup of the cluster: its state and its ledger, one file
    Backup(BackupArgs),
    /// Found a cluster on a backup, or look at one, offline
    Restore(RestoreArgs),
    /// Say why a schedule ran, or did not, at an instant; or, offline, what a cron pattern or a recurrence rule means
    Explain(ExplainArgs),
    /// Outages: gaps between leaders, and what was late or skipped because of them
    Outage(OutageArgs),
    /// Turn what another scheduler has into schedules
    Import(ImportArgs),
    /// The nodes
    Cluster(ClusterArgs),
    /// Ask each endpoint whether it lives and is ready; exit code 6 unless every one is
    Health(HealthArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// `campanile serve`. A flag stands above the environment (`CAMPANILE_API__LISTEN=…`), which stands above the file.
#[derive(Debug, Clone, Default, Args)]
pub struct ServeArgs {
    /// The configuration file (TOML)
    #[arg(long, value_name = "FILE", env = "CAMPANILE_CONFIG", required_unless_present = "dev")]
    pub config: Option<PathBuf>,
    /// One node in ./campanile-data, on loopback, without tokens: for a first look
    #[arg(long)]
    pub dev: bool,
    /// Where the node keeps its data (data_dir)
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Where users reach this node, host:port (api.listen)
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Where the other nodes reach this one, host:port (peer.listen)
    #[arg(long, value_name = "ADDRESS")]
    pub peer_listen: Option<String>,
    /// What to log: error, warn, info, debug, trace, or a filter such as info,campanile=debug (log.level)
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,
    /// How to log (log.format)
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"])]
    pub log_format: Option<String>,
}

/// `campanile demo`.
#[derive(Debug, Clone, Default, Args)]
pub struct DemoArgs {
    /// The first port of the nodes; free ones are taken when it is left out
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// A crontab to import instead of the sample schedules
    #[arg(long, value_name = "FILE")]
    pub crontab: Option<PathBuf>,
    /// Keep the data directories at the end, and say where they are
    #[arg(long)]
    pub keep: bool,
    /// Kill the leader's process (kill -9) by itself after this long
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub kill_leader_after: Option<Span>,
    /// End by itself after this long; exit code 1 when an instant was missing or doubled
    #[arg(long = "for", value_name = "DURATION", value_parser = span)]
    pub ends_after: Option<Span>,
}

/// `campanile config …`.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Read a configuration as `serve` would and say what is wrong with it; exit code 2 when something is
    Check(ConfigCheckArgs),
}

/// `campanile config check`.
#[derive(Debug, Clone, Args)]
pub struct ConfigCheckArgs {
    /// The configuration file (TOML)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// How to reach the cluster: shared by every command that asks a node.
#[derive(Debug, Clone, Args)]
pub struct Connect {
    /// A node's address; repeat it, or separate with commas, and each is tried
    #[arg(
        long = "endpoint",
        value_name = "URL",
        env = "CAMPANILE_ENDPOINT",
        value_delimiter = ',',
        global = true
    )]
    #[arg(default_value = "http://127.0.0.1:7700")]
    pub endpoints: Vec<String>,
    /// A file with the bearer token to sign in with
    #[arg(long, value_name = "FILE", env = "CAMPANILE_TOKEN_FILE", global = true)]
    pub token_file: Option<PathBuf>,
    /// How long one request may take, retries on other endpoints included
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = span, global = true)]
    pub timeout: Span,
}

/// How to print what a node answered.
#[derive(Debug, Clone, Copy, Args)]
pub struct Output {
    /// How to print
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t, global = true)]
    pub format: Format,
}

/// How to print data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Columns for people
    #[default]
    Table,
    /// One JSON document
    Json,
    /// YAML; what `schedule get` prints can be given to `schedule put`
    Yaml,
    /// One JSON value a line
    Jsonl,
    /// Names only, one a line
    Name,
}

/// Reads a duration such as `90s`.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    text.parse().map_err(|_| "write it like 90s, 15m or 1h30m".to_owned())
}

/// Reads an instant such as `2026-12-01T08:00:00Z`.
pub(crate) fn instant(text: &str) -> Result<Timestamp, String> {
    parse_instant(text)
        .ok_or_else(|| "write it like 2026-12-01T08:00:00Z or 2026-12-01T09:00:00+01:00".to_owned())
}

/// A log index, or an instant as the API wants it.
pub(crate) fn as_of(text: &str) -> Result<String, String> {
    match text.parse::<u64>() {
        Ok(index) => Ok(index.to_string()),
        Err(_) => instant(text).map(instant_text).map_err(|hint| format!("{hint}, or a log index")),
    }
}

/// A name of one part: a queue, a secret, a namespace. It goes into a path, so that it is checked here.
pub(crate) fn segment(text: &str) -> Result<String, String> {
    match check_segment(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(why) => Err(format!("the name {why}")),
    }
}

/// Splits `key=value`.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it like key=value".to_owned()),
    }
}
