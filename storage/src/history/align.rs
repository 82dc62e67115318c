//! How an index stands to a ledger: whether it is this one's, and from where to go on.
//!
//! Told by running hashes. The usual case after a restart is an index that is *ahead*: the ledger was cut to the image and
//! the replay has not appended the rows again. They will be the same rows at perhaps other places, so the index goes back to
//! the end of the ledger and passes them once more; that needs one remembered hash from before the cut.

use super::{
    key::Progress,
    store::{Store, Unreadable},
};
use crate::{Trouble, ledger::LedgerReader};

/// What to do about an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is this ledger's: go on behind its progress. An empty one is everybody's.
    Current,
    /// It is this ledger's, which was cut: go on behind this row.
    Rewound(Progress),
    /// It is another ledger's, or cannot be told to be this one's.
    Foreign,
}

/// Compares the hashes that the index remembers with the ledger's.
pub(crate) fn standing(store: &Store, ledger: &LedgerReader) -> Result<Standing, Trouble> {
    let Some(progress) = store.progress() else { return Ok(Standing::Current) };
    let head = ledger.head();
    let Some(end) = head.position else { return Ok(Standing::Foreign) };
    if progress.position <= end {
        return Ok(if agrees(ledger, progress)? { Standing::Current } else { Standing::Foreign });
    }
    match store.checkpoint(end) {
        Ok(Some(known)) if agrees(ledger, known)? => {
            Ok(Standing::Rewound(Progress { position: end, hash: head.hash }))
        }
        Ok(_) | Err(Unreadable { .. }) => Ok(Standing::Foreign),
    }
}

/// Whether the ledger has a row of this hash there. Where retention has dropped the row nothing speaks against it.
fn agrees(ledger: &LedgerReader, known: Progress) -> Result<bool, Trouble> {
    let base = ledger.base();
    if Some(known.position) < base.position {
        return Ok(true);
    }
    if Some(known.position) == base.position {
        return Ok(known.hash == base.hash);
    }
    Ok(ledger.hash_at(known.position)? == Some(known.hash))
}
