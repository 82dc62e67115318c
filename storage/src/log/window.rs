//! The end of the log in RAM: everything that is not durable yet, and a bounded stretch of the recent past.
//!
//! Replication and apply read what was appended a moment ago; serving that from here keeps them off the disk, and is the
//! only way to read what the disk does not have yet. The window is consecutive and ends at the tip of the log. It
//! decides nothing about durability: the caller says how far that reaches.

use std::{collections::VecDeque, ops::Range};

use super::Entry;

/// A consecutive run of entries that ends at the tip.
#[derive(Debug, Default)]
pub(crate) struct Window {
    entries: VecDeque<Entry>,
    bytes: usize,
}

impl Window {
    /// The first index in the window.
    pub(crate) fn first(&self) -> Option<u64> {
        self.entries.front().map(|(index, _)| *index)
    }

    /// The bytes that its entries hold.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Add entries at the end.
    pub(crate) fn append(&mut self, entries: &[Entry]) {
        self.bytes += entries.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        self.entries.extend(entries.iter().cloned());
    }

    /// Drop `index..`.
    pub(crate) fn truncate(&mut self, index: u64) {
        while self.entries.back().is_some_and(|(last, _)| *last >= index) {
            self.bytes -= self.entries.pop_back().map_or(0, |(_, bytes)| bytes.len());
        }
    }

    /// Drop `..=index`.
    pub(crate) fn purge(&mut self, index: u64) {
        while self.first().is_some_and(|first| first <= index) {
            self.pop_first();
        }
    }

    /// Drop the oldest entries until `limit` bytes are left, but never one behind `durable`: nobody else has it.
    pub(crate) fn evict(&mut self, durable: Option<u64>, limit: usize) {
        while self.bytes > limit && self.first().is_some_and(|first| Some(first) <= durable) {
            self.pop_first();
        }
    }

    /// Copy entries of `range` to `into` until they pass `max_bytes` in all; nothing when the window begins later.
    pub(crate) fn copy(&self, range: Range<u64>, max_bytes: usize, into: &mut Vec<Entry>) {
        let Some(skip) = self.first().and_then(|first| range.start.checked_sub(first)) else { return };
        let mut taken: usize = into.iter().map(|(_, bytes)| bytes.len()).sum();
        let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(self.entries.len());
        for (index, bytes) in self.entries.range(skip..) {
            if *index >= range.end || (!into.is_empty() && taken + bytes.len() > max_bytes) {
                return;
            }
            taken += bytes.len();
            into.push((*index, bytes.clone()));
        }
    }

    fn pop_first(&mut self) {
        self.bytes -= self.entries.pop_front().map_or(0, |(_, bytes)| bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn window(indexes: Range<u64>) -> Window {
        let mut window = Window::default();
        window.append(&indexes.map(|index| (index, Bytes::from(vec![0; 10]))).collect::<Vec<_>>());
        window
    }

    fn read(window: &Window, range: Range<u64>, max_bytes: usize) -> Vec<u64> {
        let mut entries = Vec::new();
        window.copy(range, max_bytes, &mut entries);
        entries.into_iter().map(|(index, _)| index).collect()
    }

    #[test]
    fn reading_stops_at_the_end_of_the_range_or_of_the_bytes_but_gives_at_least_one() {
        let window = window(5..10);
        assert_eq!(read(&window, 6..8, 100), [6, 7]);
        assert_eq!(read(&window, 6..20, 30), [6, 7, 8]);
        assert_eq!(read(&window, 6..20, 1), [6]);
        assert_eq!(read(&window, 10..20, 100), [0_u64; 0]);
        assert_eq!(read(&window, 4..20, 100), [0_u64; 0]);
    }

    #[test]
    fn the_past_is_dropped_but_never_what_is_not_durable() {
        let mut window = window(5..10);
        window.evict(Some(6), 0);
        assert_eq!((window.first(), window.bytes()), (Some(7), 30));
        window.evict(Some(9), 20);
        assert_eq!((window.first(), window.bytes()), (Some(8), 20));
        window.evict(None, 0);
        assert_eq!(window.first(), Some(8));
    }

    #[test]
    fn both_ends_can_be_cut() {
        let mut window = window(5..10);
        window.truncate(8);
        window.purge(5);
        assert_eq!(read(&window, 6..20, 100), [6, 7]);
        window.truncate(0);
        assert_eq!((window.first(), window.bytes()), (None, 0));
    }
}
