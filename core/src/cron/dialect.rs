//! The dialect: from a text to its sets, its class and its faults. Strict, since croner is not.
//!
//! Must not search: whether a pattern ever fires is asked of the calendar of its days alone.

use super::field::{self, Field, Values};
use super::pattern::{Days, Join, MonthDays, Pattern, Times, Weekdays};
use super::piece::Piece;
use super::{Class, CronError, CronErrorKind, DayMatch};

/// The longest text that is read, in characters.
const MAX_CHARS: usize = 256;

/// What a text says.
pub(super) struct Written {
    pub(super) pattern: Pattern,
    pub(super) class: Class,
    pub(super) either_day: bool,
    pub(super) with_seconds: bool,
    pub(super) uneven: Vec<Uneven>,
}

/// A step on `*` that does not divide its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Uneven {
    pub(super) field: Field,
    pub(super) step: u32,
}

/// Reads a text.
pub(super) fn read(text: &str, day_match: DayMatch) -> Result<Written, CronError> {
    screen(text)?;
    let spelled_out = nickname(text)?;
    let words = words(spelled_out.unwrap_or(text));
    foreign(&words)?;
    let written = match words[..] {
        [minute, hour, day, month, weekday] => fields(None, [minute, hour, day, month, weekday], day_match),
        [second, minute, hour, day, month, weekday] => {
            fields(Some(second), [minute, hour, day, month, weekday], day_match)
        }
        _ => Err(miscounted(&words)),
    }?;
    if written.pattern.days.any() {
        return Ok(written);
    }
    // A nickname always fires, so the words are those of the text and their columns are right.
    let day = words[words.len() - 3];
    Err(day.refuse(
        "no date matches, so this never fires",
        "check that the days exist in the months given: February has at most 29, four months have 30",
    ))
}

/// Refuses what no field could be blamed for.
fn screen(text: &str) -> Result<(), CronError> {
    let refuse = |place: usize, detail: String, hint: &str| {
        Err(CronError {
            kind: CronErrorKind::Cron,
            column: u32::try_from(place + 1).ok(),
            detail,
            hint: hint.to_owned(),
        })
    };
    if text.chars().count() > MAX_CHARS {
        let hint = "write ranges and steps instead of long lists, or several specs";
        return refuse(MAX_CHARS, format!("longer than {MAX_CHARS} characters"), hint);
    }
    for (place, letter) in text.chars().enumerate() {
        if letter.is_control() {
            let detail = format!("control character {}", letter.escape_default());
            return refuse(place, detail, "separate the fields with blanks, in one line");
        }
        if !letter.is_ascii() {
            let detail = format!("`{letter}` (U+{:04X}) is not ASCII", u32::from(letter));
            return refuse(place, detail, "type it again with plain letters, digits and blanks");
        }
    }
    if text.trim().is_empty() {
        let hint = "write five fields: minute hour day-of-month month day-of-week, such as `30 2 * * *`";
        return refuse(0, "empty".to_owned(), hint);
    }
    Ok(())
}

/// What a nickname stands for; none when the text is no nickname.
fn nickname(text: &str) -> Result<Option<&'static str>, CronError> {
    let start = text.len() - text.trim_start().len();
    let piece = Piece { text: text.trim(), column: start as u32 + 1 };
    if !piece.text.starts_with('@') {
        return Ok(None);
    }
    let name = piece.text.to_ascii_lowercase();
    match name.as_str() {
        "@yearly" | "@annually" => Ok(Some("0 0 1 1 *")),
        "@monthly" => Ok(Some("0 0 1 * *")),
        "@weekly" => Ok(Some("0 0 * * 0")),
        "@daily" | "@midnight" => Ok(Some("0 0 * * *")),
        "@hourly" => Ok(Some("0 * * * *")),
        "@reboot" => Err(piece.refuse(
            "`@reboot` is not supported: a cluster does not reboot",
            "use an `at` spec for one instant, or trigger the schedule when you deploy",
        )),
        _ if name.starts_with("@every") => {
            Err(piece.refuse("`@every` is not a cron text", "use an `every` spec: {\"every\": \"5m\"}"))
        }
        _ => Err(piece.refuse(
            format!("unknown nickname `{}`", piece.text),
            "known are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly",
        )),
    }
}

/// The words of a text with their columns.
fn words(text: &str) -> Vec<Piece<'_>> {
    let mut words = Vec::with_capacity(6);
    let mut start = 0;
    for word in text.split(' ') {
        if !word.is_empty() {
            words.push(Piece { text: word, column: start as u32 + 1 });
        }
        start += word.len() + 1;
    }
    words
}

