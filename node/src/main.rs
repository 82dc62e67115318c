//! The one binary: nodes, their users and their operators.

use std::process::ExitCode;

use campanile::cli::{self, Local};
use campanile::{config, demo, run};

fn main() -> ExitCode {
    cli::main(|local| match local {
        Local::Serve(args) => run::serve(&args),
        Local::ConfigCheck(args) => config::check(&args),
        Local::Demo(args) => demo::run(&args),
        Local::Worker(args) => cli::worker(&args),
    })
}
