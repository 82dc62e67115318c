//! Randomness: the thread's, or that of the simulated process whose task asks.

use std::convert::Infallible;

use rand::rngs::ThreadRng;
use rand::{Rng, TryRng};

use super::Process;

/// A source of random numbers.
#[derive(Debug)]
pub enum Random {
    /// Seeded by the operating system.
    Thread(ThreadRng),
    /// Seeded by a world of the simulation.
    Process(Process),
}

impl Random {
    /// The one of whoever asks.
    #[must_use]
    pub fn here() -> Self {
        Process::current().map_or_else(|| Self::Thread(rand::rng()), Self::Process)
    }
}

/// Fills `bytes` at random: fit for keys where no simulation runs.
pub fn fill(bytes: &mut [u8]) {
    Random::here().fill_bytes(bytes);
}

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(match self {
            Self::Thread(random) => random.next_u32(),
            Self::Process(process) => process.with_random(|random| random.next_u32()),
        })
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(match self {
            Self::Thread(random) => random.next_u64(),
            Self::Process(process) => process.with_random(|random| random.next_u64()),
        })
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        match self {
            Self::Thread(random) => random.fill_bytes(bytes),
            Self::Process(process) => process.with_random(|random| random.fill_bytes(bytes)),
        }
        Ok(())
    }
}
