//! Making the data of a founder from a staged backup, so that a crash at any point of it leaves the staged file to begin
//! again with.
//!
//! ```text
//!   planting/   made anew each time: ledger, then image, then log, then identity
//!   replaced/   what an empty cluster had before; whole once it has this name, and kept
//!   data/…      the parts one by one, the identity last; then the staged file is removed
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use campanile_core::id::{LogIndex, NodeId};
use campanile_core::image::Image;
use campanile_core::machine::Machine;
use campanile_storage::Trouble;
use campanile_storage::image::Images;
use campanile_storage::ledger::{Install, Ledger};

use super::{HISTORY, Seed, Unfit, leap};
use crate::format;
use crate::identity::{self, Identity, Origin};
use crate::image::{self, Covered, Unusable};
use crate::settings::Options;
use crate::stores::PARTS;
use crate::types::{LogId, Membership, Peer, StoredMembership, Vote, log_id};

const PLANTING: &str = "planting";
const REPLACED: &str = "replaced";
const REPLACING: &str = "replacing";

/// What a founder begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planted {
    /// The last entry of the backup.
    pub backup: LogIndex,
    /// The entry that its log begins behind.
    pub index: LogIndex,
    /// The founder.
    pub node: NodeId,
}

/// Makes the data of this node from the staged backup. Blocking.
///
/// # Errors
/// As [`Unfit`] tells apart; the staged file is still there then.
pub fn plant(options: &Options, staged: &Path) -> Result<Planted, Unfit> {
    let data = &options.data;
    let fresh = data.join(PLANTING);
    remove(&fresh)?;
    doing(fs::create_dir(&fresh))?;
    let planted = grow(options, staged, &fresh)?;
    set_aside(data)?;
    doing(settle(data, &fresh, staged))?;
    Ok(planted)
}

fn grow(options: &Options, staged: &Path, fresh: &Path) -> Result<Planted, Unfit> {
    let input = File::open(staged).map_err(|error| Trouble::while_opening(staged, error))?;
    let mut seed = Seed::open(BufReader::new(input))?;
    let [log, ledger, images] = PARTS.map(|part| fresh.join(part));
    let last = begin_behind(&seed, options);
    let (node, machine) = successor(seed.machine(), last)?;
    let [base, head] = seed.ledger();
    let mut install = Install::begin(&ledger, options.ledger, base)?;
    seed.rows(|rows, _| install.push(rows))?;
    if install.head() != head {
        return Err(seed.apart());
    }
    let _staged = install.stage()?;
    drop(Ledger::open_at(&ledger, options.ledger, &head)?);

    let peer = Peer { peer_address: options.peer_address.clone(), api_address: options.api_address.clone() };
    let voters = BTreeSet::from([node.0]);
    let membership = Membership::new(vec![voters], BTreeMap::from([(node.0, peer)]));
    let membership = membership.expect("the one voter has an address");
    let covered =
        Covered { last: Some(last), membership: StoredMembership::new(Some(last), membership), ledger: head };
    let body = image::machine_bytes(&machine).map_err(Unusable::from)?;
    Images::open(&images)?.save(covered.index(), &covered.to_bytes(), &body)?;
    begin_log(options, &log, last, node)?;
    Identity::new(&options.cluster, node.0, Origin::Founder).write(fresh)?;
    Ok(Planted { backup: seed.index(), index: LogIndex(last.index), node })
}

/// The entry that the new log begins behind. Nothing was ever written there.
fn begin_behind<R: io::Read>(seed: &Seed<R>, options: &Options) -> LogId {
    let last = seed.covered.last.unwrap_or(log_id(0, 0));
    log_id(last.leader_id.term, last.index + leap(seed.machine.clock(), (options.clock)()))
}

/// The machine of the backup as one that has passed the leap, and that has given the founder its id.
fn successor(machine: &Machine, last: LogId) -> Result<(NodeId, Machine), Unfit> {
    let mut image = Image::of(machine);
    let node = image.admit();
    let mut machine = image.into_machine().map_err(Unusable::Damage)?;
    machine.pass(LogIndex(last.index));
    Ok((node, machine))
}

/// A log that was purged up to `last`, and a vote of the next term, so that no term of the backup comes again.
fn begin_log(options: &Options, dir: &Path, last: LogId, node: NodeId) -> Result<(), Trouble> {
    fs::create_dir_all(dir).map_err(|error| Trouble::while_opening(dir, error))?;
    let mut log = (options.open_log)(dir)?;
    log.save_vote(&format::vote_bytes(&Vote::new(last.leader_id.term + 1, node.0)))?;
    log.purge_to(last.index, &format::mark_bytes(last))?;
    log.sync()
}

/// Moves what an empty cluster had out of the way. Once `replaced` has its name, whatever else is there is of an earlier try.
fn set_aside(data: &Path) -> Result<(), Unfit> {
    let (replacing, replaced) = (data.join(REPLACING), data.join(REPLACED));
    let names = [identity::FILE, HISTORY].into_iter().chain(PARTS);
    let mut here = names.map(|name| (name, data.join(name))).filter(|(_, path)| path.exists()).peekable();
    if replaced.exists() {
        return here.try_for_each(|(_, path)| remove(&path));
    }
    if here.peek().is_none() && !replacing.exists() {
        return Ok(());
    }
    doing(fs::create_dir_all(&replacing))?;
    here.try_for_each(|(name, path)| doing(fs::rename(path, replacing.join(name))))?;
    doing(fs::rename(&replacing, &replaced).and_then(|()| File::open(data)?.sync_all()))
}

/// Puts the new parts in place, the identity last, and forgets the staged file.
fn settle(data: &Path, fresh: &Path, staged: &Path) -> io::Result<()> {
    for part in PARTS {
        fs::rename(fresh.join(part), data.join(part))?;
    }
    File::open(data)?.sync_all()?;
    fs::rename(fresh.join(identity::FILE), data.join(identity::FILE))?;
    File::open(data)?.sync_all()?;
    fs::remove_file(staged)?;
    fs::remove_dir_all(fresh)?;
    File::open(data)?.sync_all()
}

fn remove(path: &Path) -> Result<(), Unfit> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => doing(Err(error)),
        _ => Ok(()),
    }
}

fn doing(done: io::Result<()>) -> Result<(), Unfit> {
    Ok(done.map_err(|error| Trouble::while_doing("restoring a backup", error))?)
}
