//! `campanile verify` as it is written.

use std::path::PathBuf;

use campanile_core::time::Timestamp;
use clap::Args;

use super::{Connect, Output, instant, segment};
use crate::verify::KnownHead;

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
    /// A head that you have kept (`cluster status` shows it): the rows must reach it, with this hash; repeat it for several
    #[arg(long = "head", value_name = "INDEX.N:HASH", value_delimiter = ',')]
    pub heads: Vec<KnownHead>,
    /// Only the ledgers of the nodes at the endpoints, instead of every node's
    #[arg(long, conflicts_with = "file")]
    pub only: bool,
    /// The name that `--only --endpoint URL` had.
    #[arg(long, value_name = "URL", conflicts_with_all = ["file", "only"], hide = true)]
    pub server: Option<String>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}
