//! `campanile dead-letter …` as it is written.

use campanile_core::definition::ScheduleName;
use campanile_core::time::Timestamp;
use clap::{ArgGroup, Args, Subcommand};

use super::schedule::name;
use super::{Connect, Output, instant, segment};

/// The states that a dead letter can be in.
const STATES: [&str; 3] = ["failed", "timed_out", "unknown"];
/// The flags of [`LetterFilter`]: a group of arguments cannot hold another group.
const FILTER: [&str; 6] = ["schedule", "namespace", "queue", "state", "after", "before"];

/// `campanile dead-letter …`.
#[derive(Debug, Args)]
pub struct DeadLetterArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
    /// What to do.
    #[command(subcommand)]
    pub command: DeadLetterCommand,
}

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub enum DeadLetterCommand {
    /// List firings that came to nothing and wait for somebody, those that ended last first
    #[command(visible_alias = "list")]
    Ls {
        /// Which.
        #[command(flatten)]
        filter: LetterFilter,
        /// Print at most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u64,
    },
    /// Fire them once more, those that ended first, under the definitions in force; `ls` with the same flags shows which
    #[command(override_usage = "campanile dead-letter rerun [OPTIONS] FIRING...\n       \
        campanile dead-letter rerun [OPTIONS] <--schedule|--namespace|--queue|--state|--after|--before>... [--max N]\n       \
        campanile dead-letter rerun [OPTIONS] --all [--max N]")]
    Rerun {
        /// Which.
        #[command(flatten)]
        chosen: Chosen,
        /// At most so many at once; how many are left is said
        #[arg(long, value_name = "N", default_value_t = 100, conflicts_with = "firings")]
        #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
        max: u32,
        /// Instead of the schedules' overlap mode: allow, skip, queue_one, queue_all, replace, terminate
        #[arg(long, value_name = "MODE")]
        overlap: Option<String>,
    },
    /// Put them aside, and fire nothing; the ledger keeps their story, and `ls` with the same flags shows which
    #[command(override_usage = "campanile dead-letter discard [OPTIONS] FIRING...\n       \
        campanile dead-letter discard [OPTIONS] <--schedule|--namespace|--queue|--state|--after|--before>...\n       \
        campanile dead-letter discard [OPTIONS] --all")]
    Discard {
        /// Which.
        #[command(flatten)]
        chosen: Chosen,
    },
}

/// Firings by their ids, or by a filter, or all that there are; never all because nothing was said.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("chosen").args(FILTER).required(true).multiple(true))]
pub struct Chosen {
    /// Their ids, frg_…
    #[arg(value_name = "FIRING", value_parser = firing, group = "chosen", conflicts_with = "filter")]
    pub firings: Vec<String>,
    /// Which others.
    #[command(flatten)]
    pub filter: LetterFilter,
    /// All that there are
    #[arg(long, group = "chosen", conflicts_with_all = ["filter", "firings"])]
    pub all: bool,
}

/// Which dead letters; what is left out does not matter.
#[derive(Debug, Args)]
#[group(id = "filter", multiple = true)]
pub struct LetterFilter {
    /// Those of this schedule
    #[arg(short, long, value_name = "NAME", value_parser = name)]
    pub schedule: Option<ScheduleName>,
    /// Those of schedules in this namespace
    #[arg(short, long, value_name = "NAMESPACE", value_parser = segment)]
    pub namespace: Option<String>,
    /// Those that stood in this queue
    #[arg(short, long, value_name = "QUEUE", value_parser = segment)]
    pub queue: Option<String>,
    /// Those in this state
    #[arg(long, value_name = "STATE", value_parser = STATES)]
    pub state: Option<String>,
    /// Those that ended after this instant
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub after: Option<Timestamp>,
    /// Those that ended before this instant
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub before: Option<Timestamp>,
}

/// An id becomes a segment of a path: what is not shaped like one must not become another path.
fn firing(text: &str) -> Result<String, String> {
    match text.strip_prefix("frg_") {
        Some(rest) if !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Ok(text.to_owned())
        }
        _ => Err("an id is frg_ and letters, as `campanile dead-letter ls` shows them".to_owned()),
    }
}
