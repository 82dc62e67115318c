//! What a script can say of queues, secrets, dead letters and what follows a firing, and how it shows them.

use std::sync::Arc;

use campanile_core::chain::Next;
use campanile_core::command::{
    Body, DeleteQueue, DeleteSecret, DiscardLetters, Extend, PauseQueue, PutQueue, PutSecret, ResumeQueue,
    Take, Work,
};
use campanile_core::definition::{Action, QueueTarget, ScheduleName, Target, Webhook};
use campanile_core::letter::Letter;
use campanile_core::machine::Machine;
use campanile_core::query;
use campanile_core::queue::{QueueSettings, Rate};
use campanile_core::secret::SecretText;
use campanile_core::time::{Span, Timestamp};

use super::show::id;
use super::verbs::{self, attempt, condition, firing, request, span};
use super::{Stage, Words, shown};

/// Plans what the line asks for; none when it is no verb of this file.
pub fn plan(stage: &mut Stage, words: &Words) -> Option<Body> {
    let name = || Arc::from(words.word(1));
    let request = || request(words);
    let note = words.value("note").unwrap_or("").into();
    Some(match words.verb() {
        "take" => Body::Work(Work { takes: vec![take(words)], ..Work::default() }),
        "extend" => Body::Work(Work { extends: vec![extend(stage, words)], ..Work::default() }),
        "together" => together(stage, words),
        "put-queue" => Body::PutQueue(PutQueue {
            name: name(),
            settings: settings(words),
            condition: condition(words),
            request: request(),
        }),
        "delete-queue" => {
            Body::DeleteQueue(DeleteQueue { name: name(), condition: condition(words), request: request() })
        }
        "pause-queue" => Body::PauseQueue(PauseQueue { name: name(), note, request: request() }),
        "resume-queue" => Body::ResumeQueue(ResumeQueue { name: name(), request: request() }),
        "put-secret" => Body::PutSecret(PutSecret {
            name: name(),
            text: SecretText::new(words.value("text").unwrap_or("")),
            keep_previous: words.value("keep").map_or(Span::ZERO, span),
            condition: condition(words),
            request: request(),
        }),
        "delete-secret" => {
            Body::DeleteSecret(DeleteSecret { name: name(), condition: condition(words), request: request() })
        }
        "discard" => {
            Body::DiscardLetters(DiscardLetters { firings: vec![firing(stage, words)], request: request() })
        }
        _ => return None,
    })
}

/// `take Q worker=W [max=N] [ttl=30s] [key=K]`.
fn take(words: &Words) -> Take {
    Take {
        queue: words.word(1).into(),
        worker: words.value("worker").unwrap_or("w").into(),
        most: words.number("max").unwrap_or(1) as u32,
        ttl: words.value("ttl").map_or(Span::from_secs(30), span),
        request: request(words),
    }
}

/// `extend NAME nominal=… [attempt=N] ttl=30s`.
fn extend(stage: &Stage, words: &Words) -> Extend {
    let ttl = words.value("ttl").map_or(Span::from_secs(30), span);
    Extend { firing: firing(stage, words), attempt: attempt(words), ttl }
}

/// `together take a … ; settle b …`: what holders say, in one entry.
fn together(stage: &mut Stage, words: &Words) -> Body {
    let mut together = Work::default();
    for part in words.0[1..].split(|word| word == ";") {
        let Some(Body::Work(work)) = verbs::plan(stage, &Words(part.to_vec())) else {
            panic!("only what holders say goes together: {part:?}")
        };
        together.settles.extend(work.settles);
        together.extends.extend(work.extends);
        together.takes.extend(work.takes);
        together.begins.extend(work.begins);
    }
    Body::Work(together)
}

/// `[max=N] [per-key=N] [rate=3/1s]`.
fn settings(words: &Words) -> QueueSettings {
    let rate = |text: &str| {
        let (count, per) = text.split_once('/').expect("a rate is COUNT/SPAN");
        Rate { count: count.parse().expect("a count"), per: span(per) }
    };
    QueueSettings {
        max_in_flight: words.number("max").map(|most| most as u32),
        max_in_flight_per_key: words.number("per-key").unwrap_or(1) as u32,
        rate: words.value("rate").map(rate),
    }
}

