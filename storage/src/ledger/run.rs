//! Which rows share a record: those of one entry, as long as they are few and small.
//!
//! It depends on nothing but the rows of the entry, from its first on, so replicas that hold the same rows count the same
//! bytes (`Head::bytes`), whether they applied the entry or received its rows from a peer in pages.

use super::{
    position::{Hash, Head, Position, chain_hash},
    record,
};

/// Rows in a record: a reader that wants one of them hashes those before it, about 10 µs of work at the most.
const ROWS: u32 = 64;
/// Bytes of rows in a record that has more than one.
const BYTES: usize = 16 << 10;

/// Tells what rows add to `Head::bytes`, in the order of the ledger.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weigher {
    first: Position,
    rows: u32,
    bytes: usize,
}

impl Weigher {
    /// Whether a row here shares the record of the row before it.
    fn joins(&self, position: Position, body: usize) -> bool {
        position.n != 0 && (1..ROWS).contains(&self.rows) && self.bytes + record::row_len(body) <= BYTES
    }

    /// The bytes that this row adds.
    pub(crate) fn weigh(&mut self, position: Position, body: usize) -> usize {
        let mut before = 0;
        if self.joins(position, body) {
            before = record::len(self.first, self.bytes);
        } else {
            *self = Self { first: position, rows: 0, bytes: 0 };
        }
        self.rows += 1;
        self.bytes += record::row_len(body);
        record::len(self.first, self.bytes) - before
    }
}

/// The rows of a record that is being gathered.
#[derive(Debug, Default)]
pub(crate) struct Run {
    weigher: Weigher,
    before: Hash,
    rows: Vec<u8>,
}

impl Run {
    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether the row can be added; otherwise the run is to be taken out first.
    pub(crate) fn takes(&self, position: Position, body: &[u8]) -> bool {
        self.is_empty() || self.weigher.joins(position, body.len())
    }

    /// Adds the row that stands behind `head`, and answers the head behind it.
    pub(crate) fn add(&mut self, head: &Head, position: Position, body: &[u8]) -> Head {
        if self.is_empty() {
            self.before = head.hash;
        }
        record::put_row(&mut self.rows, body);
        let hash = chain_hash(&head.hash, position, body);
        head.advanced(position, hash, self.weigher.weigh(position, body.len()))
    }

    /// Writes the record behind what `out` holds, and begins anew. Answers where its first row stands.
    pub(crate) fn take_out(&mut self, out: &mut Vec<u8>) -> Position {
        let first = self.weigher.first;
        record::put(out, &self.before, first, &self.rows);
        self.clear();
        first
    }

    /// Forgets the rows.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.weigher = Weigher::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records that these bodies of one entry make, and what the weigher says of them.
    fn records(bodies: &[Vec<u8>]) -> (Vec<u32>, usize, u64) {
        let (mut run, mut out, mut head) = (Run::default(), Vec::new(), Head::default());
        for (n, body) in (0..).zip(bodies) {
            let position = Position::new(300, n);
            if !run.takes(position, body) {
                run.take_out(&mut out);
            }
            head = run.add(&head, position, body);
        }
        run.take_out(&mut out);
        let (mut rest, mut counts) = (&out[..], Vec::new());
        while let Ok(raw) = record::parse(rest) {
            counts.push(raw.count());
            rest = &rest[raw.len..];
        }
        assert!(rest.is_empty());
        (counts, out.len(), head.bytes)
    }

    #[test]
    fn small_rows_go_64_to_a_record_and_large_ones_alone() {
        let (counts, written, weighed) = records(&vec![vec![1; 40]; 150]);
        assert_eq!((counts, written as u64), (vec![64, 64, 22], weighed));
        let (counts, written, weighed) = records(&[vec![1; 20 << 10], vec![2; 9 << 10], vec![3; 8 << 10]]);
        assert_eq!((counts, written as u64), (vec![1, 1, 1], weighed));
        let (counts, written, weighed) = records(&[vec![1; 8 << 10], vec![2; 8 << 9], vec![3; 8 << 10]]);
        assert_eq!((counts, written as u64), (vec![2, 1], weighed));
    }
}
