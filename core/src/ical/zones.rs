//! Which zone of the tz database a `TZID` names.
//!
//! Must not read the offsets of a `VTIMEZONE`: the name is looked up, and what has no known name is told as a remark.

use std::collections::BTreeMap;

use super::value::shown;
use crate::cron::known_zone;

/// Names that Windows and Outlook write, with the zone that CLDR gives for the whole world.
const WINDOWS: [(&str, &str); 44] = [
    ("AUS Eastern Standard Time", "Australia/Sydney"),
    ("Alaskan Standard Time", "America/Anchorage"),
    ("Arab Standard Time", "Asia/Riyadh"),
    ("Arabian Standard Time", "Asia/Dubai"),
    ("Argentina Standard Time", "America/Argentina/Buenos_Aires"),
    ("Atlantic Standard Time", "America/Halifax"),
    ("Canada Central Standard Time", "America/Regina"),
    ("Central America Standard Time", "America/Guatemala"),
    ("Central Europe Standard Time", "Europe/Budapest"),
    ("Central European Standard Time", "Europe/Warsaw"),
    ("Central Standard Time", "America/Chicago"),
    ("Central Standard Time (Mexico)", "America/Mexico_City"),
    ("China Standard Time", "Asia/Shanghai"),
    ("E. Africa Standard Time", "Africa/Nairobi"),
    ("E. Australia Standard Time", "Australia/Brisbane"),
    ("E. South America Standard Time", "America/Sao_Paulo"),
    ("Eastern Standard Time", "America/New_York"),
    ("Egypt Standard Time", "Africa/Cairo"),
    ("FLE Standard Time", "Europe/Kiev"),
    ("GMT Standard Time", "Europe/London"),
    ("GTB Standard Time", "Europe/Bucharest"),
    ("Greenwich Standard Time", "Atlantic/Reykjavik"),
    ("Hawaiian Standard Time", "Pacific/Honolulu"),
    ("India Standard Time", "Asia/Kolkata"),
    ("Israel Standard Time", "Asia/Jerusalem"),
    ("Korea Standard Time", "Asia/Seoul"),
    ("Mountain Standard Time", "America/Denver"),
    ("New Zealand Standard Time", "Pacific/Auckland"),
    ("Newfoundland Standard Time", "America/St_Johns"),
    ("Pacific SA Standard Time", "America/Santiago"),
    ("Pacific Standard Time", "America/Los_Angeles"),
    ("Pakistan Standard Time", "Asia/Karachi"),
    ("Romance Standard Time", "Europe/Paris"),
    ("Russian Standard Time", "Europe/Moscow"),
    ("SA Pacific Standard Time", "America/Bogota"),
    ("SE Asia Standard Time", "Asia/Bangkok"),
    ("Singapore Standard Time", "Asia/Singapore"),
    ("South Africa Standard Time", "Africa/Johannesburg"),
    ("Tokyo Standard Time", "Asia/Tokyo"),
    ("Turkey Standard Time", "Europe/Istanbul"),
    ("US Mountain Standard Time", "America/Phoenix"),
    ("UTC", "UTC"),
    ("W. Central Africa Standard Time", "Africa/Lagos"),
    ("W. Europe Standard Time", "Europe/Berlin"),
];

/// No name of a zone is so long, with whatever stands before it.
const LONGEST: usize = 120;

/// What a text says about its zones.
#[derive(Debug, Default)]
pub(super) struct Zones {
    /// `X-WR-TIMEZONE`, for times without a zone.
    pub(super) floating: Option<String>,
    /// `X-LIC-LOCATION` of a `VTIMEZONE`, by its `TZID`.
    pub(super) locations: BTreeMap<String, String>,
}

impl Zones {
    /// The zone of a time with this `TZID`, or without one; the error says what is wrong.
    pub(super) fn of(&self, tzid: Option<&str>) -> Result<String, String> {
        match tzid {
            Some(tzid) => self
                .locations
                .get(tzid)
                .and_then(|location| known(location))
                .or_else(|| known(tzid))
                .ok_or_else(|| format!("unknown time zone `{}`", shown(tzid))),
            None => self.floating.as_deref().and_then(known).ok_or_else(|| {
                "a time without a zone, and the text has no X-WR-TIMEZONE that is known".to_owned()
            }),
        }
    }
}

/// The zone that a name means: by itself, as Windows has it, or behind the prefix that some programs put before it
/// (`/freeassociation.sourceforge.net/Europe/Berlin`).
fn known(name: &str) -> Option<String> {
    let name = name.trim();
    if name.len() > LONGEST {
        return None;
    }
    if let Some((_, zone)) = WINDOWS.iter().find(|(windows, _)| *windows == name) {
        return Some((*zone).to_owned());
    }
    let behind =
        name.match_indices('/').map(|(place, _)| &name[place + 1..]).filter(|rest| rest.contains('/'));
    std::iter::once(name).chain(behind).take(8).find(|name| known_zone(name)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_windows_name_leads_to_a_zone_that_is_known() {
        for (name, zone) in WINDOWS {
            assert!(known_zone(zone), "{name}: {zone}");
        }
        assert!(WINDOWS.is_sorted());
    }

    #[test]
    fn prefixes_of_other_programs_are_seen_through() {
        assert_eq!(
            known("/freeassociation.sourceforge.net/Tzfile/Europe/Berlin").as_deref(),
            Some("Europe/Berlin")
        );
        assert_eq!(
            known("/mozilla.org/20050126_1/America/Argentina/Ushuaia").as_deref(),
            Some("America/Argentina/Ushuaia")
        );
        assert_eq!(known("Customized Time Zone"), None);
        assert_eq!(known(""), None);
    }
}
