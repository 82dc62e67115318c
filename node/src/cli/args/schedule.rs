//! `campanile schedule …` as it is written.

use std::path::PathBuf;

use campanile_core::definition::ScheduleName;
use campanile_core::time::{Span, Timestamp};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::past::{FillArgs, MarkArgs, RevisionsArgs};
use super::{Connect, Output, as_of, instant, pair, span};

/// `campanile schedule …`.
#[derive(Debug, Args)]
pub struct ScheduleArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
    /// What to do.
    #[command(subcommand)]
    pub command: ScheduleCommand,
}

/// What to do with schedules. A name is `namespace/name`; without a namespace it is in `default`.
#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// List schedules with their state and next run
    #[command(visible_alias = "list")]
    Ls {
        /// Only those of this namespace
        #[arg(short, long)]
        namespace: Option<String>,
        /// Only those with this label; repeat it to ask for several
        #[arg(short, long, value_name = "KEY=VALUE", value_parser = pair)]
        label: Vec<(String, String)>,
        /// Only those in this state
        #[arg(long, value_enum)]
        state: Option<ScheduleState>,
        /// Only those whose name holds this text
        #[arg(short, long, value_name = "TEXT")]
        query: Option<String>,
        /// What to sort by
        #[arg(long, value_enum, default_value_t)]
        sort: Sort,
        /// Print at most so many; all of them when it is left out
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
        /// As they stood then: an instant, or a log index; in the order of creation
        #[arg(long, value_name = "INSTANT|INDEX", value_parser = as_of, conflicts_with = "sort")]
        as_of: Option<String>,
    },
    /// Show schedules; `-o yaml` can be edited and given to `put`
    Get {
        /// Which
        #[arg(required = true, value_name = "NAME", value_parser = name)]
        names: Vec<ScheduleName>,
        /// As they stood then, those that were removed since too: an instant, or a log index
        #[arg(long, value_name = "INSTANT|INDEX", value_parser = as_of)]
        as_of: Option<String>,
    },
    /// Create or replace the schedules of a file: YAML or JSON, many documents, each put on its own
    Put {
        /// A file, or a directory of them; `-` reads standard input
        #[arg(short, long = "file", value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Replace only this revision (the ETag of an answer); for a single document
        #[arg(long, value_name = "ETAG")]
        if_match: Option<String>,
        /// Say what would change, in fields and in ticks, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Create or replace the schedules of files and directories, all of them or none; with --prune, remove those that
    /// carry a label and are not in the files
    Apply {
        /// What to apply.
        #[command(flatten)]
        set: SetArgs,
        /// Say what would change, in fields and in ticks, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Say what `apply` would change, in fields and in ticks; exit code 1 when something would
    Diff {
        /// What to compare.
        #[command(flatten)]
        set: SetArgs,
    },
    /// Create a schedule from flags; it must not exist
    Create(Box<CreateArgs>),
    /// Remove schedules
    #[command(visible_alias = "delete")]
    Rm {
        /// Which
        #[arg(required = true, value_name = "NAME", value_parser = name)]
        names: Vec<ScheduleName>,
    },
    /// Stop deciding the instants of a schedule
    Pause {
        /// Which
        #[arg(value_name = "NAME", value_parser = name)]
        name: ScheduleName,
        /// Why, for those who find it paused
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        /// Resume by itself at this instant
        #[arg(long, value_name = "INSTANT", value_parser = instant)]
        until: Option<Timestamp>,
    },
    /// Decide the instants of a schedule again
    Resume {
        /// Which
        #[arg(value_name = "NAME", value_parser = name)]
        name: ScheduleName,
        /// Fire what the pause held back, under the catch-up rule of the schedule; `--catch-up=false` does not. Left out, it
        /// is done for schedules with automatic_backfill only
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
        catch_up: Option<bool>,
    },
    /// Fire once, now, or in the name of an instant that is past
    Trigger(TriggerArgs),
    /// Go through a range of instants again: fire those that have not fired, or with --again all
    Backfill(FillArgs),
    /// Rewind or skip ahead: shows what that fires or skips, and asks on a terminal
    Mark(MarkArgs),
    /// List the definitions that a schedule has had, the newest first
    Revisions(RevisionsArgs),
    /// Show the next instants of a schedule, with their local time and what daylight saving does to them
    Next {
        /// Which
        #[arg(value_name = "NAME", value_parser = name)]
        name: ScheduleName,
        /// How many
        #[arg(short, long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
        count: u16,
        /// Those after this instant
        #[arg(long, value_name = "INSTANT", value_parser = instant)]
        after: Option<Timestamp>,
    },
}

/// A set of schedules in files.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// A file, or a directory of .yaml, .yml, .json and .jsonl files, read in the order of their names; `-` reads standard
    /// input; may be repeated
    #[arg(short, long = "file", value_name = "FILE|DIR", required = true)]
    pub files: Vec<PathBuf>,
    /// Remove the schedules that carry the label and are not in the files
    #[arg(long, requires = "label")]
    pub prune: bool,
    /// The label to prune by; every schedule of the files has to carry it
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = pair, requires = "prune")]
    pub label: Option<(String, String)>,
}

