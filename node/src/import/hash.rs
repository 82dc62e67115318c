//! A number from a text, for what other schedulers choose at random: the same file gives the same schedules each time.

/// FNV-1a: spread well, and the same on every machine.
pub(super) fn of(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
