//! The marks of the day fields: `L`, `LW`, `nW` in the day of month, `nL` and `n#m` in the day of week.

use super::value::{names_a_month, read_value};
use super::{Field, Piece, Values};
use crate::cron::CronError;
use crate::cron::pattern::{MonthDays, Weekdays};

/// Reads a mark, and tells whether the item was one.
pub(super) fn read(field: Field, item: Piece<'_>, values: &mut Values) -> Result<bool, CronError> {
    match field {
        Field::DayOfMonth => read_month_day_mark(item, &mut values.month_days),
        Field::DayOfWeek => read_weekday_mark(item, &mut values.weekdays),
        _ => Ok(false),
    }
}

fn read_month_day_mark(item: Piece<'_>, days: &mut MonthDays) -> Result<bool, CronError> {
    if item.text.eq_ignore_ascii_case("l") {
        days.last = true;
        return Ok(true);
    }
    if item.text.eq_ignore_ascii_case("lw") {
        days.last_weekday = true;
        return Ok(true);
    }
    let Some(day) = item.without_last('w') else { return Ok(false) };
    if day.text.contains('-') {
        return Err(item.refuse("`W` after a range", "`W` takes one day: list them, as in `1W,15W`"));
    }
    if !day.is_number() {
        return Err(item.refuse("`W` without a day", "write the day before it, as in `15W`, or `LW`"));
    }
    days.nearest |= 1 << read_value(Field::DayOfMonth, day)?;
    Ok(true)
}

fn read_weekday_mark(item: Piece<'_>, weekdays: &mut Weekdays) -> Result<bool, CronError> {
    if let Some((weekday, nth)) = item.split('#') {
        if weekday.text.contains('-') {
            return Err(
                item.refuse("`#` after a range", "`#` takes one weekday: list them, as in `MON#1,TUE#1`")
            );
        }
        let weekday = read_value(Field::DayOfWeek, weekday)?;
        let place = match nth.text.parse::<usize>() {
            Ok(place @ 1..=5) if nth.text.len() == 1 => place - 1,
            _ => {
                let detail = format!("`#{}` is no week of a month", nth.text);
                return Err(
                    nth.refuse(detail, "write `#1` to `#5`, or `L` after the weekday for the last one")
                );
            }
        };
        weekdays.nth[place] |= 1 << (weekday % 7);
        return Ok(true);
    }
    // `JUL` and `APRIL` end with the letter too, and deserve the answer for misplaced names.
    if names_a_month(item.text) {
        return Ok(false);
    }
    let Some(weekday) = item.without_last('l') else { return Ok(false) };
    if weekday.text.is_empty() {
        return Err(item.refuse(
            "`L` without a weekday",
            "write the weekday before it, as in `5L`; the last day of the month is `L` in the day-of-month field",
        ));
    }
    if weekday.text.contains('-') {
        return Err(item.refuse("`L` after a range", "`L` takes one weekday: list them, as in `4L,5L`"));
    }
    weekdays.last |= 1 << (read_value(Field::DayOfWeek, weekday)? % 7);
    Ok(true)
}
