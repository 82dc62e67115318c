//! Heads of the ledger that somebody has kept elsewhere: what a pass must meet on its way.
//!
//! A chain proves that no row was changed behind the first, and an end that was cut off cleanly leaves a chain that is whole.
//! A head from before the cut tells. Nothing here reads rows: [`super::Chain`] shows each of them.

use std::fmt;
use std::str::FromStr;

use campanile_storage::ledger::{Hash, Position};

use crate::wire::ledger::hex;

/// A row and the running hash there, as somebody has written it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownHead {
    /// The row.
    pub position: Position,
    /// The hash over every row up to it.
    pub hash: Hash,
}

/// Why a text is no head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write it like 48211.0:8f3c… with the 32 digits of the hash, as `cluster status` shows it")]
pub struct NoHead;

impl FromStr for KnownHead {
    type Err = NoHead;

    fn from_str(text: &str) -> Result<Self, NoHead> {
        let (position, hash) = text.split_once(':').ok_or(NoHead)?;
        let (index, n) = position.split_once('.').ok_or(NoHead)?;
        let (index, n) = index.parse().ok().zip(n.parse().ok()).ok_or(NoHead)?;
        let digits = Some(hash).filter(|it| it.len() == 32 && it.bytes().all(|one| one.is_ascii_hexdigit()));
        let hash = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok()).ok_or(NoHead)?;
        Ok(Self { position: Position::new(index, n), hash: hash.to_be_bytes() })
    }
}

impl fmt::Display for KnownHead {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.position, hex(&self.hash))
    }
}

/// The heads that are still to be met, the earliest last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Heads {
    left: Vec<KnownHead>,
    /// Where the rows begin; `None` for the very first one, or before it was met.
    first: Option<Position>,
}

/// A head that is not there.
pub(super) type Unmet = (Option<Position>, String);

impl Heads {
    pub(super) fn new(mut heads: Vec<KnownHead>) -> Self {
        heads.sort_by_key(|head| std::cmp::Reverse(head.position));
        Self { left: heads, first: None }
    }

    /// A row, in the order of the log, or what stands before the first one. Answers how many heads it bears out, and those
    /// that it does not.
    pub(super) fn meet(&mut self, position: Position, hash: Hash) -> (u64, Vec<Unmet>) {
        let first = *self.first.get_or_insert(position);
        let (mut met, mut unmet) = (0, Vec::new());
        while let Some(head) = self.left.pop_if(|head| head.position <= position) {
            if head.position == position && head.hash == hash {
                met += 1;
            } else {
                unmet.push((Some(position), head.differs_from(position, &hash, first)));
            }
        }
        (met, unmet)
    }

    /// That was the last row.
    pub(super) fn end(&mut self, last: Option<Position>) -> Vec<Unmet> {
        let end = last.map_or_else(|| "has no row".to_owned(), |last| format!("ends at {last}"));
        let behind = |head: KnownHead| {
            let why = format!("it {end}, before the head {head} that was given: rows at its end are missing");
            (last, why)
        };
        std::mem::take(&mut self.left).into_iter().rev().map(behind).collect()
    }
}

impl KnownHead {
    fn differs_from(&self, position: Position, hash: &Hash, first: Position) -> String {
        if self.position == position {
            let hash = hex(hash);
            return format!(
                "the hash here is {hash}, and the head that was given is {self}: a row up to here is another one"
            );
        }
        if self.position < first {
            return format!(
                "the head {self} that was given is of a row before {first}, where what is kept begins: give a later one"
            );
        }
        format!("there is no row at the head {self} that was given")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const DIGITS: &str = "000102030405060708090a0b0c0d0eff";

    fn head(position: &str) -> KnownHead {
        format!("{position}:{DIGITS}").parse().unwrap()
    }

    #[test]
    fn a_head_is_read_as_it_is_written() {
        let read = head("7.3");
        assert_eq!((read.position, read.hash[1], read.hash[15]), (Position::new(7, 3), 1, 255));
        assert_eq!(read.to_string(), format!("7.3:{DIGITS}"));
        let no_heads = ["", "7.3", "7.3:", "7.3:00", "7:000102030405060708090a0b0c0d0eff"];
        for text in no_heads {
            assert_eq!(text.parse::<KnownHead>(), Err(NoHead), "{text}");
        }
        assert_eq!(format!("7.3:+{}", &DIGITS[1..]).parse::<KnownHead>(), Err(NoHead));
    }

    #[test]
    fn each_head_is_met_once_or_told_with_what_stands_there_instead() {
        let mut heads = Heads::new(vec![head("9.0"), head("2.0"), head("4.0"), head("5.1"), head("5.1")]);
        let hash = head("5.1").hash;
        let told = |(met, unmet): (u64, Vec<Unmet>)| {
            (met, unmet.into_iter().map(|(_, why)| why).collect::<Vec<_>>().join("; "))
        };
        let (met, why) = told(heads.meet(Position::new(3, 0), hash));
        assert!(met == 0 && why.contains("give a later one"), "{why}");
        let (met, why) = told(heads.meet(Position::new(4, 0), [0; 16]));
        assert!(met == 0 && why.contains("another one"), "{why}");
        assert_eq!(told(heads.meet(Position::new(5, 1), hash)), (2, String::new()));
        let left = heads.end(Some(Position::new(6, 0)));
        assert!(left.len() == 1 && left[0].1.contains("ends at 6.0, before the head 9.0"), "{left:?}");
    }

    #[test]
    fn a_head_between_two_rows_is_told() {
        let mut heads = Heads::new(vec![head("4.7")]);
        assert_eq!(heads.meet(Position::new(4, 0), [0; 16]), (0, Vec::new()));
        let (_, unmet) = heads.meet(Position::new(5, 0), [0; 16]);
        assert!(unmet[0].1.contains("no row at the head 4.7"), "{unmet:?}");
    }
}
