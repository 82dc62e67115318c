//! What the demonstration prints. Nobody to read it any more is no error: the show ends by other means.

use std::io::Write as _;

use campanile_core::cron::instant_text;
use campanile_core::time::Timestamp;

use super::judge::{Arrival, Score};

/// A line.
pub(super) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A pipe whose reader has gone.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A line that stands out between firings.
pub(super) fn announce(line: &str) {
    say(&format!("*** {line}"));
}

/// The head over the firings.
pub(super) fn head() {
    say(&row(["TIME", "SCHEDULE", "NOMINAL", "ATTEMPT", "TOKEN", "FROM", "LATE"]));
}

/// One firing.
pub(super) fn firing(arrival: &Arrival) {
    let late = arrival.at.since(arrival.nominal).as_millis();
    say(&row([
        &clock(arrival.at, 12),
        &arrival.schedule,
        &clock(arrival.nominal, 8),
        &arrival.attempt.to_string(),
        &arrival.fencing_token.to_string(),
        &format!("node {}", arrival.node),
        &format!("{late} ms"),
    ]));
}

/// How every schedule stands.
pub(super) fn scores<'a>(after_secs: u64, scores: impl Iterator<Item = (&'a str, Score)>) {
    say(&format!("--- after {after_secs} s:"));
    for (schedule, score) in scores {
        let Score { seen, missing, on_the_way, doubled, again } = score;
        let mut line = format!("    {schedule:<24} {seen:>5} instants, missing {missing}, doubled {doubled}");
        if on_the_way > 0 {
            line.push_str(&format!(", on the way {on_the_way}"));
        }
        if again > 0 {
            line.push_str(&format!(", {again} delivered again (same firing, same key)"));
        }
        say(&line);
    }
}

fn row([time, schedule, nominal, attempt, token, from, late]: [&str; 7]) -> String {
    format!("{time:<12}  {schedule:<24}  {nominal:<8}  {attempt:>7}  {token:>12}  {from:<8}  {late:>9}")
}

/// The time of day in UTC, so many characters of it.
fn clock(at: Timestamp, length: usize) -> String {
    let text = instant_text(at);
    let time = text.split_once('T').map_or(&*text, |(_, time)| time).trim_end_matches('Z');
    // Whole seconds are written without a fraction.
    let whole = if time.contains('.') { time.to_owned() } else { format!("{time}.000") };
    whole.chars().take(length).collect()
}
