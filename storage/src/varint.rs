//! Whole numbers in as few bytes as they need: seven bits a byte, lowest first, the top bit says that more follow.
//!
//! Must not be lenient: a number has one form only, or a byte could change and nobody would notice.

/// The most bytes that a number takes.
const LONGEST: usize = 10;

/// Writes a number behind what `out` holds.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The bytes that `put` writes.
pub(crate) const fn len(number: u64) -> usize {
    let bits = 64 - (number | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Takes a number off the head of `bytes`; `None` when none is there, or one that is longer than it needs to be.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for at in 0..LONGEST.min(bytes.len()) {
        let byte = bytes[at];
        let part = u64::from(byte & 0x7f);
        if at == LONGEST - 1 && part > 1 {
            return None;
        }
        number |= part << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return (at == 0 || byte != 0).then_some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_reads_back_in_the_bytes_it_says() {
        for number in (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, u64::MAX >> bit]) {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            assert_eq!(bytes.len(), len(number), "{number}");
            for cut in 0..bytes.len() {
                assert_eq!(take(&mut &bytes[..cut]), None, "{number} cut to {cut}");
            }
            bytes.push(7);
            let mut rest = &bytes[..];
            assert_eq!((take(&mut rest), rest), (Some(number), &[7][..]));
        }
    }

    #[test]
    fn a_longer_form_and_one_beyond_64_bits_are_refused() {
        assert_eq!(take(&mut &[0x80, 0][..]), None);
        assert_eq!(take(&mut &[0xff; 11][..]), None);
        let beyond = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert_eq!(take(&mut &beyond[..]), None);
    }
}
