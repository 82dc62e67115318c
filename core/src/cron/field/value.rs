//! One value of a field: a number in its range, or a name in its own field.

use super::{Field, Piece};
use crate::cron::CronError;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// One value: a number in range, or a name in its own field.
pub(super) fn read_value(field: Field, piece: Piece<'_>) -> Result<u32, CronError> {
    let (low, high) = field.range();
    if piece.is_number() {
        return match piece.text.parse::<u32>() {
            Ok(value) if (low..=high).contains(&value) => Ok(value),
            _ => {
                let detail = format!("{} is out of range in the {} field", piece.text, field.name());
                Err(piece.refuse(detail, format!("write a value between {low} and {high}")))
            }
        };
    }
    let (month, weekday) = (named(&MONTHS, piece.text), named(&WEEKDAYS, piece.text));
    match (field, month, weekday) {
        (Field::Month, Some(place), _) => Ok(place + 1),
        (Field::DayOfWeek, _, Some(place)) => Ok(place),
        (_, Some(_), _) => Err(misplaced(field, piece, "month", "month field, the last but one")),
        (_, _, Some(_)) => Err(misplaced(field, piece, "weekday", "day-of-week field, the last")),
        _ => Err(not_a_value(field, piece)),
    }
}

/// The place of a name (its first three letters, or all of it, in any case) in a list.
fn named(names: &[&str], text: &str) -> Option<u32> {
    let found = names
        .iter()
        .position(|name| text.eq_ignore_ascii_case(name) || text.eq_ignore_ascii_case(&name[..3]))?;
    u32::try_from(found).ok()
}

fn misplaced(field: Field, piece: Piece<'_>, what: &str, home: &str) -> CronError {
    piece.refuse(
        format!("`{}` is the name of a {what}, and this is the {} field", piece.text, field.name()),
        format!("{what} names stand in the {home}"),
    )
}

fn not_a_value(field: Field, piece: Piece<'_>) -> CronError {
    let (low, high) = field.range();
    let text = piece.text;
    let hint = match field {
        Field::Month => "write 1-12 or a name, JAN to DEC".to_owned(),
        Field::DayOfWeek => "write 0-7 (0 and 7 are Sunday) or a name, SUN to SAT".to_owned(),
        _ => format!("write a value between {low} and {high}, a list, a range or `*`"),
    };
    if text.eq_ignore_ascii_case("h") || text.to_ascii_lowercase().starts_with("h(") {
        return piece.refuse(
            "`H` is not supported",
            "write the value you want, and use `jitter` to spread schedules that share it",
        );
    }
    if text.contains('+') {
        return piece.refuse(
            "`+` in the wrong place",
            "`+` may only be the first character of the day-of-week field",
        );
    }
    if text.starts_with('*') {
        return piece.refuse(format!("`{text}`: nothing may follow `*` but a step"), "write `*` or `*/n`");
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        let detail = format!("`{text}` is neither a number nor a name in the {} field", field.name());
        return piece.refuse(detail, format!("{hint}; values of a list are separated by commas"));
    }
    if text.is_empty() {
        return piece.refuse(format!("a value is missing in the {} field", field.name()), hint);
    }
    piece.refuse(format!("`{text}` is no value of the {} field", field.name()), hint)
}

/// Whether a text is the name of a month.
pub(super) fn names_a_month(text: &str) -> bool {
    named(&MONTHS, text).is_some()
}
