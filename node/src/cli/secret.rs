//! `campanile secret ls, put, rm`: what requests are signed with. A text goes from a file to a node and nowhere else: not
//! into an argument, a message or what is printed.

use std::path::Path;

use serde_json::{Value, json};

use super::Io;
use super::args::{Format, SecretArgs, SecretCommand, SecretPutArgs};
use super::cell::{NOTHING, at};
use super::failure::Failure;
use super::list::{Column, Kind};
use super::session::{connect, print_list, print_one, read_at_most, remove_each};
use crate::client::{Call, Client};

/// More than any secret has, so that a file that was not meant is found out before it is sent anywhere.
const MAX_FILE: u64 = 4 * 1024;

static SECRETS: Kind = Kind {
    plural: "secrets",
    columns: &[
        Column { title: "NAME", cell: |secret| at(secret, "/name") },
        Column { title: "USERS", cell: |secret| at(secret, "/users") },
        Column { title: "CREATED", cell: |secret| at(secret, "/created_at") },
        Column { title: "ROTATED", cell: |secret| at(secret, "/rotated_at") },
        Column { title: "PREVIOUS UNTIL", cell: |secret| at(secret, "/previous_until") },
    ],
    name: |secret| at(secret, "/name"),
};

pub(super) async fn run(args: SecretArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    let format = args.output.format;
    match args.command {
        SecretCommand::Ls { limit } => {
            print_list(&client, Call::get("/v1/secrets"), limit, &SECRETS, format, io).await
        }
        SecretCommand::Put(args) => put(&client, &args, format, io).await,
        SecretCommand::Rm { names } => {
            remove_each(&client, &names, path_of, format, io, |name| format!("removed {name}")).await
        }
    }
}

/// The path of a secret. A checked name needs no escaping.
fn path_of(name: &str) -> String {
    format!("/v1/secrets/{name}")
}

async fn put(client: &Client, args: &SecretPutArgs, format: Format, io: &mut Io<'_>) -> Result<(), Failure> {
    let mut body = json!({ "secret": read(io, &args.from_file)? });
    if let Some(keep) = args.keep_previous {
        body["keep_previous"] = keep.to_string().into();
    }
    let answer = client.send(&Call::put(path_of(&args.name), body)).await?;
    print_one(io, format, &answer.body, &args.name, |io, secret| {
        let done = if answer.status == 201 { "created" } else { "put" };
        Ok(writeln!(io.out, "{done} {}{}", args.name, beside(secret))?)
    })
}

/// How long the text before is good for.
fn beside(secret: &Value) -> String {
    match at(secret, "/previous_until").as_str() {
        NOTHING => String::new(),
        until => format!("; the text before signs beside it until {until}"),
    }
}

/// The text in a file. No message about it holds a part of it.
fn read(io: &mut Io<'_>, path: &Path) -> Result<String, Failure> {
    let shown = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    if path.as_os_str().as_encoded_bytes().starts_with(b"whsec_") && !path.exists() {
        // Taken for the name of a file, it would be repeated in the message about it.
        let detail = "--from-file takes the name of a file, and this looks like the text of a secret";
        return Err(Failure::usage(detail, "make another one: this one was seen by others"));
    }
    if path != Path::new("-") {
        warn_of_readers(io, path);
    }
    let bytes = read_at_most(io, path, MAX_FILE + 1)
        .map_err(|error| Failure::usage(format!("cannot read {shown}: {error}"), ""))?;
    let hint = "make one with: echo \"whsec_$(openssl rand -base64 32)\"";
    let wrong = |why: &str| Failure::usage(format!("{shown} {why}"), hint);
    if bytes.len() as u64 > MAX_FILE {
        return Err(wrong("is too large for a secret"));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8 text"))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    match line {
        "" => Err(wrong("is empty")),
        line if line.contains(['\n', '\r']) => Err(wrong("has more than one line")),
        line => Ok(line.to_owned()),
    }
}

/// A pipe has no readers but this process, whatever its mode says.
#[cfg(unix)]
fn warn_of_readers(io: &mut Io<'_>, path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(about) = std::fs::metadata(path) else { return };
    if about.is_file() && about.permissions().mode() & 0o004 != 0 {
        let (word, shown) = (io.paint("33", "warning:"), path.display());
        io.say(&format!("{word} {shown} can be read by every user of this machine; run: chmod 600 {shown}"));
    }
}

/// Where permissions mean something else nothing is said.
#[cfg(not(unix))]
fn warn_of_readers(_io: &mut Io<'_>, _path: &Path) {}
