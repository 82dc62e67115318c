//! Firings that nodes send, by the host that they go to and by schedule: a host that is at its limit, or a schedule that
//! is, is passed over as a whole, however long its backlog.

use std::sync::Arc;

use imbl::OrdSet;

use crate::firing::FiringId;
use crate::id::{Run, Uid};
use crate::time::Timestamp;

/// The firings of one schedule to one host.
type Lane = (Arc<str>, Uid);

/// The index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sends {
    /// The first firing of each lane, by when it may begin.
    heads: OrdSet<(Arc<str>, Timestamp, Uid)>,
    /// All of them.
    firings: OrdSet<(Lane, Timestamp, FiringId)>,
}

impl Sends {
    pub(super) fn enter(&mut self, host: Arc<str>, at: Timestamp, id: FiringId) {
        let lane = (host, id.uid);
        self.changing(&lane.clone(), |firings| {
            firings.insert((lane, at, id));
        });
    }

    pub(super) fn leave(&mut self, host: Arc<str>, at: Timestamp, id: FiringId) {
        let lane = (host, id.uid);
        self.changing(&lane.clone(), |firings| {
            firings.remove(&(lane, at, id));
        });
    }

    /// Changes a lane, and with it what its head is.
    fn changing(&mut self, lane: &Lane, change: impl FnOnce(&mut OrdSet<(Lane, Timestamp, FiringId)>)) {
        let before = self.of_lane(&lane.0, lane.1).next().map(|(at, _)| at);
        change(&mut self.firings);
        let after = self.of_lane(&lane.0, lane.1).next().map(|(at, _)| at);
        if before == after {
            return;
        }
        if let Some(at) = before {
            self.heads.remove(&(lane.0.clone(), at, lane.1));
        }
        if let Some(at) = after {
            self.heads.insert((lane.0.clone(), at, lane.1));
        }
    }

    /// The hosts that firings wait for, each with when the first of them may begin.
    pub fn hosts(&self) -> impl Iterator<Item = (&Arc<str>, Timestamp)> {
        let mut next = self.heads.get_min();
        std::iter::from_fn(move || {
            let (host, at, _) = next?;
            // One step over all lanes of the host.
            next = self.heads.get_next(&(host.clone(), Timestamp::NEVER, Uid(u64::MAX)));
            Some((host, *at))
        })
    }

    /// The schedules with firings to a host, by when the first of them may begin.
    pub fn lanes<'a>(&'a self, host: &'a Arc<str>) -> impl Iterator<Item = (Timestamp, Uid)> + 'a {
        self.heads
            .range((host.clone(), EARLIEST, Uid(0))..)
            .take_while(move |(of, _, _)| of == host)
            .map(|(_, at, uid)| (*at, *uid))
    }

    /// The firings of a schedule to a host, by when they may begin.
    pub fn of_lane<'a>(
        &'a self,
        host: &'a Arc<str>,
        uid: Uid,
    ) -> impl Iterator<Item = (Timestamp, FiringId)> + 'a {
        let first = FiringId { uid: Uid(0), nominal: EARLIEST, run: Run(0) };
        self.firings
            .range(((host.clone(), uid), EARLIEST, first)..)
            .take_while(move |((of, schedule), _, _)| of == host && *schedule == uid)
            .map(|(_, at, id)| (*at, *id))
    }

    /// All of them, lane by lane.
    pub fn iter(&self) -> impl Iterator<Item = (Timestamp, FiringId)> + '_ {
        self.firings.iter().map(|(_, at, id)| (*at, *id))
    }
}

const EARLIEST: Timestamp = Timestamp::from_millis(i64::MIN);

#[cfg(test)]
mod tests {
    use super::*;

    fn id(uid: u64, nominal: i64) -> FiringId {
        FiringId { uid: Uid(uid), nominal: Timestamp::from_millis(nominal), run: Run(0) }
    }

    #[test]
    fn hosts_and_lanes_are_told_by_their_first_firing_whatever_comes_and_goes() {
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let at = Timestamp::from_millis;
        let mut sends = Sends::default();
        for (host, uid, millis) in [(&a, 1, 50), (&a, 1, 10), (&a, 2, 20), (&b, 1, 5), (&b, 3, 7)] {
            sends.enter(host.clone(), at(millis), id(uid, millis));
        }
        assert_eq!(sends.hosts().collect::<Vec<_>>(), [(&a, at(10)), (&b, at(5))]);
        assert_eq!(sends.lanes(&a).collect::<Vec<_>>(), [(at(10), Uid(1)), (at(20), Uid(2))]);
        sends.leave(a.clone(), at(10), id(1, 10));
        assert_eq!(sends.lanes(&a).collect::<Vec<_>>(), [(at(20), Uid(2)), (at(50), Uid(1))]);
        assert_eq!(sends.of_lane(&a, Uid(1)).collect::<Vec<_>>(), [(at(50), id(1, 50))]);
        for (host, uid, millis) in [(&a, 1, 50), (&a, 2, 20), (&b, 1, 5), (&b, 3, 7)] {
            sends.leave(host.clone(), at(millis), id(uid, millis));
        }
        assert_eq!(sends, Sends::default());
    }
}
