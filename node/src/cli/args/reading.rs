//! The commands about firings, the ledger, cron patterns and nodes, as they are written.

use campanile_core::definition::ScheduleName;
use campanile_core::time::{Span, Timestamp};
use clap::{Args, Subcommand, ValueEnum};

use super::past::RerunArgs;
use super::schedule::name;
use super::{Connect, Output, instant, span};
use crate::wire::ledger::Fact;
use crate::wire::text::did_you_mean;

/// `campanile firing …`.
#[derive(Debug, Args)]
pub struct FiringArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
    /// What to do.
    #[command(subcommand)]
    pub command: FiringCommand,
}

/// What to do with firings.
#[derive(Debug, Subcommand)]
pub enum FiringCommand {
    /// List firings
    #[command(visible_alias = "list")]
    Ls {
        /// Only those of this schedule, skipped instants included
        #[arg(short, long, value_name = "NAME", value_parser = name)]
        schedule: Option<ScheduleName>,
        /// Only those in this state: queued, waiting, running, succeeded, failed, timed_out, cancelled, unknown, skipped
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// Only those with a nominal instant after this one
        #[arg(long, value_name = "INSTANT", value_parser = instant)]
        after: Option<Timestamp>,
        /// Only those with a nominal instant before this one
        #[arg(long, value_name = "INSTANT", value_parser = instant)]
        before: Option<Timestamp>,
        /// Print at most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u64,
    },
    /// The story of one firing: decided, attempts, outcomes
    Get {
        /// Its id, frg_…
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Fire the instant of a firing once more, under the definition in force
    Rerun(RerunArgs),
    /// Cancel firings that are not settled: they end at once, and what their holders say later is refused
    Cancel {
        /// Their ids, frg_…
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

/// `campanile ledger …`.
#[derive(Debug, Args)]
pub struct LedgerArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// What to do.
    #[command(subcommand)]
    pub command: LedgerCommand,
}

/// What to do with the ledger.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Print the newest facts, and with --follow those that come
    Tail {
        /// How many of the newest
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20, conflicts_with = "after")]
        lines: usize,
        /// Instead: everything after this position (index.n)
        #[arg(long, value_name = "POSITION")]
        after: Option<String>,
        /// Which.
        #[command(flatten)]
        filter: FactFilter,
        /// Go on until Ctrl-C
        #[arg(short, long)]
        follow: bool,
        /// How to print
        #[arg(short = 'o', long = "output", value_enum, default_value_t)]
        format: LedgerFormat,
    },
    /// Write every fact that is kept to standard output
    Export {
        /// Which; with jsonl.
        #[command(flatten)]
        filter: FactFilter,
        /// Everything after this position (index.n) only; with jsonl
        #[arg(long, value_name = "POSITION")]
        after: Option<String>,
        /// One JSON value a line, or one file with checksums that `campanile verify` reads
        #[arg(short = 'o', long = "output", value_enum, default_value_t)]
        format: ExportFormat,
    },
}

/// Which facts: those that pass each of these.
#[derive(Debug, Clone, Default, Args)]
pub struct FactFilter {
    /// Only facts of these types, such as fired or skipped; repeat it, or separate with commas
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = fact_type)]
    pub types: Vec<String>,
    /// Only facts of this schedule, and of those that had its name before
    #[arg(short, long, value_name = "NAME", value_parser = name)]
    pub schedule: Option<ScheduleName>,
}

impl FactFilter {
    /// Whether it lets everything through.
    #[must_use]
    pub fn takes_all(&self) -> bool {
        self.types.is_empty() && self.schedule.is_none()
    }
}

/// Reads the type of a fact.
fn fact_type(text: &str) -> Result<String, String> {
    match Fact::WORDS.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("no fact is of this type: {}", did_you_mean(text, Fact::WORDS))),
    }
}

/// How to write an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ExportFormat {
    /// One JSON value a line
    #[default]
    Jsonl,
    /// The rows as they are stored, with the running hash of each, in one file
    Segments,
}

/// How to print facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LedgerFormat {
    /// Columns for people
    #[default]
    Table,
    /// One JSON value a line
    Jsonl,
}

/// `campanile explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A pattern of five fields, six with seconds first, or a nickname such as @daily; or a recurrence rule, RRULE:FREQ=…;
    /// or a schedule of the cluster, NAMESPACE/NAME: why it ran, or did not
    #[arg(value_name = "CRON|RRULE|NAMESPACE/NAME")]
    pub cron: String,
    /// The instant at which the schedule ran or did not; the newest that has come when it is left out
    #[arg(long, value_name = "INSTANT", value_parser = instant, conflicts_with_all = ["start", "exclude", "after"])]
    pub at: Option<Timestamp>,
    /// The local date and time from which a rule counts, such as 2026-01-30T09:00:00
    #[arg(long, value_name = "LOCAL")]
    pub start: Option<String>,
    /// Leave instants out: a pattern, dates (2026-12-25,2026-12-26) or a file FILE.ics; may be repeated
    #[arg(long, value_name = "PATTERN|DATES|FILE.ics")]
    pub exclude: Vec<String>,
    /// Its time zone, such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub tz: String,
    /// How many instants to show
    #[arg(short, long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub count: u16,
    /// Those after this instant; after now when it is left out
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub after: Option<Timestamp>,
    /// Whether a day matches if either or both day fields do, when both are restricted
    #[arg(long, value_name = "MODE", value_parser = ["any", "all"], default_value = "any")]
    pub day_match: String,
    /// What becomes of a fixed wall time that does not exist
    #[arg(long, value_name = "MODE", value_parser = ["run_after", "skip"], default_value = "run_after")]
    pub dst_gap: String,
    /// Which pass of a fixed wall time that exists twice counts
    #[arg(long, value_name = "MODE", value_parser = ["first", "second", "both"], default_value = "first")]
    pub dst_overlap: String,
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `campanile outage …`.
#[derive(Debug, Args)]
pub struct OutageArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
    /// What to do.
    #[command(subcommand)]
    pub command: OutageCommand,
}

/// What to do with outages.
#[derive(Debug, Subcommand)]
pub enum OutageCommand {
    /// List gaps between leaders, the newest first
    #[command(visible_alias = "list")]
    Ls {
        /// Only those that ended after this instant
        #[arg(long, value_name = "INSTANT", value_parser = instant)]
        after: Option<Timestamp>,
        /// Only those that ended before this instant
        #[arg(long, value_name = "INSTANT", value_parser = instant)]
        before: Option<Timestamp>,
        /// Print at most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u64,
    },
    /// One of them, with the schedules that were late or skipped
    Get {
        /// Its id, the position of its row in the ledger: INDEX.N
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// `campanile cluster …`.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
    /// What to do.
    #[command(subcommand)]
    pub command: ClusterCommand,
}

/// What to do with the nodes.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Each node: role, lag, addresses, whether it is reached; exit code 6 without a leader
    Status,
    /// The hosts that the node that answers sends to, and those that do not answer it
    Hosts,
    /// Give the lead to another node
    Transfer {
        /// To which; the cluster chooses when it is left out
        #[arg(long, value_name = "ID")]
        to: Option<u64>,
    },
    /// Remove a node for good; its id is never used again
    Remove {
        /// Which
        #[arg(value_name = "ID")]
        id: u64,
    },
}

/// `campanile health`.
#[derive(Debug, Args)]
pub struct HealthArgs {
    /// How to reach the nodes.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
    /// Ask only whether the process lives, not whether it is ready
    #[arg(long)]
    pub live: bool,
    /// Ask again until it is so, for at most this long
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub wait: Option<Span>,
}
