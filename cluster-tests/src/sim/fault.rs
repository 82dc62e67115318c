//! What goes wrong, and when: a plan drawn from the seed before the world begins, so that it can be printed, cut down and
//! played again.

use std::fmt;
use std::time::Duration;

use crate::seed::Dice;

/// One thing that goes wrong, and ends by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// When it begins, in milliseconds since the world did.
    pub at: u64,
    /// How long it lasts; what is over at once is put right then (a killed process is started).
    pub lasts: u64,
    /// What.
    pub kind: Kind,
    /// Whom: resolved when it begins.
    pub whom: Whom,
}

/// Who is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// Whoever leads then; nobody when nobody does.
    Leader,
    /// The machine at this place.
    Place(usize),
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident $name:literal,)+) => {
        /// What goes wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind { $($(#[doc = $doc])+ $kind,)+ }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// Its name in tables and in `KINDS=`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }
        }
    };
}

kinds! {
    /// A process is killed and started again.
    Kill "kill",
    /// The power of a machine goes: what was not synced may be lost.
    PowerCut "power cut",
    /// All processes are killed at once.
    KillAll "kill all",
    /// The power of all machines goes at once.
    PowerCutAll "power cut of all",
    /// A machine is replaced by one with an empty disk.
    Replace "wipe and replace",
    /// A process stands still, longer than any lease of its leadership.
    Freeze "pause past lease",
    /// A machine hears nobody and is heard by nobody.
    Isolate "isolated",
    /// A machine is not heard.
    Mute "not heard (one way)",
    /// A machine hears nobody.
    Deaf "hears nobody (one way)",
    /// One link is cut, both ways.
    Link "one link cut",
    /// One link is cut, one way.
    LinkOneWay "one link cut one way",
    /// Two halves do not hear each other.
    Split "split",
    /// Two groups hear each other by way of one machine alone.
    Bridge "bridge",
    /// Everybody hears only the next one around.
    Ring "ring",
    /// Packets are lost everywhere.
    Lossy "packets lost",
    /// Packets are delivered twice and out of order everywhere.
    Twice "packets twice, reordered",
    /// Everything takes long.
    SlowNetwork "slow network",
    /// A clock is set ahead, beyond what is allowed or within.
    ClockAhead "clock set ahead",
    /// A clock is set back.
    ClockBack "clock set back",
    /// A clock runs fast or slow.
    ClockDrift "clock drifts",
    /// A disk is slow.
    DiskSlow "disk slow",
    /// A disk hangs.
    DiskHang "disk hangs",
    /// A disk is full.
    DiskFull "disk full",
    /// The leadership is handed on as planned.
    Transfer "leader transfer",
    /// An image is made now.
    Image "image made",
    /// A node stops in order, and is started again.
    Restart "stopped in order",
    /// A machine more joins the cluster.
    Join "machine joins",
    /// A machine is removed from the cluster.
    Leave "machine removed",
}

impl Kind {
    /// How often it is drawn, against the others.
    const fn weight(self) -> u64 {
        match self {
            Self::Kill | Self::Transfer | Self::Freeze => 8,
            Self::PowerCut | Self::Isolate => 6,
            Self::KillAll | Self::PowerCutAll | Self::Replace | Self::Join | Self::Leave => 2,
            _ => 4,
        }
    }

    /// How long it lasts at most, in milliseconds.
    const fn longest(self) -> u64 {
        match self {
            Self::Kill | Self::PowerCut | Self::KillAll | Self::PowerCutAll | Self::Restart => 6_000,
            Self::Replace => 3_000,
            Self::Transfer | Self::Image | Self::Join | Self::Leave => 100,
            Self::DiskHang => 45_000,
            Self::ClockAhead | Self::ClockBack | Self::ClockDrift => 30_000,
            _ => 12_000,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, lasts, kind, whom } = self;
        write!(
            out,
            "{:>8.3} s  {:<24} {whom:?} for {:?}",
            *at as f64 / 1e3,
            kind.name(),
            Duration::from_millis(*lasts)
        )
    }
}

/// A plan: faults until `until`, in the order in which they begin.
#[must_use]
pub fn plan(dice: &mut Dice, machines: usize, until: u64, kinds: &[Kind]) -> Vec<Fault> {
    let total: u64 = kinds.iter().map(|kind| kind.weight()).sum();
    let (mut plan, mut at) = (Vec::new(), 8_000);
    if total == 0 {
        return plan;
    }
    // Some worlds are busy, some are calm, so that both what overlaps and what comes alone is met.
    let pace = 1_500 + dice.below(12_000);
    loop {
        at += 200 + dice.below(pace);
        if at >= until {
            return plan;
        }
        let mut drawn = dice.below(total);
        let kind = kinds.iter().copied().find(|kind| match drawn.checked_sub(kind.weight()) {
            Some(left) => {
                drawn = left;
                false
            }
            None => true,
        });
        let kind = kind.unwrap_or(kinds[0]);
        let whom = match dice.below(10) {
            0..6 => Whom::Leader,
            _ => Whom::Place(dice.below(machines as u64) as usize),
        };
        let lasts = (100 + dice.below(kind.longest())).min(until.saturating_sub(at));
        plan.push(Fault { at, lasts, kind, whom });
    }
}
