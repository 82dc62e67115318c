//! The wall clocks of simulated machines: true time, moved, and running fast or slow.

use std::sync::atomic::{AtomicI64, Ordering};

use campanile::clock::WallSource;
use campanile_core::time::Timestamp;
use tokio::time::Instant;

/// True time: what no machine has.
#[derive(Debug, Clone, Copy)]
pub struct TrueTime {
    /// What it was when the world began.
    pub base: Timestamp,
    began: Instant,
}

impl TrueTime {
    /// Begins now, at `base`.
    #[must_use]
    pub fn begin(base: Timestamp) -> Self {
        Self { base, began: Instant::now() }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.at(self.moment())
    }

    /// At a moment of the world.
    #[must_use]
    pub fn at(&self, moment: u64) -> Timestamp {
        Timestamp::from_millis(self.base.as_millis() + moment as i64)
    }

    /// Virtual milliseconds since the world began.
    #[must_use]
    pub fn moment(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn micros(&self) -> i64 {
        self.base.as_millis() * 1_000 + self.began.elapsed().as_micros() as i64
    }
}

/// The clock of one machine. It outlives its processes.
#[derive(Debug)]
pub struct MachineClock {
    time: TrueTime,
    /// Ahead of true time, in microseconds, when the drift was last set.
    ahead: AtomicI64,
    /// Microseconds that it gains in a second.
    drift: AtomicI64,
    /// When that was, in microseconds of true time.
    since: AtomicI64,
}

impl MachineClock {
    /// A right one. It is kept for the life of the program: a clock is a value that nodes copy.
    #[must_use]
    pub fn right(time: TrueTime) -> &'static Self {
        let clock = Self { time, ahead: 0.into(), drift: 0.into(), since: time.micros().into() };
        Box::leak(Box::new(clock))
    }

    /// How far it is ahead of true time, in milliseconds; negative when behind.
    #[must_use]
    pub fn ahead_millis(&self) -> i64 {
        self.ahead_at(self.time.micros()).div_euclid(1_000)
    }

    /// From now on it is so many milliseconds ahead, and gains so many microseconds a second.
    pub fn set(&self, ahead_millis: i64, drift: i64) {
        self.ahead.store(ahead_millis * 1_000, Ordering::Relaxed);
        self.drift.store(drift, Ordering::Relaxed);
        self.since.store(self.time.micros(), Ordering::Relaxed);
    }

    fn ahead_at(&self, micros: i64) -> i64 {
        let passed = micros - self.since.load(Ordering::Relaxed);
        let gained = i128::from(passed) * i128::from(self.drift.load(Ordering::Relaxed)) / 1_000_000;
        self.ahead.load(Ordering::Relaxed) + gained as i64
    }
}

impl WallSource for MachineClock {
    fn micros(&self) -> i128 {
        let micros = self.time.micros();
        i128::from(micros + self.ahead_at(micros))
    }
}
