//! `~` in a schedule of Dkron: a value made from the name of the job, so that many jobs do not start at once.

use crate::import::hash;

/// The values of each of the six fields: how many, and the first. Days stop at 28, so that each month has them.
const FIELDS: [(u32, u32); 6] = [(60, 0), (60, 0), (24, 0), (28, 1), (12, 1), (7, 0)];

/// The text with a value for each `~`; `None` when it has none.
pub(super) fn spell_out(text: &str, name: &str) -> Option<String> {
    if !text.contains('~') || text.starts_with('@') {
        return None;
    }
    let mut fields = FIELDS.iter();
    let words = text.split_whitespace().map(|word| {
        if word.contains("TZ=") {
            return word.to_owned();
        }
        let (count, first) = fields.next().copied().unwrap_or(FIELDS[0]);
        word.replace('~', &(hash::of(name) % count + first).to_string())
    });
    Some(words.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_a_value_of_its_field_and_the_same_each_time() {
        for text in ["~ ~ ~ ~ ~ ~", "CRON_TZ=UTC 0 ~ ~ * * *", "0 ~/15 * * * *"] {
            for name in ["a", "backup", "größe", ""] {
                let written = spell_out(text, name).expect(text);
                assert_eq!(spell_out(text, name).as_ref(), Some(&written));
                let words: Vec<&str> = written.split(' ').filter(|word| !word.contains("TZ=")).collect();
                for (word, (count, first)) in words.iter().zip(FIELDS) {
                    let value = word.split('/').next().and_then(|value| value.parse::<u32>().ok());
                    assert!(value.is_none_or(|value| (first..first + count).contains(&value)), "{written}");
                }
            }
        }
        assert_eq!(spell_out("0 0 * * * *", "a"), None);
    }
}
