//! Images of the machine, as openraft's snapshots.
//!
//! ```text
//!   build:    clone of the machine -> bytes (another thread) -> ledger synced -> image saved   -> log may be purged
//!   send:     image file + ledger rows up to it, as a stream                      (transport::shipment)
//!   install:  rows staged -> image saved (the moment of decision) -> ledger adopted -> machine replaced
//! ```
//! A row of the ledger never changes, so an image at an index and all rows up to it belong together without stopping
//! anything. Must not know sockets, and must not be visible in lateness: apply gives a shallow copy and goes on.

mod parcel;

use std::io;
use std::marker::PhantomData;
use std::path::PathBuf;

use crate::runtime::watch;
use campanile_core::image as core_image;
use campanile_core::machine::Machine;
use campanile_storage::codec::{CodecError, Kind};
use campanile_storage::image::Images;
use campanile_storage::ledger::{Head, LedgerReader, Options as LedgerOptions, Syncer};
use campanile_storage::{Trouble, ledger};
use openraft::type_config::TypeConfigExt;
use openraft::type_config::alias::SnapshotOf;
use openraft::{AsyncRuntime, RaftSnapshotBuilder};
use serde::{Deserialize, Serialize};
use tokio_util::task::task_tracker::TaskTrackerToken;

pub use self::parcel::{Incoming, Outgoing, Parcel};
use crate::format::{self, LogIdForm, StoredMembershipForm};
use crate::level;
use crate::types::{LogId, SnapshotMeta, StoredMembership, Types};

/// What an image covers: everything up to its last entry, with the ledger's end there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covered {
    /// The last entry in it.
    pub last: Option<LogId>,
    /// The last membership in it.
    pub membership: StoredMembership,
    /// The end of the ledger that belongs to it.
    pub ledger: Head,
}

/// A [`Covered`] on disk and wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveredForm {
    last: Option<LogIdForm>,
    membership: StoredMembershipForm,
    ledger: Vec<u8>,
}

/// Why an image cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It is not one that this version reads.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// It is of a newer version.
    #[error(transparent)]
    Ahead(#[from] level::Unfit),
    /// It is one that no machine made.
    #[error("{0}")]
    Damage(core_image::Damage),
}

impl From<&Covered> for CoveredForm {
    fn from(covered: &Covered) -> Self {
        Self {
            last: covered.last.map(Into::into),
            membership: (&covered.membership).into(),
            ledger: covered.ledger.to_bytes().to_vec(),
        }
    }
}

impl CoveredForm {
    /// What it says.
    ///
    /// # Errors
    /// When it contradicts itself.
    pub fn into_covered(self, kind: Kind) -> Result<Covered, CodecError> {
        let malformed = || CodecError::Malformed { kind, why: "the end of the ledger is not one".into() };
        let head =
            self.ledger.try_into().ok().and_then(|bytes: [u8; Head::ENCODED]| Head::from_bytes(&bytes));
        Ok(Covered {
            last: self.last.map(Into::into),
            membership: self.membership.into_stored(kind)?,
            ledger: head.ok_or_else(malformed)?,
        })
    }
}

impl Covered {
    /// The index that names its image: that of the last entry.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.last.map_or(0, |id| id.index)
    }

    /// For the image's file.
    #[must_use]
    pub fn to_bytes(&self) -> bytes::Bytes {
        format::frame(Kind::Image, &CoveredForm::from(self))
    }

    /// Reads what [`Covered::to_bytes`] wrote.
    ///
    /// # Errors
    /// When the bytes are something else, or of a schema that this version does not know.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CodecError> {
        format::value::<CoveredForm>(Kind::Image, bytes)?.into_covered(Kind::Image)
    }

    /// As openraft has it.
    #[must_use]
    pub fn meta(&self) -> SnapshotMeta {
        SnapshotMeta { last_log_id: self.last, last_membership: self.membership.clone() }
    }
}

/// A machine as bytes, at its own level.
///
/// # Errors
/// When it is larger than a reader would accept.
pub fn machine_bytes(machine: &Machine) -> Result<Vec<u8>, CodecError> {
    level::write(Kind::Image, machine.format_level(), &core_image::Image::of(machine))
}

