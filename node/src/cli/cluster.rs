//! `campanile cluster status, hosts, transfer, remove`: the nodes, as somebody who has never seen them wants to.

use serde_json::{Value, json};

use super::args::{ClusterArgs, ClusterCommand, Format};
use super::cell::{self, at};
use super::failure::{Exit, Failure};
use super::list::{Column, Kind, List, pairs};
use super::session::{connect, print_one};
use super::{Io, hosts};
use crate::client::{Call, Client};

static NODES: Kind = Kind {
    plural: "nodes",
    columns: &[
        Column { title: "NODE", cell: |node| at(node, "/id") },
        Column { title: "ROLE", cell: |node| at(node, "/role") },
        Column { title: "REACHABLE", cell: |node| yes_or_no(node.get("reachable")) },
        Column { title: "LAG", cell: |node| at(node, "/lag") },
        Column { title: "CLOCK", cell: clock },
        Column { title: "TZ DATA", cell: |node| at(node, "/tz_data") },
        Column { title: "SPEAKS", cell: |node| at(node, "/speaks") },
        Column { title: "API", cell: |node| at(node, "/api_address") },
        Column { title: "PEER", cell: |node| at(node, "/peer_address") },
    ],
    name: |node| at(node, "/id"),
};

pub(super) async fn run(args: ClusterArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let format = args.output.format;
    match args.command {
        ClusterCommand::Status => status(&client, format, io).await,
        ClusterCommand::Hosts => hosts::run(&client, format, io).await,
        ClusterCommand::Transfer { to } => {
            let body = to.map_or_else(|| json!({}), |to| json!({ "to": to }));
            let answer = client.send(&Call::post("/v1/cluster/transfer", body)).await?;
            let done =
                to.map_or_else(|| "the lead is handed over".to_owned(), |to| format!("node {to} leads"));
            print_one(io, format, &answer.body, &done, |io, _| Ok(writeln!(io.out, "{done}")?))
        }
        ClusterCommand::Remove { id } => {
            let answer = client.send(&Call::delete(format!("/v1/cluster/nodes/{id}"))).await?;
            print_one(io, format, &answer.body, &id.to_string(), |io, _| {
                Ok(writeln!(io.out, "removed node {id}")?)
            })
        }
    }
}

async fn status(client: &Client, format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    // Stale on purpose: a cluster that has lost its quorum must still be able to say who is missing.
    let mut cluster = client.send(&Call::get("/v1/cluster").query("consistency", "stale")).await?.body;
    if let Some(better) = from_leader(client, &cluster).await {
        cluster = better;
    }
    let nodes = cluster.get("nodes").and_then(Value::as_array).cloned().unwrap_or_default();
    match format {
        Format::Table => {
            pairs(io, summary(&cluster))?;
            writeln!(io.out)?;
            print_nodes(io, format, &nodes)?;
            print_warnings(io, &cluster)?;
        }
        Format::Jsonl | Format::Name => print_nodes(io, format, &nodes)?,
        Format::Json | Format::Yaml => print_one(io, format, &cluster, "", |_, _| Ok(()))?,
    }
    if cluster.get("leader").is_none_or(Value::is_null) {
        let detail = "there is no leader: no tick is decided and no write is taken";
        let hint = "a majority of the nodes must be up and reach each other";
        return Err(Failure::Input { exit: Exit::Unreachable, detail: detail.into(), hint: hint.into() });
    }
    Ok(())
}

/// Lag and reachability are known to the leader. When another node answered, the leader is asked too, if it is one of
/// the endpoints that the user named: its advertised address may mean nothing from here.
async fn from_leader(client: &Client, cluster: &Value) -> Option<Value> {
    let leader = cluster.get("leader").and_then(Value::as_u64)?;
    if cluster.get("node").and_then(Value::as_u64) == Some(leader) {
        return None;
    }
    for place in 0..client.endpoints().len() {
        let call = Call::get("/v1/cluster").query("consistency", "stale");
        if let Ok(answer) = client.only(place).try_once(&call).await
            && answer.body.get("node").and_then(Value::as_u64) == Some(leader)
        {
            return Some(answer.body);
        }
    }
    None
}

fn summary(cluster: &Value) -> Vec<(&'static str, String)> {
    let rows = [
        ("Cluster", at(cluster, "/name")),
        (
            "Leader",
            cluster.get("leader").filter(|leader| !leader.is_null()).map_or("none".into(), cell::text),
        ),
        ("Term", at(cluster, "/term")),
        ("Applied", format!("{} of {}", at(cluster, "/applied"), at(cluster, "/last_log"))),
        ("Format level", at(cluster, "/format_level")),
        // As `verify --head` takes it.
        ("Ledger", format!("{}:{}", at(cluster, "/ledger/position"), at(cluster, "/ledger/hash"))),
        ("Schedules", at(cluster, "/schedules")),
        ("Firings under way", at(cluster, "/live_firings")),
        ("Answered by", format!("node {}, version {}", at(cluster, "/node"), at(cluster, "/version"))),
    ];
    let known = |text: &str| !text.starts_with(cell::NOTHING);
    rows.into_iter().filter(|(_, text)| known(text)).collect()
}

fn print_nodes(io: &mut Io<'_>, format: Format, nodes: &[Value]) -> Result<(), Failure> {
    let mut list = List::new(&NODES, format);
    list.page(io, nodes)?;
    Ok(list.end(io)?)
}

/// What somebody should see to, below the table; the other formats carry it as a field.
fn print_warnings(io: &mut Io<'_>, cluster: &Value) -> Result<(), Failure> {
    let warnings = cluster.get("warnings").and_then(Value::as_array).into_iter().flatten();
    for warning in warnings.filter_map(Value::as_str) {
        writeln!(io.out, "\nwarning: {warning}")?;
    }
    Ok(())
}

fn yes_or_no(value: Option<&Value>) -> String {
    match value.and_then(Value::as_bool) {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => cell::NOTHING.to_owned(),
    }
}

/// How far a node's wall clock is ahead of the answering node's.
fn clock(node: &Value) -> String {
    node.get("clock_offset_ms")
        .and_then(Value::as_i64)
        .map_or_else(|| cell::NOTHING.to_owned(), |offset| format!("{offset:+} ms"))
}
