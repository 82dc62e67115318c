//! `campanile backup`: one file from any node. It has its name only when all of it is there, was read again and is durable.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::Io;
use super::args::BackupArgs;
use super::failure::Failure;
use super::progress::Progress;
use super::restore::{print, reading};
use super::session::connect;
use crate::backup::look;
use crate::client::Client;

const PATH: &str = "/v1/backup";
const MIB: f64 = 1_048_576.0;

pub(super) async fn run(args: BackupArgs, io: &mut Io<'_>) -> Result<(), Failure> {
    let client = connect(&args.connect)?;
    match args.file.as_deref().filter(|file| *file != Path::new("-")) {
        None if io.terminal => {
            Err(Failure::usage("a backup is no text for a terminal", "campanile backup FILE"))
        }
        None => {
            // What breaks off is told by the exit code; a shell's file must then be thrown away by its owner.
            client.download_into(PATH, |piece| io.out.write_all(piece)).await?;
            Ok(())
        }
        Some(file) => {
            let unfinished = Unfinished::create(file)?;
            let bytes = fetch(&client, &unfinished, io).await?;
            let mut progress = Progress::default();
            let contents = look(&unfinished.path, |read| reading(&mut progress, io, read, bytes));
            progress.clear(io);
            let contents = contents.map_err(|error| {
                Failure::failed(format!("what came is no whole backup: {error}"), "take it again")
            })?;
            unfinished.finish(file)?;
            let done = json!({ "file": file.display().to_string() });
            print(io, args.output.format, &contents, &done)
        }
    }
}

async fn fetch(client: &Client, unfinished: &Unfinished, io: &mut Io<'_>) -> Result<u64, Failure> {
    let (mut out, mut bytes) = (&unfinished.file, 0_u64);
    let is_watched = io.terminal && io::stderr().is_terminal();
    let taken = client
        .download_into(PATH, |piece| {
            bytes += piece.len() as u64;
            if is_watched {
                // How much will come nobody knows: no bar.
                let _ = write!(io.err, "\r\x1b[2K{:.1} MiB", bytes as f64 / MIB);
            }
            out.write_all(piece)
        })
        .await;
    if is_watched {
        let _ = io.err.write_all(b"\r\x1b[2K");
    }
    taken?;
    unfinished.file.sync_all()?;
    Ok(bytes)
}

/// The file under another name, until it is whole. Dropped before, it goes.
struct Unfinished {
    path: PathBuf,
    file: File,
}

impl Unfinished {
    fn create(file: &Path) -> Result<Self, Failure> {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".partial");
        let path = file.with_file_name(name);
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        // Secrets stand in it in plain text: for its owner's eyes.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let created = options.open(&path);
        let file = created
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display()), ""))?;
        Ok(Self { path, file })
    }

    fn finish(self, file: &Path) -> Result<(), Failure> {
        fs::rename(&self.path, file)?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        Ok(File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After `finish` nothing has this name.
        let _ = fs::remove_file(&self.path);
    }
}
