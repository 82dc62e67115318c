//! Components: events with the properties that say when, the zones that a text names, and what else there is.
//!
//! Must not judge when an event is; that is `ical::expand`. Whatever might bear on it and is not known becomes a remark.

use std::collections::BTreeMap;

use super::lines::{Line, lines};
use super::value::shown;
use super::zones::Zones;
use super::{BadIcal, Remarks, bad};

/// How deep components may nest: a calendar, an event, an alarm, and some room.
const MAX_DEPTH: usize = 8;
/// The most events of one text.
const MAX_EVENTS: usize = 20_000;
/// So much of an event's title is told.
const TITLE: usize = 60;

/// Properties of an event that do not say when it is.
const ASIDE: [&str; 27] = [
    "ATTACH",
    "ATTENDEE",
    "CATEGORIES",
    "CLASS",
    "COLOR",
    "COMMENT",
    "CONFERENCE",
    "CONTACT",
    "CREATED",
    "DESCRIPTION",
    "DTSTAMP",
    "GEO",
    "IMAGE",
    "LAST-MODIFIED",
    "LOCATION",
    "ORGANIZER",
    "PRIORITY",
    "REFRESH-INTERVAL",
    "RELATED-TO",
    "REQUEST-STATUS",
    "RESOURCES",
    "SEQUENCE",
    "SOURCE",
    "STYLED-DESCRIPTION",
    "SUMMARY",
    "UID",
    "URL",
];

/// What a text holds.
#[derive(Debug, Default)]
pub(super) struct Components {
    /// `X-WR-CALNAME`, or `NAME`.
    pub(super) name: String,
    pub(super) zones: Zones,
    pub(super) events: Vec<Event>,
}

/// The properties of one `VEVENT`.
#[derive(Debug, Default)]
pub(super) struct Event {
    /// The line of its `BEGIN`.
    pub(super) line: u32,
    pub(super) title: String,
    pub(super) uid: String,
    pub(super) start: Option<Line>,
    pub(super) end: Option<Line>,
    pub(super) duration: Option<Line>,
    pub(super) rules: Vec<Line>,
    pub(super) added: Vec<Line>,
    pub(super) left_out: Vec<Line>,
    /// Which occurrence of the event with the same uid it stands for.
    pub(super) instead_of: Option<Line>,
    pub(super) cancelled: bool,
    pub(super) free: bool,
}

impl Event {
    /// What a remark calls it.
    pub(super) fn told(&self) -> String {
        if self.title.is_empty() { "an event".to_owned() } else { format!("\u{201c}{}\u{201d}", self.title) }
    }
}

/// What has been read so far.
struct Reader<'a> {
    found: Components,
    /// The open components with the lines of their `BEGIN`, outermost first.
    open: Vec<(String, u32)>,
    event: Option<Event>,
    zone: String,
    /// Components that were passed over: name, first line, how many.
    passed_over: BTreeMap<String, (u32, u32)>,
    remarks: &'a mut Remarks,
}

impl Components {
    pub(super) fn read(text: &str, remarks: &mut Remarks) -> Result<Self, BadIcal> {
        let mut reader = Reader {
            found: Self::default(),
            open: Vec::new(),
            event: None,
            zone: String::new(),
            passed_over: BTreeMap::new(),
            remarks,
        };
        let mut calendars = 0;
        for line in lines(text) {
            match line {
                Ok(line) => {
                    calendars += usize::from(
                        line.name == "BEGIN" && line.value.trim().eq_ignore_ascii_case("VCALENDAR"),
                    );
                    reader.line(line)?;
                }
                Err(number) if reader.open.is_empty() && calendars == 0 => {
                    return Err(no_calendar(Some(number)));
                }
                Err(number) => reader.remarks.add(number, "this line is no property and was left out"),
            }
        }
        if let Some((name, line)) = reader.open.last() {
            let detail = format!("the text ends inside the {} that begins in line {line}", shown(name));
            return Err(bad(Some(*line), detail, "it was cut off: fetch or export it again"));
        }
        if calendars == 0 {
            return Err(no_calendar(None));
        }
        for (name, (line, count)) in std::mem::take(&mut reader.passed_over) {
            reader
                .remarks
                .add(line, format!("{count} {} left out: only events exclude anything", shown(&name)));
        }
        Ok(reader.found)
    }
}

fn no_calendar(line: Option<u32>) -> BadIcal {
    bad(
        line,
        "this is no iCalendar text",
        "it begins with BEGIN:VCALENDAR; a plain list of dates is given as `dates`",
    )
}

