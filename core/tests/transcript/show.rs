//! How a script shows what happened: one short line a fact.

use campanile_core::attempt::Lease;
use campanile_core::cron::tzdb_version;
use campanile_core::definition::ScheduleName;
use campanile_core::event::{Event, Outcome, Row};
use campanile_core::firing::{FiringId, Kind, Phase};
use campanile_core::id::LogIndex;
use campanile_core::machine::Machine;
use campanile_core::query;
use campanile_core::reply::{Extended, Leased, Refused, Reply, SettledNow, Worked, Written};
use campanile_core::time::Timestamp;

use super::shown;

pub fn event(index: LogIndex, row: &Row) -> String {
    format!("{index} {} {}", shown(row.at), fact(&row.event))
}

fn fact(event: &Event) -> String {
    match event {
        Event::LeaderEpoch { epoch, node, term, .. } => {
            format!("leader node={node} term={term} epoch={epoch}")
        }
        Event::Fired { firing, revision, kind } => {
            format!("fired {} r{revision} {}", id(*firing), kind_text(*kind))
        }
        Event::Skipped { uid, revision, reason, from, to, count } => {
            format!(
                "skipped {uid} r{revision} {} {}..{} count={count}",
                reason.as_str(),
                shown(*from),
                shown(*to)
            )
        }
        Event::Begun { firing, lease } => format!("begun {} {}", id(*firing), lease_text(lease)),
        Event::Settled { firing, attempt, report, outcome } => {
            let said = report.as_ref().map_or("no report".into(), |report| format!("{:?}", report.verdict));
            format!("settled {} attempt={attempt} {said}: {}", id(*firing), outcome_text(*outcome))
        }
        Event::Defined { uid, name, revision, by, .. } => format!("defined {uid} {name} r{revision} by={by}"),
        Event::Deleted { uid, by } => format!("deleted {uid} by={by}"),
        Event::Paused { uid, note, until, by } => {
            let until = until.map_or("for good".into(), |until| format!("until {}", shown(until)));
            format!("paused {uid} {until} note={note:?} by={by}")
        }
        Event::Resumed { uid, mark, by } => format!("resumed {uid} mark={} by={by}", shown(*mark)),
        Event::Parked { uid, reason } => format!("parked {uid}: {reason}"),
        Event::Finished { uid } => format!("finished {uid}"),
        Event::NodeAdmitted { node, peer_address } => format!("admitted {node} {peer_address}"),
        Event::MarkSet { uid, to, by } => format!("mark set {uid} to={} by={by}", shown(*to)),
        Event::StopAsked { firing } => format!("asked to stop {}", id(*firing)),
        Event::Cancelled { firing, by } => format!("cancelled {} by={by}", id(*firing)),
        Event::BackfillCreated { id, uid, plan, instants, by } => format!(
            "backfill {id} of {uid} {}..{} again={} {} instants={instants} by={by}",
            shown(plan.after),
            shown(plan.until),
            plan.again,
            plan.overlap.as_str()
        ),
        Event::BackfillEnded { id, state, fired } => format!("backfill {id} ended {state:?} fired={fired}"),
        Event::CalendarPut { name, calendar, by } => {
            format!("calendar {name} dates={} spans={} by={by}", calendar.dates.len(), calendar.spans.len())
        }
        Event::CalendarDeleted { name, by } => format!("calendar {name} deleted by={by}"),
        Event::ZonesUsed { version } if tzdb_version().as_deref() == Some(&**version) => {
            "zones of this build".into()
        }
        Event::ZonesUsed { version } => format!("zones {version}"),
        Event::NextMoved { uid, from, to } => format!(
            "next moved {uid} {} -> {}",
            from.map_or("none".into(), shown),
            to.map_or("none".into(), shown)
        ),
        Event::QueuePut { name, settings, by } => format!(
            "queue {name} max={:?} per-key={} rate={} by={by}",
            settings.max_in_flight,
            settings.max_in_flight_per_key,
            settings.rate.map_or("none".into(), |rate| format!("{}/{}", rate.count, rate.per)),
        ),
        Event::QueueDeleted { name, by } => format!("queue {name} deleted by={by}"),
        Event::QueuePaused { name, note, by } => format!("queue {name} paused {note:?} by={by}"),
        Event::QueueResumed { name, by } => format!("queue {name} resumed by={by}"),
        Event::SecretPut { name, previous_until, by } => {
            format!("secret {name} previous until {} by={by}", previous_until.map_or("none".into(), shown))
        }
        Event::SecretDeleted { name, by } => format!("secret {name} deleted by={by}"),
        Event::ChainDropped { cause, to, reason } => format!(
            "nothing follows {}: {} {}",
            id(*cause),
            to.as_ref().map_or("a notice".into(), ToString::to_string),
            reason.as_str()
        ),
        Event::LetterDiscarded { firing, by } => format!("letter {} discarded by={by}", id(*firing)),
        Event::Outage { from, to } => format!("outage {}..{}", shown(*from), shown(*to)),
        Event::LedgerChecked { end } => format!("ledger checked at {}.{}", end.index, end.n),
        Event::Restating { epoch, .. } => format!("restating, epoch {epoch}"),
        Event::Standing { uid, name, revision, mark, state, fired, .. } => {
            format!("standing {uid} {name} r{revision} {state:?} mark={} fired={fired}", shown(*mark))
        }
        Event::CalendarStanding { name, before, .. } => {
            format!("calendar {name} standing, versions before {}", before.len())
        }
        Event::Restated { from } => format!("restated since {from}"),
        Event::MembersChanged { voters, learners } => format!("members {voters:?} learners {learners:?}"),
        Event::LedgerDropped { before } => format!("ledger dropped before {before}"),
        Event::FormatLevelSet { from, level } => format!("format level {from} -> {level}"),
    }
}

