//! Founding a cluster on a backup that is staged in the data directory (`crate::seed`).
//!
//! The node that finds one does not wait for its peers: it is the cluster, and they join it with empty disks, since it
//! answers their greetings only when its data is made. It does ask them first: one that belongs to a cluster would mean that
//! two of them fire the same schedules.

use super::{Entrance, StartError, found};
use crate::runtime;
use crate::seed::{self, Unfit};

/// Makes the data of this node from the staged backup, when there is one.
pub(super) async fn settle(entrance: &Entrance) -> Result<(), StartError> {
    let Some(staged) = seed::staged(&entrance.options.data) else { return Ok(()) };
    if let Some(peer) = found::who_knows_a_cluster(entrance).await {
        return Err(StartError::Restore(format!(
            "{peer} belongs to a running cluster: stop that one and empty its disks, or remove {}",
            staged.display()
        )));
    }
    tracing::info!(file = %staged.display(), "founding the cluster on a backup");
    let options = entrance.options.clone();
    let planted = runtime::blocking(move || seed::plant(&options, &staged)).await;
    let planted =
        planted.map_err(|error| StartError::Consensus(error.to_string()))?.map_err(|error| unfit(&error))?;
    tracing::info!(
        backup = %planted.backup, log_begins_behind = %planted.index, node = %planted.node,
        "the backup is restored; the other nodes may join with empty disks"
    );
    Ok(())
}

/// Never called damage of the data directory, which would be moved aside and with it the backup.
fn unfit(error: &Unfit) -> StartError {
    StartError::Restore(error.to_string())
}
