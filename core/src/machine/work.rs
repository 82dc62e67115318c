//! What the holders of leases say, in one entry: first what ends, so that what it frees can be leased.

use super::{Turn, lease, settle};
use crate::command::Work;
use crate::reply::{Reply, Worked};

pub(super) fn work(turn: &mut Turn<'_>, command: &Work) -> Reply {
    let settled = command.settles.iter().map(|item| settle::settle(turn, item)).collect();
    let extended = command.extends.iter().map(|item| lease::extend(turn, item)).collect();
    let taken = command.takes.iter().map(|item| lease::take(turn, item)).collect();
    let begun = command.begins.iter().map(|begin| lease::begin(turn, begin)).collect();
    Reply::Worked(Worked { settled, extended, taken, begun })
}
