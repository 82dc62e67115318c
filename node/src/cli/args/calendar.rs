//! `campanile calendar …` as it is written.

use std::path::PathBuf;

use campanile_core::definition::ScheduleName;
use clap::{Args, Subcommand};

use super::{Connect, Output};

/// `campanile calendar …`.
#[derive(Debug, Args)]
pub struct CalendarArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
    /// What to do.
    #[command(subcommand)]
    pub command: CalendarCommand,
}

/// What to do with calendars.
#[derive(Debug, Subcommand)]
pub enum CalendarCommand {
    /// List calendars
    #[command(visible_alias = "list")]
    Ls {
        /// Print at most so many; all of them when it is left out
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
    },
    /// Show calendars; `-o yaml` can be edited and given to `put`
    Get {
        /// Which
        #[arg(required = true, value_name = "NAME", value_parser = name)]
        names: Vec<String>,
    },
    /// Create or replace a calendar: an iCalendar file (.ics), or YAML or JSON with dates and spans
    Put(CalendarPutArgs),
    /// Remove calendars that no schedule names
    #[command(visible_alias = "delete")]
    Rm {
        /// Which
        #[arg(required = true, value_name = "NAME", value_parser = name)]
        names: Vec<String>,
    },
}

/// `campanile calendar put`.
#[derive(Debug, Args)]
pub struct CalendarPutArgs {
    /// Its name
    #[arg(value_name = "NAME", value_parser = name)]
    pub name: String,
    /// What it holds; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
    /// Say which ticks of which schedules would move, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Replace only this version (the ETag of an answer)
    #[arg(long, value_name = "ETAG")]
    pub if_match: Option<String>,
}

/// A name goes into a path, so that it is checked here.
fn name(text: &str) -> Result<String, String> {
    match ScheduleName::new("calendar", text) {
        Ok(_) => Ok(text.to_owned()),
        Err(bad) => Err(format!("the name {}", bad.why)),
    }
}
