//! What can go wrong with a world: the kinds of faults.

use std::fmt;
use std::str::FromStr;

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

            /// The kinds of these names, with commas between.
            ///
            /// # Errors
            /// The name that no kind has.
            pub fn named(list: &str) -> Result<Vec<Self>, String> {
                let named = |name: &str| Self::of(name).ok_or_else(|| name.to_owned());
                list.split(',').map(str::trim).map(named).collect()
            }

            /// The kind of this name.
            fn of(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
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
    /// A machine is cut off and heard again, many times.
    Flapping "isolated again and again",
    /// Two halves do not hear each other.
    Split "split",
    /// Two groups hear each other by way of one machine alone.
    Bridge "bridge",
    /// Everybody hears only the next one around.
    Ring "ring",
    /// Packets are lost everywhere.
    Lossy "packets lost",
    /// Packets are delivered twice and out of order everywhere.
    Twice "packets twice and reordered",
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
    /// The leader is killed in the middle of a change of members.
    HalfChange "leader killed while members change",
    /// A node of the version before, whose tz data lack a zone, and which reads one format level less where this build knows two
    /// (`make sim` makes such a one); upgraded in the end.
    Older "older version",
}

impl Kind {
    /// How often it is drawn, against the others.
    pub(super) const fn weight(self) -> u64 {
        match self {
            Self::Kill | Self::Transfer | Self::Freeze => 8,
            Self::PowerCut | Self::Isolate => 6,
            Self::KillAll | Self::PowerCutAll | Self::Replace => 2,
            Self::Join | Self::Leave | Self::HalfChange | Self::Older => 2,
            _ => 4,
        }
    }

    /// How long it lasts at most, in milliseconds.
    pub(super) const fn longest(self) -> u64 {
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

/// As a line of a plan: when in seconds, what, to whom, for how long in seconds.
impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, lasts, kind, whom } = self;
        let whom = match whom {
            Whom::Leader => "leader".to_owned(),
            Whom::Place(place) => place.to_string(),
        };
        write!(out, "{:.3}, {}, {whom}, {:.3}", *at as f64 / 1e3, kind.name(), *lasts as f64 / 1e3)
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no fault: write \"12.5, kill, leader, 0.2\"");
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let [at, kind, whom, lasts] = fields[..] else { return Err(wrong()) };
        let millis = |text: &str| {
            let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..1e9).contains(seconds));
            seconds.map(|seconds| (seconds * 1e3).round() as u64).ok_or_else(wrong)
        };
        let whom = match whom {
            "leader" => Whom::Leader,
            place => Whom::Place(place.parse().map_err(|_| wrong())?),
        };
        let kind = Kind::of(kind).ok_or_else(wrong)?;
        Ok(Self { at: millis(at)?, lasts: millis(lasts)?, kind, whom })
    }
}
