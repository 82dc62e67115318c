//! An image with its ledger on its way from one node to another.
//!
//! Nothing of a node changes by an image that comes in: it is whole, checked and staged first. Must not know sockets.

use std::io;

use campanile_core::machine::Machine;
use campanile_core::mutant::{self, Mutant};
use campanile_storage::Trouble;
use campanile_storage::ledger::{Head, Install, Position, Row, Staged};

use super::{Covered, Site, machine};

/// An image with its ledger, on its way out or in.
#[derive(Debug)]
pub enum Parcel {
    /// Of this node: read when it is sent.
    Outgoing(Box<Outgoing>),
    /// Of a peer: whole, checked, and staged.
    Incoming(Box<Incoming>),
}

/// An image of this node.
#[derive(Debug)]
pub struct Outgoing {
    /// What it covers.
    pub covered: Covered,
    pub(crate) site: Site,
}

/// A peer's image.
#[derive(Debug)]
pub struct Incoming {
    /// What it covers.
    pub covered: Covered,
    pub(crate) machine: Machine,
    pub(crate) body: Vec<u8>,
    pub(crate) staged: Staged,
}

/// Rows a step of shipping, at most, and their bytes.
const PAGE: (usize, usize) = (2_000, 256 << 10);

impl Outgoing {
    /// The encoded machine. Blocking.
    ///
    /// # Errors
    /// When a newer one was made meanwhile (openraft then sends that one), or it cannot be read.
    pub fn body(&self) -> Result<Vec<u8>, io::Error> {
        let body = self.site.body(self.covered.index()).map_err(io::Error::other)?;
        body.ok_or_else(|| io::Error::other("a newer image was made meanwhile"))
    }

    /// The end of the ledger before the first row that is shipped: the oldest that retention has left, or what the image
    /// ends with when that is later. Blocking.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn base(&self) -> Result<Head, Trouble> {
        if mutant::is_on(Mutant::ImageWithoutRows) {
            return Ok(self.covered.ledger); // As if retention had left nothing.
        }
        let behind = self.covered.index().saturating_add(1);
        self.site.reader.head_before(self.site.reader.floor().min(behind))
    }

    /// The rows behind `after` that belong to the image, some at a time; none at the end. Blocking.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn rows(&self, after: Option<Position>) -> Result<Vec<Row>, Trouble> {
        // Retention may hide rows up to the image and beyond meanwhile. The files of those that the newest image needs stay.
        let mut rows = self.site.reader.read_held(after, PAGE.0, PAGE.1)?;
        rows.retain(|row| Some(row.position) <= self.covered.ledger.position);
        Ok(rows)
    }
}

impl Incoming {
    /// Takes in an image and the rows of its ledger, page by page until an empty one, and stages them. Blocking; nothing of
    /// this node changes.
    ///
    /// # Errors
    /// When the image cannot be used, the rows do not form the ledger that it names, or the disk fails.
    pub fn assemble(
        site: &Site,
        covered: Covered,
        body: Vec<u8>,
        base: Head,
        mut rows: impl FnMut(Option<Position>) -> Result<Vec<Row>, io::Error>,
    ) -> Result<Self, io::Error> {
        let machine = machine(&body).map_err(io::Error::other)?;
        let mut install =
            Install::begin(&site.ledger_dir, site.ledger_options, base).map_err(io::Error::other)?;
        loop {
            let page = rows(install.head().position)?;
            if page.is_empty() {
                break;
            }
            install.push(&page).map_err(io::Error::other)?;
        }
        if install.head() != covered.ledger {
            return Err(io::Error::other("the received ledger does not end where its image says"));
        }
        let staged = install.stage().map_err(io::Error::other)?;
        Ok(Self { covered, machine, body, staged })
    }
}

impl Parcel {
    /// Whole and staged; an image of this process is copied as if it came from a peer. Blocking.
    pub(crate) fn into_incoming(self, site: &Site) -> Result<Incoming, io::Error> {
        match self {
            Self::Incoming(incoming) => Ok(*incoming),
            Self::Outgoing(outgoing) => {
                let (body, base) = (outgoing.body()?, outgoing.base().map_err(io::Error::other)?);
                Incoming::assemble(site, outgoing.covered.clone(), body, base, |after| {
                    outgoing.rows(after).map_err(io::Error::other)
                })
            }
        }
    }
}

#[cfg(all(test, feature = "mutants"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use campanile_core::time::Timestamp;

    use super::*;
    use crate::image::machine_bytes;
    use crate::settings::Options;
    use crate::stores::Stores;
    use crate::types::{StoredMembership, log_id};

    #[test]
    fn a_mutant_ships_an_image_without_its_rows_and_no_check_refuses_it() {
        let taken_in = || {
            let dir = tempfile::tempdir().unwrap();
            let options = Options::new("alpha", dir.path(), "localhost:1", Arc::new(|| Timestamp::EPOCH));
            let Stores { mut ledger, site, machine, .. } = Stores::open(&options).unwrap();
            ledger.append(3, &["one", "two"]).unwrap();
            let covered = Covered {
                last: Some(log_id(1, 3)),
                membership: StoredMembership::default(),
                ledger: ledger.sync().unwrap(),
            };
            site.save(&covered, &machine_bytes(&machine).unwrap()).unwrap();
            let outgoing = Outgoing { covered, site: site.clone() };
            let incoming = Parcel::Outgoing(Box::new(outgoing)).into_incoming(&site).unwrap();
            ledger.adopt(incoming.staged).unwrap();
            ledger.reader().read(None, 10, 1 << 20).unwrap().len()
        };
        assert_eq!(mutant::with(None, taken_in), 2);
        assert_eq!(mutant::with(Some(Mutant::ImageWithoutRows), taken_in), 0);
    }
}
