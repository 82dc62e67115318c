//! Opening a sled log so that neither a kill nor a power cut at any point of it costs the log.
//!
//! - **Created aside, then renamed.** sled writes its `conf` in pieces; a kill between them would leave a directory that
//!   no later open accepts. So a new log is made in `<dir>.creating`, synced and renamed: a directory that has the right
//!   name is whole, and one without a data file has lost it.
//! - **`snap.*.generating` is deleted first.** A kill during recovery leaves one, and sled takes it for the newest
//!   snapshot and fails for ever.
//! - **8 MiB segments** (sled's default is half a MiB) so that no page becomes a blob file.
//! - **Inside `catch_unwind`**: sled panics on some kinds of damage.
//! - **Everything is fsynced once after open**, files and directories: sled creates, renames and recycles without it.
//! - **The indexes must be consecutive, and no sync that has answered may be missing**, since sled cuts a damaged log short
//!   without a word (see [`super::promise`]).

use std::{
    fs::{self, File},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use ::sled::{Config, Db};
use bytes::Bytes;

use super::{
    FORMAT, FORMAT_NUMBER, FORMAT_SCHEMA, PURGED, PURGED_SCHEMA, SYNCS, SYNCS_SCHEMA, SledLog, index_of, key,
    promise::Promise, trouble,
};
use crate::{
    codec::{self, CodecError, Kind},
    error::Trouble,
    log::Bounds,
    sleds,
};

/// Pages up to 2 MiB stay in the log; see [`crate::log::ENTRY_LIMIT`].
const SEGMENT_BYTES: usize = 8 << 20;

/// Recent entries are read from the window above, so sled needs little more than its inner pages.
const CACHE_BYTES: u64 = 64 << 20;

/// Open the log in `dir`, creating it when there is none.
pub(super) fn open(dir: &Path) -> Result<SledLog, Trouble> {
    let dir = std::path::absolute(dir).map_err(|error| Trouble::while_opening(dir, error))?;
    catch_unwind(AssertUnwindSafe(|| open_or_create(&dir)))
        .unwrap_or_else(|_| Err(Trouble::damaged(&dir, "sled panicked while opening it")))
}

fn open_or_create(dir: &Path) -> Result<SledLog, Trouble> {
    if !exists(dir)? {
        create(dir)?;
    }
    if !dir.join("db").is_file() {
        return Err(Trouble::damaged(dir, "the data file of the log is missing"));
    }
    attach(dir)
}

/// Whether there is a log, or at least something, in `dir`. An empty directory that somebody prepared is none.
fn exists(dir: &Path) -> Result<bool, Trouble> {
    match fs::read_dir(dir) {
        Ok(mut names) => Ok(names.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Trouble::while_opening(dir, error)),
    }
}

/// Make an empty log beside its place and move it there once it is durable.
fn create(dir: &Path) -> Result<(), Trouble> {
    let aside = aside(dir);
    let parent = parent(dir);
    let failed = |error| Trouble::while_opening(dir, error);
    fs::create_dir_all(parent).map_err(failed)?;
    match fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::create_dir(&aside).map_err(failed)?;
    let db = start(&aside)?;
    let format = codec::encode(Kind::LogMeta, FORMAT_SCHEMA, &FORMAT_NUMBER)?;
    db.insert(FORMAT, format)
        .and_then(|_| db.flush())
        .map_err(|error| trouble(dir, "creating the log", error))?;
    settle(&aside)?;
    drop(db);
    fs::rename(&aside, dir).and_then(|()| File::open(parent)?.sync_all()).map_err(failed)
}

fn aside(dir: &Path) -> PathBuf {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(".creating");
    dir.with_file_name(name)
}

fn parent(dir: &Path) -> &Path {
    dir.parent().unwrap_or(dir)
}

/// Open what is there, make it durable as it is, and check that it is whole.
fn attach(dir: &Path) -> Result<SledLog, Trouble> {
    remove_unfinished_snapshots(dir)?;
    let db = start(dir)?;
    let file = File::options()
        .read(true)
        .write(true)
        .open(dir.join("db"))
        .map_err(|error| Trouble::while_opening(dir, error))?;
    db.flush().map_err(|error| trouble(dir, "opening the log", error))?;
    check_format(dir, &db)?;
    let (syncs, promise) = syncs(dir, &db)?;
    settle(dir)?;
    let purged = purge_mark(dir, &db)?;
    let bounds = read_bounds(dir, &db, purged.as_ref().map(|(index, _)| *index))?;
    let log = SledLog {
        dir: dir.to_owned(),
        db,
        file,
        syncs,
        promise,
        bounds,
        purging: purged.is_some(),
        purged_meta: purged.map(|(_, meta)| meta),
        #[cfg(feature = "fault-injection")]
        skips_fdatasync: false,
    };
    log.refuse_blobs()?;
    Ok(log)
}

fn remove_unfinished_snapshots(dir: &Path) -> Result<(), Trouble> {
    for path in files(dir)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            fs::remove_file(&path).map_err(|error| Trouble::while_opening(dir, error))?;
        }
    }
    Ok(())
}

