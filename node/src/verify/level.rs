//! At which format level rows are written: the one that the ledger itself has told, and no other.

use campanile_core::event::Event;
use campanile_core::format::FormatLevel;
use campanile_storage::ledger::Position;

/// The level that rows must have.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// Of the first row that was read, since a ledger may begin anywhere; then as told.
    current: Option<FormatLevel>,
    /// Told by an entry, whose own rows are still at the level before.
    next: Option<(u64, FormatLevel)>,
}

impl Level {
    /// The next row, written at `level`; answers what is wrong with that.
    pub(super) fn pass(&mut self, position: Position, level: FormatLevel, event: &Event) -> Option<String> {
        if let Some((_, next)) = self.next.take_if(|(index, _)| *index < position.index) {
            self.current = Some(next);
        }
        let current = *self.current.get_or_insert(level);
        if level != current {
            return Some(format!(
                "the row is written at format level {level}, and the ledger is at {current}"
            ));
        }
        let Event::FormatLevelSet { from, level: next } = event else { return None };
        self.next = Some((position.index, *next));
        (*from != current || next <= from).then(|| {
            format!("the format level is raised from {from} to {next}, and the ledger is at {current}")
        })
    }
}

#[cfg(test)]
mod tests {
    use campanile_core::id::LogIndex;

    use super::*;

    #[test]
    fn a_row_is_at_the_level_that_was_told_before_its_entry() {
        let (four, five) = (FormatLevel(4), FormatLevel(5));
        let other = Event::LedgerDropped { before: LogIndex(1) };
        let raised = |from, level| Event::FormatLevelSet { from, level };
        let mut level = Level::default();
        let mut hear = |index, n, at, event: &Event| level.pass(Position::new(index, n), at, event).is_some();
        assert!(!hear(7, 0, four, &other));
        assert!(hear(8, 0, five, &other), "before it was told");
        assert!(!hear(9, 0, four, &raised(four, five)));
        assert!(!hear(9, 1, four, &other), "a row of the same entry");
        assert!(!hear(10, 0, five, &other));
        assert!(hear(11, 0, four, &other), "below what was told");
        assert!(hear(12, 0, five, &raised(four, five)), "it is at five already");
    }
}
