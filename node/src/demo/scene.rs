//! What the demonstration is set up with: a directory, free ports, three nodes, and the schedules of a crontab.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use campanile_core::cron::{DayMatch, DstGap, DstOverlap, parse_instant};
use campanile_core::series::{NoCalendars, Series, Texts};
use campanile_core::spec::{CronSpec, Spec, Window};
use campanile_core::time::Timestamp;

use super::child::{Node, Ports};
use crate::client::draft::{Draft, SpecDraft};
use crate::import::{Import, crontab};

/// The crontab that is imported when none is given.
const SAMPLE: &[u8] = include_bytes!("crontab");
/// How long one attempt may take: short, so that what a killed node has begun is tried again while somebody watches.
pub(super) const ATTEMPT_LIMIT: &str = "2s";
const NODES: usize = 3;

/// A directory that is removed at the end.
#[derive(Debug)]
pub(super) struct Dir {
    pub(super) path: PathBuf,
    keep: bool,
}

impl Dir {
    pub(super) fn make(keep: bool) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("campanile-demo-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot make the directory {}", path.display()))?;
        Ok(Self { path, keep })
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be removed is in the directory for what is temporary, where somebody else clears up.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Nodes that are configured and not started.
pub(super) fn nodes(dir: &Path, first_port: Option<u16>) -> Result<Vec<Node>> {
    let mut ports = match first_port {
        Some(first) => numbered_ports(first)?,
        None => free_ports()?,
    };
    // Founders take their ids from the order of their peer addresses as texts, so that node 1 is node 1 everywhere.
    ports.sort_by_key(|ports| ports.peer.to_string());
    let node =
        |number| Node::prepare(dir, number, &ports).context("cannot write the configuration of a node");
    (1..=NODES).map(node).collect()
}

fn numbered_ports(first: u16) -> Result<Vec<Ports>> {
    let Some(last) = first.checked_add(2 * NODES as u16 - 1) else {
        bail!("--port {first} leaves no room for {} ports", 2 * NODES)
    };
    for port in first..=last {
        TcpListener::bind(("127.0.0.1", port))
            .with_context(|| format!("port {port} is not free: choose another --port"))?;
    }
    Ok((0..NODES as u16).map(|n| Ports { api: first + 2 * n, peer: first + 2 * n + 1 }).collect())
}

/// All are held until all are known, so that none is given twice.
fn free_ports() -> Result<Vec<Ports>> {
    let held: Vec<TcpListener> = (0..2 * NODES)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<Result<_, _>>()
        .context("no free port")?;
    let ports: Vec<u16> =
        held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect::<Result<_>>()?;
    Ok(ports.chunks(2).map(|pair| Ports { api: pair[0], peer: pair[1] }).collect())
}

/// The schedules of a crontab, aimed at the receiver.
pub(super) fn import(file: Option<&Path>, url: &str, now: Timestamp) -> Result<Import> {
    let text = match file {
        Some(path) => fs::read(path).with_context(|| format!("cannot read {}", path.display()))?,
        None => SAMPLE.to_vec(),
    };
    let options = crontab::Options {
        namespace: "demo".into(),
        url: url.into(),
        time_zone: "UTC".into(),
        system: false,
        labels: [("from".to_owned(), "crontab".to_owned())].into(),
        now,
    };
    let mut import = crontab::read(&text, &options);
    if import.schedules.is_empty() {
        bail!("the crontab holds nothing that could be carried over");
    }
    for webhook in import.schedules.iter_mut().filter_map(|found| found.draft.webhook_mut()) {
        webhook.timeout = Some(ATTEMPT_LIMIT.into());
    }
    Ok(import)
}

/// The instants of a draft, for the judge.
pub(super) fn series(draft: &Draft) -> Result<Series> {
    let specs = draft.specs.iter().map(spec).collect::<Result<Vec<_>>>()?;
    match Series::of_specs(&specs, &[], Window::default(), &NoCalendars, &mut Texts::default()) {
        Ok(series) => Ok(series),
        Err(bad) => bail!("{}: {}", draft.name, bad.error.detail),
    }
}

fn spec(draft: &SpecDraft) -> Result<Spec> {
    Ok(match draft {
        SpecDraft::Cron { cron, time_zone } => Spec::Cron(Box::new(CronSpec {
            text: cron.as_str().into(),
            time_zone: time_zone.as_str().into(),
            day_match: DayMatch::default(),
            dst_gap: DstGap::default(),
            dst_overlap: DstOverlap::default(),
        })),
        SpecDraft::Every { every } => match every.parse() {
            Ok(every) => Spec::Every { every, anchor: Timestamp::EPOCH },
            Err(_) => bail!("{every} is no duration"),
        },
        SpecDraft::At { at } => Spec::At(parse_instant(at).with_context(|| format!("{at} is no instant"))?),
    })
}
