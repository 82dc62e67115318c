//! The files of a node's data directory, and what can be done to them. Read by their form, as a stranger would.

use std::fs;
use std::path::{Path, PathBuf};

/// The segments of the ledger, oldest first.
pub(crate) fn segments(data: &Path) -> Vec<PathBuf> {
    let mut found = all(&data.join("ledger"));
    found.retain(|file| file.extension().is_some_and(|ext| ext == "segment"));
    found
}

/// The images, oldest first.
pub(crate) fn images(data: &Path) -> Vec<PathBuf> {
    all(&data.join("images"))
}

/// What is in a folder.
pub(crate) fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// The newest segment.
pub(crate) fn newest(data: &Path) -> PathBuf {
    segments(data).pop().unwrap()
}

/// The segment up to which the ledger was promised, and the byte in it: `synced` holds the name of the segment at byte 6 and
/// the offset at byte 14, little endian.
pub(crate) fn promised(data: &Path) -> (PathBuf, usize) {
    let note = fs::read(data.join("ledger/synced")).unwrap();
    let segment = u64::from_le_bytes(note[6..14].try_into().unwrap());
    let offset = u32::from_le_bytes(note[14..18].try_into().unwrap());
    (data.join(format!("ledger/{segment:020}.segment")), offset as usize)
}

pub(crate) fn size(file: &Path) -> usize {
    fs::metadata(file).unwrap().len() as usize
}

pub(crate) fn change(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).unwrap();
    change(&mut bytes);
    fs::write(file, bytes).unwrap();
}

pub(crate) fn flip(file: &Path, at: usize) {
    change(file, |bytes| bytes[at] ^= 0x10);
}

pub(crate) fn cut(file: &Path, to: usize) {
    change(file, |bytes| bytes.truncate(to));
}

/// A folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in all(from) {
        let target = to.join(file.file_name().unwrap());
        match file.is_dir() {
            true => copy(&file, &target),
            false => assert!(fs::copy(&file, &target).is_ok()),
        }
    }
}
