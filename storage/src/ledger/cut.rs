//! Taking rows away at the end, after a restart: back to what the image was taken with.

use std::sync::Arc;

use super::{
    Ledger,
    position::{Head, Position},
    recover::{remove_if_there, shorten},
    segment::Segment,
    shared::sync_dir,
    synced::Synced,
};
use crate::Trouble;

impl Ledger {
    /// Drops every row of entries behind `index`: later segments are unlinked, the one in question is shortened.
    /// Answers the new head. To be called before anything is appended; readers that are under way begin again.
    ///
    /// # Errors
    /// `Damaged` when retention has already dropped rows behind `index`; failed writes.
    pub fn cut_to(&mut self, index: u64) -> Result<Head, Trouble> {
        self.cut_behind(Some(Position::end_of(index)))
    }

    /// Cuts to `head`, and checks that the ledger then ends in exactly that.
    ///
    /// # Errors
    /// As `cut_to`; `Damaged` when the ledger that is left ends otherwise.
    pub fn cut_to_head(&mut self, head: &Head) -> Result<(), Trouble> {
        let left = self.cut_behind(head.position.map(|last| Position::end_of(last.index)))?;
        if left == *head {
            return Ok(());
        }
        let what = format!(
            "it ends at {} after {} rows, the image needs {} and {} rows or another hash",
            shown(left.position),
            left.rows,
            shown(head.position),
            head.rows
        );
        Err(Trouble::damaged(&self.shared.dir, what))
    }

    fn cut_behind(&mut self, limit: Option<Position>) -> Result<Head, Trouble> {
        if self.head.position <= limit {
            return Ok(self.head);
        }
        self.keeper.quiesce();
        let view = self.shared.view();
        let at = view.segment_behind(limit);
        let segment = &view.segments[at];
        if segment.before.position > limit {
            let what =
                format!("rows up to {} are needed and already dropped", shown(segment.before.position));
            return Err(Trouble::damaged(&self.shared.dir, what));
        }
        let kept = Arc::new(self.cut_segment(segment, limit)?);
        for surplus in view.segments[at + 1..].iter().rev() {
            remove_if_there(&surplus.path)?;
        }
        shorten(&kept, kept.len())?;
        sync_dir(&self.shared.dir)?;
        let head = self.head;
        self.active = Arc::clone(&kept);
        self.shared.change(|view| {
            view.segments = view.segments[..at].iter().cloned().chain([kept]).collect();
            view.head = head;
            view.generation += 1;
        });
        Ok(head)
    }

    /// The segment as it will be, with the promise for the rest of it withdrawn. Nothing is cut yet.
    fn cut_segment(&mut self, segment: &Segment, limit: Option<Position>) -> Result<Segment, Trouble> {
        let walk = match limit {
            Some(limit) => segment.walk(Some(limit))?,
            None => segment.walk_nothing(),
        };
        if let Some(flaw) = &walk.flaw {
            return Err(segment.damaged(walk.len, flaw));
        }
        self.shared.withdraw(Synced { segment: segment.id, offset: walk.len })?;
        let kept = Segment::open(&segment.path)?.map_err(|flaw| segment.damaged(0, &flaw))?;
        kept.adopt(&walk);
        self.head = walk.head;
        Ok(kept)
    }
}

fn shown(position: Option<Position>) -> String {
    position.map_or("the start".to_owned(), |position| position.to_string())
}
