//! Images as their users see them, and their bytes.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use campanile_storage::{
    Trouble,
    image::{Image, Images},
};

fn image(index: u64) -> Image {
    Image { index, meta: format!("meta {index}").into_bytes(), body: vec![index as u8; 100] }
}

fn save(images: &Images, index: u64) {
    let Image { meta, body, .. } = image(index);
    images.save(index, &meta, &body).unwrap();
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn the_newest_image_is_read_and_the_newest_two_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let images = Images::open(&dir.path().join("images")).unwrap();
    assert_eq!(images.newest().unwrap().image, None);
    for index in [9, 10, 200, 1000] {
        save(&images, index);
        assert_eq!(images.newest().unwrap().image, Some(image(index)));
    }
    assert_eq!(images.indexes().unwrap(), [200, 1000]);
    assert!(images.path(1000).is_file());
}

#[test]
fn an_image_may_be_empty_or_saved_again() {
    let dir = tempfile::tempdir().unwrap();
    let images = Images::open(dir.path()).unwrap();
    images.save(0, &[], &[]).unwrap();
    assert_eq!(images.newest().unwrap().image, Some(Image { index: 0, meta: vec![], body: vec![] }));
    save(&images, 0);
    assert_eq!(images.newest().unwrap().image, Some(image(0)));
    assert_eq!(images.indexes().unwrap(), [0]);
}

#[test]
fn whatever_byte_is_damaged_the_older_image_is_read_and_the_damage_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let images = Images::open(dir.path()).unwrap();
    save(&images, 1);
    save(&images, 2);
    let newest = images.path(2);
    let clean = std::fs::read(&newest).unwrap();
    for at in 0..clean.len() {
        change(&newest, |bytes| bytes[at] ^= 0x04);
        match images.newest() {
            Ok(found) => {
                assert_eq!(found.image, Some(image(1)), "byte {at}");
                assert!(matches!(&found.damaged[..], [Trouble::Damaged { path, .. }] if *path == newest));
            }
            // The version is read before anything else can be.
            Err(Trouble::TooNew { .. }) => assert!((8..10).contains(&at), "byte {at}"),
            Err(other) => panic!("byte {at}: {other}"),
        }
        std::fs::write(&newest, &clean).unwrap();
    }
    for len in 0..clean.len() {
        change(&newest, |bytes| bytes.truncate(len));
        assert_eq!(images.newest().unwrap().image, Some(image(1)), "{len} bytes");
        std::fs::write(&newest, &clean).unwrap();
    }
    std::fs::rename(images.path(2), images.path(3)).unwrap();
    assert_eq!(images.newest().unwrap().image, Some(image(1)), "under another name");
}

#[test]
fn when_no_image_reads_all_of_the_damage_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let images = Images::open(dir.path()).unwrap();
    for index in [1, 2] {
        save(&images, index);
        change(&images.path(index), |bytes| bytes.truncate(20));
    }
    let found = images.newest().unwrap();
    assert_eq!((found.image, found.damaged.len()), (None, 2));
}

#[test]
fn an_interrupted_save_is_neither_read_nor_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let images = Images::open(dir.path()).unwrap();
    save(&images, 5);
    let unfinished = dir.path().join("image-00000000000000000009.img.tmp");
    std::fs::write(&unfinished, b"half").unwrap();
    assert_eq!(images.newest().unwrap().image, Some(image(5)));
    let images = Images::open(dir.path()).unwrap();
    assert!(!unfinished.exists());
    assert_eq!(images.indexes().unwrap(), [5]);
}

#[test]
fn an_image_has_the_bytes_it_always_had() {
    let golden = concat!(
        // magic, version, index, meta length, body length, checksum; meta; body, checksum
        "434d50494d41470a",
        "0100",
        "0700000000000000",
        "04000000",
        "0500000000000000",
        "63072ccb",
        "6d657461",
        "7374617465",
        "df68db66",
    );
    let dir = tempfile::tempdir().unwrap();
    let images = Images::open(dir.path()).unwrap();
    let path = images.save(7, b"meta", b"state").unwrap();
    let hex: String = std::fs::read(&path).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, golden);
    assert_eq!(path.file_name().unwrap(), "image-00000000000000000007.img");
}
