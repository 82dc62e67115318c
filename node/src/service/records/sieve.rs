//! Which rows a reader of the stream wants.

use std::collections::BTreeMap;

use campanile_core::definition::ScheduleName;
use campanile_core::event::Event;
use campanile_core::id::Uid;

use crate::problem::Problem;

/// How many schedules are remembered as wanted or not; one that is forgotten is only looked up again.
const REMEMBERED: usize = 100_000;

/// Lets through what is wanted. It learns which schedule each uid is, those of deleted ones too.
#[derive(Debug, Clone, Default)]
pub struct Sieve {
    /// Of these types; empty for all.
    types: Vec<&'static str>,
    /// Of this schedule, in every incarnation.
    schedule: Option<ScheduleName>,
    known: BTreeMap<Uid, bool>,
}

impl Sieve {
    /// For facts of these types (none: all of them), and of this schedule.
    #[must_use]
    pub fn new(types: Vec<&'static str>, schedule: Option<ScheduleName>) -> Self {
        Self { types, schedule, known: BTreeMap::new() }
    }

    /// Whether nothing is held back.
    pub(super) fn takes_all(&self) -> bool {
        self.types.is_empty() && self.schedule.is_none()
    }

    /// Whether a fact of this type is wanted.
    pub(super) fn takes_word(&self, word: &str) -> bool {
        self.types.is_empty() || self.types.contains(&word)
    }

    /// Whether a fact is of the schedule that is wanted; `name_of` finds the name of one that this sieve does not know.
    pub(super) fn takes(
        &mut self,
        event: &Event,
        name_of: impl FnOnce(Uid) -> Result<Option<ScheduleName>, Problem>,
    ) -> Result<bool, Problem> {
        let Some(wanted) = &self.schedule else { return Ok(true) };
        let Some(uid) = event.uid() else { return Ok(false) };
        if let Some(known) = self.known.get(&uid) {
            return Ok(*known);
        }
        let is_wanted = match event {
            Event::Defined { name, .. } | Event::Standing { name, .. } => name == wanted,
            // Without a name nothing can be said for good: the index may only be behind.
            _ => match name_of(uid)? {
                Some(name) => name == *wanted,
                None => return Ok(false),
            },
        };
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(uid, is_wanted);
        Ok(is_wanted)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_uid_is_looked_up_once_and_one_without_a_name_again() {
        let wanted = ScheduleName::parse("a/b").unwrap();
        let mut sieve = Sieve::new(Vec::new(), Some(wanted.clone()));
        let of = |uid| Event::Finished { uid: Uid(uid) };
        let never = |_| panic!("it is known");
        assert!(!sieve.takes(&of(1), |_| Ok(None)).unwrap());
        assert!(sieve.takes(&of(1), |_| Ok(Some(wanted.clone()))).unwrap());
        assert!(sieve.takes(&of(1), never).unwrap());
        assert!(!sieve.takes(&of(2), |_| Ok(ScheduleName::parse("a/c").ok())).unwrap());
        assert!(!sieve.takes(&of(2), never).unwrap());
        let of_nobody = Event::Restated { from: campanile_core::id::LogIndex(1) };
        assert!(!sieve.takes(&of_nobody, never).unwrap());
        assert!(Sieve::default().takes(&of_nobody, never).unwrap());
    }

    #[test]
    fn types_are_taken_by_their_words() {
        let sieve = Sieve::new(vec!["fired"], None);
        assert!(sieve.takes_word("fired") && !sieve.takes_word("skipped") && !sieve.takes_all());
        assert!(Sieve::default().takes_word("fired") && Sieve::default().takes_all());
    }
}