/// `campanile schedule create`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("when").required(true).multiple(true).args(["cron", "every", "at"]))]
#[command(group = ArgGroup::new("where").required(true).args(["url", "queue"]))]
pub struct CreateArgs {
    /// Its name
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: ScheduleName,
    /// A cron pattern of five fields, or six with seconds first; repeat it for several
    #[arg(long, value_name = "PATTERN")]
    pub cron: Vec<String>,
    /// The time zone of the patterns, such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC", requires = "cron")]
    pub tz: String,
    /// An interval, counted from the Unix epoch
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub every: Vec<Span>,
    /// One instant
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub at: Vec<Timestamp>,
    /// The webhook to call
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// The queue to put each firing into, from which workers lease it
    #[arg(long, value_name = "QUEUE", conflicts_with_all = ["method", "header", "attempt_timeout"])]
    pub queue: Option<String>,
    /// Its priority in the queue, -100 to 100; higher ones are leased first
    #[arg(long, value_name = "N", requires = "queue", conflicts_with = "url", allow_hyphen_values = true)]
    pub priority: Option<i8>,
    /// The method of the request; POST when it is left out
    #[arg(long, value_name = "METHOD")]
    pub method: Option<String>,
    /// A header to send, as `name: value`
    #[arg(long, value_name = "HEADER", value_parser = header)]
    pub header: Vec<(String, String)>,
    /// How long one attempt may take
    #[arg(long = "attempt-timeout", value_name = "DURATION", value_parser = span)]
    pub attempt_timeout: Option<Span>,
    /// What to send with each firing: JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    pub payload: Option<String>,
    /// A label
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = pair)]
    pub label: Vec<(String, String)>,
    /// A text for people
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// What becomes of a firing while another runs: allow, skip
    #[arg(long, value_name = "MODE")]
    pub overlap: Option<String>,
    /// Print the definition instead of sending it
    #[arg(long)]
    pub print: bool,
}

/// `campanile schedule trigger`.
#[derive(Debug, Args)]
pub struct TriggerArgs {
    /// Which
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: ScheduleName,
    /// What to send instead of the schedule's payload: JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    pub payload: Option<String>,
    /// Instead of the schedule's overlap mode: allow, skip, queue_one, queue_all, replace, terminate
    #[arg(long, value_name = "MODE")]
    pub overlap: Option<String>,
    /// In the name of this instant, which is past; one that fired fires once more
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub nominal: Option<Timestamp>,
    /// Wait until the firing is settled; exit code 8 when it did not succeed
    #[arg(long)]
    pub wait: bool,
    /// How long to wait for it; exit code 7 beyond
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = span, requires = "wait")]
    pub wait_timeout: Span,
    /// Triggering again with the same key answers with the same firing (24 h); random when it is left out
    #[arg(long, value_name = "TEXT")]
    pub idempotency_key: Option<String>,
}

/// A state to select by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScheduleState {
    /// Its instants are decided
    Active,
    /// Somebody, or a rule, stopped it
    Paused,
    /// It could not be evaluated
    Parked,
    /// Nothing more can come
    Finished,
}

/// What to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Sort {
    /// By name
    #[default]
    Name,
    /// By next run
    Next,
}

/// Reads `namespace/name` or `name`.
pub(super) fn name(text: &str) -> Result<ScheduleName, String> {
    ScheduleName::parse(text).map_err(|bad| format!("the {} {}", bad.segment, bad.why))
}

/// Splits `name: value`.
fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it like 'x-env: prod'".to_owned()),
    }
}
