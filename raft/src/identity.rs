//! Who this disk is: the file `identity` in the data directory.
//!
//! Text, since a person with a broken cluster reads it first. Written whole beside the old one, synced and renamed, so
//! that it is never half there. Must not decide an id: founders take theirs from their place in the configuration, all
//! others are given one that was never given before.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use campanile_storage::Trouble;

/// The name of the file.
pub const FILE: &str = "identity";
/// The first line: what it is, and the version of its form.
const FORM: &str = "campanile identity 1";

/// What a disk knows of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The cluster it belongs to.
    pub cluster: String,
    /// The id of the node on it.
    pub node: u64,
    /// How it came by the id.
    pub origin: Origin,
    /// Counts the starts of the node.
    pub incarnation: u64,
}

/// How a node came by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// By its place in the configuration, when the cluster was founded.
    Founder,
    /// From the leader, when it joined.
    Joined,
}

impl Identity {
    /// Of a node that has never started.
    #[must_use]
    pub fn new(cluster: &str, node: u64, origin: Origin) -> Self {
        Self { cluster: cluster.into(), node, origin, incarnation: 0 }
    }

    /// The identity on this disk; nothing when there is none.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is of a newer version.
    pub fn read(data: &Path) -> Result<Option<Self>, Trouble> {
        let path = data.join(FILE);
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, &path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Trouble::while_opening(&path, error)),
        }
    }

    /// Makes it durable.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, data: &Path) -> Result<(), Trouble> {
        let (path, beside) = (data.join(FILE), data.join("identity.tmp"));
        let written = (|| {
            let mut file = File::create(&beside)?;
            file.write_all(self.to_string().as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &path)?;
            File::open(data)?.sync_all()
        })();
        written.map_err(|error| Trouble::while_doing("writing the identity of this node", error))
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Trouble> {
        let damaged = || Trouble::damaged(path, "the identity cannot be read");
        let mut lines = text.lines();
        let form = lines.next().ok_or_else(damaged)?;
        if form != FORM {
            let found = form.strip_prefix("campanile identity ").and_then(|version| version.parse().ok());
            let newer = |found| Trouble::TooNew { path: path.into(), found, known: 1 };
            return Err(found.map_or_else(damaged, newer));
        }
        let mut field = |name: &str| {
            lines.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(" = ")).ok_or_else(damaged)
        };
        Ok(Self {
            cluster: field("cluster")?.into(),
            node: field("node")?.parse().map_err(|_| damaged())?,
            origin: match field("origin")? {
                "founder" => Origin::Founder,
                "joined" => Origin::Joined,
                _ => return Err(damaged()),
            },
            incarnation: field("incarnation")?.parse().map_err(|_| damaged())?,
        })
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let origin = match self.origin {
            Origin::Founder => "founder",
            Origin::Joined => "joined",
        };
        writeln!(out, "{FORM}")?;
        writeln!(out, "cluster = {}", self.cluster)?;
        writeln!(out, "node = {}", self.node)?;
        writeln!(out, "origin = {origin}")?;
        writeln!(out, "incarnation = {}", self.incarnation)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_written_is_read_and_its_form_does_not_change() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Identity::read(dir.path()).unwrap(), None);
        let identity = Identity { incarnation: 7, ..Identity::new("alpha", 1003, Origin::Joined) };
        identity.write(dir.path()).unwrap();
        assert_eq!(Identity::read(dir.path()).unwrap(), Some(identity));
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        let golden = "campanile identity 1\ncluster = alpha\nnode = 1003\norigin = joined\nincarnation = 7\n";
        assert_eq!(text, golden);
    }

    #[test]
    fn damage_and_a_newer_form_are_told_apart() {
        let path = Path::new("/data/identity");
        let read = |text: &str| Identity::parse(text, path);
        assert!(matches!(read("campanile identity 2\n"), Err(Trouble::TooNew { found: 2, known: 1, .. })));
        assert!(matches!(read(""), Err(Trouble::Damaged { .. })));
        assert!(matches!(
            read("campanile identity 1\ncluster = a\nnode = x\n"),
            Err(Trouble::Damaged { .. })
        ));
    }
}
