//! Images: the state of the machine at a log index, a file each. Written aside, synced, renamed; the newest two are kept.
//!
//! `image-<index>.img` = `magic 8, version u16, index u64, meta length u32, body length u64, crc32c of all that and the
//! meta u32, meta, body, crc32c of the body u32`, little endian.
//! Must not know what meta and body mean. What an image promises (rows of the ledger, the end of the log) must be durable
//! before `save` is called; that is the caller's order to keep.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use crate::Trouble;

const MAGIC: [u8; 8] = *b"CMPIMAG\n";
/// The only form of an image file so far.
const VERSION: u16 = 1;
/// `magic, version, index, meta length, body length, checksum`.
const HEADER: usize = 8 + 2 + 8 + 4 + 8 + 4;
/// One to read, and one to fall back to.
const KEPT: usize = 2;
const PREFIX: &str = "image-";
const SUFFIX: &str = ".img";
const UNFINISHED: &str = ".tmp";

/// The images in one directory.
#[derive(Clone, Debug)]
pub struct Images {
    dir: PathBuf,
}

/// An image as it was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The log index whose effects it holds.
    pub index: u64,
    /// What the caller needs before it reads the body: membership, the ledger's head.
    pub meta: Vec<u8>,
    /// The state.
    pub body: Vec<u8>,
}

/// The newest image that reads.
#[derive(Debug)]
pub struct Newest {
    /// The image, if there is one.
    pub image: Option<Image>,
    /// Newer ones that do not read. The log before them may be purged already: it is the caller's to see whether what is
    /// left reaches.
    pub damaged: Vec<Trouble>,
}

impl Images {
    /// Opens or creates the directory, and removes what an interrupted `save` left.
    ///
    /// # Errors
    /// A directory that cannot be written.
    pub fn open(dir: &Path) -> Result<Self, Trouble> {
        std::fs::create_dir_all(dir).map_err(|source| Trouble::while_opening(dir, source))?;
        for path in files(dir)?.into_iter().filter(|path| path.extension().is_some_and(|ext| ext == "tmp")) {
            remove(&path)?;
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// Saves an image. When this answers, it is durable, and all but the newest two are removed.
    ///
    /// # Errors
    /// `Full` and `Io`; the images that were there stay.
    pub fn save(&self, index: u64, meta: &[u8], body: &[u8]) -> Result<PathBuf, Trouble> {
        let path = self.path(index);
        let aside = self.dir.join(format!("{}{UNFINISHED}", name(index)));
        let written = write(&aside, index, meta, body)
            .and_then(|()| std::fs::rename(&aside, &path))
            .and_then(|()| File::open(&self.dir)?.sync_all());
        if let Err(source) = written {
            // Space for the next try; when this fails too, the next open removes it.
            let _removed = remove(&aside);
            return Err(Trouble::while_doing("saving an image", source));
        }
        let saved = self.saved()?;
        for (_, old) in saved.iter().rev().skip(KEPT) {
            remove(old)?;
        }
        Ok(path)
    }

    /// The newest image that reads, and what was found wrong with newer ones.
    ///
    /// # Errors
    /// `TooNew` when a later version wrote the newest one; failed reads.
    pub fn newest(&self) -> Result<Newest, Trouble> {
        let mut damaged = Vec::new();
        for (index, path) in self.saved()?.into_iter().rev() {
            match read(&path, index) {
                Ok(image) => return Ok(Newest { image: Some(image), damaged }),
                Err(trouble @ Trouble::Damaged { .. }) => {
                    tracing::error!(index, %trouble, "an image does not read, the one before it is tried");
                    damaged.push(trouble);
                }
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(Newest { image: None, damaged })
    }

    /// The log indexes of the images, oldest first.
    ///
    /// # Errors
    /// A directory that cannot be read.
    pub fn indexes(&self) -> Result<Vec<u64>, Trouble> {
        Ok(self.saved()?.into_iter().map(|(index, _)| index).collect())
    }

    /// Where the image of an index is, for shipping.
    pub fn path(&self, index: u64) -> PathBuf {
        self.dir.join(name(index))
    }

    /// The images by index.
    fn saved(&self) -> Result<Vec<(u64, PathBuf)>, Trouble> {
        let index = |path: &PathBuf| {
            path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()
        };
        let mut saved: Vec<_> =
            files(&self.dir)?.into_iter().filter_map(|path| Some((index(&path)?, path))).collect();
        saved.sort_unstable();
        Ok(saved)
    }
}

fn name(index: u64) -> String {
    format!("{PREFIX}{index:020}{SUFFIX}")
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let entries = std::fs::read_dir(dir).map_err(|source| Trouble::while_opening(dir, source))?;
    let path = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.map(|entry| entry.path()).map_err(|source| Trouble::while_opening(dir, source))
    };
    entries.map(path).collect()
}

fn write(path: &Path, index: u64, meta: &[u8], body: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&header(index, meta, body))?;
    file.write_all(meta)?;
    file.write_all(body)?;
    file.write_all(&crc32c::crc32c(body).to_le_bytes())?;
    file.sync_all()
}

fn header(index: u64, meta: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&index.to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(meta.len()).expect("a meta of less than 4 GiB").to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes), meta);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

fn read(path: &Path, index: u64) -> Result<Image, Trouble> {
    let bytes = std::fs::read(path).map_err(|source| Trouble::while_doing("reading an image", source))?;
    let (meta, body) = parse(path, &bytes)?;
    // The header is made again from what was read: every field of it is compared at once.
    if bytes[..HEADER] != header(index, meta, body) {
        return Err(Trouble::damaged(path, "its header does not fit its content"));
    }
    Ok(Image { index, meta: meta.to_vec(), body: body.to_vec() })
}

/// Meta and body, by the lengths in the header; the body is checked, the header is not yet.
fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Trouble> {
    let short = || Trouble::damaged(path, format!("{} bytes are not all of it", bytes.len()));
    let (head, rest) = bytes.split_at_checked(HEADER).ok_or_else(short)?;
    if head[..8] != MAGIC {
        return Err(Trouble::damaged(path, "it is not an image"));
    }
    let version = u16::from_le_bytes([head[8], head[9]]);
    if version > VERSION {
        return Err(Trouble::TooNew { path: path.to_owned(), found: version, known: VERSION });
    }
    let meta_len = crate::ledger::position::u32_at(head, 18) as usize;
    let body_len = crate::ledger::position::u64_at(head, 22);
    let (meta, rest) = rest.split_at_checked(meta_len).ok_or_else(short)?;
    let (body, crc) =
        usize::try_from(body_len).ok().and_then(|len| rest.split_at_checked(len)).ok_or_else(short)?;
    if *crc != crc32c::crc32c(body).to_le_bytes() {
        return Err(Trouble::damaged(path, "the checksum of its body differs"));
    }
    Ok((meta, body))
}

fn remove(path: &Path) -> Result<(), Trouble> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Trouble::while_doing("removing an image", error))
        }
        _ => Ok(()),
    }
}
