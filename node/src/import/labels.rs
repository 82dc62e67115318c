//! Labels of another scheduler that ours can be: the rules are those of the HTTP API (`wire::draft`).

use std::collections::BTreeMap;

use campanile_core::definition::MAX_LABELS;

use super::tree::{Entry, Kind};
use super::{Import, Weight};

/// The longest key and value, in characters.
const LONGEST: (usize, usize) = (63, 255);

/// Carries `entries` over, and says of each that cannot be one of our labels why. `given` are the user's; they win.
pub(super) fn carry<'a>(
    what: &str,
    entries: impl IntoIterator<Item = &'a Entry>,
    given: &BTreeMap<String, String>,
    import: &mut Import,
) -> BTreeMap<String, String> {
    let mut labels = given.clone();
    for entry in entries {
        let value = match &entry.value.kind {
            Kind::Text(text) => text.clone(),
            Kind::Number(number) => number.to_string(),
            Kind::Flag(flag) => flag.to_string(),
            _ => String::from('\n'),
        };
        let key = &entry.key;
        if !is_label(key, &value) {
            let detail = format!("{what} {key:?} cannot be a label, so it is not carried over");
            import.remark(entry.place, Weight::Dropped, detail, HINT);
        } else if labels.len() == MAX_LABELS && !labels.contains_key(key) {
            let detail = format!("{what} {key:?} is one more than the {MAX_LABELS} labels of a schedule");
            import.remark(entry.place, Weight::Dropped, detail, "keep those that you select by");
        } else {
            labels.entry(key.clone()).or_insert(value);
        }
    }
    labels
}

const HINT: &str =
    "a key has 1-63 letters, digits, '.', '_', '-' or '/', a value is one line of at most 255 characters";

fn is_label(key: &str, value: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    let key_is_good = !key.is_empty() && key.len() <= LONGEST.0 && key.bytes().all(plain);
    key_is_good && value.chars().count() <= LONGEST.1 && !value.chars().any(char::is_control)
}
