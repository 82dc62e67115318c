//! The circuit breakers of one node: a host that does not answer at all is asked less often, so that it does not hold the
//! seats of those that do.
//!
//! ```text
//!            THRESHOLD requests in a row without an answer        the pause is over
//!   closed ────────────────────────────────────────────> open ─────────────────────> half_open
//!     ▲                                                   ▲  the probe has no answer:    │
//!     │                                                   └── the pause is doubled ──────┤
//!     └── any answer, of whatever status and to whichever request: the host is alive ────┘
//! ```
//! It judges hosts, not firings: what a status means for a firing is [`super::classify`]'s, and when it is tried again the
//! machine's. It is this node's own view, lost with the process and not replicated; a wrong one costs a pause.
//!
//! It reads no clock: `now` is the caller's, and monotonic, so that a wall clock that is set opens and closes nothing.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use tokio::time::Instant;

/// So many requests in a row without an answer open the circuit. A host that is restarted loses fewer; one that is gone
/// reaches it with one backlog.
pub const THRESHOLD: u32 = 10;
/// The first pause. It doubles with each probe that has no answer.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause: how long a host that is up again may go unnoticed.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A probe of which nothing was heard for so long is not waited for any more, and the next is let through. Whoever holds
/// it may have been dropped, and a request may take longer than others should wait for it. As long as the longest pause, so
/// that probes that hang come no more often than probes that fail.
pub const PROBE_LIMIT: Duration = Duration::from_secs(60);
/// How many hosts are kept. Only those that fail are, so a node meets the bound only when ten thousand are down.
pub const MAX_HOSTS: usize = 10_000;

/// Whether a request to a host may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// It may.
    Pass,
    /// It may, and it decides about the host. Others wait for its end, so what becomes of it must be reported with it.
    Probe(Probe),
    /// Not before then. When a probe is under way its answer may come earlier.
    Wait(Instant),
}

impl Gate {
    /// The probe that a request is, if it may be sent and is one.
    #[must_use]
    pub fn probe(self) -> Option<Probe> {
        match self {
            Self::Probe(probe) => Some(probe),
            Self::Pass | Self::Wait(_) => None,
        }
    }
}

/// The name of one probe, so that another request's end is not taken for its.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe(u64);

/// How a request ended, as far as it tells of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With an answer, of whatever status.
    Answered,
    /// Not connected, timed out, or broken off.
    Unanswered,
    /// Never sent, or given up by this node before an answer could come: it tells nothing.
    Abandoned,
}

/// A circuit in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circuit {
    /// Requests pass.
    Closed,
    /// Requests wait.
    Open,
    /// One request at a time passes, to see whether the host is back.
    HalfOpen,
}

impl Circuit {
    /// The word that is shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// What is shown of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerState {
    /// Host and port, as they were asked for.
    pub host: String,
    /// Its circuit at the instant of the question.
    pub state: Circuit,
    /// How many requests in a row had no answer.
    pub failures: u32,
    /// The end of the pause, while it is open.
    pub open_until: Option<Instant>,
}

/// The breakers of the hosts that fail. A host that is not known is closed and without failures.
#[derive(Debug, Default)]
pub struct Breakers {
    hosts: HashMap<Box<str>, Host>,
    /// The hosts by when something was last heard of them, the oldest first.
    heard: BTreeMap<u64, Box<str>>,
    /// Counts what is heard, and names probes.
    count: u64,
}

#[derive(Debug)]
struct Host {
    failures: u32,
    phase: Phase,
    heard: u64,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Closed,
    /// Until then nothing passes, afterwards one probe.
    Open {
        until: Instant,
        pause: Duration,
    },
    /// That probe is under way, and is waited for until then.
    Probing {
        probe: Probe,
        until: Instant,
        pause: Duration,
    },
}

impl Breakers {
    /// Nothing is known of any host.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a request to this host may be sent. A probe is given out with the answer, not in a second step: of two who
    /// ask at once only one gets it. Who asks therefore means to send, and asks last.
    pub fn may_send(&mut self, host: &str, now: Instant) -> Gate {
        let Some(known) = self.hosts.get_mut(host) else { return Gate::Pass };
        let pause = match known.phase {
            Phase::Closed => return Gate::Pass,
            Phase::Open { until, .. } | Phase::Probing { until, .. } if now < until => {
                return Gate::Wait(until);
            }
            Phase::Open { pause, .. } | Phase::Probing { pause, .. } => pause,
        };
        self.count += 1;
        let probe = Probe(self.count);
        known.phase = Phase::Probing { probe, until: now + PROBE_LIMIT, pause };
        Gate::Probe(probe)
    }

