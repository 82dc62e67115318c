//! The wall clock as plain numbers: seconds, days and months of the proleptic Gregorian calendar, without a zone.
//!
//! Must not know what an offset is. `cron::zone` turns walls into instants and back; everything else reads walls only.

/// Seconds in a day of the wall clock; leap seconds do not exist here, as on every POSIX system.
pub(crate) const DAY: i64 = 86_400;
/// The last year in which a search looks. Calendars are exact far beyond it, but RFC 3339 ends here.
pub(crate) const LAST_YEAR: i32 = 9999;

/// A reading of a wall clock: seconds since 1970-01-01T00:00:00 *as the wall shows it*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wall(pub(crate) i64);

impl Wall {
    /// The wall clock at `second` of `day`.
    pub(crate) const fn at(day: i64, second: u32) -> Self {
        Self(day * DAY + second as i64)
    }

    /// Days since 1970-01-01.
    pub(crate) const fn day(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    /// Seconds since this day's midnight, 0 to 86,399.
    pub(crate) const fn second_of_day(self) -> u32 {
        self.0.rem_euclid(DAY) as u32
    }

    /// Year, month, day, hour, minute, second.
    pub(crate) const fn parts(self) -> (i32, u32, u32, u32, u32, u32) {
        let (month, day) = Month::of(self.day());
        let second = self.second_of_day();
        (month.year, month.month, day, second / 3600, second / 60 % 60, second % 60)
    }

    /// `2026-03-29 02:30`, with seconds only when they are not zero: for messages to people.
    pub(crate) fn text(self) -> String {
        let (year, month, day, hour, minute, second) = self.parts();
        let clock = clock_text(hour, minute, second);
        format!("{year:04}-{month:02}-{day:02} {clock}")
    }

    /// `02:30`, with seconds only when they are not zero.
    pub(crate) fn clock(self) -> String {
        let (_, _, _, hour, minute, second) = self.parts();
        clock_text(hour, minute, second)
    }
}

/// `02:30`, or `02:30:15` when the seconds are not zero.
pub(crate) fn clock_text(hour: u32, minute: u32, second: u32) -> String {
    if second == 0 { format!("{hour:02}:{minute:02}") } else { format!("{hour:02}:{minute:02}:{second:02}") }
}

/// One month of one year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Month {
    pub(crate) year: i32,
    /// 1 to 12.
    pub(crate) month: u32,
}

impl Month {
    /// The month that holds `day` (since 1970-01-01), and the day of the month, from 1.
    ///
    /// Years are counted from March, so that the leap day is the last of its year and 153 days make every five months.
    pub(crate) const fn of(day: i64) -> (Self, u32) {
        const CYCLE: i64 = 146_097; // days in 400 years, after which the calendar repeats with its weekdays
        let from_march = day + 719_468; // days since 0000-03-01
        let cycle = from_march.div_euclid(CYCLE);
        let in_cycle = from_march.rem_euclid(CYCLE);
        let year = (in_cycle - in_cycle / 1_460 + in_cycle / 36_524 - in_cycle / 146_096) / 365;
        let in_year = in_cycle - (365 * year + year / 4 - year / 100);
        let shifted = (5 * in_year + 2) / 153;
        let day_of_month = (in_year - (153 * shifted + 2) / 5 + 1) as u32;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 } as u32;
        let year = year + cycle * 400 + if month <= 2 { 1 } else { 0 };
        (Self { year: year as i32, month }, day_of_month)
    }

    /// The day (since 1970-01-01) on which this month begins.
    pub(crate) const fn first_day(self) -> i64 {
        let year = self.year as i64 - if self.month <= 2 { 1 } else { 0 };
        let shifted = ((self.month + 9) % 12) as i64;
        let in_year = (153 * shifted + 2) / 5;
        let in_cycle = year.rem_euclid(400);
        year.div_euclid(400) * 146_097 + in_cycle * 365 + in_cycle / 4 - in_cycle / 100 + in_year - 719_468
    }

    /// How many days it has.
    pub(crate) const fn len(self) -> u32 {
        match self.month {
            2 if self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// The month after it.
    pub(crate) const fn next(self) -> Self {
        match self.month {
            12 => Self { year: self.year + 1, month: 1 },
            month => Self { year: self.year, month: month + 1 },
        }
    }

    /// The month before it.
    pub(crate) const fn prev(self) -> Self {
        match self.month {
            1 => Self { year: self.year - 1, month: 12 },
            month => Self { year: self.year, month: month - 1 },
        }
    }
}

/// 0 is Sunday, as in cron. 1970-01-01 was a Thursday.
pub(crate) const fn weekday(day: i64) -> u32 {
    (day + 4).rem_euclid(7) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_twelve_centuries_is_one_after_the_day_before() {
        let first = Month { year: 1600, month: 1 }.first_day();
        let (mut month, mut day_of_month) = (Month { year: 1600, month: 1 }, 0);
        for day in first..first + 3 * 146_097 {
            if day_of_month == month.len() {
                (month, day_of_month) = (month.next(), 0);
            }
            day_of_month += 1;
            assert_eq!(Month::of(day), (month, day_of_month), "day {day}");
            assert_eq!(month.first_day() + i64::from(day_of_month) - 1, day);
        }
    }

    #[test]
    fn known_days_have_their_known_weekdays() {
        for (year, month, day, expected) in
            [(1970, 1, 1, 4), (2000, 2, 29, 2), (2026, 12, 1, 2), (1900, 1, 1, 1)]
        {
            let number = Month { year, month }.first_day() + day - 1;
            assert_eq!(weekday(number), expected, "{year}-{month}-{day}");
        }
    }
}
