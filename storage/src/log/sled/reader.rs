//! Reading old entries beside the writer.
//!
//! A scan of sled is not isolated from writers: while pages are split or merged it may pass over a key. So a scan that
//! jumps an index asks for that one alone (a point read is exact) before it takes it for missing.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use ::sled::{Db, Tree};
use bytes::Bytes;

use super::{READING, index_of, key, trouble};
use crate::{
    error::Trouble,
    log::{Entry, LogReader},
};

pub(super) struct SledReader {
    dir: PathBuf,
    tree: Tree,
}

impl SledReader {
    pub(super) fn new(dir: PathBuf, db: &Db) -> Self {
        let tree: &Tree = db;
        Self { dir, tree: tree.clone() }
    }

    fn scan(&self, range: Range<u64>, max_bytes: usize) -> Result<Vec<Entry>, Trouble> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut taken = 0;
        let mut rows = self.tree.range(key(range.start)..key(range.end));
        for expected in range.clone() {
            let row = rows.next().transpose().map_err(|error| trouble(&self.dir, READING, error))?;
            let value = match row {
                Some((key, value)) if index_of(&key) == Some(expected) => Some(value),
                _ => {
                    rows = self.tree.range(key(expected + 1)..key(range.end));
                    self.tree.get(key(expected)).map_err(|error| trouble(&self.dir, READING, error))?
                }
            };
            match value {
                Some(value) if entries.is_empty() || taken + value.len() <= max_bytes => {
                    taken += value.len();
                    entries.push((expected, Bytes::copy_from_slice(&value)));
                }
                _ => break,
            }
        }
        Ok(entries)
    }
}

impl LogReader for SledReader {
    fn read_range(&self, range: Range<u64>, max_bytes: usize) -> Result<Vec<Entry>, Trouble> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        // sled panics on some kinds of damage; that must not take the caller's task down without a word.
        catch_unwind(AssertUnwindSafe(|| self.scan(range, max_bytes)))
            .unwrap_or_else(|_| Err(Trouble::damaged(&self.dir, "sled panicked while reading")))
    }
}
