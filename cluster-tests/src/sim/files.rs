//! What a power cut leaves of a node's files: what was synced, and some of the rest.
//!
//! Images and the identity are renamed into place after a sync, so they stand or they do not. The ledger appends without a
//! sync, and notes in `synced` how far it has promised; behind that, a disk may hold any of it, or garbage.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::seed::Dice;

/// The ledger's note: `magic 4, version u16, segment u64, offset u32, crc32c u32` (see `storage/src/ledger/synced.rs`).
const NOTE: usize = 22;

/// Loses what the ledger in this data directory had not promised.
pub(super) fn lose_unsynced(data: &Path, dice: &mut Dice) {
    let ledger = data.join("ledger");
    let Ok(note) = fs::read(ledger.join("synced")) else { return };
    let Some((segment, offset)) = promised(&note) else { return };
    let Ok(names) = fs::read_dir(&ledger) else { return };
    let mut segments: Vec<(u64, std::path::PathBuf)> = names
        .filter_map(Result::ok)
        .filter_map(|entry| Some((id_of(&entry.file_name().to_string_lossy())?, entry.path())))
        .collect();
    segments.sort();
    for (id, path) in segments {
        let Ok(length) = path.metadata().map(|metadata| metadata.len()) else { continue };
        let safe = match id.cmp(&segment) {
            std::cmp::Ordering::Less => length,
            std::cmp::Ordering::Equal => u64::from(offset),
            std::cmp::Ordering::Greater => 0,
        };
        if length > safe {
            tear(&path, safe, length, dice);
        }
    }
}

/// Some of the bytes behind `safe` are there, and sometimes one of them is another.
fn tear(path: &Path, safe: u64, length: u64, dice: &mut Dice) {
    let Ok(file) = OpenOptions::new().write(true).open(path) else { return };
    let kept = safe + dice.below(length - safe + 1);
    // A file that cannot be cut stays whole, which a power cut may do as well.
    let _ = file.set_len(kept);
    if kept > safe && dice.below(2) == 0 {
        let _ = file.write_all_at(&[dice.below(256) as u8], safe + dice.below(kept - safe));
    }
}

fn promised(note: &[u8]) -> Option<(u64, u32)> {
    let note: &[u8; NOTE] = note.try_into().ok()?;
    let segment = u64::from_le_bytes(note[6..14].try_into().ok()?);
    let offset = u32::from_le_bytes(note[14..18].try_into().ok()?);
    Some((segment, offset))
}

fn id_of(name: &str) -> Option<u64> {
    name.split('.').next()?.parse().ok()
}
