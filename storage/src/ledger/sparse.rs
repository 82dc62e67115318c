//! A sparse index of one segment: the position of about one record in every 32 KiB.
//!
//! 32 KiB a step is 2,000 steps (48 KiB of RAM) in a full segment, and a search that reads at most that much too much.

use super::position::Position;

/// Bytes between two remembered records.
const STRIDE: u32 = 32 << 10;

/// Positions with their offsets, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sparse {
    steps: Vec<(Position, u32)>,
}

impl Sparse {
    /// Takes note of the record at `offset` when it is far enough behind the last one noted.
    pub(crate) fn note(&mut self, position: Position, offset: u32) {
        let due = self.steps.last().is_none_or(|(_, last)| offset - last >= STRIDE);
        if due {
            self.steps.push((position, offset));
        }
    }

    /// Where to start reading for the first row behind `after`: at or before that row. `None` when nothing is noted.
    pub(crate) fn start_for(&self, after: Option<Position>) -> Option<u32> {
        let behind = self.steps.partition_point(|(position, _)| Some(*position) <= after);
        self.steps.get(behind.saturating_sub(1)).map(|(_, offset)| *offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_starts_at_or_before_the_row() {
        let mut sparse = Sparse::default();
        assert_eq!(sparse.start_for(None), None);
        for index in 0..1000_u32 {
            sparse.note(Position::new(u64::from(index), 0), 64 + index * 100);
        }
        assert!(sparse.steps.len() < 5);
        for index in 0..1000_u32 {
            let start = sparse.start_for(Some(Position::new(u64::from(index), 0)));
            let wanted = 64 + (index + 1) * 100;
            assert!(
                start.is_some_and(|start| start <= wanted && wanted - start <= STRIDE + 200),
                "index {index}"
            );
        }
        assert_eq!(sparse.start_for(None), Some(64));
    }
}
