//! The show itself: firings as they come, nodes as they die and come back, and the count.
//!
//! One loop owns everything; each event is one call. Nothing here keeps a node alive or a schedule on time: that is what
//! is being shown.

use std::time::{Duration, Instant};

use anyhow::Result;
use campanile_core::time::{Span, Timestamp};
use tokio::sync::{mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

use super::child::Node;
use super::judge::{Arrival, Judge};
use super::screen;
use super::watch::{Lead, shown};
use crate::clock::Clock;

/// How often processes are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a dead node stays dead: long enough to see that the others go on.
const DEAD: Duration = Duration::from_secs(5);
/// How often the count is shown.
const COUNT: Duration = Duration::from_secs(10);
/// What never comes.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// How the show is to go.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Script {
    /// Kill the leader then, once.
    pub(super) kill_leader_after: Option<Span>,
    /// End then.
    pub(super) end_after: Option<Span>,
}

/// Everything on the stage.
pub(super) struct Play {
    pub(super) nodes: Vec<Node>,
    pub(super) judge: Judge,
    pub(super) clock: Clock,
    pub(super) arrivals: mpsc::Receiver<Arrival>,
    pub(super) leads: watch::Receiver<Option<Lead>>,
    lead: Option<Lead>,
    leaderless_since: Option<Instant>,
    to_start: Vec<(usize, Instant)>,
    started: Instant,
    /// What is counted at the end, once that has come.
    until: Option<Timestamp>,
}

enum Event {
    Arrived(Arrival),
    Led,
    Look,
    Count,
    KillLeader,
    LastInstant,
    Interrupted,
}

impl Play {
    pub(super) fn new(
        nodes: Vec<Node>,
        judge: Judge,
        clock: Clock,
        arrivals: mpsc::Receiver<Arrival>,
        leads: watch::Receiver<Option<Lead>>,
    ) -> Self {
        Self {
            nodes,
            judge,
            clock,
            arrivals,
            leads,
            lead: None,
            leaderless_since: None,
            to_start: Vec::new(),
            started: Instant::now(),
            until: None,
        }
    }

    /// Plays until it is stopped or the script ends; whether nothing was missing and nothing doubled.
    pub(super) async fn run(mut self, script: Script, stop: CancellationToken) -> Result<bool> {
        let mut look = every(LOOK);
        let mut count = every(COUNT);
        let kill = sleep_until(at(self.started, script.kill_leader_after));
        let end = sleep_until(at(self.started, script.end_after));
        tokio::pin!(kill, end);
        let (mut may_kill, mut may_end) = (true, true);
        loop {
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => Event::Interrupted,
                Some(arrival) = self.arrivals.recv() => Event::Arrived(arrival),
                Ok(()) = self.leads.changed() => Event::Led,
                () = &mut kill, if may_kill => Event::KillLeader,
                () = &mut end, if may_end => Event::LastInstant,
                _ = look.tick() => Event::Look,
                _ = count.tick() => Event::Count,
            };
            match event {
                Event::Arrived(arrival) => self.arrived(&arrival),
                Event::Led => self.led(),
                Event::Look => self.look()?,
                Event::Count => self.count(self.clock.now()),
                Event::KillLeader => {
                    may_kill = false;
                    self.kill_leader()?;
                }
                Event::LastInstant => {
                    may_end = false;
                    self.until = Some(self.clock.now());
                }
                Event::Interrupted => return Ok(self.end()),
            }
            if self.is_over() {
                return Ok(self.end());
            }
        }
    }

    fn arrived(&mut self, arrival: &Arrival) {
        self.judge.hear(arrival);
        screen::firing(arrival);
    }

    /// Somebody leads who did not.
    fn led(&mut self) {
        let lead = *self.leads.borrow_and_update();
        if let Some(lead) = lead.filter(|lead| self.lead.is_none_or(|before| before.term < lead.term)) {
            let node = &self.nodes[lead.place];
            let pid = node.pid().map_or_else(|| "?".to_owned(), |pid| pid.to_string());
            let gap = self
                .leaderless_since
                .take()
                .map(|since| format!(": {} without a leader", shown(since.elapsed())));
            screen::announce(&format!(
                "node {} (pid {pid}) leads now{}. To see it survived: kill -9 {pid}",
                lead.node,
                gap.unwrap_or_default()
            ));
            self.lead = Some(lead);
        }
    }

    fn look(&mut self) -> Result<()> {
        for place in 0..self.nodes.len() {
            if let Some((pid, status)) = self.nodes[place].ended() {
                self.died(place, pid, &how(status));
            }
        }
        let now = Instant::now();
        while let Some(waiting) = self.to_start.iter().position(|(_, at)| *at <= now) {
            let (place, _) = self.to_start.swap_remove(waiting);
            let node = &mut self.nodes[place];
            node.start()?;
            let pid = node.pid().unwrap_or_default();
            screen::announce(&format!("node {} is started again over its data, as pid {pid}", node.number));
        }
        Ok(())
    }

    fn died(&mut self, place: usize, pid: u32, how: &str) {
        let led = self.lead.is_some_and(|lead| lead.place == place);
        let role = if led { "the leader, " } else { "" };
        screen::announce(&format!("{role}node {} (pid {pid}) {how}", self.nodes[place].number));
        if led {
            self.leaderless_since.get_or_insert_with(Instant::now);
        }
        self.to_start.push((place, Instant::now() + DEAD));
    }

    fn kill_leader(&mut self) -> Result<()> {
        let Some(lead) = self.lead else { return Ok(()) };
        self.leaderless_since = Some(Instant::now());
        Ok(self.nodes[lead.place].kill()?)
    }

    fn count(&self, until: Timestamp) {
        screen::scores(self.started.elapsed().as_secs(), self.judge.scores(until, self.clock.now()));
    }

    /// Once the end has come, and what is still on its way then has arrived or is given up.
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| {
            self.judge.scores(until, self.clock.now()).all(|(_, score)| score.on_the_way == 0)
        })
    }

    fn end(&self) -> bool {
        let now = self.clock.now();
        let until = self.until.unwrap_or(now);
        self.count(until);
        self.judge.scores(until, now).all(|(_, score)| score.is_clean())
    }
}

fn every(period: Duration) -> Interval {
    let mut interval = interval_at(tokio::time::Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

fn at(start: Instant, after: Option<Span>) -> tokio::time::Instant {
    (start + after.map_or(NEVER, |span| Duration::from_millis(span.as_millis()).min(NEVER))).into()
}

/// How a process ended, in words.
fn how(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(9), _) => "was killed".to_owned(),
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".to_owned(),
    }
}
