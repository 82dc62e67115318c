//! A crontab, read as vixie cron and its descendants read it: the user form, or the system form with a user column.
//!
//! ```text
//! bytes ── line ──▶ blank, comment, directive, setting, entry
//!                                                │  + zone and directive in force
//!                             percent, name ◀────┴──▶ the cron room judges the pattern ──▶ draft or remark
//! ```
//!
//! A command does not run here: it travels as the payload `{"command": …, "stdin": …}` to a webhook that runs it.
//! No line is passed over in silence, except blank ones and comments that are only comments.

mod line;
mod name;
mod percent;
mod setting;
mod tilde;

use std::collections::BTreeMap;

use campanile_core::cron::{Cron, CronError, CronErrorKind, CronText, DayMatch, DstGap, DstOverlap};
use campanile_core::definition::ScheduleName;
use campanile_core::time::{Span, Timestamp};
use serde_json::json;

use super::names::Names;
use super::{Found, Import, Remark, Weight};
use crate::client::draft::{Draft, SpecDraft};
use line::{Entry, Line, Shape, When};
use setting::Zone;

/// How a crontab is to be read, and what its schedules have in common.
#[derive(Debug, Clone)]
pub struct Options {
    /// The namespace of the schedules: a checked segment.
    pub namespace: String,
    /// The webhook that runs the commands.
    pub url: String,
    /// The zone of lines above the first `CRON_TZ`.
    pub time_zone: String,
    /// Whether a user stands before each command, as in `/etc/crontab`.
    pub system: bool,
    /// Labels for each schedule.
    pub labels: BTreeMap<String, String>,
    /// For the warnings about the year ahead.
    pub now: Timestamp,
}

/// Reads a crontab.
#[must_use]
pub fn read(text: &[u8], options: &Options) -> Import {
    let mut reader = Reader::new(options);
    for (place, line) in text.split(|byte| *byte == b'\n').enumerate() {
        reader.line = place + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match std::str::from_utf8(line) {
            Ok(line) => reader.read(line),
            Err(error) => reader.not_text(error.valid_up_to()),
        }
    }
    reader.end();
    reader.import
}

/// What is in force at the line that is read.
struct Reader<'a> {
    options: &'a Options,
    line: usize,
    /// What `CRON_TZ` says.
    zone: Option<Zone>,
    /// What `RANDOM_DELAY` says.
    delay: Option<Span>,
    /// A `# name:` comment directly above.
    name: Option<String>,
    /// A `# campanile:` comment above, and its line.
    directive: Option<(usize, Directive)>,
    names: Names,
    import: Import,
}

#[derive(Clone, Copy)]
enum Directive {
    Seconds,
    Every(Span),
    /// Meant for us and not understood: the line below would run at wrong times.
    Unknown,
}

impl<'a> Reader<'a> {
    fn new(options: &'a Options) -> Self {
        Self {
            options,
            line: 0,
            zone: None,
            delay: None,
            name: None,
            directive: None,
            names: Names::default(),
            import: Import::default(),
        }
    }

    fn read(&mut self, text: &str) {
        match Line::of(text) {
            Line::Blank => self.name = None,
            Line::Comment => {}
            Line::Name(name) => self.name = Some(name.to_owned()),
            Line::Directive(text) => self.direct(text),
            Line::Setting { name, value } => {
                self.name = None;
                self.set(name, value);
            }
            Line::Entry(text) => self.enter(text),
        }
    }

    fn direct(&mut self, text: &str) {
        self.forget_directive();
        let directive = match text.split_once(char::is_whitespace).map(|(word, rest)| (word, rest.trim())) {
            None if text == "seconds" => Directive::Seconds,
            Some(("every", span)) if span.parse::<Span>().is_ok_and(|span| span >= Span::from_secs(1)) => {
                Directive::Every(span.parse().unwrap_or_default())
            }
            _ => {
                let hint = "write '# campanile: seconds' or '# campanile: every 15m' (at least 1s)";
                self.remark(Weight::Dropped, None, format!("the directive {text:?} is not understood"), hint);
                Directive::Unknown
            }
        };
        self.directive = Some((self.line, directive));
    }

    fn enter(&mut self, text: &str) {
        let name = self.name.take();
        let (when, above) = match self.directive.take() {
            None => (Shape::Five, None),
            Some((_, Directive::Seconds)) => (Shape::Six, None),
            Some((_, Directive::Every(span))) => (Shape::None, Some(span)),
            Some((line, Directive::Unknown)) => {
                self.lost(None, format!("the directive above it, on line {line}, is not understood"), "");
                return;
            }
        };
        let entry = match Entry::read(text, when, self.options.system) {
            Ok(entry) => entry,
            Err(why) => return self.lost(None, why.detail, why.hint),
        };
        if let Some(spec) = self.spec(&entry, above) {
            self.found(text, &entry, spec, name);
        }
    }

