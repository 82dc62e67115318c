//! `campanile health`: does each node live, and is it ready? For container probes and for waiting in scripts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Io;
use super::args::HealthArgs;
use super::cell::at;
use super::failure::{Exit, Failure};
use super::list::{Column, Kind, List};
use super::session::{connect, duration};
use crate::client::{Call, Client, Error};

/// How often `--wait` looks.
const LOOK: Duration = Duration::from_millis(250);

static NODES: Kind = Kind {
    plural: "endpoints",
    columns: &[
        Column { title: "ENDPOINT", cell: |node| at(node, "/endpoint") },
        Column { title: "HEALTH", cell: |node| at(node, "/health") },
        Column { title: "DETAIL", cell: |node| at(node, "/detail") },
    ],
    name: |node| at(node, "/endpoint"),
};

pub(super) async fn run(args: HealthArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let deadline = args.wait.map(|wait| Instant::now() + duration(wait));
    let nodes = loop {
        let nodes = look(&client, args.live).await;
        if nodes.iter().all(is_well) || deadline.is_none_or(|deadline| Instant::now() + LOOK >= deadline) {
            break nodes;
        }
        tokio::time::sleep(LOOK).await;
    };
    let mut list = List::new(&NODES, args.output.format);
    list.page(io, &nodes)?;
    list.end(io)?;
    if nodes.iter().all(is_well) { Ok(()) } else { Err(Failure::Said(Exit::Unreachable)) }
}

fn is_well(node: &Value) -> bool {
    matches!(node["health"].as_str(), Some("ready" | "live"))
}

async fn look(client: &Client, live: bool) -> Vec<Value> {
    let mut nodes = Vec::new();
    for (place, endpoint) in client.endpoints().iter().enumerate() {
        let (path, well) = if live { ("/livez", "live") } else { ("/readyz", "ready") };
        let (health, detail) = match client.only(place).try_once(&Call::get(path)).await {
            Ok(_) => (well, None),
            Err(error) => unwell(&error),
        };
        nodes.push(json!({ "endpoint": endpoint.to_string(), "health": health, "detail": detail }));
    }
    nodes
}

fn unwell(error: &Error) -> (&'static str, Option<String>) {
    match error {
        Error::Problem(problem) => ("not_ready", Some(problem.to_string())),
        Error::Foreign { status: 503, .. } => ("not_ready", None),
        Error::Unreachable { tried } | Error::TimedOut { tried, .. } => {
            ("unreachable", tried.last().map(|tried| tried.why.clone()))
        }
        Error::Foreign { .. } | Error::Unusable(_) | Error::Broken { .. } => {
            ("unknown", Some(error.to_string()))
        }
    }
}
