//! The files of a tree, read once. What is built, fetched or hidden is not part of it.

use std::fs;
use std::path::Path;

use crate::source::Source;

/// Folders that no one wrote.
const NOT_OURS: [&str; 4] = ["target", ".git", "node_modules", "campanile-data"];
/// Files that are text and ours, beside Rust.
const TEXTS: [&str; 10] = ["toml", "md", "txt", "yaml", "yml", "sh", "service", "tsv", "html", "json"];
/// Texts without an ending.
const NAMED: [&str; 5] = ["Makefile", "Dockerfile", "run", "LICENSE-APACHE", "LICENSE-MIT"];

/// A tree of files.
#[derive(Default)]
pub(crate) struct Tree {
    /// Every `.rs` file, by path from the root.
    pub(crate) rust: Vec<File>,
    /// Every other text.
    pub(crate) texts: Vec<File>,
}

/// One file.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn source(&self) -> Source {
        Source::read(&self.text)
    }

    pub(crate) fn lines(&self) -> usize {
        self.text.lines().count()
    }
}

impl Tree {
    /// Reads the tree under `root`, in the order of the paths.
    pub(crate) fn read(root: &Path) -> Self {
        let mut tree = Self::default();
        tree.walk(root, "");
        tree.rust.sort_by(|a, b| a.path.cmp(&b.path));
        tree.texts.sort_by(|a, b| a.path.cmp(&b.path));
        tree
    }

    /// The text of the file at `path`, if the tree has it.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    fn walk(&mut self, folder: &Path, prefix: &str) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            if entry.file_type().unwrap().is_dir() {
                if !NOT_OURS.contains(&name.as_str()) {
                    self.walk(&entry.path(), &path);
                }
                continue;
            }
            let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
            let list = match ending {
                "rs" => &mut self.rust,
                _ if TEXTS.contains(&ending) || NAMED.contains(&name.as_str()) => &mut self.texts,
                _ => continue,
            };
            // Somebody may be writing the tree meanwhile; a file that went away is not part of it.
            if let Ok(text) = fs::read_to_string(entry.path()) {
                list.push(File { path, text });
            }
        }
    }
}
