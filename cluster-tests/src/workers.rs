//! `campanile worker` as processes, and the journal that their commands keep: what arrived at workers, as calls.
//!
//! A command writes a line when it begins and one when it ends, by the machine's clock. A worker that is killed leaves its
//! command behind; that goes on, and writes its line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use campanile_core::cron::parse_instant;
use campanile_core::time::Timestamp;

use crate::cluster::Cluster;
use crate::process::Process;
use crate::receiver::Call;

/// What a command does: notes that it begins, works for `$3` seconds, notes how it ends. One token in `$4` is not done and
/// tried again (0 for none), which the seed need not know: a token is no more foreseeable than dice. The lines are short, so
/// that each is appended whole.
const COMMAND: &str = r#"
note() {
    printf '%s %s %s %s %s %s %s %s %s %s\n' "$1" "$CAMPANILE_FIRING" "$CAMPANILE_SCHEDULE" "$CAMPANILE_NOMINAL" \
        "$CAMPANILE_ATTEMPT" "$CAMPANILE_FENCING_TOKEN" "$CAMPANILE_KIND" "$worker" "$(date +%s%3N)" "$CAMPANILE_LEASE" \
        >> "$journal"
}
journal=$1 worker=$2
note began
sleep "$3"
if [ "$4" -gt 0 ] && [ $((CAMPANILE_FENCING_TOKEN / 4096 % $4)) -eq 0 ]; then note again; exit 75; fi
note done
"#;

/// How the workers of one queue work.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Of which queue.
    pub queue: String,
    /// How many processes.
    pub count: usize,
    /// How many commands at once each.
    pub concurrency: usize,
    /// How long a lease lasts.
    pub ttl: Duration,
    /// How long a command works.
    pub works: Duration,
    /// About one in so many attempts asks to be tried again; 0 for none.
    pub retried: u64,
}

/// Worker processes; dropped, they are killed.
#[derive(Debug)]
pub struct Workers {
    plan: Plan,
    folder: PathBuf,
    processes: Vec<Option<Process>>,
}

/// A command that a worker ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// What it was told, and when it began.
    pub call: Call,
    /// Under which lease.
    pub lease: String,
}

impl Workers {
    /// Starts them; the journal and their logs stand in `folder`.
    #[must_use]
    pub fn start_all(cluster: &Cluster, folder: &Path, plan: Plan) -> Self {
        let processes = (0..plan.count).map(|_| None).collect();
        let mut workers = Self { plan, folder: folder.to_owned(), processes };
        (0..workers.count()).for_each(|place| workers.start(cluster, place));
        workers
    }

    /// How many there are, by their places from 0.
    #[must_use]
    pub fn count(&self) -> usize {
        self.processes.len()
    }

    /// Starts the one of this place, which does not run, under its old name.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(&mut self, cluster: &Cluster, place: usize) {
        let (name, seconds) = (self.name(place), |span: Duration| span.as_secs_f64().to_string());
        let mut command =
            cluster.command(&["worker", "--queue", &self.plan.queue, "--name", &name, "--quiet"]);
        command.arg("--concurrency").arg(self.plan.concurrency.to_string());
        command.arg("--ttl").arg(format!("{}s", self.plan.ttl.as_secs()));
        command.args(["--", "sh", "-c", COMMAND, "sh"]).arg(self.journal()).arg(&name);
        command.args([seconds(self.plan.works), self.plan.retried.to_string()]);
        let process = Process::start(command, &self.log(place)).expect("the worker's process starts");
        self.processes[place] = Some(process);
    }

    /// `kill -9`.
    pub fn kill(&mut self, place: usize) {
        self.processes[place] = None;
    }

    /// `kill -STOP`.
    pub fn pause(&self, place: usize) {
        self.processes[place].iter().for_each(Process::pause);
    }

    /// `kill -CONT`.
    pub fn go_on(&self, place: usize) {
        self.processes[place].iter().for_each(Process::go_on);
    }

    /// What the worker calls itself.
    #[must_use]
    pub fn name(&self, place: usize) -> String {
        format!("worker-{place}")
    }

    /// Where its talk stands.
    #[must_use]
    pub fn log(&self, place: usize) -> PathBuf {
        self.folder.join(format!("{}.log", self.name(place)))
    }

    /// What the commands have noted so far, in the order in which they began.
    ///
    /// # Panics
    /// When the journal holds a line that is none.
    #[must_use]
    pub fn ran(&self) -> Vec<Ran> {
        let text = fs::read_to_string(self.journal()).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        read(whole)
    }

    /// The same as calls: done is taken as 200, to be tried again as 503.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.ran().into_iter().map(|ran| ran.call).collect()
    }

    fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }
}

fn read(journal: &str) -> Vec<Ran> {
    let mut ran: Vec<Ran> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for line in journal.lines() {
        let (word, one) = line_of(line).unwrap_or_else(|| panic!("no line of a journal: {line:?}"));
        let answered = match word {
            "began" => {
                places.insert(one.lease.clone(), ran.len());
                ran.push(one);
                continue;
            }
            "done" => 200,
            _ => 503,
        };
        if let Some(place) = places.get(&one.lease) {
            ran[*place].call.answered = Some(answered);
        }
    }
    ran
}

fn line_of(line: &str) -> Option<(&str, Ran)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [word, firing, schedule, nominal, attempt, token, kind, worker, millis, lease] = words[..] else {
        return None;
    };
    let call = Call {
        received_at: Timestamp::from_millis(millis.parse().ok()?),
        path: String::new(),
        firing: firing.to_owned(),
        schedule: schedule.to_owned(),
        nominal: Some(parse_instant(nominal)?),
        attempt: attempt.parse().ok()?,
        fencing_token: token.parse().ok()?,
        kind: kind.to_owned(),
        node: worker.to_owned(),
        answered: None,
        asked_to_wait: None,
        is_fenced: false,
    };
    Some((word, Ran { call, lease: lease.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_as_calls_and_an_end_belongs_to_its_lease() {
        let line = |word: &str, attempt: u32| {
            let at = 1_800_000_000_000_i64 + i64::from(attempt);
            format!(
                "{word} frg_1 ns/a 2027-01-15T08:00:00Z {attempt} 4096{attempt} scheduled w {at} lse_1_{attempt}\n"
            )
        };
        let journal = [line("began", 1), line("began", 2), line("done", 2)].concat();
        let ran = read(&journal);
        assert_eq!(ran.iter().map(|ran| ran.call.answered).collect::<Vec<_>>(), [None, Some(200)]);
        assert_eq!((ran[1].call.fencing_token, ran[1].lease.as_str()), (40_962, "lse_1_2"));
    }
}
