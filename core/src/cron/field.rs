//! One field of a cron text: which values it names, and exactly where it is wrong.
//!
//! Must not know the other fields nor how days combine; `cron::dialect` does.

use super::CronError;
use super::pattern::{MonthDays, Weekdays};
use super::piece::Piece;
use value::read_value;

mod value;

mod mark;

/// Which field it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Second,
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
}

impl Field {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day-of-month",
            Self::Month => "month",
            Self::DayOfWeek => "day-of-week",
        }
    }

    /// The values that may be written.
    const fn range(self) -> (u32, u32) {
        match self {
            Self::Second | Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::DayOfMonth => (1, 31),
            Self::Month => (1, 12),
            Self::DayOfWeek => (0, 7), // 0 and 7 are Sunday
        }
    }

    /// How many different values there are.
    const fn width(self) -> u32 {
        match self {
            Self::DayOfWeek => 7,
            other => other.range().1 - other.range().0 + 1,
        }
    }

    /// The set of all values.
    pub(super) const fn all(self) -> u64 {
        let (low, _) = self.range();
        ((1 << self.width()) - 1) << low
    }

    const fn is_day(self) -> bool {
        matches!(self, Self::DayOfMonth | Self::DayOfWeek)
    }
}

/// What one field names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Values {
    /// Plain values, bit n for n; Sunday is 0.
    pub(super) plain: u64,
    /// Only in the day of month; its `plain` stays empty.
    pub(super) month_days: MonthDays,
    /// Only in the day of week; its `plain` stays empty.
    pub(super) weekdays: Weekdays,
    /// Whether the text begins with `*` (or is `?`): vixie cron's "not restricted".
    pub(super) star: bool,
    /// Steps on `*` that do not divide the field, so that their last distance is shorter.
    pub(super) uneven: Vec<u32>,
}

/// Reads one field.
pub(super) fn read(field: Field, piece: Piece<'_>) -> Result<Values, CronError> {
    let mut values = Values::default();
    if piece.text == "?" && field.is_day() {
        return Ok(Values { plain: field.all(), star: true, ..values });
    }
    values.star = piece.text.starts_with('*');
    let mut rest = Some(piece);
    while let Some(list) = rest {
        let (item, tail) = list.split(',').map_or((list, None), |(item, tail)| (item, Some(tail)));
        if item.text.is_empty() {
            return Err(list.refuse(
                format!("empty list item in the {} field", field.name()),
                "remove the comma, or write the missing value",
            ));
        }
        read_item(field, item, &mut values)?;
        rest = tail;
    }
    Ok(values)
}

/// Reads what stands between two commas.
fn read_item(field: Field, item: Piece<'_>, values: &mut Values) -> Result<(), CronError> {
    if let Some((base, step)) = item.split('/') {
        return read_stepped(field, item, base, step, values);
    }
    if item.text == "*" {
        values.plain |= field.all();
        return Ok(());
    }
    if item.text == "?" {
        return Err(item.refuse(
            format!("`?` cannot stand in the {} field like this", field.name()),
            "`?` may only be a whole day field; write `*`",
        ));
    }
    if mark::read(field, item, values)? {
        return Ok(());
    }
    if item.text.contains('-') {
        let (low, high) = read_range(field, item)?;
        values.plain |= spread(field, low, high, 1);
        return Ok(());
    }
    let value = read_value(field, item)?;
    values.plain |= spread(field, value, value, 1);
    Ok(())
}

/// `*/n` and `a-b/n`.
fn read_stepped(
    field: Field,
    item: Piece<'_>,
    base: Piece<'_>,
    step: Piece<'_>,
    values: &mut Values,
) -> Result<(), CronError> {
    if let Some((_, second)) = step.split('/') {
        return Err(second.refuse("two slashes in one item", "one step is enough: `*/5` or `10-30/5`"));
    }
    let (low, high) = match base.text {
        "*" => (field.range().0, field.range().0 + field.width() - 1),
        text if text.contains('-') => read_range(field, base)?,
        "" => {
            return Err(
                item.refuse("a step needs something to step over", format!("write `*/{}`", step.text))
            );
        }
        text => {
            read_value(field, base)?;
            let top = if field == Field::DayOfWeek { 6 } else { field.range().1 };
            let hint = format!("write `{text}-{top}/{}` to start at {text}, or `*/{}`", step.text, step.text);
            return Err(item.refuse(format!("a step on the single value `{text}`"), hint));
        }
    };
    let width = field.width();
    let advice = format!("write a step between 1 and {width} in the {} field", field.name());
    if !step.is_number() {
        return Err(step.refuse(format!("the step `{}` is no number", step.text), advice));
    }
    match step.text.parse::<u32>() {
        Ok(0) => Err(step.refuse("the step is 0", advice)),
        Ok(size) if size <= width => {
            if base.text == "*" && !width.is_multiple_of(size) {
                values.uneven.push(size);
            }
            values.plain |= spread(field, low, high, size);
            Ok(())
        }
        _ => {
            Err(step
                .refuse(format!("the step {} is wider than the {} field", step.text, field.name()), advice))
        }
    }
}

/// `a-b`; a range that ends on Sunday by name ends on 7.
fn read_range(field: Field, item: Piece<'_>) -> Result<(u32, u32), CronError> {
    let Some((from, to)) = item.split('-') else {
        return Err(item.refuse("no range", "write two values with a `-` between them"));
    };
    if let Some((_, second)) = to.split('-') {
        return Err(second.refuse("two dashes in one range", "a range has two ends: `1-5`; lists use commas"));
    }
    if from.text.is_empty() {
        return Err(item.refuse("a negative value, or a range without a beginning", "write both ends: `0-5`"));
    }
    if from.text.eq_ignore_ascii_case("l") {
        return Err(item.refuse(
            "days before the last (`L-n`) are not supported",
            "use `L` for the last day, or list the days you mean",
        ));
    }
    if to.text.is_empty() {
        return Err(to.refuse("a range without an end", "write both ends: `1-5`"));
    }
    let low = read_value(field, from)?;
    let mut high = read_value(field, to)?;
    if field == Field::DayOfWeek && high == 0 && low > 0 && !to.is_number() {
        high = 7;
    }
    if low > high {
        let (bottom, top) = match field {
            Field::DayOfWeek if from.is_number() => ("0", "6"),
            Field::DayOfWeek => ("SUN", "SAT"),
            Field::Month => ("1", "12"),
            Field::DayOfMonth => ("1", "31"),
            Field::Hour => ("0", "23"),
            Field::Second | Field::Minute => ("0", "59"),
        };
        let (from, to) = (from.text, to.text);
        let hint = format!("split it in two: `{from}-{top},{bottom}-{to}`");
        return Err(item.refuse(format!("the range {from}-{to} descends"), hint));
    }
    Ok((low, high))
}

/// The set of `low`, `low + step`, … up to `high`, with Sunday as 0.
fn spread(field: Field, low: u32, high: u32, step: u32) -> u64 {
    let set = (low..=high).step_by(step as usize).fold(0_u64, |set, value| set | 1 << value);
    match field {
        Field::DayOfWeek => (set | set >> 7) & field.all(),
        _ => set,
    }
}