pub fn reply(reply: &Reply) -> String {
    match reply {
        Reply::InOffice(epoch) => format!("in office, epoch {epoch}"),
        Reply::Ticked(ticked) => {
            format!("ticked fired={} skipped={} stale={}", ticked.fired, ticked.skipped, ticked.stale)
        }
        Reply::Worked(worked) => worked_text(worked),
        Reply::Leased(leased) => leased_text(leased),
        Reply::Schedule(written) => {
            format!(
                "{:?} uid={} r{} tag={}",
                written.change, written.uid, written.revision, written.updated_index
            )
        }
        Reply::Deleted(there) => if *there { "deleted" } else { "was not there" }.into(),
        Reply::Fired(firing) => format!("fired {}", id(*firing)),
        Reply::Overlapped => "skipped: another firing runs".into(),
        Reply::Admitted(node) => format!("admitted {node}"),
        Reply::Applied(written) => {
            let part = |written: &Written| format!("{:?} uid={}", written.change, written.uid);
            format!("applied {}", written.iter().map(part).collect::<Vec<_>>().join(", "))
        }
        Reply::Cancelled => "cancelled".into(),
        Reply::Backfill(id) => format!("backfill {id}"),
        Reply::Stepped(current) => if *current { "stepped" } else { "stale step" }.into(),
        Reply::Calendar(change, index) => format!("calendar {change:?} tag={index}"),
        Reply::Refreshed(current) => if *current { "refreshed" } else { "stale refresh" }.into(),
        Reply::Queue(change, index) => format!("queue {change:?} tag={index}"),
        Reply::Secret(change, index) => format!("secret {change:?} tag={index}"),
        Reply::Discarded(count) => format!("discarded {count}"),
        Reply::Rejected(rejection) => format!("rejected {rejection:?}"),
    }
}

