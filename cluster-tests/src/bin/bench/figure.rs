//! A figure: its name, its runs, their median; and the table and the file that they end in.

use std::fmt;

use serde_json::{Map, Value, json};

/// One measured thing.
#[derive(Debug, Clone)]
struct Figure {
    name: &'static str,
    unit: &'static str,
    runs: Vec<f64>,
    /// How it was measured, in a few words.
    how: String,
}

/// Everything that was measured.
#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
    /// Leader changes of each phase that nobody disturbed.
    changes: Vec<f64>,
}

/// What is aimed at: the name, and the bound in words.
const TARGETS: [(&str, &str); 16] = [
    ("year_of_seconds_ms", "50 or less"),
    ("year_of_a_union_ms", "50 or less"),
    ("healthy_lateness_p99_ms", "50 or less"),
    ("ledger_bytes_per_firing", "below 200"),
    ("verify_week_s", "60 or less"),
    ("verify_week_rss_mb", "1,024 or less"),
    ("explain_p50_ms", "50 or less"),
    ("explain_p99_ms", "50 or less"),
    ("explain_max_ms", "50 or less"),
    ("committed_per_s", "50,000 or more"),
    ("drained_per_s", "5,000 or more"),
    ("drain_flatness", "0.8 or more"),
    ("lateness_p99_ms", "15 or less"),
    ("failover_median_ms", "700 or less"),
    ("rss_bytes_per_schedule", "1,024 or less"),
    ("leader_changes_under_load", "0"),
];

impl Report {
    /// Adds a figure; shown at once, since a bench takes minutes.
    pub(crate) fn add(
        &mut self,
        name: &'static str,
        unit: &'static str,
        runs: Vec<f64>,
        how: impl Into<String>,
    ) {
        let figure = Figure { name, unit, runs, how: how.into() };
        println!("{figure}");
        self.figures.push(figure);
    }

    /// So many leaders changed while a load ran undisturbed.
    pub(crate) fn add_changes(&mut self, changes: f64) {
        self.changes.push(changes);
    }

    /// No more phases come.
    pub(crate) fn end(&mut self) {
        if self.changes.is_empty() {
            return;
        }
        let how = format!("all together, in {} undisturbed phases", self.changes.len());
        let all = self.changes.iter().sum();
        self.add("leader_changes_under_load", "changes", vec![all], how);
    }

    /// `{name: {value, unit, runs}}`.
    pub(crate) fn json(&self) -> String {
        let figures = self.figures.iter().map(|figure| {
            let Figure { name, unit, runs, .. } = figure;
            ((*name).to_owned(), json!({ "value": median(runs), "unit": unit, "runs": runs }))
        });
        let all: Map<String, Value> = figures.collect();
        format!("{:#}\n", Value::Object(all))
    }
}

/// The middle one; of an even number the mean of the middle two.
pub(crate) fn median(runs: &[f64]) -> f64 {
    let mut sorted = runs.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = TARGETS.iter().find(|(name, _)| *name == self.name).map_or("", |(_, bound)| bound);
        write!(
            out,
            "{:<34} {:>10} {:<12} {:<16} {}",
            self.name,
            text(median(&self.runs)),
            self.unit,
            target,
            self.how
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{:<34} {:>10} {:<12} {:<16} how", "figure", "median", "unit", "target")?;
        self.figures.iter().try_for_each(|figure| writeln!(out, "{figure}"))
    }
}

fn text(value: f64) -> String {
    if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
