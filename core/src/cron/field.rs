//! One field of a cron text: which values it names, and exactly where it is wrong.
//!
//! Must not know the other fields nor how days combine; `cron::dialect` does.

use super::pattern::{MonthDays, Weekdays};
use super::{CronError, CronErrorKind};

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

/// A piece of the text and the column (from 1) of its first character. All of it is ASCII by now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    pub(super) column: u32,
}

impl<'a> Piece<'a> {
    /// The piece that begins `offset` characters into this one.
    pub(super) fn from(self, offset: usize) -> Self {
        Self { text: &self.text[offset..], column: self.column + offset as u32 }
    }

    /// The parts before and after the first `mark`, if there is one.
    fn split(self, mark: char) -> Option<(Self, Self)> {
        let place = self.text.find(mark)?;
        Some((Self { text: &self.text[..place], ..self }, self.from(place + 1)))
    }

    /// The piece without its last character, if that is `letter` in either case.
    fn without_last(self, letter: char) -> Option<Self> {
        let last = self.text.chars().last()?;
        let rest = &self.text[..self.text.len() - 1];
        last.eq_ignore_ascii_case(&letter).then_some(Self { text: rest, ..self })
    }

    fn is_number(self) -> bool {
        !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// An error at the first character of this piece.
    pub(super) fn refuse(self, detail: impl Into<String>, hint: impl Into<String>) -> CronError {
        CronError {
            kind: CronErrorKind::Cron,
            column: Some(self.column),
            detail: detail.into(),
            hint: hint.into(),
        }
    }
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
    if read_day_mark(field, item, values)? {
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

/// `L`, `LW`, `nW` in the day of month, `nL` and `n#m` in the day of week. Tells whether it was one of them.
fn read_day_mark(field: Field, item: Piece<'_>, values: &mut Values) -> Result<bool, CronError> {
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
    if named(&MONTHS, item.text).is_some() {
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

/// One value: a number in range, or a name in its own field.
fn read_value(field: Field, piece: Piece<'_>) -> Result<u32, CronError> {
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
