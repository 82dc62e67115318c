//! A part of a cron text that knows where it stands, so that every refusal has its column.

use super::{CronError, CronErrorKind};

/// A piece of the text and the column (from 1) of its first character. All of it is ASCII by now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    pub(super) column: u32,
}

impl<'a> Piece<'a> {
    /// The piece that begins `offset` characters into this one.
    pub(super) fn from(self, offset: usize) -> Self {
        Self { text: &self.text[offset..], column: self.column + offset as u32 }
    }

    /// The parts before and after the first `mark`, if there is one.
    pub(super) fn split(self, mark: char) -> Option<(Self, Self)> {
        let place = self.text.find(mark)?;
        Some((Self { text: &self.text[..place], ..self }, self.from(place + 1)))
    }

    /// The piece without its last character, if that is `letter` in either case.
    pub(super) fn without_last(self, letter: char) -> Option<Self> {
        let last = self.text.chars().last()?;
        let rest = &self.text[..self.text.len() - 1];
        last.eq_ignore_ascii_case(&letter).then_some(Self { text: rest, ..self })
    }

    pub(super) fn is_number(self) -> bool {
        !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// An error at the first character of this piece.
    pub(super) fn refuse(self, detail: impl Into<String>, hint: impl Into<String>) -> CronError {
        CronError {
            kind: CronErrorKind::Cron,
            column: Some(self.column),
            detail: detail.into(),
            hint: hint.into(),
        }
    }
}
