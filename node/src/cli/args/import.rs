//! The import commands, as they are written.

use std::path::PathBuf;

use campanile_core::time::Span;
use clap::{Args, Subcommand};

use super::{Connect, pair, span};

/// `campanile import …`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// How to reach the cluster.
    #[command(flatten)]
    pub connect: Connect,
    /// What to read.
    #[command(subcommand)]
    pub command: ImportCommand,
}

/// What to import.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// A crontab: prints schedules to put (YAML), and on standard error what could not be carried over
    #[command(after_help = CRONTAB_HELP)]
    Crontab(ImportCrontabArgs),
    /// Kubernetes CronJobs: prints schedules to put (YAML), and on standard error what could not be carried over
    #[command(after_help = K8S_HELP)]
    K8s(ImportK8sArgs),
    /// Dkron jobs: prints schedules to put (YAML), and on standard error what could not be carried over
    #[command(after_help = DKRON_HELP)]
    Dkron(ImportDkronArgs),
}

const CRONTAB_HELP: &str = "\
Each command line becomes a schedule that calls the webhook with {\"command\": …, \"stdin\": …}; something at that address
has to run it. CRON_TZ= lines set the time zone of the lines below them.

Comments that mean something:
  # name: nightly-backup     above a command line: the schedule's name
  # campanile: seconds       the next line has six time fields, seconds first
  # campanile: every 15m     the next line has no time fields, it runs at this interval";

const K8S_HELP: &str = "\
Reads YAML or JSON manifests, lists too: `kubectl get cronjobs -A -o yaml | campanile import k8s - --url …`. Each CronJob
becomes a schedule that calls the webhook with {\"containers\": [{\"image\": …, \"command\": …, \"args\": …}]}; something at that
address has to run them.";

const DKRON_HELP: &str = "\
Reads one job, a list of them, or {\"jobs\": […]}: `curl -s $DKRON/v1/jobs | campanile import dkron - --url …`. A job of the
http executor becomes a schedule that makes that request; any other calls the webhook at --url with {\"command\": …}.";

/// What every import is told.
#[derive(Debug, Args)]
pub struct ImportFrom {
    /// What to read; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The namespace of the schedules, instead of that of the file, or of `default`
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// The time zone of what names none: the zone of the machine on which it ran; UTC when left out
    #[arg(long, value_name = "ZONE")]
    pub tz: Option<String>,
    /// A label for each schedule
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = pair)]
    pub label: Vec<(String, String)>,
    /// How long one attempt may take, where the file does not say it
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub attempt_timeout: Option<Span>,
    /// Put the schedules at once instead of printing them
    #[arg(long)]
    pub apply: bool,
    /// Exit code 1 when something that ran could not be carried over; with --apply nothing is put then
    #[arg(long)]
    pub strict: bool,
}

/// `campanile import crontab`.
#[derive(Debug, Args)]
pub struct ImportCrontabArgs {
    /// What every import is told.
    #[command(flatten)]
    pub from: ImportFrom,
    /// The webhook to call
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// The system form, as /etc/crontab: a user stands before each command
    #[arg(long)]
    pub system: bool,
}

/// `campanile import k8s`.
#[derive(Debug, Args)]
pub struct ImportK8sArgs {
    /// What every import is told.
    #[command(flatten)]
    pub from: ImportFrom,
    /// The webhook to call
    #[arg(long, value_name = "URL")]
    pub url: String,
}

/// `campanile import dkron`.
#[derive(Debug, Args)]
pub struct ImportDkronArgs {
    /// What every import is told.
    #[command(flatten)]
    pub from: ImportFrom,
    /// The webhook to call for jobs that are no HTTP request themselves
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}
