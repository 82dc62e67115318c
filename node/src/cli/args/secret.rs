//! `campanile secret …` as it is written. No flag takes the text of a secret: the arguments of a process can be read by
//! everybody on its machine, and stay in the history of the shell.

use std::path::PathBuf;

use campanile_core::time::Span;
use clap::{Args, Subcommand};

use super::{Connect, Output, segment, span};

/// `campanile secret …`.
#[derive(Debug, Args)]
pub struct SecretArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
    /// What to do.
    #[command(subcommand)]
    pub command: SecretCommand,
}

/// What to do with secrets.
#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// List secrets; no text is ever shown
    #[command(visible_alias = "list")]
    Ls {
        /// Print at most so many; all of them when it is left out
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
    },
    /// Create a secret, or replace its text; the text before goes on to sign beside it for a while
    Put(SecretPutArgs),
    /// Remove secrets that no schedule names
    #[command(visible_alias = "delete")]
    Rm {
        /// Which
        #[arg(required = true, value_name = "NAME", value_parser = segment)]
        names: Vec<String>,
    },
}

/// `campanile secret put`.
#[derive(Debug, Args)]
#[command(after_help = "A good text is whsec_ and the base64 of 32 random bytes:\n  \
    echo \"whsec_$(openssl rand -base64 32)\" | campanile secret put NAME --from-file -")]
pub struct SecretPutArgs {
    /// Its name, as schedules name it in secret_ref
    #[arg(value_name = "NAME", value_parser = segment)]
    pub name: String,
    /// The file that holds its text, without a newline at its end; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    pub from_file: PathBuf,
    /// How long the text before signs beside this one, so that receivers can learn it; 0s for not at all, 24h when it is
    /// left out
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub keep_previous: Option<Span>,
}
