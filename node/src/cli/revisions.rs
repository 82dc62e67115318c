//! `campanile schedule revisions`: the definitions that a schedule has had.

use serde_json::Value;

use super::Io;
use super::args::{Format, RevisionsArgs};
use super::cell::at;
use super::failure::Failure;
use super::list::{Column, Kind};
use super::schedule::specs;
use super::session::{path_of, print_list};
use crate::client::{Call, Client};

static REVISIONS: Kind = Kind {
    plural: "revisions",
    columns: &[
        Column { title: "REVISION", cell: |revision| at(revision, "/revision") },
        Column { title: "AT", cell: |revision| at(revision, "/at") },
        Column { title: "BY", cell: |revision| at(revision, "/by") },
        Column { title: "POSITION", cell: |revision| at(revision, "/position") },
        Column { title: "SPECS", cell: |revision| specs(definition(revision)) },
        Column { title: "TARGET", cell: |revision| at(definition(revision), "/target/webhook/url") },
    ],
    name: |revision| at(revision, "/revision"),
};

pub(super) async fn run(
    client: &Client,
    args: RevisionsArgs,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let call = Call::get(format!("{}/revisions", path_of(&args.name)));
    print_list(client, call, args.limit, &REVISIONS, format, io).await
}

fn definition(revision: &Value) -> &Value {
    revision.get("definition").unwrap_or(&Value::Null)
}
