//! Taking office, and giving ids to nodes.

use super::Turn;
use crate::command::{AdmitNode, LeaderEpoch};
use crate::event::{Event, MIN_OUTAGE};
use crate::id::{Epoch, NodeId};
use crate::mutant::{self, Mutant};
use crate::reply::Reply;
use crate::request::Requests;
use crate::state::Office;

/// From here on the proposals of this leader count, and no others: the index of this entry is its epoch.
pub(super) fn take_office(turn: &mut Turn<'_>, command: &LeaderEpoch) -> Reply {
    let epoch = Epoch(turn.moment.index.0);
    assert!(command.term >= turn.state.office.term, "terms on the log never fall (Raft §5.1)");
    turn.state.office = Office { epoch, node: command.node, term: command.term };
    if mutant::is_on(Mutant::KeysForgottenAtFailover) {
        turn.state.requests = Requests::default();
    }
    turn.tell(Event::LeaderEpoch {
        epoch,
        node: command.node,
        incarnation: command.incarnation,
        term: command.term,
        ledger: command.ledger,
    });
    tell_outage(turn, command);
    Reply::InOffice(epoch)
}

/// A gap between leaders that is longer than a failover takes. The log's time is no earlier than its last entry, so a gap
/// never begins before it.
fn tell_outage(turn: &mut Turn<'_>, command: &LeaderEpoch) {
    let to = turn.moment.at;
    if let Some(from) = command.leaderless_since.filter(|from| to.since(*from) > MIN_OUTAGE) {
        turn.tell(Event::Outage { from, to });
    }
}

/// An id is never given twice, so a node that lost its disk cannot vote again for what it forgot.
pub(super) fn admit_node(turn: &mut Turn<'_>, command: &AdmitNode) -> Reply {
    let node = turn.state.next_node;
    turn.state.next_node = NodeId(node.0 + 1);
    turn.tell(Event::NodeAdmitted { node, peer_address: command.peer_address.clone() });
    Reply::Admitted(node)
}
