//! The stage on which a transcript plays: a machine, a wall clock that the script sets, and a leader's planner.

mod again;
mod orders;
mod queues;
pub mod script;
mod show;
mod verbs;

use std::collections::BTreeMap;

use campanile_core::command::{Body, Command, LeaderEpoch};
use campanile_core::cron::{instant_text, parse_instant};
use campanile_core::event::Row;
use campanile_core::id::{Epoch, LogIndex, NodeId, Term};
use campanile_core::image::Image;
use campanile_core::invariant;
use campanile_core::machine::Machine;
use campanile_core::plan::{Options, Planner};
use campanile_core::time::{Span, Timestamp};
use campanile_core::verify::{Place, Scope, Verifier};

/// One leader's view of the office that it took.
#[derive(Clone, Copy)]
pub struct Leader {
    pub node: NodeId,
    pub epoch: Epoch,
}

/// The machine and everything that a script can say about the world around it.
pub struct Stage {
    pub machine: Machine,
    pub planner: Planner,
    pub clock: Timestamp,
    pub leader: Leader,
    /// Proposals that are on their way to the log, by the name that the script gave them.
    pub held: BTreeMap<String, Command>,
    /// What the rows so far say of firings.
    pub past: again::Ledger,
    /// The ledger.
    pub rows: Vec<(Place, Row)>,
    /// Why the last plan was refused.
    refusal: Option<String>,
    options: Options,
    term: u64,
}

impl Default for Stage {
    fn default() -> Self {
        Self {
            machine: Machine::default(),
            planner: Planner::new(Options::default()),
            clock: Timestamp::EPOCH,
            leader: Leader { node: NodeId(0), epoch: Epoch(0) },
            held: BTreeMap::new(),
            past: again::Ledger::default(),
            rows: Vec::new(),
            refusal: None,
            options: Options::default(),
            term: 0,
        }
    }
}

impl Stage {
    /// Plays one line: a verb, words and `key=value` pairs. Answers what it has to say.
    pub fn play(&mut self, line: &str) -> Vec<String> {
        let words = Words::of(line);
        let said = match words.verb() {
            "clock" => {
                self.clock = instant(words.word(1));
                vec![]
            }
            "leader" => self.take_office(&words),
            "restart" => self.restart(),
            "hold" => self.hold(&words),
            "apply" => {
                let command = self.held.get(words.word(1)).expect("a held proposal").clone();
                self.commit(&command)
            }
            "work" => show::work(&self.machine, self.now()),
            "show" => show::schedule(&self.machine, &words.name(1)),
            "live" => show::live(&self.machine),
            "next-due" => show::next_due(&self.machine),
            "queue" => queues::queue(&self.machine, self.now(), &words),
            "signing" => queues::signing(&self.machine, self.now(), &words),
            "letters" => queues::letters(&self.machine),
            "chains" => queues::chains(&self.machine),
            "cause" => queues::cause(self, &words),
            "count-backfill" => again::count_backfill(self, &words),
            "count-mark" => again::count_mark(self, &words),
            "steps" => again::steps(self),
            "forget" => again::forget(self, &words),
            "backfills" => again::backfills(self, &words),
            "next" => self.upcoming(&words),
            "settings" => self.settle_settings(&words),
            _ => match verbs::plan(self, &words) {
                Some(body) => {
                    let command = self.command(body);
                    self.commit(&command)
                }
                None => vec![self.why_not()],
            },
        };
        self.check();
        said
    }

    /// The proposer's time: its clock, unless the log's is later.
    pub fn now(&self) -> Timestamp {
        self.clock.max(self.machine.clock())
    }

    pub fn command(&self, body: Body) -> Command {
        Command { at: self.now(), epoch: self.leader.epoch, body }
    }

    /// Appends a command to the log and applies it.
    pub fn commit(&mut self, command: &Command) -> Vec<String> {
        let index = LogIndex(self.machine.applied().0 + 1);
        let (reply, rows) = self.machine.apply(index, command);
        self.past.read(&rows);
        let placed = rows.iter().zip(0..).map(|(row, n)| (Place { index, n }, row.clone()));
        self.rows.extend(placed);
        let mut said: Vec<String> = rows.iter().map(|row| show::event(index, row)).collect();
        said.push(format!("{index} -> {}", show::reply(&reply)));
        said
    }

    /// `leader [node=1] [since=12:00:00]`: the latter when it last heard of a leader.
    fn take_office(&mut self, words: &Words) -> Vec<String> {
        let node = words.number("node").unwrap_or(1);
        self.term += 1;
        let command = self.command(Body::LeaderEpoch(LeaderEpoch {
            node: NodeId(node),
            incarnation: 1,
            term: Term(self.term),
            ledger: None,
            leaderless_since: words.value("since").map(instant),
        }));
        let said = self.commit(&command);
        self.leader = Leader { node: NodeId(node), epoch: Epoch(self.machine.applied().0) };
        self.planner = Planner::new(self.options);
        said
    }

