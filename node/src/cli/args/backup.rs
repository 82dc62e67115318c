//! The commands about backups, as they are written.

use std::path::PathBuf;

use clap::Args;

use super::{Connect, Output};

/// `campanile backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print what is in it; only with a file.
    #[command(flatten)]
    pub output: Output,
    /// Where to put it; standard output when it is left out. Secrets are in it in plain text: keep it as you keep those
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// `campanile restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The backup
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The data directory of the node that founds the new cluster, empty or not there yet; then start the node. The others
    /// are started with empty ones and join it
    #[arg(long, value_name = "DIR", required_unless_present = "verify_only")]
    pub data: Option<PathBuf>,
    /// Only read all of it and say what is in it
    #[arg(long, conflicts_with = "data")]
    pub verify_only: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}
