//! `campanile demo`: three real nodes, the schedules of a crontab, and a receiver that prints what arrives.
//!
//! ```text
//!   scene (directory, ports, crontab) ─> child × 3 ─> watch (who leads) ─> import ─> play: receiver ─> judge ─> screen
//! ```
//! The nodes are processes of the same binary, so that killing one is what it would be in earnest. The judge believes
//! nothing but what arrived. At the end everything is stopped and removed.

mod child;
mod judge;
mod play;
mod receiver;
mod scene;
mod screen;
mod watch;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use campanile_core::time::Span;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::args::DemoArgs;
use crate::client::Call;
use crate::clock::Clock;
use crate::import::{Import, Weight};
use child::Node;
use judge::Judge;
use play::{Play, Script};
use scene::Dir;

/// How long three nodes may take to have a leader: seconds on a machine that is busy.
const START: Duration = Duration::from_secs(30);
/// An instant is missing when it has not come after the lease of the node that was killed over it (2 s for the attempt
/// and 10 s to report it), the wait before the next try, and the way.
const PATIENCE: Span = Span::from_secs(18);

/// Runs the demonstration. Exit code 1 when an instant was missing or came twice.
#[allow(clippy::print_stderr, reason = "the last line of a process that ends")]
pub fn run(args: &DemoArgs) -> ExitCode {
    let shown = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("no threads can be started")
        .and_then(|runtime| runtime.block_on(show(args)));
    match shown {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whatever ends this, dropping what it holds ends the nodes and then removes the directory.
async fn show(args: &DemoArgs) -> Result<bool> {
    let stop = on_signal()?;
    let dir = Dir::make(args.keep)?;
    let play = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(true),
        play = prepare(args, &dir) => play?,
    };
    screen::head();
    let script = Script { kill_leader_after: args.kill_leader_after, end_after: args.ends_after };
    let clean = play.run(script, stop).await?;
    let verdict =
        if clean { "nothing missing, nothing doubled" } else { "an instant was missing or came twice" };
    let data = if args.keep { "data is kept" } else { "everything is removed" };
    screen::announce(&format!("the end: {verdict}; {data}"));
    Ok(clean)
}

/// Cancelled by Ctrl-C, by a polite kill, and when the terminal goes.
fn on_signal() -> Result<CancellationToken> {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let stop = CancellationToken::new();
    for kind in kinds {
        let (mut signal, stop) = (signal(kind).context("cannot listen to signals")?, stop.clone());
        tokio::spawn(async move {
            signal.recv().await;
            stop.cancel();
        });
    }
    Ok(stop)
}

async fn prepare(args: &DemoArgs, dir: &Dir) -> Result<Play> {
    let clock = Clock::system();
    let (receiver, arrivals) = receiver::start(clock).await.context("no port for the receiver")?;
    let import = scene::import(args.crontab.as_deref(), &format!("http://{receiver}/run"), clock.now())?;
    let mut nodes = scene::nodes(&dir.path, args.port)?;
    for node in &mut nodes {
        node.start().context("a node does not start")?;
    }
    opening(dir, &nodes, &receiver.to_string());
    let apis: Vec<String> = nodes.iter().map(|node| node.api.clone()).collect();
    let mut leads = watch::start(&apis)?;
    wait_for_leader(&mut leads, &mut nodes).await?;
    leads.mark_changed();
    put(&apis, &import).await?;
    let judge = Judge::new(judged(&import)?, PATIENCE);
    Ok(Play::new(nodes, judge, clock, arrivals, leads))
}

fn opening(dir: &Dir, nodes: &[Node], receiver: &str) {
    screen::say(&format!("Three nodes on this machine, their data and logs in {}", dir.path.display()));
    for node in nodes {
        let pid = node.pid().unwrap_or_default();
        screen::say(&format!(
            "  node {}    pid {pid:<8} {}    {}",
            node.number,
            node.api,
            node.data.display()
        ));
    }
    screen::say(&format!("  receiver                http://{receiver}    prints what arrives"));
}

async fn wait_for_leader(
    leads: &mut tokio::sync::watch::Receiver<Option<watch::Lead>>,
    nodes: &mut [Node],
) -> Result<()> {
    let since = Instant::now();
    while leads.borrow().is_none() {
        for node in nodes.iter_mut() {
            if let Some((_, status)) = node.ended() {
                bail!(
                    "node {} ended at once ({status}); its last words:\n{}",
                    node.number,
                    node.last_words()
                );
            }
        }
        if since.elapsed() > START {
            bail!("no leader within {START:?}; the last words of node 1:\n{}", nodes[0].last_words());
        }
        // Nodes that die are looked at even when nobody leads.
        let _ = tokio::time::timeout(Duration::from_millis(50), leads.changed()).await;
    }
    Ok(())
}

async fn put(apis: &[String], import: &Import) -> Result<()> {
    let client = watch::client(apis, Duration::from_secs(10))?;
    for found in &import.schedules {
        let call = Call::put(found.draft.path(), found.draft.to_json());
        client.send(&call).await.with_context(|| format!("line {}: {}", found.line, found.source))?;
    }
    screen::say(&format!("{} schedules from the crontab; what it says beside them:", import.schedules.len()));
    for remark in import.remarks.iter().filter(|remark| remark.weight != Weight::Advice) {
        screen::say(&format!("  line {}: {}", remark.line, remark.detail));
    }
    screen::say("Ctrl-C stops the nodes and removes everything.");
    Ok(())
}

fn judged(import: &Import) -> Result<Vec<(String, campanile_core::series::Series)>> {
    let judged = |found: &crate::import::Found| {
        Ok((format!("{}/{}", found.draft.namespace, found.draft.name), scene::series(&found.draft)?))
    };
    import.schedules.iter().map(judged).collect()
}
