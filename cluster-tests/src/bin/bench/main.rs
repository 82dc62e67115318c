//! The figures of the product, measured on three real processes of the release binary on this machine, in one run.
//!
//! Each phase has a cluster of its own. A figure is the median of its runs, and the runs stand beside it. Everything shares
//! the cores of this machine: three nodes, the receiver and the bench itself; that is said with the figures, not deducted.
//!
//! `cargo run --release -p campanile-cluster-tests --bin bench -- [--quick] [--only PHASE]…`; writes `target/bench.json`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a bench does")]

mod catch_up;
mod commit;
mod deliver;
mod drain;
mod failover;
mod figure;
mod lateness;
mod load;
mod metrics;
mod office;
mod size;
mod stage;
mod week;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use campanile_cluster_tests::seed::Seed;

use figure::Report;

/// The phases, in the order in which they run.
const PHASES: [&str; 8] = ["catch_up", "week", "size", "commit", "deliver", "drain", "lateness", "failover"];

/// What was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: Seed,
    /// A tenth of everything: to see that it runs, not to be quoted.
    pub(crate) quick: bool,
    only: Vec<String>,
}

impl Plan {
    fn from_arguments() -> Result<Self> {
        let mut plan = Self { seed: Seed::from_environment(), quick: false, only: Vec::new() };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => plan.quick = true,
                "--only" => plan.only.push(arguments.next().context("--only needs the name of a phase")?),
                other => bail!("unknown argument {other:?}: known are --quick and --only PHASE"),
            }
        }
        match plan.only.iter().find(|name| !PHASES.contains(&name.as_str())) {
            Some(name) => bail!("no phase {name:?}: known are {}", PHASES.join(", ")),
            None => Ok(plan),
        }
    }

    fn wants(&self, phase: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == phase)
    }

    /// `whole`, or a tenth of it in a quick run.
    pub(crate) fn share(&self, whole: usize) -> usize {
        if self.quick { whole / 10 } else { whole }
    }

    /// How often a window is measured.
    pub(crate) fn runs(&self) -> usize {
        if self.quick { 1 } else { 3 }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let plan = Plan::from_arguments()?;
    let mut report = Report::default();
    for phase in PHASES.into_iter().filter(|phase| plan.wants(phase)) {
        println!("== {phase}");
        match phase {
            "catch_up" => catch_up::measure(&plan, &mut report)?,
            "week" => week::measure(&plan, &mut report).await?,
            "size" => size::measure(&plan, &mut report).await?,
            "commit" => commit::measure(&plan, &mut report).await?,
            "deliver" => deliver::measure(&plan, &mut report).await?,
            "drain" => drain::measure(&plan, &mut report).await?,
            "lateness" => lateness::measure(&plan, &mut report).await?,
            _ => failover::measure(&plan, &mut report).await?,
        }
    }
    report.end();
    println!("\n{report}");
    if plan.quick {
        println!("A quick run: to see that it runs, not to be quoted.");
    }
    let file = target()?.join("bench.json");
    std::fs::write(&file, report.json()).with_context(|| file.display().to_string())?;
    println!("Written to {}", file.display());
    Ok(())
}

/// `target/`: two above this binary.
fn target() -> Result<PathBuf> {
    let binary = std::env::current_exe()?;
    let target =
        binary.parent().and_then(Path::parent).context("a binary of cargo stands in target/<profile>")?;
    Ok(target.to_owned())
}
