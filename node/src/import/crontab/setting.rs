//! What a variable of a crontab means for the lines below it; most belong to what runs the commands.

use campanile_core::cron::known_zone;
use campanile_core::time::Span;

use super::Reader;
use crate::import::Weight;

/// What `CRON_TZ` says of the lines below it.
#[derive(Clone)]
pub(super) enum Zone {
    Known(String),
    /// Set on this line to something that is no zone: what runs under it is not known.
    Unknown(usize),
}

impl Reader<'_> {
    /// Takes a line `NAME=value` into force, or says that it is not carried over.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        if name == "CRON_TZ" {
            self.zone = self.zone_from(value);
            return;
        }
        if name == "RANDOM_DELAY" {
            self.delay = self.delay_from(value);
            return;
        }
        let hint = match name {
            "MAILTO" | "MAILFROM" => {
                "a webhook answers instead of writing mail; look at `campanile firing ls --state failed`"
            }
            // Vixie's cron and its descendants, Debian's and cronie among them, give it to the commands only.
            "TZ" => {
                "it is the time zone of the commands, not of their times; if your cron takes it for both, write CRON_TZ"
            }
            _ => "set it in what runs the commands",
        };
        self.remark(Weight::Dropped, None, format!("{name} is not carried over"), hint);
    }

    /// At most so many minutes, as cronie has it; none turns it off.
    fn delay_from(&mut self, value: &str) -> Option<Span> {
        match value.parse::<u32>() {
            Ok(0) => None,
            Ok(minutes) => {
                let delay = Span::from_secs(u64::from(minutes) * 60);
                let detail = format!("RANDOM_DELAY becomes jitter: {delay} at most, another delay each time");
                self.remark(Weight::Advice, None, detail, "cronie keeps to one while it runs");
                Some(delay)
            }
            Err(_) => {
                let detail = format!("RANDOM_DELAY: {value:?} is no number of minutes");
                self.remark(Weight::Dropped, None, detail, "nothing is delayed");
                None
            }
        }
    }

    fn zone_from(&mut self, value: &str) -> Option<Zone> {
        if value.is_empty() {
            return None;
        }
        if !known_zone(value) {
            let detail = format!("CRON_TZ: {value:?} is not a time zone");
            self.remark(Weight::Dropped, None, detail, "use an IANA name such as Europe/Berlin");
            return Some(Zone::Unknown(self.line));
        }
        Some(Zone::Known(value.to_owned()))
    }
}
