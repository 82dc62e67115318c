//! What a fact is about.

use super::Event;
use crate::id::Uid;

impl Event {
    /// The schedule that it belongs to, if it belongs to one.
    #[must_use]
    pub fn uid(&self) -> Option<Uid> {
        match self {
            Self::Fired { firing, .. } | Self::Begun { firing, .. } | Self::Settled { firing, .. } => {
                Some(firing.uid)
            }
            Self::Skipped { uid, .. }
            | Self::Defined { uid, .. }
            | Self::Deleted { uid, .. }
            | Self::Paused { uid, .. }
            | Self::Resumed { uid, .. }
            | Self::Parked { uid, .. }
            | Self::Finished { uid } => Some(*uid),
            Self::StopAsked { firing }
            | Self::Cancelled { firing, .. }
            | Self::LetterDiscarded { firing, .. }
            | Self::ChainDropped { cause: firing, .. } => Some(firing.uid),
            Self::MarkSet { uid, .. }
            | Self::Standing { uid, .. }
            | Self::BackfillCreated { uid, .. }
            | Self::NextMoved { uid, .. } => Some(*uid),
            Self::LeaderEpoch { .. }
            | Self::NodeAdmitted { .. }
            | Self::BackfillEnded { .. }
            | Self::CalendarPut { .. }
            | Self::CalendarDeleted { .. }
            | Self::ZonesUsed { .. }
            | Self::QueuePut { .. }
            | Self::QueueDeleted { .. }
            | Self::QueuePaused { .. }
            | Self::QueueResumed { .. }
            | Self::SecretPut { .. }
            | Self::SecretDeleted { .. }
            | Self::Outage { .. }
            | Self::LedgerChecked { .. }
            | Self::Restating { .. }
            | Self::CalendarStanding { .. }
            | Self::Restated { .. }
            | Self::MembersChanged { .. }
            | Self::LedgerDropped { .. }
            | Self::FormatLevelSet { .. } => None,
        }
    }
}
