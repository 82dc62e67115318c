//! The commands about what is past, as they are written: backfills, the mark, firings once more.

use campanile_core::definition::ScheduleName;
use campanile_core::time::{Span, Timestamp};
use clap::{Args, Subcommand};

use super::schedule::name;
use super::{Connect, Output, instant, span};

/// The overlap modes, for flags.
const OVERLAPS: [&str; 6] = ["allow", "skip", "queue_one", "queue_all", "replace", "terminate"];

/// `campanile schedule backfill`.
#[derive(Debug, Args)]
pub struct FillArgs {
    /// Which
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: ScheduleName,
    /// The range begins after this instant
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub after: Timestamp,
    /// The last instant of the range; up to what is decided when it is left out
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub until: Option<Timestamp>,
    /// Fire again what has fired, as another run of it
    #[arg(long)]
    pub again: bool,
    /// What becomes of an instant while another firing runs; when it is left out: allow if the schedule says so, else
    /// queue_all, one after another
    #[arg(long, value_name = "MODE", value_parser = OVERLAPS)]
    pub overlap: Option<String>,
    /// The least distance between two firings
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub pace: Option<Span>,
    /// The most firings of it that are not settled at once; 10 when it is left out
    #[arg(long, value_name = "N")]
    pub max_live: Option<u32>,
    /// Count what would fire, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Wait until it has ended and its firings are settled, with a progress bar on a terminal; exit code 8 when one failed
    #[arg(long, conflicts_with = "dry_run")]
    pub wait: bool,
    /// How long to wait for it; exit code 7 beyond, and it goes on
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = span, requires = "wait")]
    pub wait_timeout: Span,
    /// Asking again with the same key answers with the same backfill (24 h); random when it is left out
    #[arg(long, value_name = "TEXT")]
    pub idempotency_key: Option<String>,
}

/// `campanile schedule mark`.
#[derive(Debug, Args)]
pub struct MarkArgs {
    /// Which
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: ScheduleName,
    /// Before the mark: what lies between fires again. After now: what is to come up to there is skipped
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub to: Timestamp,
    /// Count what would fire or be skipped, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask on a terminal
    #[arg(short, long)]
    pub yes: bool,
}

/// `campanile schedule revisions`.
#[derive(Debug, Args)]
pub struct RevisionsArgs {
    /// Which
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: ScheduleName,
    /// Print at most so many; all of them when it is left out
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

/// `campanile backfill …`.
#[derive(Debug, Args)]
pub struct BackfillArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
    /// What to do.
    #[command(subcommand)]
    pub command: BackfillCommand,
}

/// What to do with backfills.
#[derive(Debug, Subcommand)]
pub enum BackfillCommand {
    /// List backfills, the newest first
    #[command(visible_alias = "list")]
    Ls {
        /// Only those of this schedule
        #[arg(short, long, value_name = "NAME", value_parser = name)]
        schedule: Option<ScheduleName>,
        /// Only those in this state
        #[arg(long, value_name = "STATE", value_parser = ["running", "completed", "cancelled", "failed"])]
        state: Option<String>,
        /// Print at most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u64,
    },
    /// Show one with its progress
    Get {
        /// Its id, bkf_…
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Let it fire nothing more; what it has fired goes on
    Cancel {
        /// Its id, bkf_…
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// `campanile firing rerun`.
#[derive(Debug, Args)]
pub struct RerunArgs {
    /// The id of a firing, frg_…
    #[arg(value_name = "ID")]
    pub id: String,
    /// What to send instead of the schedule's payload: JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    pub payload: Option<String>,
    /// Instead of the schedule's overlap mode
    #[arg(long, value_name = "MODE", value_parser = OVERLAPS)]
    pub overlap: Option<String>,
    /// Wait until the new firing is settled; exit code 8 when it did not succeed
    #[arg(long)]
    pub wait: bool,
    /// How long to wait for it; exit code 7 beyond
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = span, requires = "wait")]
    pub wait_timeout: Span,
    /// Asking again with the same key answers with the same firing (24 h); random when it is left out
    #[arg(long, value_name = "TEXT")]
    pub idempotency_key: Option<String>,
}
