//! Opening what a node keeps, in the order in which one thing vouches for the next.
//!
//! ```text
//!   newest image -> log, which must reach back to the image -> ledger, cut to the image's end
//! ```
//! A node that finds less than it promised must not start with it: that is [`Trouble::Damaged`], and membership moves the
//! directory aside, with what it held: nothing is cut before all of it has been looked at.

use std::path::{Path, PathBuf};

use campanile_core::format::FormatLevel;
use campanile_core::machine::Machine;
use campanile_storage::Trouble;
use campanile_storage::codec::Kind;
use campanile_storage::image::Images;
use campanile_storage::ledger::{Head, Ledger};
use campanile_storage::log::Log;

use crate::image::{self, Covered, Site};
use crate::level;
use crate::settings::Options;
use crate::types::StoredMembership;

/// Everything that a node keeps, opened.
pub struct Stores {
    /// The log and the vote.
    pub log: Log,
    /// The ledger, ending where the image does.
    pub ledger: Ledger,
    /// Where images and ledger are.
    pub site: Site,
    /// The machine of the newest image.
    pub machine: Machine,
    /// What that image covers.
    pub covered: Covered,
}

/// The directories beside the identity.
pub(crate) const PARTS: [&str; 3] = ["log", "ledger", "images"];

/// Whether there is anything but an identity in this data directory.
#[must_use]
pub fn any_in(data: &Path) -> bool {
    PARTS.iter().any(|part| data.join(part).exists())
}

/// Whether everything is there that a node keeps once it has started.
#[must_use]
pub fn all_in(data: &Path) -> bool {
    PARTS.iter().all(|part| data.join(part).is_dir())
}

impl Stores {
    /// Opens or makes them. Blocking.
    ///
    /// # Errors
    /// As the stores say; [`Trouble::Damaged`] also when they do not fit together.
    pub fn open(options: &Options) -> Result<Self, Trouble> {
        let [log_dir, ledger_dir, images_dir] = PARTS.map(|part| options.data.join(part));
        std::fs::create_dir_all(&log_dir).map_err(|error| Trouble::while_opening(&log_dir, error))?;
        let images = Images::open(&images_dir)?;
        let (machine, covered) = newest(&images, &images_dir)?;
        level::readable_by(options.speaks, machine.format_level()).map_err(|_| Trouble::TooNew {
            path: images_dir.clone(),
            found: machine.format_level().0,
            known: options.speaks.0,
        })?;
        let log = (options.start_log)((options.open_log)(&log_dir)?)?;
        reaches(&log, &covered, log_dir)?;
        let ledger = Ledger::open_at(&ledger_dir, options.ledger, &covered.ledger)?;
        let known = covered.last.map(|_| covered.clone());
        let site = Site::new(images, known, &ledger, ledger_dir, options.ledger);
        Ok(Self { log, ledger, site, machine, covered })
    }
}

fn newest(images: &Images, dir: &Path) -> Result<(Machine, Covered), Trouble> {
    let Some(found) = images.newest()?.image else {
        let nothing =
            Covered { last: None, membership: StoredMembership::default(), ledger: Head::default() };
        return Ok((Machine::default(), nothing));
    };
    let covered = Covered::from_bytes(&found.meta)?;
    let machine = image::machine(&found.body).map_err(|why| match why {
        image::Unusable::Codec(codec) => Trouble::from(codec),
        image::Unusable::Ahead(_) => Trouble::TooNew {
            path: dir.into(),
            found: level::of(Kind::Image, &found.body).map_or(0, |level| level.0),
            known: FormatLevel::NEWEST.0,
        },
        image::Unusable::Damage(damage) => Trouble::damaged(dir, damage.to_string()),
    })?;
    Ok((machine, covered))
}

/// The entries behind the image must be there, or the machine would silently lack them; and who has an image has voted,
/// or has followed somebody, which is written in the same place.
fn reaches(log: &Log, covered: &Covered, dir: PathBuf) -> Result<(), Trouble> {
    if covered.last.is_some() && log.vote().is_none() {
        return Err(Trouble::Damaged { path: dir, what: "there is an image, and the vote is gone".into() });
    }
    match log.bounds().purged {
        Some(purged) if covered.last.is_none_or(|last| last.index < purged) => Err(Trouble::Damaged {
            path: dir,
            what: format!("it was purged up to {purged} and no image reaches that far"),
        }),
        _ => Ok(()),
    }
}
