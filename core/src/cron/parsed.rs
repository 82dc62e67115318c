//! One cron text after it was read: what every question is asked of.
//!
//! Must not know how a text is spelled; that ended in `cron::dialect`.

use std::sync::OnceLock;

use super::dialect::{self, Uneven};
use super::engine::Engine;
use super::pattern::Pattern;
use super::wall::Wall;
use super::zone::Zone;
use super::{Class, CronError, CronText, DstGap, DstOverlap, never};

/// The meaning of a [`CronText`].
pub(super) struct Parsed {
    pub(super) pattern: Pattern,
    pub(super) class: Class,
    pub(super) zone: Zone,
    pub(super) dst_gap: DstGap,
    pub(super) dst_overlap: DstOverlap,
    /// Both day fields were restricted and either is enough: the classic surprise.
    pub(super) either_day: bool,
    /// Six fields were written.
    pub(super) with_seconds: bool,
    /// Steps that do not divide their field.
    pub(super) uneven: Vec<Uneven>,
    /// croner's tables, 6 KB and 25 to 45 µs to build: made at the first search, so that a million texts that are only
    /// checked, counted or described never pay for them.
    engine: OnceLock<Option<Engine>>,
}

impl Parsed {
    /// Reads and judges a text and its zone.
    pub(super) fn read(spec: &CronText<'_>) -> Result<Self, CronError> {
        let written = dialect::read(spec.text, spec.day_match)?;
        let parsed = Self {
            pattern: written.pattern,
            class: written.class,
            zone: Zone::named(spec.time_zone)?,
            dst_gap: spec.dst_gap,
            dst_overlap: spec.dst_overlap,
            either_day: written.either_day,
            with_seconds: written.with_seconds,
            uneven: written.uneven,
            engine: OnceLock::new(),
        };
        never::check(&parsed)?;
        Ok(parsed)
    }

    /// The first wall clock at or after `from` that matches.
    pub(super) fn next_wall(&self, from: Wall) -> Option<Wall> {
        self.engine().and_then(|engine| engine.next(from)).or_else(|| self.pattern.next(from))
    }

    /// The last wall clock at or before `from` that matches.
    pub(super) fn prev_wall(&self, from: Wall) -> Option<Wall> {
        self.engine().and_then(|engine| engine.prev(from)).or_else(|| self.pattern.prev(from))
    }

    fn engine(&self) -> Option<&Engine> {
        self.engine.get_or_init(|| Engine::build(&self.pattern)).as_ref()
    }
}
