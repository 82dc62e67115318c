//! The seed of a test that draws its cases: `SEED=` draws the same again, `CASES=` draws more. Both are printed.
#![allow(clippy::expect_used, clippy::print_stderr)]

/// The seed that was asked for, or a fresh one, and the number of cases that was asked for, or the usual one.
pub(crate) fn seed_and_cases(test: &str, usual: u32) -> (u64, u32) {
    let seed = asked("SEED").unwrap_or_else(fresh);
    let cases = asked("CASES").map_or(usual, |cases| u32::try_from(cases).expect("a number of cases"));
    eprintln!("{test}: SEED={seed} CASES={cases}");
    (seed, cases)
}

#[allow(clippy::disallowed_methods, reason = "a test is configured by its environment")]
fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// A seed that no run had before.
#[allow(clippy::disallowed_types, reason = "where the seed comes from does not matter; it is printed")]
fn fresh() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(1, |since| since.as_nanos() as u64 % 1_000_000_007)
}
