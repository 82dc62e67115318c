//! Parsed texts by what was written: bounded, the one that was asked for longest ago goes first.
//!
//! Must not change an answer: a cache of any size, or none, gives the same instants.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A bounded number of parsed texts.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    capacity: usize,
    /// Grows with every question, so that it orders the entries by their last use.
    clock: u64,
    by_text: BTreeMap<Arc<str>, Entry<T>>,
    by_use: BTreeMap<u64, Arc<str>>,
    /// The key being looked up; kept, so that a hit allocates nothing.
    key: String,
}

#[derive(Debug)]
struct Entry<T> {
    parsed: T,
    used: u64,
}

impl<T: Clone> Recent<T> {
    /// At most `capacity` texts, and at least one.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            clock: 0,
            by_text: BTreeMap::new(),
            by_use: BTreeMap::new(),
            key: String::new(),
        }
    }

    /// What was parsed under the key that `write_key` appends, from here or by `parse` now. What is refused is not kept.
    pub(crate) fn get<E>(
        &mut self,
        write_key: impl FnOnce(&mut String),
        parse: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.clock += 1;
        self.key.clear();
        write_key(&mut self.key);
        if let Some(entry) = self.by_text.get_mut(self.key.as_str()) {
            let key = self.by_use.remove(&entry.used).unwrap_or_else(|| Arc::from(self.key.as_str()));
            entry.used = self.clock;
            self.by_use.insert(self.clock, key);
            return Ok(entry.parsed.clone());
        }
        let parsed = parse()?;
        if self.by_text.len() >= self.capacity
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.by_text.remove(&oldest);
        }
        let key: Arc<str> = Arc::from(self.key.as_str());
        self.by_use.insert(self.clock, Arc::clone(&key));
        self.by_text.insert(key, Entry { parsed: parsed.clone(), used: self.clock });
        Ok(parsed)
    }

    /// How many it holds.
    pub(crate) fn len(&self) -> usize {
        self.by_text.len()
    }
}
