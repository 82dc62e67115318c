//! An office of consensus as the duties of the leader use it.

use std::sync::Arc;

use campanile_core::command::Body;
use campanile_core::event::LedgerEnd;
use campanile_core::format::FormatLevel;
use campanile_core::id::{LogIndex, NodeId};
use campanile_core::machine::Machine;
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;
use campanile_raft::{Consensus, Office as RaftOffice, ProposeError};

use crate::leader::office::{NoReply, Office};

/// An office, with the consensus that gave it.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) consensus: Consensus,
    pub(super) office: RaftOffice,
}

impl Office for Held {
    fn node(&self) -> NodeId {
        self.consensus.node()
    }

    fn view(&self) -> Arc<Machine> {
        self.consensus.view()
    }

    async fn applied_beyond(&self, index: LogIndex) {
        self.consensus.applied_beyond(index).await;
    }

    fn allows(&self, now: Timestamp) -> bool {
        self.office.allows(now)
    }

    async fn compared_end(&self) -> Option<LedgerEnd> {
        self.consensus.compared_end().await
    }

    fn common_level(&self) -> Option<FormatLevel> {
        self.consensus.common_level()
    }

    async fn propose(
        &self,
        now: Timestamp,
        plan: impl FnOnce(Timestamp, &Machine) -> Option<Body> + Send,
    ) -> Result<Option<Reply>, NoReply> {
        self.office.propose(now, plan).await.map_err(no_reply)
    }
}

fn no_reply(error: ProposeError) -> NoReply {
    match error {
        ProposeError::NotLeader { .. } => NoReply::OutOfOffice,
        ProposeError::Busy => NoReply::Busy,
        ProposeError::TooLarge { .. } => NoReply::TooLarge(error.to_string()),
        ProposeError::Unknown(why) => NoReply::Unknown(why),
        ProposeError::Stopped(why) => NoReply::Stopped(why),
    }
}
