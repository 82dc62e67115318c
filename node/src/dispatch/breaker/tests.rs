//! Breakers as transcripts: who asks and what ended on the left, what is answered on the right of the arrow.
#![allow(clippy::unwrap_used)]
use super::*;

/// Plays transcripts. A line is an instant in seconds, a verb, and what the verb needs; probes are named in the order in
/// which they are given out.
struct Player {
    base: Instant,
    breakers: Breakers,
    probes: Vec<Probe>,
}

/// Plays the left sides and compares the whole transcript, so that a failure shows all of it.
#[track_caller]
fn transcript(script: &str) {
    let mut player = Player { base: Instant::now(), breakers: Breakers::new(), probes: Vec::new() };
    let lines: Vec<&str> = script.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let played: Vec<String> = lines.iter().map(|line| player.line(line)).collect();
    assert_eq!(played.join("\n"), lines.join("\n"));
}

impl Player {
    fn line(&mut self, line: &str) -> String {
        let said = line.split(" -> ").next().unwrap();
        match self.play(said) {
            Some(answer) => format!("{said} -> {answer}"),
            None => said.to_owned(),
        }
    }

    fn play(&mut self, said: &str) -> Option<String> {
        let words: Vec<&str> = said.split(' ').collect();
        let now = self.base + Duration::from_secs_f64(words[0].parse().unwrap());
        match words[1..] {
            ["ask", host] => Some(self.ask(host, now)),
            ["list"] => Some(self.list(now)),
            [how, host] => self.end(host, how, "x1", now),
            [how, host, which] => self.end(host, how, which, now),
            _ => panic!("what is {said:?}"),
        }
    }

    fn ask(&mut self, host: &str, now: Instant) -> String {
        match self.breakers.may_send(host, now) {
            Gate::Pass => "pass".to_owned(),
            Gate::Wait(until) => format!("wait until {}", self.second(until)),
            Gate::Probe(probe) => {
                self.probes.push(probe);
                format!("probe p{}", self.probes.len())
            }
        }
    }

    /// `p2` is the second probe, `x3` are three requests that are none.
    fn end(&mut self, host: &str, how: &str, which: &str, now: Instant) -> Option<String> {
        let how = match how {
            "answered" => Ended::Answered,
            "unanswered" => Ended::Unanswered,
            "abandoned" => Ended::Abandoned,
            _ => panic!("what is {how:?}"),
        };
        let (kind, number) = which.split_at(1);
        let number: usize = number.parse().unwrap();
        let ends = if kind == "p" { vec![Some(self.probes[number - 1])] } else { vec![None; number] };
        for probe in ends {
            self.breakers.ended(host, probe, how, now);
        }
        None
    }

    fn list(&self, now: Instant) -> String {
        let shown = |state: BreakerState| {
            let until = state.open_until.map(|until| format!(" until {}", self.second(until)));
            format!("{} {} {}{}", state.host, state.state.as_str(), state.failures, until.unwrap_or_default())
        };
        let list: Vec<String> = self.breakers.list(now).into_iter().map(shown).collect();
        if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
    }

    fn second(&self, at: Instant) -> f64 {
        at.duration_since(self.base).as_secs_f64()
    }
}

#[test]
fn ten_requests_in_a_row_without_an_answer_open_it_and_the_next_answer_closes_it() {
    transcript(
        "0 ask a -> pass
         0 list -> nothing
         0 unanswered a x9
         0 ask a -> pass
         0 list -> a closed 9
         0.5 unanswered a
         0.5 ask a -> wait until 1.5
         0.5 list -> a open 10 until 1.5
         1.499 ask a -> wait until 1.5
         1.5 list -> a half_open 10
         1.5 ask a -> probe p1
         1.75 answered a p1
         1.75 list -> nothing
         1.75 ask a -> pass",
    );
}

#[test]
fn an_answer_now_and_then_keeps_it_closed() {
    transcript(
        "0 unanswered a x9
         1 answered a
         1 list -> nothing
         2 unanswered a x9
         2 ask a -> pass
         2 list -> a closed 9",
    );
}

#[test]
fn one_host_does_not_answer_for_another() {
    transcript(
        "0 unanswered b x10
         0 unanswered a x2
         0 ask a -> pass
         0 ask b -> wait until 1
         0 answered a
         0 ask b -> wait until 1
         0 unanswered a:8080 x1
         0 list -> a:8080 closed 1, b open 10 until 1",
    );
}

