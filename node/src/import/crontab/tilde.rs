//! `~` in a time field (cronie, OpenBSD): a value that cron chooses when it starts, chosen here once and for all.

use crate::import::hash;

/// The values of minute, hour, day of month, month and day of week. Days stop at 28, so that each month has them.
const FIELDS: [(u32, u32); 5] = [(0, 59), (0, 23), (1, 28), (1, 12), (0, 6)];

/// The fields with a value for each random range, chosen by `seed`; `None` when there is none.
pub(super) fn spell_out(text: &str, seed: &str) -> Option<String> {
    if !text.contains('~') {
        return None;
    }
    let words: Vec<&str> = text.split(' ').collect();
    let seconds = words.len().saturating_sub(FIELDS.len());
    let written = words.iter().enumerate().map(|(place, word)| {
        let field = place.checked_sub(seconds).map_or(FIELDS[0], |place| FIELDS[place]);
        let items = word.split(',').map(|item| {
            chosen(item, field, hash::of(&format!("{place} {seed}"))).unwrap_or_else(|| item.to_owned())
        });
        items.collect::<Vec<_>>().join(",")
    });
    Some(written.collect::<Vec<_>>().join(" "))
}

/// `3~10` is a value of the range, `~` of the field; `0~59/15` begins anywhere in its first step.
fn chosen(item: &str, (low, high): (u32, u32), number: u32) -> Option<String> {
    let (range, step) = item.split_once('/').map_or((item, None), |(range, step)| (range, Some(step)));
    let (from, to) = range.split_once('~')?;
    let low = if from.is_empty() { low } else { from.parse().ok()? };
    let high = if to.is_empty() { high } else { to.parse().ok()? };
    let width = high.checked_sub(low)?.checked_add(1)?;
    match step {
        None => Some((low + number % width).to_string()),
        Some(step) => {
            let size = step.parse::<u32>().ok().filter(|size| *size > 0)?;
            Some(format!("{}-{high}/{size}", low + number % size.min(width)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_range_becomes_a_value_of_it_and_the_same_each_time() {
        for seed in ["a", "backup", "größe", ""] {
            let text = "0~29 ~ 3~3 * 1~5";
            let written = spell_out(text, seed).expect(text);
            assert_eq!(spell_out(text, seed).as_ref(), Some(&written));
            let values: Vec<u32> = written.split(' ').filter_map(|word| word.parse().ok()).collect();
            assert!(
                values[0] < 30 && values[1] < 24 && values[2] == 3 && (1..=5).contains(&values[3]),
                "{written}"
            );

            let stepped = spell_out("~/10 0 * * *", seed).expect("a step");
            let first: u32 =
                stepped.split('-').next().and_then(|first| first.parse().ok()).expect("a number");
            assert!(first < 10 && stepped.ends_with("-59/10 0 * * *"), "{stepped}");
        }
        assert_eq!(spell_out("0 0 * * *", "a"), None);
        for refused in ["9~3", "a~b", "~/0", "0~99999999999"] {
            let text = format!("{refused} * * * *");
            assert_eq!(spell_out(&text, "a"), Some(text));
        }
    }
}
