//! The names that an import has given: no two schedules of one import share one.

use std::collections::BTreeSet;

use campanile_core::definition::{MAX_NAME, ScheduleName};

/// Room for `-2`, `-3`, … behind a name.
const SUFFIX: usize = 12;

/// The names that are taken.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    pub(super) fn is_free(&self, namespace: &str, name: &str) -> bool {
        !self.0.contains(&key(namespace, name))
    }

    /// Takes `wanted`, or the first free one of `wanted-2`, `wanted-3` and so on. Both segments must be checked.
    pub(super) fn take(&mut self, namespace: &str, wanted: &str) -> ScheduleName {
        let mut name = wanted.to_owned();
        let stem = &wanted[..wanted.len().min(MAX_NAME - SUFFIX)];
        for n in 2_u32.. {
            if self.is_free(namespace, &name) {
                break;
            }
            name = format!("{stem}-{n}");
        }
        self.0.insert(key(namespace, &name));
        ScheduleName::new(namespace, &name)
            .expect("both segments were checked, and a number does not spoil them")
    }
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// A text as a segment of a name: what a name cannot hold becomes `-`. `None` when nothing is left.
pub(super) fn segment_from(text: &str) -> Option<String> {
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '-' };
    let name: String = text.trim().chars().map(plain).take(MAX_NAME).collect();
    let name = name.trim_matches(['-', '.']);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let mut names = Names::default();
        let taken: Vec<String> = ["a", "a", "a-2", "a"].map(|name| names.take("ns", name).to_string()).into();
        assert_eq!(taken, ["ns/a", "ns/a-2", "ns/a-2-2", "ns/a-3"]);
        assert_eq!(names.take("other", "a").as_str(), "other/a");
        let long = "x".repeat(MAX_NAME);
        assert_eq!(names.take("ns", &long).name(), long);
        assert!(names.take("ns", &long).name().ends_with("x-2"));
    }

    #[test]
    fn a_foreign_text_becomes_a_segment() {
        for (text, segment) in [
            ("Nightly Backup", Some("Nightly-Backup")),
            ("a/b:c", Some("a-b-c")),
            (" größe ", Some("gr--e")),
            ("..", None),
            ("", None),
        ] {
            assert_eq!(segment_from(text).as_deref(), segment, "{text:?}");
        }
    }
}
