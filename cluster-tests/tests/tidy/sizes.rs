//! The ratchet: a file stays within what one reads at a sitting, and one that does not has its size recorded and may only
//! shrink.
//!
//! The record is `sizes.tsv` beside this file. `TIDY_UPDATE=1` writes the present sizes into it; a line that grew is then
//! seen by whoever reads the change, and owes them a reason.

use std::collections::BTreeMap;
use std::path::Path;

use crate::tree::Tree;

/// Lines that a file may have without being recorded: what the codebases that we admire stay under.
pub(crate) const LIMIT: usize = 350;
/// The record, from the root of the tree.
const RECORD: &str = "cluster-tests/tests/tidy/sizes.tsv";
const UPDATE: &str = "TIDY_UPDATE=1 cargo test -p campanile-cluster-tests --test tidy";

/// What the ratchet says.
pub(crate) struct Judged {
    pub(crate) findings: Vec<String>,
    /// Not wrong, but the record could be tightened.
    pub(crate) notes: Vec<String>,
}

/// Compares the tree with its record.
pub(crate) fn judge(tree: &Tree) -> Judged {
    let record = recorded(tree.text(RECORD).unwrap_or_default());
    let sizes: BTreeMap<&str, usize> =
        tree.rust.iter().map(|file| (file.path.as_str(), file.lines())).collect();
    let findings = sizes
        .iter()
        .filter_map(|(path, lines)| {
            let allowed = record.get(*path).copied().unwrap_or(LIMIT).max(LIMIT);
            (*lines > allowed)
                .then(|| format!("{path}: {lines} lines, {allowed} allowed: which noun is missing? (or record it: {UPDATE})"))
        })
        .collect();
    let notes = record
        .iter()
        .filter_map(|(path, allowed)| {
            let lines = sizes.get(path.as_str()).copied().unwrap_or(0);
            (lines < *allowed)
                .then(|| format!("{path}: {lines} lines, {allowed} recorded; tighten it: {UPDATE}"))
        })
        .collect();
    Judged { findings, notes }
}

/// Writes the present sizes of all long files into the record.
pub(crate) fn record(tree: &Tree) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(RECORD);
    std::fs::write(path, text(tree)).unwrap();
}

/// The record as it should stand.
pub(crate) fn text(tree: &Tree) -> String {
    let long = tree.rust.iter().filter(|file| file.lines() > LIMIT);
    let rows = long.map(|file| format!("{}\t{}\n", file.path, file.lines()));
    format!(
        "# Files above {LIMIT} lines and the size that each may not outgrow. Written by {UPDATE}\n{}",
        rows.collect::<String>()
    )
}

fn recorded(text: &str) -> BTreeMap<String, usize> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| {
        let (path, lines) = row.split_once('\t')?;
        Some((path.to_owned(), lines.trim().parse().ok()?))
    })
    .collect()
}
