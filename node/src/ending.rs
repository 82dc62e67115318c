//! The end of an output, in bounded memory: the end is what tells, whether a receiver answers it or a command prints it.

use campanile_core::attempt::tail;

/// What is kept of an output.
#[derive(Debug)]
pub(crate) struct Ending {
    kept: Vec<u8>,
    most: usize,
}

impl Ending {
    /// Nothing yet; at most so many bytes of it.
    pub(crate) const fn of(most: usize) -> Self {
        Self { kept: Vec::new(), most }
    }

    /// Appends, and cuts the front once there is twice too much, so that a byte is moved at most twice.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.kept.extend_from_slice(&chunk[chunk.len().saturating_sub(self.most)..]);
        if self.kept.len() > 2 * self.most {
            self.kept.drain(..self.kept.len() - self.most);
        }
    }

    /// The end as text. Bytes that are no text become replacement characters of three bytes each, so the cut comes after.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept[self.kept.len().saturating_sub(self.most)..]);
        tail(&text, self.most).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_answer_is_kept_and_stays_text() {
        let mut kept = Ending::of(8);
        for n in 0..10 {
            kept.push(format!("{n}{n}{n}").as_bytes());
        }
        let text = |bytes: &[u8], most| {
            let mut kept = Ending::of(most);
            kept.push(bytes);
            kept.text()
        };
        assert_eq!(kept.text(), "77888999");
        assert_eq!(text("aä".as_bytes(), 1), "");
        assert_eq!(text(b"a\xff", 3), "\u{fffd}");
        assert_eq!(text(b"", 3), "");
    }
}
