//! Small sets of small numbers: bit n of a word stands for n,.

/// Whether `set` holds `value`.
pub(super) const fn has(set: u64, value: u32) -> bool {
    set >> value & 1 == 1
}

/// How many values `set` holds.
pub(super) const fn size(set: u64) -> u64 {
    set.count_ones() as u64
}

/// The set of all values below `value`.
pub(super) const fn lower(value: u32) -> u64 {
    (1 << value) - 1
}

/// The lowest value of a set that is not empty.
pub(super) const fn lowest(set: u64) -> u32 {
    set.trailing_zeros()
}

/// The highest value of a set that is not empty.
pub(super) const fn highest(set: u64) -> u32 {
    63 - set.leading_zeros()
}

/// The lowest value at or above `value`,.
pub(super) const fn at_or_above(set: u64, value: u32) -> Option<u32> {
    match set & !lower(value) {
        0 => None,
        rest => Some(lowest(rest)),
    }
}

/// The highest value below `value`,.
pub(super) const fn below(set: u64, value: u32) -> Option<u32> {
    match set & lower(value) {
        0 => None,
        rest => Some(highest(rest)),
    }
}
