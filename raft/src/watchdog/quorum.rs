//! The watchdog over consensus: a leader that no quorum answers, or a candidate that is not elected, although a majority of
//! the voters is there to be asked.
//!
//! Without that majority nothing stands still: this node is cut off, or the others are down, and starting anew would help
//! nobody. `hello` is answered beside openraft, so it tells the two apart. A node whose own disk hangs is the other
//! watchdog's. Must not restart consensus inside the process: one that does not answer cannot be stopped for certain, and
//! two of them over one log could vote twice.

use std::sync::Weak;
use std::time::Duration;
use tokio::time::Instant;

use openraft::ServerState;
use openraft::async_runtime::{Instant as _, WatchReceiver};

use super::disk::Writes;
use super::{LOOK_EVERY, Lasting};
use crate::consensus::{Inner, peers};
use crate::runtime::between_looks;

/// A process whose consensus has not worked since its start waits so many times longer: starting anew has just not helped.
const UNPROVEN: u32 = 10;

/// What one look at consensus says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// A quorum answers this leader, or a leader is heard.
    Works,
    /// Nothing to judge by: this node does not vote or waits for others, or no majority is there, or its disk hangs.
    Unjudged,
    /// It should work and does not.
    StandsStill,
}

/// As what a node takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Leader,
    Candidate,
    Other,
}

/// What a node knows of consensus without asking anybody.
#[derive(Debug, Clone)]
struct View {
    own: u64,
    voters: Vec<u64>,
    role: Role,
    /// How long ago a quorum answered this leader, or a leader was heard; `None` is never.
    silence: Option<Duration>,
    /// How long the write under way has taken.
    writing: Duration,
}

/// What one of the others says: its id, and who leads.
type Answer = (u64, Option<u64>);

impl View {
    /// What it says by itself; `None` when the others have to be asked.
    fn alone(&self, lease: Duration) -> Option<Sight> {
        if !self.voters.contains(&self.own) {
            return Some(Sight::Unjudged);
        }
        if self.voters == [self.own] || self.silence.is_some_and(|silence| silence < lease) {
            return Some(Sight::Works);
        }
        (self.role == Role::Other || self.writing >= lease).then_some(Sight::Unjudged)
    }

    /// What it says together with those who answered.
    fn beside(&self, answers: &[Answer]) -> Sight {
        let there = 1 + answers.iter().filter(|(node, _)| self.voters.contains(node)).count();
        if 2 * there <= self.voters.len() {
            return Sight::Unjudged;
        }
        // A candidate that is cut off from a leader which the others hear is refused by them, and rightly.
        let others_lead = answers.iter().any(|(_, leader)| leader.is_some_and(|leader| leader != self.own));
        match self.role == Role::Candidate && others_lead {
            true => Sight::Unjudged,
            false => Sight::StandsStill,
        }
    }
}

/// Judges consensus, look by look.
#[derive(Debug)]
pub struct Quorum {
    patience: Duration,
    is_proven: bool,
    standstill: Lasting,
}

impl Quorum {
    /// Consensus that nobody has looked at, and that may stand still for so long.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        Self { patience, is_proven: false, standstill: Lasting::default() }
    }

    /// For how long it has stood still, when that is too long.
    pub fn look(&mut self, sight: Sight, now: Instant) -> Option<Duration> {
        self.is_proven |= sight == Sight::Works;
        let lasted = self.standstill.look(sight == Sight::StandsStill, now);
        let patience = if self.is_proven { self.patience } else { self.patience * UNPROVEN };
        Some(lasted).filter(|lasted| *lasted >= patience)
    }
}

/// Watches consensus of a node until it stands still.
pub(crate) async fn serve(inner: Weak<Inner>) {
    let limits = inner.upgrade().map(|inner| (inner.options.election_max, inner.options.watchdog));
    let Some((lease, limits)) = limits else { return };
    let Some(leases) = limits.quorum_leases else { return };
    let (mut quorum, mut writes) = (Quorum::new(lease * leases), Writes::default());
    loop {
        tokio::time::sleep(between_looks(LOOK_EVERY)).await;
        let Some(inner) = inner.upgrade() else { return };
        let sight = look(&inner, &mut writes).await;
        if let Some(lasted) = quorum.look(sight, Instant::now()) {
            inner.alarms.note_stop();
            let seconds = lasted.as_secs_f64();
            return inner.fatal.stop(format!(
                "consensus stands still: for {seconds} s no quorum has answered this node, though a majority of nodes is there"
            ));
        }
    }
}