/// Refuses what other schedulers write before the fields.
fn foreign(words: &[Piece<'_>]) -> Result<(), CronError> {
    let Some(first) = words.first() else { return Ok(()) };
    let name = first.text.to_ascii_uppercase();
    if name.starts_with("TZ=") || name.starts_with("CRON_TZ=") {
        let zone = first.text.split_once('=').map_or("", |(_, zone)| zone);
        return Err(first.refuse(
            "a time zone inside the text",
            format!("remove it, and set \"time_zone\": \"{zone}\" beside the cron text"),
        ));
    }
    Ok(())
}

fn miscounted(words: &[Piece<'_>]) -> CronError {
    let found = words.len();
    let detail = format!("{found} field{}, where five or six are needed", if found == 1 { "" } else { "s" });
    let extra = words.get(6).or(words.first()).copied().unwrap_or(Piece { text: "", column: 1 });
    let hint = match found {
        7 => {
            "leave out the year: fields are [second] minute hour day-of-month month day-of-week; `end_at` ends a schedule"
        }
        _ => "write minute hour day-of-month month day-of-week, with seconds before them if you need them",
    };
    extra.refuse(detail, hint)
}

/// Reads the fields; five of them follow the optional seconds.
fn fields(
    second: Option<Piece<'_>>,
    rest: [Piece<'_>; 5],
    day_match: DayMatch,
) -> Result<Written, CronError> {
    let implied = Piece { text: "0", column: 1 };
    let seconds = field::read(Field::Second, second.unwrap_or(implied))?;
    let minutes = field::read(Field::Minute, rest[0])?;
    let hours = field::read(Field::Hour, rest[1])?;
    let month_days = field::read(Field::DayOfMonth, rest[2])?;
    let months = field::read(Field::Month, rest[3])?;
    let (plus, weekday_piece) = split_plus(rest[4])?;
    let weekdays = field::read(Field::DayOfWeek, weekday_piece)
        .map_err(|error| year_instead(error, second.is_some(), weekday_piece))?;

    let free = month_days.star || weekdays.star;
    let both = free || plus || day_match == DayMatch::All;
    let wildcard = seconds.star || minutes.star || hours.star;
    let uneven = [
        (Field::Second, &seconds),
        (Field::Minute, &minutes),
        (Field::Hour, &hours),
        (Field::DayOfMonth, &month_days),
        (Field::Month, &months),
        (Field::DayOfWeek, &weekdays),
    ];
    Ok(Written {
        uneven: uneven.into_iter().flat_map(|(field, values)| uneven_of(field, values)).collect(),
        class: if wildcard { Class::Wildcard } else { Class::Fixed },
        either_day: !both,
        with_seconds: second.is_some(),
        pattern: Pattern {
            times: Times { hours: hours.plain, minutes: minutes.plain, seconds: seconds.plain },
            days: Days {
                months: months.plain,
                month_days: MonthDays { plain: month_days.plain, ..month_days.month_days },
                weekdays: Weekdays { plain: weekdays.plain, ..weekdays.weekdays },
                join: if both { Join::Both } else { Join::Either },
            },
        },
    })
}

fn uneven_of(field: Field, values: &Values) -> impl Iterator<Item = Uneven> {
    values.uneven.iter().map(move |step| Uneven { field, step: *step })
}

/// Takes the `+` that asks for both day fields from before the day of week.
fn split_plus(piece: Piece<'_>) -> Result<(bool, Piece<'_>), CronError> {
    if !piece.text.starts_with('+') {
        return Ok((false, piece));
    }
    let rest = piece.from(1);
    if rest.text.is_empty() {
        return Err(piece.refuse(
            "nothing after `+`",
            "write a weekday behind it, as in `+FRI`: both day fields must then match",
        ));
    }
    Ok((true, rest))
}

/// Six fields whose last looks like a year were meant as five and a year.
fn year_instead(error: CronError, six: bool, piece: Piece<'_>) -> CronError {
    let looks_like_a_year = piece.text.len() == 4 && piece.text.bytes().all(|byte| byte.is_ascii_digit());
    if six && looks_like_a_year {
        let hint =
            "six fields are seconds first, and there is no year field: leave the year out and set `end_at`";
        return CronError { hint: hint.to_owned(), ..error };
    }
    error
}
