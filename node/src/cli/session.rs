//! A client from the flags, and the pieces that several commands share.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use campanile_core::definition::ScheduleName;
use campanile_core::time::Span;
use serde_json::{Value, json};

use super::args::{Connect, Format};
use super::cell::{at, plain, text};
use super::failure::Failure;
use super::list::{Kind, List};
use super::{Io, document};
use crate::client::{Call, Client, Endpoint, Options, Token};

/// The largest file that is read: the bound of what a person writes, not of what a disk holds.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// A client as the flags say.
pub(super) fn connect(args: &Connect) -> Result<Client, Failure> {
    let endpoints: Result<Vec<Endpoint>, _> =
        args.endpoints.iter().map(|text| Endpoint::parse(text)).collect();
    let token = args.token_file.as_deref().map(Token::from_file).transpose()?;
    Ok(Client::new(Options { endpoints: endpoints?, token, timeout: duration(args.timeout) })?)
}

/// A span as the runtime wants it.
pub(super) fn duration(span: Span) -> Duration {
    Duration::from_millis(span.as_millis())
}

/// The path of a schedule. The segments of a checked name need no escaping.
pub(super) fn path_of(name: &ScheduleName) -> String {
    format!("/v1/schedules/{}/{}", name.namespace(), name.name())
}

/// `namespace/name` of a schedule in an answer.
pub(super) fn name_of(schedule: &Value) -> String {
    format!("{}/{}", at(schedule, "/namespace"), at(schedule, "/name"))
}

/// Prints the list behind `call`.
pub(super) async fn print_list(
    client: &Client,
    call: Call,
    limit: Option<u64>,
    kind: &'static Kind,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let mut list = List::new(kind, format);
    let mut pages = client.pages(call, limit);
    while let Some(items) = pages.next().await? {
        list.page(io, &items)?;
    }
    Ok(list.end(io)?)
}

/// Prints one value; `table` prints it for people, `name` is what `-o name` shows.
pub(super) fn print_one(
    io: &mut Io<'_>,
    format: Format,
    value: &Value,
    name: &str,
    table: impl FnOnce(&mut Io<'_>, &Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match format {
        Format::Table => table(io, value)?,
        Format::Json => writeln!(io.out, "{}", document::json(value)?)?,
        Format::Jsonl => writeln!(io.out, "{value}")?,
        Format::Yaml => write!(io.out, "{}", document::yaml(value)?)?,
        Format::Name => writeln!(io.out, "{}", plain(name))?,
    }
    Ok(())
}

/// Tells the warnings of an answer about `subject`: a text each, or an object with one.
pub(super) fn tell_warnings(io: &mut Io<'_>, subject: &str, warnings: Option<&Value>) {
    for warning in warnings.and_then(Value::as_array).into_iter().flatten() {
        let message = text(warning.get("message").unwrap_or(warning));
        let pointer = warning.get("pointer").and_then(Value::as_str).unwrap_or_default();
        let place =
            [subject, pointer].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        let place = if place.is_empty() { place } else { format!("{}: ", plain(&place)) };
        let word = io.paint("33", "warning:");
        io.say(&format!("{word} {place}{message}"));
    }
}

/// The bytes of a file, or of standard input for `-`.
pub(super) fn read_file(io: &mut Io<'_>, path: &Path) -> Result<Vec<u8>, Failure> {
    let trouble =
        |error: std::io::Error| Failure::usage(format!("cannot read {}: {error}", path.display()), "");
    let bytes = read_at_most(io, path, MAX_FILE + 1).map_err(trouble)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(Failure::usage(format!("{} is larger than 64 MiB", path.display()), "split it"));
    }
    Ok(bytes)
}

/// The first bytes of a file, or of the standard input for `-`.
pub(super) fn read_at_most(io: &mut Io<'_>, path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        (&mut *io.input).take(most).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Removes things by their names, one after the other, and says of each what was done.
pub(super) async fn remove_each(
    client: &Client,
    names: &[String],
    path_of: impl Fn(&str) -> String,
    format: Format,
    io: &mut Io<'_>,
    done: impl Fn(&str) -> String,
) -> Result<(), Failure> {
    for name in names {
        client.send(&Call::delete(path_of(name))).await?;
        let value = json!({ "name": name, "deleted": true });
        print_one(io, format, &value, name, |io, _| Ok(writeln!(io.out, "{}", done(name))?))?;
    }
    Ok(())
}

/// A payload from a flag: JSON, or `@FILE` with JSON in it.
pub(super) fn payload(io: &mut Io<'_>, text: &str) -> Result<Value, Failure> {
    let bytes = match text.strip_prefix('@') {
        Some(path) => read_file(io, Path::new(path))?,
        None => text.as_bytes().to_vec(),
    };
    serde_json::from_slice(&bytes).map_err(|error| {
        Failure::usage(
            format!("the payload is not JSON: {error}"),
            "a text is written with its quotes: --payload '\"text\"'",
        )
    })
}
