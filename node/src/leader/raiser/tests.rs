//! The duty against a machine in this process.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use campanile_core::command::{Command, LeaderEpoch};
use campanile_core::format::FormatLevel;
use campanile_core::id::{Epoch, LogIndex, NodeId, Term};
use campanile_core::reply::Reply;
use campanile_core::time::Timestamp;

use super::*;
use crate::leader::office::NoReply;

/// An office over a machine, whose members read `common`.
#[derive(Debug, Clone)]
struct Desk {
    machine: Arc<Mutex<Machine>>,
    common: Arc<Mutex<Option<FormatLevel>>>,
}

impl Desk {
    fn new() -> Self {
        let machine = Arc::new(Mutex::new(Machine::default()));
        let desk = Self { machine, common: Arc::new(Mutex::new(None)) };
        let epoch = LeaderEpoch {
            node: NodeId(1),
            incarnation: 1,
            term: Term(1),
            ledger: None,
            leaderless_since: None,
        };
        desk.commit(Timestamp::EPOCH, Epoch(0), Body::LeaderEpoch(epoch));
        desk
    }

    fn commit(&self, at: Timestamp, epoch: Epoch, body: Body) -> Reply {
        let mut machine = self.machine.lock().unwrap();
        let index = LogIndex(machine.applied().0 + 1);
        machine.apply(index, &Command { at, epoch, body }).0
    }

    /// One look while the members read that; says how many entries came of it, and the level then.
    async fn look(&self, common: Option<u16>) -> (u64, u16) {
        *self.common.lock().unwrap() = common.map(FormatLevel);
        let before = self.view().applied().0;
        Raiser::new(self.clone(), Clock::system()).look().await;
        let after = self.view();
        (after.applied().0 - before, after.format_level().0)
    }
}

impl Office for Desk {
    fn node(&self) -> NodeId {
        NodeId(1)
    }

    fn view(&self) -> Arc<Machine> {
        Arc::new(self.machine.lock().unwrap().clone())
    }

    async fn applied_beyond(&self, _: LogIndex) {
        std::future::pending::<()>().await;
    }

    fn allows(&self, _: Timestamp) -> bool {
        true
    }

    fn common_level(&self) -> Option<FormatLevel> {
        *self.common.lock().unwrap()
    }

    async fn propose(
        &self,
        now: Timestamp,
        plan: impl FnOnce(Timestamp, &Machine) -> Option<Body> + Send,
    ) -> Result<Option<Reply>, NoReply> {
        let body = plan(now, &self.view());
        Ok(body.map(|body| self.commit(now, Epoch(1), body)))
    }
}

#[tokio::test]
async fn the_level_is_raised_to_what_all_read_and_only_when_all_have_said_it() {
    let desk = Desk::new();
    assert_eq!(desk.look(None).await, (0, 4), "one has not said what it reads");
    assert_eq!(desk.look(Some(4)).await, (0, 4), "nothing to raise");
    assert_eq!(desk.look(Some(6)).await, (1, 6));
    assert_eq!(desk.look(Some(6)).await, (0, 6), "once is enough");
    assert_eq!(desk.look(Some(5)).await, (0, 6), "never lowered");
}
