//! What the disk of this node knows: its identity and its stores, or nothing when there is none or it is damaged.
//!
//! A damaged directory, and one whose ledger is not that of the others, is moved aside and never written to again. Must not
//! start with less than was promised.

use crate::runtime;
use std::path::PathBuf;

use campanile_storage::Trouble;

use super::StartError;
use crate::identity::Identity;
use crate::mark;
use crate::settings::Options;
use crate::stores::{self, Stores};

/// One start more. Counted only when everything is open: a node that has been counted once has all its directories, and
/// one that lacks any of them then has lost it.
pub(super) async fn begin(
    mut identity: Identity,
    options: &Options,
) -> Result<(Identity, Stores), StartError> {
    if identity.incarnation > 0 && !stores::all_in(&options.data) {
        return Err(Trouble::damaged(&options.data, "a part of what this node kept is gone").into());
    }
    let stores = open(options).await?;
    identity.incarnation += 1;
    identity.write(&options.data)?;
    Ok((identity, stores))
}

/// The node that this disk knows, one start later, and its stores; nothing when the disk is empty, or damaged and moved
/// aside.
pub(super) async fn known(options: &Options) -> Result<Option<(Identity, Stores)>, StartError> {
    match recall(options).await {
        Err(StartError::Trouble(trouble @ Trouble::Damaged { .. })) if options.peers.len() > 1 => {
            let aside = set_aside(options)?;
            tracing::error!(%trouble, moved_to = %aside.display(), "the data directory is damaged: this node starts empty and joins again under a new id");
            std::fs::create_dir_all(&options.data)
                .map_err(|error| Trouble::while_opening(&options.data, error))?;
            Ok(None)
        }
        recalled => recalled,
    }
}

async fn recall(options: &Options) -> Result<Option<(Identity, Stores)>, StartError> {
    std::fs::create_dir_all(&options.data).map_err(|error| Trouble::while_opening(&options.data, error))?;
    let Some(identity) = Identity::read(&options.data)? else {
        return match stores::any_in(&options.data) {
            true => Err(Trouble::damaged(&options.data, "there is data but no identity").into()),
            false => Ok(None),
        };
    };
    if identity.cluster != options.cluster {
        let (found, wanted) = (identity.cluster, options.cluster.clone());
        return Err(StartError::OtherCluster { found, wanted });
    }
    mark::refuse(&options.data)?;
    begin(identity, options).await.map(Some)
}

async fn open(options: &Options) -> Result<Stores, StartError> {
    let options = options.clone();
    let opened = runtime::blocking(move || Stores::open(&options)).await;
    Ok(opened.map_err(|error| StartError::Consensus(error.to_string()))??)
}

/// Moves the data directory aside, to the first free name.
fn set_aside(options: &Options) -> Result<PathBuf, Trouble> {
    let name = options.data.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = (1_u32..)
        .map(|n| options.data.with_file_name(format!("{name}.damaged-{n}")))
        .find(|path| !path.exists())
        .expect("there are more numbers than directories");
    std::fs::rename(&options.data, &aside)
        .map_err(|error| Trouble::while_doing("moving the damaged data directory aside", error))?;
    Ok(aside)
}
