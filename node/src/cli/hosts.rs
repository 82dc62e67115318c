//! `campanile cluster hosts`: which hosts a node sends to, and which of them it asks less often.

use serde_json::Value;

use super::Io;
use super::args::Format;
use super::cell::at;
use super::failure::Failure;
use super::list::{Column, Kind, List};
use super::session::print_one;
use crate::client::{Call, Client};

static HOSTS: Kind = Kind {
    plural: "hosts",
    columns: &[
        Column { title: "HOST", cell: |host| at(host, "/host") },
        Column { title: "IN FLIGHT", cell: |host| at(host, "/in_flight") },
        Column { title: "CIRCUIT", cell: |host| at(host, "/state") },
        Column { title: "FAILURES", cell: |host| at(host, "/failures") },
        Column { title: "OPEN UNTIL", cell: |host| at(host, "/open_until") },
    ],
    name: |host| at(host, "/host"),
};

/// Shows the view of the first node that answers; each node has one of its own.
pub(super) async fn run(client: &Client, format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    let body = client.send(&Call::get("/v1/hosts")).await?.body;
    if matches!(format, Format::Json | Format::Yaml) {
        return print_one(io, format, &body, "", |_, _| Ok(()));
    }
    let hosts = body.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut list = List::new(&HOSTS, format);
    list.page(io, &hosts)?;
    list.end(io)?;
    if format == Format::Table {
        writeln!(io.err, "as node {} sees them", at(&body, "/node"))?;
    }
    Ok(())
}