fn start(dir: &Path) -> Result<Db, Trouble> {
    let config = Config::new().path(dir).segment_size(SEGMENT_BYTES).cache_capacity(CACHE_BYTES);
    sleds::open(&config).map_err(|error| match error {
        error if sleds::is_lock(&error) => Trouble::Locked { path: dir.to_owned() },
        ::sled::Error::Io(error) => Trouble::while_opening(dir, error),
        other => Trouble::damaged(dir, other.to_string()),
    })
}

/// Sync every file and directory of the database, and the directory that names it.
fn settle(dir: &Path) -> Result<(), Trouble> {
    let sync = |path: &Path| File::open(path)?.sync_all();
    let mut paths = files(dir)?;
    paths.push(dir.to_owned());
    paths.push(parent(dir).to_owned());
    paths.iter().try_for_each(|path| sync(path)).map_err(|error| Trouble::while_opening(dir, error))
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, Trouble> {
    fs::read_dir(dir)
        .and_then(|names| names.map(|name| name.map(|name| name.path())).collect())
        .map_err(|error| Trouble::while_opening(dir, error))
}

fn check_format(dir: &Path, db: &Db) -> Result<(), Trouble> {
    let bytes =
        read(dir, db, FORMAT)?.ok_or_else(|| Trouble::damaged(dir, "the format of the log is missing"))?;
    let too_new = |found| Trouble::TooNew { path: dir.to_owned(), found, known: FORMAT_NUMBER };
    match codec::decode::<u16>(Kind::LogMeta, FORMAT_SCHEMA, &bytes) {
        Ok(FORMAT_NUMBER) => Ok(()),
        Ok(found) => Err(too_new(found)),
        Err(CodecError::UnknownSchema { schema, .. }) => Err(too_new(schema)),
        Err(error) => Err(Trouble::damaged(dir, error.to_string())),
    }
}

fn purge_mark(dir: &Path, db: &Db) -> Result<Option<(u64, Bytes)>, Trouble> {
    let Some(bytes) = read(dir, db, PURGED)? else { return Ok(None) };
    let (index, meta): (u64, Vec<u8>) = codec::decode(Kind::LogMeta, PURGED_SCHEMA, &bytes)
        .map_err(|error| Trouble::damaged(dir, error.to_string()))?;
    Ok(Some((index, meta.into())))
}

/// How many syncs this log holds, which must not be fewer than have answered.
fn syncs(dir: &Path, db: &Db) -> Result<(u64, Promise), Trouble> {
    let (promise, promised) = Promise::open(dir).map_err(|error| Trouble::while_opening(dir, error))?;
    let held = match read(dir, db, SYNCS)? {
        None => 0,
        Some(bytes) => codec::decode(Kind::LogMeta, SYNCS_SCHEMA, &bytes)
            .map_err(|error| Trouble::damaged(dir, error.to_string()))?,
    };
    if held < promised {
        let what = format!("it lacks the last {} of {promised} syncs that were promised", promised - held);
        return Err(Trouble::damaged(dir, what));
    }
    Ok((held, promise))
}

/// The indexes behind the purge mark, which must be consecutive and follow it.
fn read_bounds(dir: &Path, db: &Db, purged: Option<u64>) -> Result<Bounds, Trouble> {
    let mut bounds = Bounds { purged, ..Bounds::default() };
    for row in db.range(key(purged.map_or(0, |index| index + 1))..=key(u64::MAX)) {
        let (key, _) = row.map_err(|error| trouble(dir, "reading the log", error))?;
        let index = index_of(&key).ok_or_else(|| Trouble::damaged(dir, "a key of the log has no index"))?;
        if let Some(expected) = bounds.next().filter(|expected| *expected != index) {
            return Err(Trouble::damaged(dir, format!("entry {expected} is missing")));
        }
        bounds.first.get_or_insert(index);
        bounds.last = Some(index);
    }
    Ok(bounds)
}

fn read(dir: &Path, db: &Db, key: &[u8]) -> Result<Option<Vec<u8>>, Trouble> {
    let value = db.get(key).map_err(|error| trouble(dir, "reading the log", error))?;
    Ok(value.map(|value| value.to_vec()))
}
