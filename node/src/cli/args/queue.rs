//! `campanile queue …` as it is written.

use campanile_core::time::Span;
use clap::{ArgGroup, Args, Subcommand};

use super::{Connect, Output, segment, span};

/// `campanile queue …`.
#[derive(Debug, Args)]
pub struct QueueArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
    /// What to do.
    #[command(subcommand)]
    pub command: QueueCommand,
}

/// What to do with queues.
#[derive(Debug, Subcommand)]
pub enum QueueCommand {
    /// List queues: how much waits, how much is leased, and what limits that
    #[command(visible_alias = "list")]
    Ls {
        /// Print at most so many; all of them when it is left out
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
    },
    /// Show queues
    Get {
        /// Which
        #[arg(required = true, value_name = "NAME", value_parser = segment)]
        names: Vec<String>,
    },
    /// Give a queue limits, all of them at once: one that is left out is the default again
    Put(QueuePutArgs),
    /// Forget the limits and the pause of queues; their firings stay
    #[command(visible_alias = "delete")]
    Rm {
        /// Which
        #[arg(required = true, value_name = "NAME", value_parser = segment)]
        names: Vec<String>,
    },
    /// Lease nothing more of a queue; what is leased goes on
    Pause {
        /// Which
        #[arg(value_name = "NAME", value_parser = segment)]
        name: String,
        /// Why, for people who look at it later
        #[arg(long, value_name = "TEXT")]
        note: String,
    },
    /// Lease of a queue again
    Resume {
        /// Which
        #[arg(value_name = "NAME", value_parser = segment)]
        name: String,
    },
}

/// `campanile queue put`. Without any limit it would say the same as `rm`, and is a slip more often than not.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("limits").required(true).multiple(true))]
pub struct QueuePutArgs {
    /// Its name
    #[arg(value_name = "NAME", value_parser = segment)]
    pub name: String,
    /// At most so many of its firings are leased at once; no limit when it is left out
    #[arg(long, value_name = "N", group = "limits")]
    pub max_in_flight: Option<u32>,
    /// At most so many with the same concurrency key; 1 when it is left out
    #[arg(long = "per-key", value_name = "N", group = "limits")]
    pub max_in_flight_per_key: Option<u32>,
    /// How fast leases are given, such as 10/1s or 600/1h; no limit when it is left out
    #[arg(long, value_name = "N/DURATION", value_parser = rate, group = "limits")]
    pub rate: Option<Rate>,
    /// Replace only this version (the ETag that `get` shows)
    #[arg(long, value_name = "ETAG")]
    pub if_match: Option<String>,
}

/// So many leases in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// In how long.
    pub per: Span,
}

/// Reads `10/1s`. The bounds are the node's to judge.
fn rate(text: &str) -> Result<Rate, String> {
    let parts = text.split_once('/').map(|(count, per)| (count.trim().parse(), span(per.trim())));
    match parts {
        Some((Ok(count), Ok(per))) => Ok(Rate { count, per }),
        _ => Err("write it like 10/1s: so many leases in so long".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_in_a_duration() {
        let read = rate("10/1s");
        assert_eq!(read, Ok(Rate { count: 10, per: Span::from_secs(1) }));
        assert_eq!(rate("600 / 1h").map(|rate| rate.per), Ok(Span::from_secs(3_600)));
        for bad in ["", "10", "10/", "/1s", "x/1s", "10/s", "-1/1s", "10/1s/1s"] {
            assert!(rate(bad).is_err(), "{bad:?}");
        }
    }
}
