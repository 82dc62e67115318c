//! The one source of chance in a test: printed before anything happens, and given back to replay it.
//!
//! It decides what the test does and when, never what the processes or the network do; a replay repeats the plan, not the
//! race. What is found by chance is rewritten as a transcript of `core`.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where a test's chance begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// From `SEED`, or from the clock; printed either way, so that the first line of a failed test says how to repeat it.
    ///
    /// # Panics
    /// When `SEED` is no number.
    #[must_use]
    #[allow(clippy::print_stderr, reason = "a test that fails must have said its seed")]
    pub fn from_environment() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = Self(number_from_environment("SEED", now.as_millis() as u64));
        eprintln!("{seed}");
        seed
    }

    /// Dice for one purpose: those of another purpose do not change when this one is rolled more often.
    #[must_use]
    pub fn dice(self, purpose: &str) -> Dice {
        let mixed = purpose.bytes().fold(self.0, |state, byte| scramble(state ^ u64::from(byte)));
        Dice { state: mixed }
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "seed {0} (SEED={0} repeats the plan)", self.0)
    }
}

/// A number that whoever runs the test may set.
///
/// # Panics
/// When it is set to something that is no number: a test that ignores it would run something else than was asked for.
#[must_use]
pub fn number_from_environment(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}: a whole number is needed")),
        Err(_) => otherwise,
    }
}

/// SplitMix64: small, and the same everywhere for ever, so that a seed in an old report still means the same.
#[derive(Debug, Clone)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// Any number.
    pub fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.state)
    }

    /// A number below `bound`.
    ///
    /// # Panics
    /// When `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }

    /// Whether one of a hundred equal chances falls among so many.
    pub fn percent(&mut self, chances: u64) -> bool {
        self.below(100) < chances
    }

    /// One of these.
    ///
    /// # Panics
    /// When there are none.
    pub fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len() as u64) as usize]
    }

    /// Dice of their own for something that happens beside the rest.
    #[must_use]
    pub fn part(&mut self) -> Self {
        Self { state: self.roll() }
    }

    /// A duration from `least` up to and without `most`, in whole microseconds.
    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let room = most.saturating_sub(least).as_micros() as u64;
        least + Duration::from_micros(self.below(room.max(1)))
    }
}

fn scramble(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_dice_for_ever() {
        let mut dice = Seed(7).dice("kills");
        let rolled = [dice.below(1000), dice.below(1000), dice.below(1000)];
        let mut again = Seed(7).dice("kills");
        assert_eq!([again.below(1000), again.below(1000), again.below(1000)], rolled);
        assert_ne!(Seed(7).dice("other").roll(), Seed(7).dice("kills").roll());
        let span = dice.between(Duration::from_millis(5), Duration::from_millis(6));
        assert!((5_000..6_000).contains(&span.as_micros()), "{span:?}");
    }
}