    /// When an entry runs; `None` after a remark that says why it cannot be known.
    fn spec(&mut self, entry: &Entry<'_>, every: Option<Span>) -> Option<SpecDraft> {
        if let Some(every) = every {
            return Some(SpecDraft::every(every));
        }
        if entry.when.text().eq_ignore_ascii_case("@reboot") {
            self.lost(
                None,
                "@reboot cannot be carried over: a cluster does not boot".into(),
                "start it with the machine",
            );
            return None;
        }
        let zone = match self.zone.clone() {
            None => self.options.time_zone.clone(),
            Some(Zone::Known(zone)) => zone,
            Some(Zone::Unknown(line)) => {
                self.lost(None, format!("its time zone, set on line {line}, is not known"), "");
                return None;
            }
        };
        let chosen = tilde::spell_out(entry.when.text(), entry.command);
        let text = chosen.as_deref().unwrap_or(entry.when.text());
        match Cron::parse(&cron_text(text, &zone)) {
            Ok(cron) => {
                self.advise(&cron, entry.when.text(), text);
                Some(SpecDraft::cron(text, &zone))
            }
            Err(error) => {
                // The columns of a text that was written anew are not those of the line.
                self.refused(
                    &entry.when,
                    CronError { column: error.column.filter(|_| chosen.is_none()), ..error },
                );
                None
            }
        }
    }

    fn advise(&mut self, cron: &Cron, given: &str, written: &str) {
        if given != written {
            let detail = format!("cron chooses a time of {given:?} at random; here it is {written:?}");
            self.remark(Weight::Advice, None, detail, "write another one if you like");
        }
        for warning in cron.warnings(self.options.now) {
            self.remark(Weight::Advice, None, warning.message, "");
        }
    }

    fn refused(&mut self, when: &When, error: CronError) {
        let column = match error.kind {
            CronErrorKind::Cron => error.column.map(|column| when.column_in_line(column as usize)),
            CronErrorKind::Zone | CronErrorKind::Start => None,
        };
        self.lost(column, error.detail, error.hint);
    }

    fn found(&mut self, source: &str, entry: &Entry<'_>, spec: SpecDraft, name: Option<String>) {
        if entry.quiet {
            self.remark(
                Weight::Dropped,
                Some(1),
                "the leading '-' is not carried over".into(),
                "it asked cron not to log",
            );
        }
        if !self.options.system && entry.command.starts_with("root ") {
            let hint = "if this is a system crontab, read it with --system";
            self.remark(Weight::Advice, None, "the command begins with 'root'".into(), hint);
        }
        let (flags, command) = line::flags(entry.command);
        let (command, stdin) = percent::split(command);
        let name = self.name_of(name, &command);
        let mut draft = Draft::new(&name, vec![spec], &self.options.url);
        let mut payload = json!({ "command": command });
        if let Some(stdin) = stdin {
            payload["stdin"] = stdin.into();
        }
        if let Some(user) = entry.user {
            payload["user"] = user.into();
        }
        draft.payload = Some(payload);
        draft.jitter = self.delay.map(|delay| delay.to_string());
        for flag in flags.chars() {
            self.obey(flag, &mut draft);
        }
        draft.labels.clone_from(&self.options.labels);
        self.import.found(Found { line: self.line, source: source.trim().to_owned(), draft, paused: false });
    }

    /// A flag before a command, as OpenBSD and FreeBSD have them.
    fn obey(&mut self, flag: char, draft: &mut Draft) {
        match flag {
            's' => draft.overlap = Some("skip".to_owned()),
            'n' => self.remark(
                Weight::Dropped,
                None,
                "the flag -n is not carried over".into(),
                "it asked for mail about failures only",
            ),
            _ => self.remark(
                Weight::Dropped,
                None,
                format!("the flag -{flag} is not carried over"),
                "it asked cron not to log",
            ),
        }
    }

    fn name_of(&mut self, asked: Option<String>, command: &str) -> ScheduleName {
        if let Some(asked) = asked {
            match ScheduleName::new(&self.options.namespace, &asked) {
                Ok(_) if self.names.is_free(&self.options.namespace, &asked) => {
                    return self.names.take(&self.options.namespace, &asked);
                }
                Ok(_) => {
                    let name = self.names.take(&self.options.namespace, &asked);
                    let detail =
                        format!("the name {asked} is taken by a line above; this one is {}", name.name());
                    self.remark(Weight::Advice, None, detail, "");
                    return name;
                }
                Err(bad) => {
                    let detail = format!("the name {asked:?} {}; one is made from the command", bad.why);
                    self.remark(Weight::Advice, None, detail, "");
                }
            }
        }
        let derived = name::from_command(command).unwrap_or_else(|| format!("line-{}", self.line));
        self.names.take(&self.options.namespace, &derived)
    }

    fn not_text(&mut self, at: usize) {
        self.name = None;
        self.directive = None;
        self.lost(Some(at + 1), "is not UTF-8 text".into(), "convert the file, for example with iconv");
    }

    fn end(&mut self) {
        self.forget_directive();
    }

    /// A directive that no line followed is said to have had no effect.
    fn forget_directive(&mut self) {
        if let Some((line, directive)) = self.directive.take()
            && !matches!(directive, Directive::Unknown)
        {
            let detail = "the directive has no command line below it".to_owned();
            self.import.remarks.push(Remark {
                line,
                column: None,
                weight: Weight::Dropped,
                detail,
                hint: String::new(),
            });
        }
    }

    fn lost(&mut self, column: Option<usize>, detail: String, hint: impl Into<String>) {
        self.remark(Weight::Lost, column, detail, hint);
    }

    fn remark(&mut self, weight: Weight, column: Option<usize>, detail: String, hint: impl Into<String>) {
        self.import.remarks.push(Remark { line: self.line, column, weight, detail, hint: hint.into() });
    }
}

fn cron_text<'a>(text: &'a str, time_zone: &'a str) -> CronText<'a> {
    CronText {
        text,
        time_zone,
        day_match: DayMatch::Any,
        dst_gap: DstGap::RunAfter,
        dst_overlap: DstOverlap::First,
    }
}
