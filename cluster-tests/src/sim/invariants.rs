//! What must hold in every world: one property a file, each with the sentence of the documents that it comes from.

use super::story::{End, Step};

/// A property. It is told every step in order, then the end.
pub trait Invariant {
    /// Its name in findings: lower case, words with spaces.
    fn name(&self) -> &'static str;

    /// One more committed entry.
    fn step(&mut self, _step: &Step<'_>, _found: &mut Findings) {}

    /// The world has ended.
    fn end(&mut self, _end: &End<'_>, _found: &mut Findings) {}
}

/// What was found against the properties, the first few of each in words.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Findings {
    /// Name of the property, and what contradicts it.
    pub told: Vec<(&'static str, String)>,
    /// How many there were in all.
    pub count: usize,
}

/// How many are told of one property.
const TOLD: usize = 5;

impl Findings {
    /// One more, of that property.
    pub fn add(&mut self, name: &'static str, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.told.iter().filter(|(known, _)| *known == name).count() < TOLD {
            self.told.push((name, what()));
        }
    }

    /// Nothing was found.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.count == 0
    }
}

/// All of them.
#[must_use]
pub fn all() -> Vec<Box<dyn Invariant>> {
    Vec::new()
}