impl Reader<'_> {
    fn line(&mut self, line: Line) -> Result<(), BadIcal> {
        match (line.name.as_str(), self.open.len()) {
            ("BEGIN", _) => self.begin(&line),
            ("END", _) => self.end(&line),
            (_, 0) => Err(no_calendar(Some(line.number))),
            (_, 1) => {
                self.of_calendar(&line);
                Ok(())
            }
            (_, 2) => {
                self.of_component(line);
                Ok(())
            }
            // Alarms, and the halves of a time zone.
            _ => Ok(()),
        }
    }

    fn begin(&mut self, line: &Line) -> Result<(), BadIcal> {
        let name = line.value.trim().to_ascii_uppercase();
        let depth = self.open.len();
        if depth == 0 && name != "VCALENDAR" {
            return Err(no_calendar(Some(line.number)));
        }
        if depth >= MAX_DEPTH {
            return Err(bad(
                Some(line.number),
                format!("components nest deeper than {MAX_DEPTH}"),
                "export it again",
            ));
        }
        match name.as_str() {
            "VEVENT" if depth == 1 => {
                if self.found.events.len() >= MAX_EVENTS {
                    let detail = format!("more than {MAX_EVENTS} events");
                    return Err(bad(Some(line.number), detail, "split it into several calendars"));
                }
                self.event = Some(Event { line: line.number, ..Event::default() });
            }
            "VTIMEZONE" if depth == 1 => self.zone.clear(),
            _ if depth == 1 => self.passed_over.entry(name.clone()).or_insert((line.number, 0)).1 += 1,
            _ => {}
        }
        self.open.push((name, line.number));
        Ok(())
    }

    fn end(&mut self, line: &Line) -> Result<(), BadIcal> {
        let name = line.value.trim().to_ascii_uppercase();
        match self.open.pop() {
            Some((open, _)) if open == name => {}
            Some((open, begun)) => {
                let detail =
                    format!("END:{} where the {} of line {begun} is open", shown(&name), shown(&open));
                return Err(bad(Some(line.number), detail, "it is damaged: fetch or export it again"));
            }
            None => {
                let detail = format!("END:{} where nothing is open", shown(&name));
                return Err(bad(Some(line.number), detail, "it is damaged: fetch or export it again"));
            }
        }
        if self.open.len() == 1 {
            self.found.events.extend(self.event.take());
        }
        Ok(())
    }

    fn of_calendar(&mut self, line: &Line) {
        match line.name.as_str() {
            "X-WR-CALNAME" => self.found.name = line.text(),
            "NAME" if self.found.name.is_empty() => self.found.name = line.text(),
            "X-WR-TIMEZONE" => self.found.zones.floating = Some(line.text()),
            _ => {}
        }
    }

    fn of_component(&mut self, line: Line) {
        if let Some(event) = &mut self.event {
            of_event(event, line, self.remarks);
            return;
        }
        match line.name.as_str() {
            "TZID" => self.zone = line.value.trim().to_owned(),
            "X-LIC-LOCATION" if !self.zone.is_empty() => {
                self.found.zones.locations.insert(self.zone.clone(), line.value.trim().to_owned());
            }
            _ => {}
        }
    }
}

/// Keeps what says when an event is; the first of what may be there once.
fn of_event(event: &mut Event, line: Line, remarks: &mut Remarks) {
    let place = match line.name.as_str() {
        "DTSTART" => &mut event.start,
        "DTEND" => &mut event.end,
        "DURATION" => &mut event.duration,
        "RECURRENCE-ID" => &mut event.instead_of,
        "RRULE" => return event.rules.push(line),
        "RDATE" => return event.added.push(line),
        "EXDATE" => return event.left_out.push(line),
        "STATUS" => return event.cancelled = line.value.trim().eq_ignore_ascii_case("CANCELLED"),
        "TRANSP" => return event.free = line.value.trim().eq_ignore_ascii_case("TRANSPARENT"),
        "UID" => return line.value.trim().clone_into(&mut event.uid),
        "SUMMARY" => return event.title = line.text().chars().take(TITLE).collect(),
        name if name.starts_with("X-") || ASIDE.binary_search(&name).is_ok() => return,
        name => {
            return remarks.add(line.number, format!("{} is not understood and was left out", shown(name)));
        }
    };
    if place.is_some() {
        return remarks.add(line.number, format!("{} is there twice: the first is taken", line.name));
    }
    *place = Some(line);
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_list_that_is_searched_is_sorted() {
        assert!(super::ASIDE.is_sorted());
    }
}
