//! A replica that parted: its ledger and its image agree with each other, and not with those of the others.

use std::path::Path;

use campanile_raft::image::Covered;
use campanile_storage::image::Images;
use campanile_storage::ledger::{Ledger, Options, Row};

/// Flips a bit of the first row of the entry at `index`, and makes everything that vouches for it again: the chain behind it
/// and the image. What is left is what a machine would leave that decided otherwise there.
pub fn tamper(data: &Path, options: Options, index: u64) {
    let images = Images::open(&data.join("images")).unwrap();
    let image = images.newest().unwrap().image.expect("make an image first");
    let covered = Covered::from_bytes(&image.meta).unwrap();
    let (dir, other) = (data.join("ledger"), data.join("tampered"));
    let ledger = Ledger::open_at(&dir, options, &covered.ledger).unwrap();
    let rows = ledger.reader().read(None, usize::MAX, usize::MAX).unwrap();
    assert!(rows.iter().any(|row| row.position.index == index), "the image does not reach the entry {index}");
    drop(ledger);
    let mut parted = Ledger::open(&other, options).unwrap();
    for entry in rows.chunk_by(|one, next| one.position.index == next.position.index) {
        let bodies: Vec<Vec<u8>> = entry.iter().map(|row| body(row, index)).collect();
        parted.append(entry[0].position.index, &bodies).unwrap();
    }
    parted.sync().unwrap();
    let head = parted.head();
    drop(parted);
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::rename(&other, &dir).unwrap();
    let covered = Covered { ledger: head, ..covered };
    images.save(image.index, &covered.to_bytes(), &image.body).unwrap();
}

fn body(row: &Row, index: u64) -> Vec<u8> {
    let mut body = row.body.to_vec();
    if row.position.index == index && row.position.n == 0 {
        *body.last_mut().unwrap() ^= 1;
    }
    body
}
