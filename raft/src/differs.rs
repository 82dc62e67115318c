//! The mark of a node whose ledger is not that of the others: the file `ledger-differs` in its data directory.
//!
//! A directory with it is a damaged one ([`crate::mark`]). Must not say what is right: it says what was found.

use std::fmt;
use std::path::Path;

use campanile_storage::Trouble;

use crate::mark;
use crate::transport::ends::EndAnswer;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differs {
    /// The entry up to which the two were compared.
    pub index: u64,
    /// Where this node's ledger ended there.
    pub own: EndAnswer,
    /// Where that of the others did.
    pub stated: EndAnswer,
    /// The last entry at which they agreed; `None` when they differed at the first that could be compared.
    pub after: Option<u64>,
    /// The first entry at which they are known to differ.
    pub first: u64,
}

impl Differs {
    /// Makes the mark durable.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, data: &Path) -> Result<(), Trouble> {
        mark::write(data, mark::LEDGER_DIFFERS, &self.to_string())
    }
}

impl fmt::Display for Differs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, own, stated, after, first } = self;
        write!(out, "the ledger of this node differs from that of the others at entry {index}: ")?;
        match after {
            Some(after) if after + 1 == *first => write!(out, "the first differing index is {first}")?,
            Some(after) => write!(out, "the first differing index is between {} and {first}", after + 1)?,
            None => write!(out, "the first differing index is {first} or before")?,
        }
        write!(out, " (here {}, there {})", Shown(*own), Shown(*stated))
    }
}

impl std::error::Error for Differs {}

struct Shown(EndAnswer);

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            EndAnswer::At { index, n, hash } => {
                write!(out, "{index}.{n} ")?;
                hash.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
            }
            EndAnswer::Empty => out.write_str("no row"),
            EndAnswer::Dropped => out.write_str("dropped"),
            EndAnswer::NotYet => out.write_str("not yet"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn differs(after: Option<u64>, first: u64) -> Differs {
        let at = |hash| EndAnswer::At { index: 90, n: 1, hash: [hash; 16] };
        Differs { index: 90, own: at(0xab), stated: at(0x01), after, first }
    }

    #[test]
    fn a_marked_directory_is_a_damaged_one_that_says_what_was_found() {
        let dir = tempfile::tempdir().unwrap();
        mark::refuse(dir.path()).unwrap();
        differs(Some(41), 42).write(dir.path()).unwrap();
        let refused = mark::refuse(dir.path()).unwrap_err();
        assert!(matches!(refused, Trouble::Damaged { .. }), "{refused:?}");
        let said = refused.to_string();
        assert!(said.contains("differs from that of the others at entry 90"), "{said}");
        assert!(said.contains("the first differing index is 42 (here 90.1 abab"), "{said}");
    }

    #[test]
    fn what_could_not_be_found_out_is_told_as_a_range() {
        assert!(differs(Some(20), 42).to_string().contains("between 21 and 42"));
        assert!(differs(None, 20).to_string().contains("is 20 or before"));
    }
}
