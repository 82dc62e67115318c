//! Disks that can lose power: ext4 on loop devices, inside each other.
//!
//! ```text
//!   host file ── loop ── ext4 "shelf"                 frozen for the moment of the cut
//!                          └ disk.img ── loop, direct I/O ── ext4 "disk"
//!                                                              ├ log                    write-through disk
//!                                                              └ cache.img ── loop, buffered ── ext4
//!                                                                               └ log   disk with a volatile cache
//! ```
//! The cut: freezing the shelf lets writes under way end and holds all others, so `disk.img` stands still at one instant
//! while the process and the kernel above it go on (and wait). Copying a file that changes would mix a journal of one
//! moment with blocks of another, which no disk does. The copy is what the device had been given by then; what only the
//! page cache of the kernel had is not in it.
//!
//! With the cache, writes to the inner device stay in the page cache of the disk's file system until a flush command, as
//! in a drive with a volatile cache: the cut loses them, so a sync that forgets to flush the device is found out too.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

const MIB: u64 = 1 << 20;

/// What the disk under test does with writes that were not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// A finished write is on the medium.
    None,
    /// A finished write may be lost until a flush.
    Volatile,
}

/// Why this machine cannot cut power, if it cannot.
pub(crate) fn missing() -> Option<String> {
    let uid = run("id", &["-u"]).unwrap_or_default();
    if uid.trim() != "0" {
        return Some("power cuts need root".into());
    }
    let tools = [("losetup", "-f"), ("mkfs.ext4", "-V"), ("fsfreeze", "-V")];
    tools.iter().find_map(|(tool, argument)| run(tool, &[argument]).err())
}

/// A file system on a loop device over a file; unmounted and detached when dropped.
struct Layer {
    device: String,
    mount: PathBuf,
}

impl Layer {
    /// Make a file system of `mib` in `image` and mount it.
    fn make(image: &Path, mib: u64, direct: bool, mount: &Path) -> Self {
        let file = File::create(image).expect("a place for the image");
        file.set_len(mib * MIB).expect("a sparse file");
        must("mkfs.ext4", &["-q", "-F", text(image)]);
        Self::attach(image, direct, mount)
    }

    /// Mount the file system that is in `image`.
    fn attach(image: &Path, direct: bool, mount: &Path) -> Self {
        fs::create_dir_all(mount).expect("a place to mount");
        let direct = if direct { "--direct-io=on" } else { "--direct-io=off" };
        let device = must("losetup", &["--show", direct, "-f", text(image)]).trim().to_owned();
        let layer = Self { device, mount: mount.to_owned() };
        must("mount", &["-t", "ext4", &layer.device, text(mount)]);
        layer
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        // Also after a panic, and also when it was never mounted: each step is tried, none may stop the next.
        if run("umount", &[text(&self.mount)]).is_err() {
            let _ = run("umount", &["-l", text(&self.mount)]);
        }
        let _ = run("losetup", &["-d", &self.device]);
    }
}

/// The shelf; lives for a whole test.
pub(crate) struct Shelf {
    layer: Layer,
    _dir: tempfile::TempDir,
    dir: PathBuf,
}

impl Shelf {
    /// Put it up.
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = temp.path().to_owned();
        let layer = Layer::make(&dir.join("shelf.img"), 1_500, false, &dir.join("shelf"));
        Self { layer, _dir: temp, dir }
    }

    /// A new, empty disk on it.
    pub(crate) fn disk(&self, cache: Cache) -> Disk<'_> {
        let image = self.layer.mount.join("disk.img");
        let mut layers = vec![Layer::make(&image, 640, true, &self.dir.join("disk"))];
        if cache == Cache::Volatile {
            let cached = layers[0].mount.join("cache.img");
            layers.push(Layer::make(&cached, 512, false, &self.dir.join("cached")));
        }
        Disk { shelf: self, cache, image, layers }
    }

    fn freeze(&self) -> Frozen<'_> {
        must("fsfreeze", &["-f", text(&self.layer.mount)]);
        Frozen(&self.layer.mount)
    }
}

/// A disk so small that it fills up, with something on it that can be thrown away.
pub(crate) struct SmallDisk {
    layer: Layer,
    _dir: tempfile::TempDir,
}

impl SmallDisk {
    /// A disk of 64 MiB with 24 MiB of ballast on it.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let layer = Layer::make(&dir.path().join("small.img"), 64, false, &dir.path().join("small"));
        fs::write(layer.mount.join("ballast"), vec![1; 24 << 20]).expect("the ballast fits");
        Self { layer, _dir: dir }
    }

    /// Where the log is on it.
    pub(crate) fn log(&self) -> PathBuf {
        self.layer.mount.join("log")
    }

    /// Make room.
    pub(crate) fn drop_ballast(&self) {
        fs::remove_file(self.layer.mount.join("ballast")).expect("it is there once");
    }
}

/// The shelf stands still as long as this lives.
struct Frozen<'a>(&'a Path);

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        must("fsfreeze", &["-u", text(self.0)]);
    }
}

/// A disk in use.
pub(crate) struct Disk<'a> {
    shelf: &'a Shelf,
    cache: Cache,
    image: PathBuf,
    layers: Vec<Layer>,
}

impl Disk<'_> {
    /// Where the log is on it.
    pub(crate) fn log(&self) -> PathBuf {
        self.layers.last().expect("a disk has a file system").mount.join("log")
    }

    /// Cut the power: what the medium held at one instant after this call began, as an image to look into.
    pub(crate) fn cut(&self) -> Remains {
        let image = self.shelf.dir.join("remains.img");
        let frozen = self.shelf.freeze();
        must("cp", &["--sparse=always", text(&self.image), text(&image)]);
        drop(frozen);
        Remains { dir: self.shelf.dir.clone(), cache: self.cache, image, layers: Vec::new() }
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        while self.layers.pop().is_some() {}
    }
}

/// What a power cut left.
pub(crate) struct Remains {
    dir: PathBuf,
    cache: Cache,
    image: PathBuf,
    layers: Vec<Layer>,
}

impl Remains {
    /// Start the machine again: mount it, journals replayed, and say where the log would be.
    pub(crate) fn restart(&mut self) -> PathBuf {
        self.layers.push(Layer::attach(&self.image, true, &self.dir.join("remains")));
        if self.cache == Cache::Volatile {
            let cached = self.layers[0].mount.join("cache.img");
            self.layers.push(Layer::attach(&cached, false, &self.dir.join("remains-cached")));
        }
        self.layers[self.layers.len() - 1].mount.join("log")
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        while self.layers.pop().is_some() {}
        // The next cut writes it anew.
        let _ = fs::remove_file(&self.image);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

fn must(tool: &str, arguments: &[&str]) -> String {
    run(tool, arguments).unwrap_or_else(|why| panic!("{why}"))
}

fn run(tool: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(tool).args(arguments).output().map_err(|error| format!("{tool}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{tool} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}
