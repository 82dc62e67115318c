//! The configuration of a node: one file (TOML), the environment above it, flags above that.
//!
//! ```text
//!   file ─┐
//!   env  ─┼─> source (texts, each with its origin) ─> reader (typed, one flaw a line) ─> judge (do they fit?) ─> Config
//!   flags ┘
//! ```
//! Every flaw is found in one pass and is one line that says where and what to do. A secret is read from its file, held in
//! a [`Secret`], and printed nowhere. Nothing here opens a port or a data directory.

mod judge;
mod key;
mod reader;
mod secret;
mod show;
mod source;
mod value;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use campanile_core::time::Span;

pub use secret::Secret;
pub use source::Flags;
pub use value::Listen;

use crate::cli::args::{ConfigCheckArgs, ServeArgs};
use crate::dispatch::egress::Rules;

/// A whole configuration, checked: it can be started from as it is.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the node keeps everything.
    pub data_dir: PathBuf,
    /// HTTP for users, command line and dashboard.
    pub api: Api,
    /// Raft between the nodes.
    pub peer: Peer,
    /// What all nodes have in common.
    pub cluster: Cluster,
    /// The clockwork of consensus.
    pub raft: Raft,
    /// When a node stops for a part of it that stands still.
    pub watchdog: Watchdog,
    /// How much of the ledger is kept.
    pub ledger: Ledger,
    /// How many webhooks at once.
    pub dispatch: Dispatch,
    /// What webhooks may call beside the internet: `egress.allow` and `egress.deny`. Nothing when they are left out, but with
    /// `--dev`, which lets in loopback and private nets; the nodes of `campanile demo` have loopback and private nets in
    /// their files.
    pub egress: Rules,
    /// What is logged.
    pub log: Log,
}

/// HTTP for users.
#[derive(Debug, Clone)]
pub struct Api {
    /// Where it listens.
    pub listen: Listen,
    /// The URL under which others reach it.
    pub advertise: String,
    /// The file of the admin token, as configured.
    pub token_file: Option<PathBuf>,
    /// The admin token; without it the API is open, and only on loopback.
    pub token: Option<Secret>,
}

/// Raft between the nodes.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Where it listens.
    pub listen: Listen,
    /// `host:port` under which the other nodes reach it; one of [`Cluster::peers`].
    pub advertise: String,
    /// The file of the cluster secret, as configured.
    pub secret_file: Option<PathBuf>,
    /// What every node of the cluster knows; without it peers are trusted, and only on loopback.
    pub secret: Option<Secret>,
}

/// What all nodes have in common.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Tells clusters apart: a node refuses peers of another name.
    pub name: String,
    /// `host:port` of every node, this one included.
    pub peers: Vec<String>,
    /// Instants younger than this are late, never missed: what tells a failover from an outage.
    pub failover_grace: Span,
    /// By how much a leader's clock may be ahead of a quorum of clocks before it decides nothing any more.
    pub max_clock_ahead: Span,
}

/// The clockwork of consensus. Failover takes about twice `election_max`.
#[derive(Debug, Clone)]
pub struct Raft {
    /// How often a leader is heard.
    pub heartbeat: Span,
    /// The shortest silence after which a node stands for election.
    pub election_min: Span,
    /// The longest.
    pub election_max: Span,
    /// An image is taken after so many entries,
    pub snapshot_entries: u64,
    /// or after so many bytes of them, whichever comes first.
    pub snapshot_bytes: u64,
}

/// When a node stops for a part of it that stands still; zero is never.
#[derive(Debug, Clone)]
pub struct Watchdog {
    /// A write of the log that takes so long makes a leader give its office away.
    pub disk_hand_over: Span,
    /// One that takes so long makes the node stop.
    pub disk_stop: Span,
    /// The node stops when no quorum answers for so many times `raft.election_max`, though a majority of nodes is there.
    pub quorum_leases: u32,
}

/// How much of the ledger is kept. The leader's settings count; rows are dropped on every node at the same place.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// Rows are kept for at least so long, and up to an eighth longer,
    pub retention: Span,
    /// unless they take more than so many bytes: then the oldest go first.
    pub max_bytes: u64,
}

/// How many webhooks at once.
#[derive(Debug, Clone)]
pub struct Dispatch {
    /// Requests under way, all together.
    pub max_in_flight: usize,
    /// Requests under way to one host and port.
    pub per_host: usize,
}

/// What is logged.
#[derive(Debug, Clone)]
pub struct Log {
    /// A filter: `info`, or `info,campanile::dispatch=debug`.
    pub level: String,
    /// How a line looks.
    pub format: LogFormat,
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// A configuration and what is odd about it without being wrong.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Each one line.
    pub warnings: Vec<String>,
}

/// Everything that is wrong with a configuration, each one line that says where and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaws(pub Vec<String>);

impl std::fmt::Display for Flaws {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Flaws {}

/// Reads the configuration that `serve` starts with.
///
/// # Errors
/// Every flaw that was found.
pub fn load(args: &ServeArgs) -> Result<Loaded, Flaws> {
    let environment = source::environment(std::env::vars());
    load_from(args.config.as_deref(), environment, &Flags::of(args))
}

/// Reads it from a file, variables of the environment and flags, all given.
///
/// # Errors
/// Every flaw that was found.
pub fn load_from(
    file: Option<&std::path::Path>,
    environment: Vec<(String, String)>,
    flags: &Flags,
) -> Result<Loaded, Flaws> {
    let mut flaws = Vec::new();
    let settings = source::Settings::gather(file, environment, flags, &mut flaws);
    if file.is_some_and(|file| !file.exists()) {
        // What would stand in it is not missing: the file is.
        return Err(Flaws(flaws));
    }
    let loaded = reader::read(&settings, flags.dev, &mut flaws);
    let warnings = judge::judge(&loaded, &settings, &mut flaws);
    if flaws.is_empty() { Ok(Loaded { config: loaded, warnings }) } else { Err(Flaws(flaws)) }
}

impl Config {
    /// The configuration as a file that means the same, defaults spelled out, secrets left out.
    #[must_use]
    pub fn to_toml(&self) -> String {
        show::toml(self)
    }

    /// The admin token, shared with those who compare it.
    #[must_use]
    pub fn admin_token(&self) -> Option<Arc<Secret>> {
        self.api.token.clone().map(Arc::new)
    }
}

/// `campanile config check FILE`: prints the configuration that the file, the environment and the defaults make together.
/// Exit code 2 when anything is wrong.
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what this command does")]
pub fn check(args: &ConfigCheckArgs) -> ExitCode {
    let environment = source::environment(std::env::vars());
    match load_from(Some(&args.file), environment, &Flags::default()) {
        Ok(Loaded { config, warnings }) => {
            for warning in warnings {
                eprintln!("warning: {warning}");
            }
            print!("{}", config.to_toml());
            ExitCode::SUCCESS
        }
        Err(Flaws(flaws)) => {
            for flaw in flaws {
                eprintln!("error: {flaw}");
            }
            ExitCode::from(2)
        }
    }
}