    /// Whether [`Breakers::may_send`] would say to wait. Takes nothing, so it may be asked by whoever only looks.
    #[must_use]
    pub fn waits(&self, host: &str, now: Instant) -> bool {
        self.hosts.get(host).is_some_and(|known| match known.phase {
            Phase::Closed => false,
            Phase::Open { until, .. } | Phase::Probing { until, .. } => now < until,
        })
    }

    /// Whether the next request to a host would be a probe, or is one: then one is enough.
    #[must_use]
    pub fn probes(&self, host: &str) -> bool {
        self.hosts.get(host).is_some_and(|known| !matches!(known.phase, Phase::Closed))
    }

    /// A request that [`Breakers::may_send`] let through has ended; with its probe, if it was one.
    pub fn ended(&mut self, host: &str, probe: Option<Probe>, how: Ended, now: Instant) {
        match how {
            Ended::Answered => self.forget(host),
            Ended::Unanswered => self.unanswered(host, probe, now),
            Ended::Abandoned => {
                if let Some(known) = self.hosts.get_mut(host) {
                    known.phase = known.phase.abandoned(probe, now);
                }
            }
        }
    }

    /// How many circuits are open or half open.
    #[must_use]
    pub fn not_closed(&self) -> usize {
        self.hosts.values().filter(|known| !matches!(known.phase, Phase::Closed)).count()
    }

    /// Every host that fails, by name.
    #[must_use]
    pub fn list(&self, now: Instant) -> Vec<BreakerState> {
        let mut list: Vec<BreakerState> =
            self.hosts.iter().map(|(host, known)| known.show(host, now)).collect();
        list.sort_unstable_by(|one, other| one.host.cmp(&other.host));
        list
    }

    fn unanswered(&mut self, host: &str, probe: Option<Probe>, now: Instant) {
        self.count += 1;
        let heard = self.count;
        if let Some(known) = self.hosts.get_mut(host) {
            let name = self.heard.remove(&known.heard);
            self.heard.insert(heard, name.expect("a host that is kept stands in the order"));
            known.heard = heard;
        } else {
            self.make_room();
            self.hosts.insert(host.into(), Host { failures: 0, phase: Phase::Closed, heard });
            self.heard.insert(heard, host.into());
        }
        let known = self.hosts.get_mut(host).expect("it was there or was just put there");
        known.failures = known.failures.saturating_add(1);
        known.phase = known.phase.unanswered(probe, known.failures, now);
        assert_eq!(self.hosts.len(), self.heard.len(), "every host stands in the order once");
    }

    fn forget(&mut self, host: &str) {
        if let Some(known) = self.hosts.remove(host) {
            self.heard.remove(&known.heard);
        }
    }

    fn make_room(&mut self) {
        if self.hosts.len() >= MAX_HOSTS
            && let Some((_, oldest)) = self.heard.pop_first()
        {
            self.hosts.remove(&oldest);
        }
    }
}

impl Host {
    fn show(&self, host: &str, now: Instant) -> BreakerState {
        let (state, open_until) = match self.phase {
            Phase::Closed => (Circuit::Closed, None),
            Phase::Open { until, .. } if now < until => (Circuit::Open, Some(until)),
            Phase::Open { .. } | Phase::Probing { .. } => (Circuit::HalfOpen, None),
        };
        BreakerState { host: host.to_owned(), state, failures: self.failures, open_until }
    }
}

impl Phase {
    /// What is sent before the circuit opened ends after; only a probe tells how the host is since.
    fn unanswered(self, probe: Option<Probe>, failures: u32, now: Instant) -> Self {
        match self {
            Self::Closed if failures >= THRESHOLD => {
                Self::Open { until: now + FIRST_PAUSE, pause: FIRST_PAUSE }
            }
            Self::Probing { probe: waited_for, pause, .. } if probe == Some(waited_for) => {
                let pause = (pause * 2).min(LONGEST_PAUSE);
                Self::Open { until: now + pause, pause }
            }
            Self::Closed | Self::Open { .. } | Self::Probing { .. } => self,
        }
    }

    /// A probe that tells nothing is given back: the next may go at once.
    fn abandoned(self, probe: Option<Probe>, now: Instant) -> Self {
        match self {
            Self::Probing { probe: waited_for, pause, .. } if probe == Some(waited_for) => {
                Self::Open { until: now, pause }
            }
            Self::Closed | Self::Open { .. } | Self::Probing { .. } => self,
        }
    }
}

#[cfg(test)]
mod tests;
