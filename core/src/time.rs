//! Instants and spans as plain numbers: what travels in the log.
//!
//! Nothing here reads a clock, knows a zone, or parses text: zones and RFC 3339 live in [`crate::cron::zone`], and the
//! only clock of the product is in the node.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// An instant: milliseconds since the Unix epoch, UTC, without leap seconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);
    /// Later than every instant that a schedule can name; "never" where an instant is needed for ordering.
    pub const NEVER: Self = Self(i64::MAX);

    /// From milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        let distance = self.0.saturating_sub(earlier.0);
        Span(if distance > 0 { distance as u64 } else { 0 })
    }

    /// The instant one millisecond later.
    #[must_use]
    pub const fn successor(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Add<Span> for Timestamp {
    type Output = Self;
    /// Saturates: an instant beyond the range is [`Timestamp::NEVER`].
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add_unsigned(span.0))
    }
}

impl Sub<Span> for Timestamp {
    type Output = Self;
    /// Saturates at the lower end of the range.
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub_unsigned(span.0))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}ms", self.0)
    }
}

/// A length of elapsed time in milliseconds; never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// From milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// From seconds; saturates.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}ms", self.0)
    }
}

/// Why a duration text was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSpan;

impl std::str::FromStr for Span {
    type Err = BadSpan;

    /// `"90s"`, `"1h30m"`, `"1.5s"` is not accepted: whole numbers with `d`, `h`, `m`, `s`, `ms`, largest first, each once.
    fn from_str(text: &str) -> Result<Self, BadSpan> {
        const UNITS: [(&str, u64); 5] =
            [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
        let mut rest = text;
        let mut total: u64 = 0;
        let mut units = UNITS.iter();
        if rest.is_empty() {
            return Err(BadSpan);
        }
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number: u64 = rest[..digits].parse().map_err(|_| BadSpan)?;
            rest = &rest[digits..];
            let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            let (_, size) = units.by_ref().find(|(name, _)| *name == &rest[..letters]).ok_or(BadSpan)?;
            rest = &rest[letters..];
            total = number.checked_mul(*size).and_then(|part| total.checked_add(part)).ok_or(BadSpan)?;
        }
        Ok(Self(total))
    }
}

impl fmt::Display for Span {
    /// The shortest text that `Span::from_str` reads back as the same span.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return out.write_str("0s");
        }
        let mut rest = self.0;
        for (name, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
            if rest >= size {
                write!(out, "{}{name}", rest / size)?;
                rest %= size;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written_as_people_write_them() {
        for (text, millis, shown) in [
            ("90s", 90_000, "1m30s"),
            ("1h30m", 5_400_000, "1h30m"),
            ("0s", 0, "0s"),
            ("250ms", 250, "250ms"),
            ("2d", 172_800_000, "2d"),
            ("1m5ms", 60_005, "1m5ms"),
        ] {
            let span: Span = text.parse().expect(text);
            assert_eq!((span.as_millis(), span.to_string()), (millis, shown.to_owned()), "{text}");
        }
        for text in ["", "5", "s", "1.5s", "-1s", "1s1m", "1s 1ms", "1x", "99999999999999999999s", "1m1m"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Timestamp::NEVER + Span::from_secs(1), Timestamp::NEVER);
        assert_eq!(Timestamp::from_millis(5).since(Timestamp::from_millis(9)), Span::ZERO);
    }
}
