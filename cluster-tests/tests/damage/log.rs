//! Images and the log: what cannot be read is never started from, and a log is never started shorter than it was.

use std::fs;
use std::path::{Path, PathBuf};

use crate::disk::{change, cut, flip, images, size};
use crate::scene::{Comes, Scene};

/// What a node says of a log that is not what it promised.
const LOG: &str = "log is damaged (";

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_log_is_refused_and_rebuilt_and_never_started_shortened() {
    let mut scene = Scene::begin(100).await;
    type Harm = (&'static str, fn(&Path));
    let harms: [Harm; 5] = [
        ("a flipped byte in what the last sync promised", |data| flip(&db(data), sync(data, 0))),
        ("a flipped byte before that", |data| flip(&db(data), sync(data, 20))),
        ("a log that was cut off", |data| cut(&db(data), sync(data, 0))),
        ("a log that is gone", |data| fs::remove_file(db(data)).unwrap()),
        ("a log whose own configuration is damaged", |data| {
            change(&data.join("log/conf"), |bytes| bytes.fill(0xa5));
        }),
    ];
    for (n, (name, harm)) in harms.into_iter().enumerate() {
        scene.hurt(name, n % 2 == 0, harm, Comes::Rebuilt(&[LOG])).await;
    }
    scene.judge().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_image_is_passed_over_for_the_one_before_and_a_lost_one_is_rebuilt() {
    let mut scene = Scene::begin(100).await;
    scene.wait_data("two images", |data| images(data).len() == 2).await;
    let body = |image: &Path| flip(image, size(image) / 2);
    let newest = |data: &Path| body(images(data).last().unwrap());
    let passed = "an image does not read, the one before it is tried";
    for leads in [true, false] {
        scene.hurt("a damaged image", leads, newest, Comes::Healed(passed)).await;
    }
    let every = |data: &Path| images(data).iter().for_each(|image| body(image));
    scene.hurt("all images damaged, and the log reaches back", true, every, Comes::Healed(passed)).await;
    let gone = |data: &Path| fs::remove_dir_all(data.join("images")).unwrap();
    scene.hurt("images gone", false, gone, Comes::Rebuilt(&["a part of what this node kept is gone"])).await;
    scene.judge().await;
}

fn db(data: &Path) -> PathBuf {
    data.join("log/db")
}

/// Where the log took the number of the last sync that was promised, or of an earlier one: the first place that has it, since
/// sled may write it again later. A byte elsewhere may be one that nothing needs any more, or that was not promised yet.
fn sync(data: &Path, before: u64) -> usize {
    // The note has the number at byte 6; in the log it stands behind a byte of kind and two of schema. Little endian.
    let note = fs::read(data.join("log/promised")).unwrap();
    let last = u64::from_le_bytes(note[6..14].try_into().unwrap());
    let mut wanted = vec![3, 1, 0];
    wanted.extend((last - before).to_le_bytes());
    let bytes = fs::read(db(data)).unwrap();
    bytes.windows(wanted.len()).position(|window| window == wanted).unwrap()
}
