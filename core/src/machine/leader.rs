//! Taking office, and giving ids to nodes.

use super::Turn;
use crate::command::{AdmitNode, LeaderEpoch};
use crate::event::Event;
use crate::id::{Epoch, NodeId};
use crate::reply::Reply;
use crate::state::Office;

/// From here on the proposals of this leader count, and no others: the index of this entry is its epoch.
pub(super) fn take_office(turn: &mut Turn<'_>, command: &LeaderEpoch) -> Reply {
    let epoch = Epoch(turn.moment.index.0);
    assert!(command.term >= turn.state.office.term, "terms on the log never fall (Raft §5.1)");
    turn.state.office = Office { epoch, node: command.node, term: command.term };
    turn.tell(Event::LeaderEpoch {
        epoch,
        node: command.node,
        incarnation: command.incarnation,
        term: command.term,
    });
    Reply::InOffice(epoch)
}

/// An id is never given twice, so a node that lost its disk cannot vote again for what it forgot.
pub(super) fn admit_node(turn: &mut Turn<'_>, command: &AdmitNode) -> Reply {
    let node = turn.state.next_node;
    turn.state.next_node = NodeId(node.0 + 1);
    turn.tell(Event::NodeAdmitted { node, peer_address: command.peer_address.clone() });
    Reply::Admitted(node)
}
