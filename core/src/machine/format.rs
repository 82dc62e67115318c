//! The format level is raised, never lowered: what was written under it must stay readable to whoever follows. Must not ask
//! whether this program knows the level: who does not was stopped by the reader of the log.

use super::Turn;
use crate::event::Event;
use crate::format::FormatLevel;
use crate::reply::Reply;

/// At or below the present level it changes nothing: another leader was first.
pub(super) fn set_level(turn: &mut Turn<'_>, level: FormatLevel) -> Reply {
    let from = turn.state.format_level;
    if level <= from {
        return Reply::Refreshed(false);
    }
    turn.state.format_level = level;
    turn.tell(Event::FormatLevelSet { from, level });
    Reply::Refreshed(true)
}