/// Reads what [`machine_bytes`] wrote.
///
/// # Errors
/// When it cannot be used.
pub fn machine(bytes: &[u8]) -> Result<Machine, Unusable> {
    level::readable(level::of(Kind::Image, bytes)?)?;
    let image: core_image::Image = level::read(Kind::Image, bytes)?;
    image.into_machine().map_err(Unusable::Damage)
}

/// Where a node keeps its images and its ledger, and which image is the newest.
#[derive(Debug, Clone)]
pub struct Site {
    images: Images,
    /// Told whenever there is a newer one.
    pub(crate) newest: watch::Sender<Option<Covered>>,
    reader: LedgerReader,
    syncer: Syncer,
    ledger_dir: PathBuf,
    ledger_options: LedgerOptions,
}

impl Site {
    /// Over what was opened; `newest` is what the newest image covers.
    #[must_use]
    pub fn new(
        images: Images,
        newest: Option<Covered>,
        ledger: &ledger::Ledger,
        ledger_dir: PathBuf,
        ledger_options: LedgerOptions,
    ) -> Self {
        Self {
            images,
            newest: watch::Sender::new(newest),
            reader: ledger.reader(),
            syncer: ledger.syncer(),
            ledger_dir,
            ledger_options,
        }
    }

    /// What the newest image covers.
    #[must_use]
    pub fn newest(&self) -> Option<Covered> {
        self.newest.borrow().clone()
    }

    /// The entry up to which the newest image reaches: what a replay needs no row of.
    pub(crate) fn newest_index(&self) -> u64 {
        self.newest.borrow().as_ref().map_or(0, Covered::index)
    }

    /// Reads the ledger.
    #[must_use]
    pub fn reader(&self) -> LedgerReader {
        self.reader.clone()
    }

    /// Makes an image durable. Blocking.
    pub(crate) fn save(&self, covered: &Covered, body: &[u8]) -> Result<(), Trouble> {
        self.images.save(covered.index(), &covered.to_bytes(), body)?;
        self.newest.send_replace(Some(covered.clone()));
        Ok(())
    }

    /// The body of the newest image, if it is still the one at `index`. Blocking.
    fn body(&self, index: u64) -> Result<Option<Vec<u8>>, Trouble> {
        let newest = self.images.newest()?.image;
        Ok(newest.filter(|image| image.index == index).map(|image| image.body))
    }
}

/// The snapshot of the newest image, if there is one.
pub(crate) fn current<R: AsyncRuntime>(site: &Site) -> Option<SnapshotOf<Types<R>, Parcel>> {
    let covered = site.newest()?;
    Some(snapshot::<R>(covered, site.clone()))
}

fn snapshot<R: AsyncRuntime>(covered: Covered, site: Site) -> SnapshotOf<Types<R>, Parcel> {
    SnapshotOf::<Types<R>, Parcel> {
        meta: covered.meta(),
        snapshot: Parcel::Outgoing(Box::new(Outgoing { covered, site })),
    }
}

/// Makes an image of the machine as it was when this was made.
pub struct Builder<R> {
    machine: Machine,
    covered: Covered,
    site: Site,
    open: TaskTrackerToken,
    runtime: PhantomData<fn() -> R>,
}

impl<R> Builder<R> {
    pub(crate) const fn new(machine: Machine, covered: Covered, site: Site, open: TaskTrackerToken) -> Self {
        Self { machine, covered, site, open, runtime: PhantomData }
    }
}

impl<R: AsyncRuntime> RaftSnapshotBuilder<Types<R>> for Builder<R> {
    type SnapshotData = Parcel;

    async fn build_snapshot(&mut self) -> Result<SnapshotOf<Types<R>, Parcel>, io::Error> {
        let (machine, covered, site) = (self.machine.clone(), self.covered.clone(), self.site.clone());
        let open = self.open.clone();
        let made = Types::<R>::spawn_blocking(move || {
            let _open = open;
            make_durable(&machine, &covered, &site)
        });
        made.await?.map_err(io::Error::other)?;
        Ok(snapshot::<R>(self.covered.clone(), self.site.clone()))
    }
}

/// The ledger first: an image whose rows could be lost would start a node without them.
fn make_durable(machine: &Machine, covered: &Covered, site: &Site) -> Result<(), Trouble> {
    let body = machine_bytes(machine)?;
    site.syncer.sync()?;
    site.save(covered, &body)
}