fn worked_text(worked: &Worked) -> String {
    let settled = |now: &SettledNow| match now {
        SettledNow::Retry(at) => format!("again at {}", shown(*at)),
        SettledNow::End(state) => format!("{state:?}"),
    };
    let extended =
        |it: &Extended| format!("until {}{}", shown(it.until), if it.stop { ", asked to stop" } else { "" });
    let mut parts = Vec::new();
    if !worked.settled.is_empty() {
        parts.push(format!("settled {}", all(&worked.settled, settled)));
    }
    if !worked.extended.is_empty() {
        parts.push(format!("extended {}", all(&worked.extended, extended)));
    }
    for taken in &worked.taken {
        parts.push(match taken {
            Ok(leased) => leased_text(leased),
            Err(rejection) => format!("rejected {rejection:?}"),
        });
    }
    for begun in &worked.begun {
        parts.push(format!("begun {}", all(begun, |lease| format!("attempt {}", lease.attempt))));
    }
    parts.join("; ")
}

fn leased_text(leased: &[Leased]) -> String {
    let one = |it: &Leased| format!("{} attempt {}", id(it.firing), it.lease.attempt);
    if leased.is_empty() {
        "leased nothing".into()
    } else {
        format!("leased {}", leased.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

fn all<T>(results: &[Result<T, Refused>], show: impl Fn(&T) -> String) -> String {
    let one = |result: &Result<T, Refused>| match result {
        Ok(value) => show(value),
        Err(Refused::NotYet(at)) => format!("refused: not before {}", shown(*at)),
        Err(refused) => format!("refused: {refused:?}"),
    };
    results.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn outcome_text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Retry { at } => format!("again at {}", shown(at)),
        Outcome::End { state, .. } => format!("{state:?}"),
    }
}

fn lease_text(lease: &Lease) -> String {
    format!(
        "attempt={} holder={} until={} token={}",
        lease.attempt,
        lease.holder,
        shown(lease.until),
        lease.fencing_token
    )
}

pub fn id(firing: FiringId) -> String {
    let run = if firing.run.0 > 0 { format!("#{}", firing.run) } else { String::new() };
    format!("{}@{}{run}", firing.uid, shown(firing.nominal))
}

fn kind_text(kind: Kind) -> String {
    let of = kind.cause().map(|cause| format!(" of {}", id(cause))).unwrap_or_default();
    format!("{}{of}", kind.as_str())
}

pub fn work(machine: &Machine, now: Timestamp) -> Vec<String> {
    let mut said: Vec<String> =
        query::work_now(machine, now).into_iter().map(|firing| id(firing.id)).collect();
    if said.is_empty() {
        said.push(
            query::next_work(machine).map_or("no work".into(), |at| format!("no work before {}", shown(at))),
        );
    }
    said
}

pub fn schedule(machine: &Machine, name: &ScheduleName) -> Vec<String> {
    let Some(schedule) = machine.named(name) else { return vec![format!("{name} does not exist")] };
    vec![format!(
        "{name} uid={} r{} {:?} mark={} next={} fired={} live={} failures={}",
        schedule.uid,
        schedule.revision,
        schedule.state,
        shown(schedule.mark),
        schedule.next_at.map_or("none".into(), shown),
        schedule.fired,
        schedule.live,
        schedule.consecutive_failures,
    )]
}

pub fn live(machine: &Machine) -> Vec<String> {
    let phase = |phase: &Phase| match phase {
        Phase::Queued => "queued".into(),
        Phase::Waiting { until } => format!("waiting until {}", shown(*until)),
        Phase::Running(lease) => format!("running {}", lease_text(lease)),
        Phase::Held => "held".into(),
    };
    let mut said: Vec<String> =
        machine.live().map(|firing| format!("{} {}", id(firing.id), phase(&firing.phase))).collect();
    if said.is_empty() {
        said.push("nothing is live".into());
    }
    said
}

pub fn next_due(machine: &Machine) -> Vec<String> {
    vec![query::next_due(machine).map_or("nothing is due".into(), |at| format!("due {}", shown(at)))]
}
