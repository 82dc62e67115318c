//! A history of writes that a seed alone determines, and the judge of what a crash left of it.
//!
//! The process that writes and the one that judges know the same history: operation `n` follows from the seed, from `n`
//! and from the indexes that the log holds then. Whatever was recovered must be the state after some prefix of it, and
//! that prefix must hold everything that was acknowledged. No more is promised, and nothing less is accepted.

use std::collections::VecDeque;

use bytes::Bytes;
use campanile_storage::log::{Bounds, Done, Log};

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Append so many entries behind the tip; few enough for one batch, which is there whole or not at all.
    Append(u64),
    /// Save a vote.
    Vote,
    /// Cut the log from this index on.
    Truncate(u64),
    /// Purge up to this index.
    Purge(u64),
}

/// How many entries stay behind a purge.
const KEPT: u64 = 700;

/// Operation `n` of the history, on a log with these bounds.
pub(crate) fn op(seed: u64, n: u64, bounds: &Bounds) -> Op {
    let (dice, size) = (mix(&[seed, n, 1]), mix(&[seed, n, 2]));
    let held = bounds.last.zip(bounds.first).map_or(0, |(last, first)| last - first + 1);
    match (dice % 100, bounds.last) {
        (0..10, _) => Op::Vote,
        (10..14, Some(last)) if held > 40 => Op::Truncate(last - size % 30),
        (14..17, Some(last)) if held > 2 * KEPT => Op::Purge(last - KEPT - size % KEPT),
        (17..20, _) => Op::Append(1 + size % 400),
        _ => Op::Append(1 + size % 20),
    }
}

/// The bytes of the entry `index` that operation `n` appends: mostly small, seldom large.
pub(crate) fn content(seed: u64, n: u64, index: u64) -> Bytes {
    let dice = mix(&[seed, n, index]);
    let extra = match dice % 200 {
        0 => (dice >> 8) % 60_000,
        1..20 => (dice >> 8) % 4_000,
        _ => (dice >> 8) % 300,
    };
    let mut bytes = Vec::with_capacity(16 + extra as usize);
    bytes.extend_from_slice(&n.to_le_bytes());
    bytes.extend_from_slice(&index.to_le_bytes());
    bytes.extend((0..extra).map(|at| (dice >> (at % 57)) as u8));
    bytes.into()
}

/// The bytes of a mark (vote, purge) that operation `n` writes.
pub(crate) fn mark(n: u64) -> Bytes {
    Bytes::copy_from_slice(&n.to_le_bytes())
}

/// The state of the log as the history has it: which operation wrote what is here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Model {
    purged: Option<(u64, u64)>,
    first: u64,
    entries: VecDeque<u64>,
    vote: Option<u64>,
}

impl Model {
    /// The bounds that a log in this state has.
    pub(crate) fn bounds(&self) -> Bounds {
        let held = self.entries.len() as u64;
        Bounds {
            purged: self.purged.map(|(index, _)| index),
            first: (held > 0).then_some(self.first),
            last: (held > 0).then(|| self.first + held - 1),
        }
    }

    /// Take the step that operation `n` of the history is.
    pub(crate) fn step(&mut self, seed: u64, n: u64) {
        match op(seed, n, &self.bounds()) {
            Op::Append(count) => self.entries.extend((0..count).map(|_| n)),
            Op::Vote => self.vote = Some(n),
            Op::Truncate(index) => self.entries.truncate((index - self.first) as usize),
            Op::Purge(index) => {
                drop(self.entries.drain(..(index + 1 - self.first) as usize));
                self.first = index + 1;
                self.purged = Some((index, n));
            }
        }
    }

    /// What a log holds, with the content of every entry checked to the byte.
    ///
    /// # Errors
    /// What cannot be read or is not what the history wrote there.
    pub(crate) fn read(seed: u64, log: &Log) -> Result<Self, String> {
        let number = |bytes: Bytes| bytes[..].try_into().map(u64::from_le_bytes).map_err(|_| "a torn mark");
        let bounds = log.bounds();
        let purged = log.purged().map(|(index, meta)| Ok::<_, String>((index, number(meta)?))).transpose()?;
        let vote = log.vote().map(number).transpose()?;
        let mut entries = VecDeque::new();
        let mut next = bounds.first.unwrap_or(0);
        while bounds.contains(next) {
            for (index, bytes) in
                log.read_range(next..u64::MAX, 1 << 20).map_err(|trouble| trouble.to_string())?
            {
                let n = bytes.first_chunk().copied().map(u64::from_le_bytes).ok_or("a torn entry")?;
                if index != next || bytes != content(seed, n, index) {
                    return Err(format!("entry {index} is not what operation {n} wrote"));
                }
                entries.push_back(n);
                next += 1;
            }
        }
        let first = bounds.first.or(bounds.purged.map(|index| index + 1)).unwrap_or(0);
        Ok(Self { purged, first, entries, vote })
    }
}

/// The history so far: `steps` operations are known to be in `model`.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// The seed of everything.
    pub(crate) seed: u64,
    /// How many operations the model has taken.
    pub(crate) steps: u64,
    /// The state after them.
    pub(crate) model: Model,
}

impl History {
    /// A history without operations.
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Move on to the state that a crash left: after at least `acknowledged` operations and at most `issued`.
    ///
    /// # Errors
    /// When it is the state after none of those prefixes.
    pub(crate) fn settle(&mut self, acknowledged: u64, issued: u64, log: &Log) -> Result<(), String> {
        let found = Model::read(self.seed, log)?;
        while self.steps < acknowledged {
            self.advance();
        }
        let promised = self.model.clone();
        while self.model != found {
            if self.steps >= issued {
                return Err(difference(&promised, &found, acknowledged));
            }
            self.advance();
        }
        Ok(())
    }

    fn advance(&mut self) {
        self.model.step(self.seed, self.steps);
        self.steps += 1;
    }
}

fn difference(promised: &Model, found: &Model, acknowledged: u64) -> String {
    format!(
        "{acknowledged} operations were acknowledged: {:?}, vote of {:?}; found {:?}, vote of {:?}",
        promised.bounds(),
        promised.vote,
        found.bounds(),
        found.vote
    )
}

/// A number that looks random and depends on all of `parts` (splitmix64).
pub(crate) fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(0x243F_6A88_85A3_08D3, |state, part| {
        let mut z = (state ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

/// Issue operation `n` on a log.
pub(crate) fn issue(log: &Log, seed: u64, n: u64, done: Done) {
    match op(seed, n, &log.bounds()) {
        Op::Append(count) => {
            let first = log.bounds().next().unwrap_or(0);
            let entries = (first..first + count).map(|index| (index, content(seed, n, index))).collect();
            log.append(entries, done).expect("the few operations under way fit the queue");
        }
        Op::Vote => log.save_vote(mark(n), done),
        Op::Truncate(index) => log.truncate_from(index, done),
        Op::Purge(index) => log.purge_to(index, mark(n), done),
    }
}
