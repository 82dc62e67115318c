//! A duration as Go writes it: `1h30m`, `1.5s`, `100ms`.

use campanile_core::time::Span;

/// Nanoseconds of each unit. `µs` comes in two letters that look alike.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
/// Digits behind the point that are looked at: more than a duration of years could show in a millisecond.
const DIGITS: usize = 9;

/// In whole milliseconds, rounded down; `None` when it is none, or negative.
pub(in crate::import) fn duration(text: &str) -> Option<Span> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Span::ZERO);
    }
    let mut nanos: u128 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|letter| !is_digit(letter)).unwrap_or(rest.len()));
        let (unit, after) = after.split_at(after.find(is_digit).unwrap_or(after.len()));
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        nanos = nanos.checked_add(scaled(number, *size)?)?;
        rest = after;
    }
    u64::try_from(nanos / 1_000_000).ok().map(Span::from_millis)
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit() || letter == '.'
}

/// A decimal number times `size`, rounded down.
fn scaled(number: &str, size: u128) -> Option<u128> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() || part.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part = &part[..part.len().min(DIGITS)];
    let scale = 10_u128.pow(u32::try_from(part.len()).ok()?);
    let part: u128 = if part.is_empty() { 0 } else { part.parse().ok()? };
    u128::from(whole).checked_mul(size)?.checked_add(part * size / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_in_go() {
        for (text, millis) in [
            ("90s", Some(90_000)),
            ("1h30m", Some(5_400_000)),
            ("1.5h", Some(5_400_000)),
            (".5s", Some(500)),
            ("100ms", Some(100)),
            ("1m0.25s", Some(60_250)),
            ("999us", Some(0)),
            ("0", Some(0)),
            ("", None),
            ("5", None),
            ("-5s", None),
            ("5d", None),
            ("1..5s", None),
            ("s", None),
            ("99999999999999999999h", None),
            ("18446744073709551615h", None),
        ] {
            assert_eq!(duration(text).map(Span::as_millis), millis, "{text:?}");
        }
    }
}
