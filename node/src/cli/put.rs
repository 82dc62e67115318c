//! `campanile schedule put`: the schedules of files, each put on its own.

use std::path::PathBuf;

use super::args::Format;
use super::diff;
use super::failure::{Exit, Failure};
use super::files::{Document, read_all};
use super::session::{path_of, print_one, tell_warnings};
use super::{Io, cell};
use crate::client::{Answer, Call, Client, Condition};

/// Whether a put is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Do it.
    Real,
    /// Say what it would do.
    Dry,
}

pub(super) async fn run(
    client: &Client,
    files: &[PathBuf],
    if_match: Option<String>,
    mode: Mode,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let documents = read_all(io, files)?;
    if if_match.is_some() && documents.len() > 1 {
        return Err(Failure::usage("--if-match names one revision, the input has several schedules", ""));
    }
    let condition = if_match.map_or(Condition::None, Condition::Unchanged);
    put_each(client, &documents, &condition, mode, format, io).await
}

/// Puts each document, goes on after a refusal, and fails as the first one that was refused.
pub(super) async fn put_each(
    client: &Client,
    documents: &[Document],
    condition: &Condition,
    mode: Mode,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let mut first_failure: Option<Exit> = None;
    for document in documents {
        let call = Call::put(path_of(&document.name), document.body.clone()).only_if(condition.clone());
        let call = call.query_if("dry_run", (mode == Mode::Dry).then_some("true"));
        match client.send(&call).await {
            Ok(answer) => tell(document, &answer, mode, format, io)?,
            Err(error) => {
                let failure = Failure::Api(error);
                io.say(&format!("{} ({}):", document.name, cell::plain(&document.origin)));
                failure.tell(io);
                first_failure.get_or_insert(failure.exit());
                // What is not reached now is not reached for the next one either.
                if matches!(failure.exit(), Exit::Unreachable | Exit::TimedOut | Exit::Auth | Exit::Usage) {
                    break;
                }
            }
        }
    }
    first_failure.map_or(Ok(()), |exit| Err(Failure::Said(exit)))
}

/// Prints what became of one document, or would.
fn tell(
    document: &Document,
    answer: &Answer,
    mode: Mode,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let name = document.name.as_str();
    if mode == Mode::Dry {
        print_one(io, format, &answer.body, name, |io, would| diff::print(io, name, would))?;
        tell_warnings(io, name, answer.body.get("warnings"));
        return Ok(());
    }
    let done = if answer.status == 201 { "created" } else { "put" };
    print_one(io, format, &answer.body, name, |io, _| Ok(writeln!(io.out, "{done} {name}")?))?;
    tell_warnings(io, name, answer.body.pointer("/status/warnings"));
    Ok(())
}
