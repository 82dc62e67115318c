//! Small judgements about texts: which known word a stranger meant, and what may stand in a label.
//!
//! It judges; it never changes a text.

/// The known word nearest to `given`, when it is near enough to have been meant: at most a third of it is different.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|word| (distance(&given.to_ascii_lowercase(), word), word))
        .filter(|(distance, word)| *distance <= (word.len().max(given.len()) / 3).max(1))
        .min()
        .map(|(_, word)| word)
}

/// "did you mean" with the nearest word, or the list of words when none is near.
#[must_use]
pub fn did_you_mean(given: &str, known: &[&str]) -> String {
    match nearest(given, known.iter().copied()) {
        Some(word) => format!("did you mean \"{word}\"?"),
        None => format!("known are: {}", known.join(", ")),
    }
}

/// How many letters must be inserted, deleted, replaced or swapped with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            rows[i][j] = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                rows[i][j] = rows[i][j].min(rows[i - 2][j - 2] + 1);
            }
        }
    }
    rows[a.len()][b.len()]
}

/// Why a free text may not stand in a definition, if it may not: it is too long, or would break a line of somebody's log.
pub(crate) fn check_free(text: &str, max_chars: usize, lines: bool) -> Result<(), String> {
    let chars = text.chars().count();
    if chars > max_chars {
        return Err(format!("{chars} characters; at most {max_chars}"));
    }
    if text.chars().any(|letter| letter.is_control() && !(lines && matches!(letter, '\n' | '\t'))) {
        return Err("has a control character".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_another_word_is_not() {
        let known = ["specs", "target", "time_zone", "payload", "display_name"];
        for (given, meant) in [
            ("spec", Some("specs")),
            ("traget", Some("target")),
            ("timezone", Some("time_zone")),
            ("Payload", Some("payload")),
            ("displayName", Some("display_name")),
            ("zzz", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, known), meant, "{given}");
        }
    }
}
