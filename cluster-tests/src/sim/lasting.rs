//! What stays broken when everything else is healed: one machine, or one link, without which there is a quorum yet. A cluster
//! must live with it.

use std::fmt;
use std::str::FromStr;

use campanile_core::id::NodeId;

use super::fault::Kind;
use super::host::Host;
use super::strike::Hand;
use crate::seed::Dice;

/// What stays broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// This machine is dead, and nobody comes.
    Dead(usize),
    /// Nothing gets from the first machine to the second.
    OneWay(usize, usize),
    /// Nothing gets from one of these machines to the other.
    Link(usize, usize),
}

impl Lasting {
    /// How its line of a plan begins.
    pub const BEGINS: &'static str = "for good,";

    /// Of a world: two of five have one, when faults of this kind are wanted at all.
    #[must_use]
    pub fn drawn(dice: &mut Dice, founders: usize, kinds: &[Kind]) -> Option<Self> {
        let founders = founders as u64;
        let from = dice.below(founders);
        let to = ((from + 1 + dice.below(founders - 1)) % founders) as usize;
        let from = from as usize;
        let drawn = match dice.below(10) {
            0..2 => (Self::Dead(from), Kind::Kill),
            2 => (Self::OneWay(from, to), Kind::LinkOneWay),
            3 => (Self::Link(from, to), Kind::Link),
            _ => return None,
        };
        kinds.contains(&drawn.1).then_some(drawn.0)
    }

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dead(_) => "machine dead for good",
            Self::OneWay(..) => "link cut one way for good",
            Self::Link(..) => "link cut for good",
        }
    }

    /// Breaks it, unless that would leave no quorum of the members that there are now; answers whether it did.
    #[must_use]
    pub fn strike(self, hand: &Hand) -> bool {
        if !self.leaves_quorum(hand) {
            return false;
        }
        hand.trace.note("for good", &[], || format!("{self:?}"));
        hand.trace.reach(self.name());
        let cut = super::net::Weather { cut: true, ..super::net::Weather::default() };
        let address = |place: usize| hand.hosts[place].address();
        match self {
            Self::Dead(place) => hand.hosts[place].give_up(),
            Self::OneWay(from, to) => hand.net.set(address(from), address(to), cut),
            Self::Link(from, to) => {
                hand.net.set(address(from), address(to), cut);
                hand.net.set(address(to), address(from), cut);
            }
        }
        true
    }

    /// Even without this machine, or one of its ends, a majority of voters serves.
    fn leaves_quorum(self, hand: &Hand) -> bool {
        let Some(leader) = hand.leader().and_then(|leader| leader.running()) else { return false };
        let members = leader.consensus.status().members;
        let voters: Vec<NodeId> =
            members.iter().filter(|member| member.voter).map(|member| member.node).collect();
        let (Self::Dead(lost) | Self::OneWay(lost, _) | Self::Link(lost, _)) = self;
        let serves = |host: &&Host| {
            let running = host.running().filter(|_| !host.is_frozen() && host.place() != lost);
            running.is_some_and(|running| voters.contains(&running.consensus.node()))
        };
        2 * hand.hosts.iter().filter(serves).count() > voters.len()
    }
}

/// As a line of a plan: what, and the places that it is about.
impl fmt::Display for Lasting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", Self::BEGINS, self.name())?;
        match self {
            Self::Dead(place) => write!(out, ", {place}"),
            Self::OneWay(from, to) | Self::Link(from, to) => write!(out, ", {from}, {to}"),
        }
    }
}

impl FromStr for Lasting {
    type Err = String;

    /// What stands behind [`Lasting::BEGINS`].
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, places) = text.trim().split_once(',').unwrap_or((text, ""));
        let places: Vec<usize> = places.split(',').filter_map(|place| place.trim().parse().ok()).collect();
        let known = match places[..] {
            [place] => vec![Self::Dead(place)],
            [from, to] => vec![Self::OneWay(from, to), Self::Link(from, to)],
            _ => Vec::new(),
        };
        let named = known.into_iter().find(|lasting| lasting.name() == name);
        named.ok_or_else(|| {
            format!("{text:?} breaks nothing: write \"{} {}\"", Self::BEGINS, "link cut for good, 0, 1")
        })
    }
}
