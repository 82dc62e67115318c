//! What the things of a world are called: few names, so that parties meet on them.

use crate::seed::Dice;

/// Schedules that clients put one by one.
pub const JOBS: u64 = 28;
/// Schedules that are put as sets.
pub const SETS: u64 = 6;
/// Queues.
pub const QUEUES: [&str; 4] = ["batch", "mail", "reports", "slow"];
/// Calendars.
pub const CALENDARS: [&str; 3] = ["holidays", "nights", "freezes"];
/// Secrets.
pub const SECRETS: [&str; 2] = ["hook", "other-hook"];

/// `namespace/name` of some schedule.
pub fn job(dice: &mut Dice) -> String {
    let number = dice.below(JOBS);
    let namespace = if number < JOBS * 3 / 4 { "sim" } else { "other" };
    format!("{namespace}/job-{number}")
}
