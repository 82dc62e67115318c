//! How much of this machine's memory the program has, day by day: it may not grow once the cluster has found its size.

use crate::sim::invariants::Findings;

/// What is found here.
pub(super) const FLAT: &str = "memory is flat";

/// Days before the first sample that counts: images, caches and retention have come to their sizes by then.
pub(super) const SETTLES: u64 = 10;
/// How much more there may be than at that first sample: what an allocator keeps back, and images that are being made.
pub(super) const ROOM: u64 = 12 << 20;

/// Samples.
#[derive(Debug, Default, Clone)]
pub(super) struct Memory {
    /// By day; 0 where it could not be read.
    samples: Vec<(u64, u64)>,
}

impl Memory {
    /// One more, of that day.
    pub(super) fn sample(&mut self, day: u64, bytes: u64) {
        self.samples.push((day, bytes));
    }

    /// The samples that count: the first, the largest and the last.
    pub(super) fn counted(&self) -> Option<[u64; 3]> {
        let mut counted = self.samples.iter().filter(|(day, _)| *day >= SETTLES).map(|(_, bytes)| *bytes);
        let first = counted.next()?;
        Some(counted.fold([first; 3], |[_, most, _], bytes| [first, most.max(bytes), bytes]))
    }

    /// Whether it stays what it was.
    pub(super) fn judge(&self, found: &mut Findings) {
        let Some([first, most, _]) = self.counted() else { return };
        if first == 0 || most > first + ROOM {
            found.add(FLAT, || {
                let mib = |bytes: u64| bytes >> 20;
                format!(
                    "{} MiB after {SETTLES} days, {} MiB later; {} more are allowed",
                    mib(first),
                    mib(most),
                    mib(ROOM)
                )
            });
        }
    }
}

/// The resident size of this process, in bytes; 0 where the system does not say.
pub(super) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(growth: u64) -> bool {
        let mut memory = Memory::default();
        (1..=60).for_each(|day| memory.sample(day, (200 << 20) + day * growth));
        let mut found = Findings::default();
        memory.judge(&mut found);
        !found.is_clean()
    }

    #[test]
    fn what_grows_by_half_a_mebibyte_a_day_is_found_and_what_wavers_is_not() {
        assert!(found(1 << 19));
        assert!(!found(200 << 10));
        assert!(!found(0));
    }
}
