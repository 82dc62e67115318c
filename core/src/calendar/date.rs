//! Dates as people write them: `2026-12-25`.
//!
//! Must not know weekdays or zones.

use crate::cron::wall::Wall;
use crate::cron::zone::day_number;

/// Days since 1970-01-01 of a date such as `2026-12-25`; none for anything else, or a date outside years 1970 to 9999.
#[must_use]
pub fn parse_date(text: &str) -> Option<i32> {
    let digit = |(place, byte): (usize, u8)| {
        if matches!(place, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() }
    };
    if text.len() != 10 || !text.bytes().enumerate().all(digit) {
        return None;
    }
    let number = |range: std::ops::Range<usize>| text[range].parse::<u32>().ok();
    let day = day_number(number(0..4)?, number(5..7)?, number(8..10)?)?;
    i32::try_from(day).ok().filter(|day| super::DATES.contains(day))
}

/// The text of a day since 1970-01-01: `2026-12-25`.
#[must_use]
pub fn date_text(date: i32) -> String {
    let (year, month, day, ..) = Wall::at(i64::from(date), 0).parts();
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_printed_back() {
        for (text, date) in
            [("1970-01-01", 0), ("2026-12-25", 20_812), ("2024-02-29", 19_782), ("9999-12-30", 2_932_895)]
        {
            assert_eq!(parse_date(text), Some(date), "{text}");
            assert_eq!(date_text(date), text);
        }
        for text in [
            "",
            "2026-12-2",
            "2026-12-250",
            "2026-02-29",
            "1969-12-31",
            "9999-12-31",
            "20261225",
            "2026-1é-1",
            "+026-12-25",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}