#[test]
fn each_probe_without_an_answer_doubles_the_pause_up_to_a_minute() {
    transcript(
        "0 unanswered a x10
         1 ask a -> probe p1
         1 unanswered a p1
         1 list -> a open 11 until 3
         3 ask a -> probe p2
         3 unanswered a p2
         3 ask a -> wait until 7
         7 ask a -> probe p3
         7 unanswered a p3
         7 ask a -> wait until 15
         15 ask a -> probe p4
         15 unanswered a p4
         15 ask a -> wait until 31
         31 ask a -> probe p5
         31 unanswered a p5
         31 ask a -> wait until 63
         63 ask a -> probe p6
         63 unanswered a p6
         63 ask a -> wait until 123
         123 ask a -> probe p7
         123 unanswered a p7
         123 list -> a open 17 until 183",
    );
}

#[test]
fn after_an_answer_the_pause_begins_small_again() {
    transcript(
        "0 unanswered a x10
         1 ask a -> probe p1
         1 unanswered a p1
         3 ask a -> probe p2
         3 answered a p2
         4 unanswered a x10
         4 ask a -> wait until 5",
    );
}

#[test]
fn one_probe_at_a_time() {
    transcript(
        "0 unanswered a x10
         5 ask a -> probe p1
         5 ask a -> wait until 65
         10 ask a -> wait until 65
         10 list -> a half_open 10
         10 unanswered a p1
         10 ask a -> wait until 12",
    );
}

#[test]
fn a_probe_that_vanishes_is_waited_for_a_minute_and_no_longer() {
    transcript(
        "0 unanswered a x10
         1 ask a -> probe p1
         60.999 ask a -> wait until 61
         61 list -> a half_open 10
         61 ask a -> probe p2
         61 ask a -> wait until 121
         62 unanswered a p1
         62 ask a -> wait until 121
         63 unanswered a p2
         63 ask a -> wait until 65",
    );
}

#[test]
fn a_probe_that_comes_back_late_still_tells_of_the_host() {
    transcript(
        "0 unanswered a x10
         1 ask a -> probe p1
         90 unanswered a p1
         90 ask a -> wait until 92
         92 ask a -> probe p2
         152 ask a -> probe p3
         153 answered a p2
         153 ask a -> pass
         154 unanswered a p3
         154 list -> a closed 1",
    );
}

#[test]
fn a_probe_that_was_never_sent_is_given_back() {
    transcript(
        "0 unanswered a x10
         1 ask a -> probe p1
         2 abandoned a p1
         2 list -> a half_open 10
         2 ask a -> probe p2
         2 abandoned a p1
         2 ask a -> wait until 62
         3 unanswered a p2
         3 ask a -> wait until 5",
    );
}

#[test]
fn requests_that_were_sent_before_it_opened_neither_prolong_the_pause_nor_end_the_probe() {
    transcript(
        "0 unanswered a x30
         0 ask a -> wait until 1
         0.5 unanswered a x5
         0.5 list -> a open 35 until 1
         1 ask a -> probe p1
         1.5 unanswered a x5
         1.5 ask a -> wait until 61
         2 unanswered a p1
         2 list -> a open 41 until 4",
    );
}

#[test]
fn an_answer_to_an_older_request_closes_an_open_circuit() {
    transcript(
        "0 unanswered a x10
         0.5 answered a
         0.5 ask a -> pass
         1 unanswered a x10
         2 ask a -> probe p1
         3 answered a
         3 ask a -> pass
         4 unanswered a p1
         4 list -> a closed 1",
    );
}

#[test]
fn what_was_abandoned_tells_nothing() {
    transcript(
        "0 abandoned a x100
         0 list -> nothing
         0 unanswered a x9
         0 abandoned a x100
         0 list -> a closed 9
         0 unanswered a
         0 abandoned a x100
         0 list -> a open 10 until 1",
    );
}

/// Fails hosts `0..count` once each, in this order.
fn failing(count: usize, now: Instant) -> Breakers {
    let mut breakers = Breakers::new();
    for number in 0..count {
        breakers.ended(&number.to_string(), None, Ended::Unanswered, now);
    }
    breakers
}

#[test]
fn beyond_the_bound_the_host_that_was_not_heard_of_for_longest_is_forgotten() {
    let now = Instant::now();
    let mut breakers = failing(MAX_HOSTS, now);
    breakers.ended("0", None, Ended::Unanswered, now);
    for number in MAX_HOSTS..MAX_HOSTS + 3 {
        breakers.ended(&number.to_string(), None, Ended::Unanswered, now);
    }
    let list = breakers.list(now);
    let known = |host: &str| list.iter().any(|state| state.host == host);
    assert_eq!(list.len(), MAX_HOSTS);
    assert_eq!(["0", "1", "2", "3", "4", "10002"].map(known), [true, false, false, false, true, true]);
}

#[test]
fn nothing_is_kept_of_hosts_that_answer() {
    let now = Instant::now();
    let mut breakers = failing(100, now);
    for number in 0..100 {
        breakers.ended(&number.to_string(), None, Ended::Answered, now);
    }
    assert_eq!((breakers.list(now), breakers.heard.len()), (Vec::new(), 0));
}