    /// The cluster's settings: `settings grace=2h max-catch-up=3`.
    fn settle_settings(&mut self, words: &Words) -> Vec<String> {
        if let Some(grace) = words.value("grace") {
            self.options.failover_grace = grace.parse().expect("a span");
        }
        if let Some(most) = words.number("max-catch-up") {
            self.options.max_catch_up = most as usize;
        }
        if let Some(most) = words.number("instants-per-tick") {
            self.options.instants_per_tick = most as usize;
        }
        self.planner = Planner::new(self.options);
        vec![]
    }

    /// The next instants of a schedule from now on, or `after=`, as a preview shows them: `next NAME [count=3]`.
    fn upcoming(&mut self, words: &Words) -> Vec<String> {
        let schedule = self.machine.named(&words.name(1)).expect("a schedule of that name").clone();
        let series = self.planner.series(&self.machine, &schedule.definition).expect("a good spec");
        let after = words.value("after").map_or(self.now(), instant);
        let found = std::iter::successors(series.next(after), |last| series.next(last.at));
        let count = words.number("count").unwrap_or(3) as usize;
        found.take(count).map(|o| format!("{} {}", shown(o.at), o.note.as_str())).collect()
    }

    /// Everything in memory is lost; what was in the image comes back.
    fn restart(&mut self) -> Vec<String> {
        let image = Image::of(&self.machine);
        self.machine = image.into_machine().expect("an image of a sound machine");
        self.planner = Planner::new(self.options);
        vec![format!("restarted at {}", self.machine.applied())]
    }

    /// Plans now, and keeps the proposal for a later `apply`.
    fn hold(&mut self, words: &Words) -> Vec<String> {
        let rest = Words(words.0[2..].to_vec());
        match verbs::plan(self, &rest) {
            Some(body) => {
                let command = self.command(body);
                self.held.insert(words.word(1).to_owned(), command);
                vec![]
            }
            None => vec![self.why_not()],
        }
    }

    /// What a plan of nothing says.
    fn why_not(&mut self) -> String {
        self.refusal.take().unwrap_or_else(|| "(nothing to propose)".into())
    }

    /// The verifier finds nothing wrong with what the ledger tells so far. A script need not tick, so nothing is missing
    /// only because its end has come.
    pub fn verify(&self) {
        let patience = Span::from_secs(1_000_000_000);
        let mut verifier = Verifier::new(Scope { patience, ..Scope::default() });
        self.rows.iter().for_each(|(place, row)| verifier.hear(*place, row));
        let offenders = verifier.finish().offenders;
        assert!(offenders.is_empty(), "the verifier objects: {offenders:#?}");
    }

    /// A machine that was restarted from its image at any moment is the same machine.
    fn check(&self) {
        invariant::check(&self.machine).expect("the invariants hold");
        let restarted = Image::of(&self.machine).into_machine().expect("its image can be read");
        assert!(restarted == self.machine, "a machine restarted from its image differs");
    }
}

/// The words of one line.
pub struct Words(Vec<String>);

impl Words {
    fn of(line: &str) -> Self {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for letter in line.chars() {
            match letter {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                _ => words.last_mut().unwrap().push(letter),
            }
        }
        words.retain(|word| !word.is_empty());
        Self(words)
    }

    pub fn verb(&self) -> &str {
        &self.0[0]
    }

    pub fn word(&self, place: usize) -> &str {
        self.0.get(place).unwrap_or_else(|| panic!("word {place} of {:?} is missing", self.0))
    }

    pub fn has(&self, place: usize) -> bool {
        self.0.len() > place
    }

    pub fn name(&self, place: usize) -> campanile_core::definition::ScheduleName {
        campanile_core::definition::ScheduleName::parse(self.word(place)).unwrap()
    }

    pub fn value(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    pub fn flag(&self, flag: &str) -> bool {
        self.0.iter().any(|word| word == flag)
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.value(key).map(|text| text.parse().unwrap_or_else(|_| panic!("{key}={text} is no number")))
    }
}

/// `12:00:05`, `12:00:05.250` (on the first day of 2026), or a whole RFC 3339 instant.
pub fn instant(text: &str) -> Timestamp {
    let whole = if text.contains('T') { text.to_owned() } else { format!("2026-01-01T{text}Z") };
    parse_instant(&whole).unwrap_or_else(|| panic!("{text} is no instant"))
}

/// The short form back.
pub fn shown(at: Timestamp) -> String {
    if at == Timestamp::NEVER {
        return "never".into();
    }
    let text = instant_text(at);
    text.strip_prefix("2026-01-01T")
        .and_then(|rest| rest.strip_suffix('Z'))
        .map_or(text.clone(), ToOwned::to_owned)
}
