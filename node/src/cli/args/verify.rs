//! `campanile verify` as it is written.

use std::path::PathBuf;

use campanile_core::time::Timestamp;
use clap::Args;

use super::{Connect, Output, instant, segment};

/// `campanile verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// An export to verify (`ledger export -o segments`), or a backup; no cluster is asked then
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Only schedules of this namespace
    #[arg(short, long, value_name = "NAMESPACE", value_parser = segment)]
    pub namespace: Option<String>,
    /// Only instants after this one
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub after: Option<Timestamp>,
    /// Only instants up to this one; later than the last row it says that the ledger is whole up to here, so that an end
    /// that was cut off shows
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub until: Option<Timestamp>,
    /// Only the ledger of the node at this address, instead of every node's
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    pub server: Option<String>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}
