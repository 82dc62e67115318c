//! The command line: one binary for nodes, users and operators.
//!
//! ```text
//! args ──▶ a command ──▶ calls of client ──▶ output
//!             ├── serve, demo, config check: handed back to `main`, which knows the server
//!             └── worker: handed back too, since its commands print for themselves
//! ```
//!
//! A client command speaks HTTP and nothing else: this folder must not know consensus, storage or the machine, so that it
//! works against any node of any version. Data goes to standard output, talk to standard error. Each command is one file.

mod apply;
pub mod args;
mod backfill;
mod backup;
mod calendar;
mod cell;
mod cluster;
mod create;
mod dead_letter;
mod diff;
mod document;
mod explain;
mod failure;
mod files;
mod firing;
mod health;
mod hosts;
mod import;
mod io;
mod ledger;
mod list;
mod mark;
mod outage;
mod preview;
mod progress;
mod put;
mod queue;
mod restore;
mod revisions;
mod schedule;
mod secret;
mod session;
mod trigger;
mod verify;
mod why;
mod worker;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Cli, Command, ConfigCheckArgs, ConfigCommand, DemoArgs, ServeArgs, WorkerArgs};
pub use failure::Exit;
use failure::Failure;
pub use io::Io;
pub use worker::main as worker;

/// A command that is not a client's: it runs in this process.
#[derive(Debug, Clone)]
pub enum Local {
    /// Run a node.
    Serve(ServeArgs),
    /// Run three nodes and a receiver.
    Demo(DemoArgs),
    /// Look at a configuration.
    ConfigCheck(ConfigCheckArgs),
    /// Work on a queue; [`worker`] does it.
    Worker(Box<WorkerArgs>),
}

/// What came of the command line.
#[derive(Debug)]
pub enum Outcome {
    /// It was done, or it failed; everything is said.
    Exit(Exit),
    /// It asks for something that the caller runs.
    Local(Local),
}

/// The command line of this process; `local` runs what needs the server.
pub fn main(local: impl FnOnce(Local) -> ExitCode) -> ExitCode {
    match Io::with_process(|io| run(std::env::args_os(), io)) {
        Outcome::Exit(exit) => exit.into(),
        Outcome::Local(command) => local(command),
    }
}

/// Reads the arguments (the program's name first) and does what they say with `io` for its surroundings.
pub fn run(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Outcome {
    let command = match Cli::try_parse_from(args) {
        Ok(cli) => cli.command,
        Err(error) => return Outcome::Exit(usage(&error, io)),
    };
    let done = match command {
        Command::Serve(args) => return Outcome::Local(Local::Serve(args)),
        Command::Demo(args) => return Outcome::Local(Local::Demo(args)),
        Command::Worker(args) => return Outcome::Local(Local::Worker(Box::new(args))),
        Command::Config { command: ConfigCommand::Check(args) } => {
            return Outcome::Local(Local::ConfigCheck(args));
        }
        command => client_command(command, io),
    };
    Outcome::Exit(failure::settle(done, io))
}

fn client_command(command: Command, io: &mut Io<'_>) -> Result<(), Failure> {
    // One thread is enough to wait for one answer at a time.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match command {
        Command::Schedule(args) => runtime.block_on(schedule::run(args, io)),
        Command::Calendar(args) => runtime.block_on(calendar::run(args, io)),
        Command::Backfill(args) => runtime.block_on(backfill::run(args, io)),
        Command::Firing(args) => runtime.block_on(firing::run(args, io)),
        Command::DeadLetter(args) => runtime.block_on(dead_letter::run(args, io)),
        Command::Queue(args) => runtime.block_on(queue::run(args, io)),
        Command::Secret(args) => runtime.block_on(secret::run(args, io)),
        Command::Ledger(args) => runtime.block_on(ledger::run(args, io)),
        Command::Verify(args) => runtime.block_on(verify::run(*args, io)),
        Command::Import(args) => runtime.block_on(import::run(args, io)),
        Command::Cluster(args) => runtime.block_on(cluster::run(args, io)),
        Command::Health(args) => runtime.block_on(health::run(args, io)),
        Command::Backup(args) => runtime.block_on(backup::run(args, io)),
        Command::Restore(args) => restore::run(&args, io),
        Command::Explain(args) => match why::asked(&args)? {
            Some(name) => runtime.block_on(why::run(&args, &name, io)),
            None => explain::run(&args, io),
        },
        Command::Outage(args) => runtime.block_on(outage::run(args, io)),
        Command::Completions { shell } => completions(shell, io),
        Command::Serve(_) | Command::Demo(_) | Command::Worker(_) | Command::Config { .. } => {
            unreachable!("handed back before")
        }
    }
}

fn completions(shell: clap_complete::Shell, io: &mut Io<'_>) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "campanile", &mut script);
    Ok(io.out.write_all(&script)?)
}

/// Help and version are data; a typing error is talk.
fn usage(error: &clap::Error, io: &mut Io<'_>) -> Exit {
    let text = error.render();
    let text = if io.color { text.ansi().to_string() } else { text.to_string() };
    let (stream, exit): (&mut dyn std::io::Write, Exit) =
        if error.use_stderr() { (&mut *io.err, Exit::Usage) } else { (&mut *io.out, Exit::Done) };
    // Nobody is left to tell when this fails.
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    exit
}