/// `queue=Q [priority=N]`, or `[url=U] [secret=N]`.
pub fn target(words: &Words) -> Target {
    match words.value("queue") {
        Some(queue) => Target::Queue(QueueTarget { queue: queue.into(), priority: priority(words) }),
        None => webhook(words.value("url").unwrap_or("http://receiver"), words.value("secret")),
    }
}

fn priority(words: &Words) -> i8 {
    words.value("priority").map_or(0, |text| text.parse().expect("a priority"))
}

fn webhook(url: &str, secret: Option<&str>) -> Target {
    Target::Webhook(Box::new(Webhook { secret: secret.map(Into::into), ..Webhook::new(url) }))
}

/// `on-failure=NAME` triggers, `tell-failure=URL` (or `queue:NAME`) tells; so do `on-success` and `tell-success`.
pub fn action(words: &Words, end: &str) -> Option<Box<Action>> {
    let trigger = words.value(&format!("on-{end}"));
    let tell = words.value(&format!("tell-{end}"));
    let trigger = trigger.map(|name| Action::Trigger(ScheduleName::parse(name).expect("a name")));
    let tell = tell.map(|to| match to.strip_prefix("queue:") {
        Some(queue) => Target::Queue(QueueTarget { queue: queue.into(), priority: 0 }),
        None => webhook(to, words.value("tell-secret")),
    });
    trigger.or(tell.map(Action::Notify)).map(Box::new)
}

/// `queue Q`: how many wait and are leased, what is next, and when there is something to lease.
pub fn queue(machine: &Machine, now: Timestamp, words: &Words) -> Vec<String> {
    let name = Arc::from(words.word(1));
    let queued = machine.due().queued();
    let counts = queued.counts(&name);
    let paused = machine.queue(&name).is_some_and(|queue| queue.paused.is_some());
    vec![format!(
        "queue {name} waiting={} leased={} first={} opens={}{}",
        counts.waiting,
        counts.leased,
        queued.next_ready(&name, now).map_or("none".into(), id),
        query::queue_opens_at(machine, &name, now).map_or("never".into(), shown),
        if paused { " paused" } else { "" },
    )]
}

/// `signing NAME`: the texts that sign now.
pub fn signing(machine: &Machine, now: Timestamp, words: &Words) -> Vec<String> {
    vec![machine.secret(words.word(1)).map_or("no such secret".into(), |secret| {
        let texts: Vec<&str> = secret.signing(now).map(SecretText::expose).collect();
        format!("signs with {}", texts.join(" and "))
    })]
}

/// `letters`: firings that came to nothing, the newest first.
pub fn letters(machine: &Machine) -> Vec<String> {
    let said: Vec<String> = machine.letters().newest(None).map(|it| letter(it)).collect();
    if said.is_empty() { vec!["no letters".into()] } else { said }
}

fn letter(letter: &Letter) -> String {
    format!(
        "letter {} of {} {} {:?} queue={} attempts={} status={} {:?}",
        id(letter.firing),
        letter.schedule,
        letter.kind.as_str(),
        letter.state,
        letter.queue.as_deref().unwrap_or("none"),
        letter.attempts,
        letter.status.map_or("none".into(), |status| status.to_string()),
        letter.error,
    )
}

/// `chains`: what is to follow the ends of firings.
pub fn chains(machine: &Machine) -> Vec<String> {
    let next = |next: &Next| match next {
        Next::Trigger(name) => format!("trigger {name}"),
        Next::Notify { revision, .. } => format!("notify r{revision}"),
    };
    let chain = |it: &Arc<campanile_core::chain::Chain>| {
        format!("after {} {:?}: {}", id(it.cause.firing), it.cause.state, next(&it.next))
    };
    let said: Vec<String> = machine.chains().map(chain).collect();
    if said.is_empty() { vec!["nothing follows".into()] } else { said }
}

/// `cause NAME nominal=…`: what a firing is told of the one that made it.
pub fn cause(stage: &Stage, words: &Words) -> Vec<String> {
    let firing = stage.machine.firing(firing(stage, words)).expect("a live firing");
    vec![firing.cause.as_ref().map_or("no cause".into(), |it| {
        let status = it.status.map_or("none".into(), |status| status.to_string());
        format!(
            "{} of {} {:?} attempts={} status={status} {:?}",
            id(it.firing),
            it.schedule,
            it.state,
            it.attempts,
            it.error
        )
    })]
}