async fn look(inner: &Inner, writes: &mut Writes) -> Sight {
    let lease = inner.options.election_max;
    let view = view(inner, writes);
    if let Some(sight) = view.alone(lease) {
        return sight;
    }
    let hellos = peers::hellos(inner, inner.options.append_patience()).await;
    let answers: Vec<Answer> =
        hellos.into_iter().filter_map(|hello| Some((hello.node?, hello.leader))).collect();
    let sight = view.beside(&answers);
    tracing::debug!(node = %inner.node, ?view, ?answers, ?sight, "no quorum answers");
    sight
}

fn view(inner: &Inner, writes: &mut Writes) -> View {
    let metrics = inner.raft.metrics().borrow_watched().clone();
    let role = match metrics.state {
        ServerState::Leader => Role::Leader,
        ServerState::Candidate => Role::Candidate,
        _ => Role::Other,
    };
    View {
        own: inner.node.0,
        voters: metrics.membership_config.membership().voter_ids().collect(),
        role,
        silence: match role {
            Role::Leader => metrics.last_quorum_acked.map(|at| at.elapsed()),
            _ => inner.doors.leader_age(),
        },
        writing: writes.look(&inner.log.stats(), Instant::now()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_millis(300);

    fn view(role: Role, silence: Option<u64>) -> View {
        let silence = silence.map(Duration::from_millis);
        View { own: 1, voters: vec![1, 2, 3], role, silence, writing: Duration::ZERO }
    }

    /// What a node says that asks the others if it must.
    fn sight(view: &View, answers: &[Answer]) -> Sight {
        view.alone(LEASE).unwrap_or_else(|| view.beside(answers))
    }

    #[test]
    fn consensus_stands_still_only_beside_a_majority_that_is_there() {
        use Role::{Candidate, Leader, Other};
        use Sight::{StandsStill, Unjudged, Works};
        for (what, role, silence, answers, expected) in [
            ("a leader that is answered", Leader, Some(299), vec![], Works),
            ("a follower that hears one", Other, Some(299), vec![], Works),
            ("a leader that is cut off", Leader, Some(300), vec![], Unjudged),
            ("one that a learner answers", Leader, Some(300), vec![(4, Some(1))], Unjudged),
            ("one that a voter answers", Leader, Some(300), vec![(2, Some(1))], StandsStill),
            ("one that was never answered", Leader, None, vec![(2, None), (3, None)], StandsStill),
            ("one that was overtaken", Leader, Some(300), vec![(2, Some(3))], StandsStill),
            ("a candidate that is cut off", Candidate, None, vec![], Unjudged),
            ("one that nobody elects", Candidate, Some(9_000), vec![(2, None)], StandsStill),
            ("one beside a leader", Candidate, Some(9_000), vec![(2, None), (3, Some(2))], Unjudged),
            ("a follower that hears nobody", Other, Some(9_000), vec![(2, None)], Unjudged),
        ] {
            assert_eq!(sight(&view(role, silence), &answers), expected, "{what}");
        }
    }

    #[test]
    fn who_does_not_vote_or_votes_alone_or_waits_for_its_disk_does_not_stop_for_it() {
        let silent = view(Role::Leader, None);
        let (learner, alone) = (vec![2, 3], vec![1]);
        let all = [(2, Some(1)), (3, Some(1))];
        assert_eq!(sight(&View { voters: learner, ..silent.clone() }, &all), Sight::Unjudged);
        assert_eq!(sight(&View { voters: alone, ..silent.clone() }, &[]), Sight::Works);
        assert_eq!(sight(&View { writing: LEASE, ..silent.clone() }, &all), Sight::Unjudged);
        let half = View { voters: vec![1, 2, 3, 4], ..silent };
        assert_eq!(sight(&half, &all[..1]), Sight::Unjudged, "two of four are no majority");
    }

    /// At which second a node stops that sees this, second by second.
    fn stops(sights: impl IntoIterator<Item = Sight>) -> Option<usize> {
        let (mut quorum, start) = (Quorum::new(Duration::from_secs(3)), Instant::now());
        let mut moments = (0..).map(|second| start + Duration::from_secs(second));
        sights
            .into_iter()
            .position(|sight| moments.next().is_some_and(|now| quorum.look(sight, now).is_some()))
    }

    #[test]
    fn a_node_stops_after_a_standstill_without_a_break_and_is_more_patient_until_consensus_has_worked() {
        use Sight::{StandsStill, Unjudged, Works};
        let still = || std::iter::repeat_n(StandsStill, 100);
        assert_eq!(stops([Works].into_iter().chain(still())), Some(4));
        assert_eq!(stops(still()), Some(30), "starting anew has not helped");
        assert_eq!(stops([Unjudged].into_iter().chain(still())), Some(31));
        let broken = [Works, StandsStill, StandsStill, StandsStill, Unjudged];
        assert_eq!(stops(broken.into_iter().chain(still())), Some(8), "it counts anew");
        let flickers = [Works, StandsStill, StandsStill].into_iter().cycle().take(100);
        assert_eq!(stops(flickers), None);
    }
}
