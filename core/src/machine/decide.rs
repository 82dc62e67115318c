//! What becomes of instants: the one place in which firings are made, marks move and schedules finish.

use std::sync::Arc;

use super::overlap::{self, Entry};
use super::{Turn, schedule};
use crate::command::{Decision, Fire, Skip};
use crate::definition::{AfterCompletion, Definition};
use crate::event::{Event, SkipReason};
use crate::firing::{Cause, Firing, FiringId, Kind, Phase};
use crate::id::{AttemptNumber, Revision, Run, Uid};
use crate::reply::Ticked;
use crate::schedule::State;
use crate::time::{Span, Timestamp};

/// Whether a decision was planned for the schedule as it stands now: same incarnation, same revision, same mark, and
/// nothing in it that has not come yet.
pub(super) fn is_current(turn: &Turn<'_>, decision: &Decision) -> bool {
    turn.state.schedule(decision.uid).is_some_and(|schedule| {
        schedule.revision == decision.revision
            && schedule.mark == decision.after
            && decision.rules_at == turn.state.rules_at()
            && decision.mark >= decision.after
            && decision.mark <= turn.moment.at.max(decision.after)
            && decision.fire.iter().all(|fire| is_within(decision, fire.nominal))
            && decision.skips.iter().all(|skip| skip.from > decision.after && skip.to <= decision.mark)
    })
}

fn is_within(decision: &Decision, nominal: Timestamp) -> bool {
    nominal > decision.after && nominal <= decision.mark
}

/// Carries a current decision out, whatever the state of its schedule: skips first, then firings, in order.
pub(super) fn carry_out(turn: &mut Turn<'_>, decision: &Decision, ticked: &mut Ticked) {
    if let Some(reason) = &decision.park {
        return park(turn, decision.uid, reason);
    }
    for skip in &decision.skips {
        ticked.skipped += skip.count;
        tell_skip(turn, decision, skip);
    }
    for (place, fire) in decision.fire.iter().enumerate() {
        let overtaken_at = match decision.fire.get(place + 1) {
            Some(next) => Some(next.nominal),
            None => decision.next_at,
        };
        fire_nominal(turn, decision.uid, fire, overtaken_at, &decision.skips, ticked);
    }
    move_mark(turn, decision.uid, decision.mark, decision.next_at);
}

fn tell_skip(turn: &mut Turn<'_>, decision: &Decision, skip: &Skip) {
    turn.tell(Event::Skipped {
        uid: decision.uid,
        revision: decision.revision,
        reason: skip.reason,
        from: skip.from,
        to: skip.to,
        count: skip.count,
    });
}

/// Fires one nominal instant, unless the schedule's own policy, judged here at the log position, says otherwise. `skips`
/// are those of the same decision.
pub(super) fn fire_nominal(
    turn: &mut Turn<'_>,
    uid: Uid,
    fire: &Fire,
    overtaken_at: Option<Timestamp>,
    skips: &[Skip],
    ticked: &mut Ticked,
) {
    let Some(schedule) = turn.state.schedule(uid) else { return };
    let id = FiringId { uid, nominal: fire.nominal, run: Run(0) };
    if turn.state.firing(id).is_some() {
        // A trigger of this very millisecond fired it, and a change of calendar or zones has made it nominal since.
        return;
    }
    if schedule.definition.max_firings.is_some_and(|most| schedule.fired >= most) {
        return;
    }
    let (revision, overlap) = (schedule.revision, schedule.definition.policy.overlap);
    let entry = overlap::enter(turn, uid, overlap);
    if entry == Entry::Skip {
        ticked.skipped += 1;
        return tell_overlap(turn, uid, revision, fire.nominal, skips);
    }
    ticked.fired += 1;
    let overtaken_at = if fire.kind == Kind::Scheduled { overtaken_at } else { None };
    let new = New { id, kind: fire.kind, payload: None, cause: None, overtaken_at, delay: fire.delay };
    start(turn, new, entry);
    turn.state.touch(uid, |schedule| schedule.fired += 1);
}

/// A run of instants that meet a running firing is one row, unless others between them were skipped for another reason.
fn tell_overlap(turn: &mut Turn<'_>, uid: Uid, revision: Revision, nominal: Timestamp, skips: &[Skip]) {
    if let Some(Event::Skipped { uid: of, reason: SkipReason::Overlap, to, count, .. }) =
        turn.events.last_mut()
        && *of == uid
        && !skips.iter().any(|skip| skip.from > *to && skip.to < nominal)
    {
        *to = nominal;
        *count += 1;
        return;
    }
    turn.tell(Event::Skipped {
        uid,
        revision,
        reason: SkipReason::Overlap,
        from: nominal,
        to: nominal,
        count: 1,
    });
}

/// A firing that is about to be made.
pub(super) struct New {
    pub(super) id: FiringId,
    pub(super) kind: Kind,
    pub(super) payload: Option<Box<str>>,
    pub(super) cause: Option<Arc<Cause>>,
    pub(super) overtaken_at: Option<Timestamp>,
    pub(super) delay: Span,
}

/// Makes a firing live, under the definition in force.
pub(super) fn start(turn: &mut Turn<'_>, new: New, entry: Entry) {
    let Some(schedule) = turn.state.schedule(new.id.uid) else { return };
    let (revision, definition) = (schedule.revision, schedule.definition.clone());
    start_as(turn, new, entry, revision, definition);
}

/// Makes a firing live, under that definition.
pub(super) fn start_as(
    turn: &mut Turn<'_>,
    new: New,
    entry: Entry,
    revision: Revision,
    definition: Arc<Definition>,
) {
    let New { id, kind, payload, cause, overtaken_at, delay } = new;
    let now = turn.moment.at;
    assert!(id.nominal <= now, "nothing fires before its nominal");
    let phase = match entry {
        Entry::Hold | Entry::Skip => Phase::Held,
        Entry::Start if id.nominal + delay > now => Phase::Waiting { until: id.nominal + delay },
        Entry::Start => Phase::Queued,
    };
    turn.state.touch(id.uid, |schedule| {
        schedule.live += 1;
        schedule.held += u32::from(phase == Phase::Held);
        schedule.notices += u32::from(matches!(kind, Kind::Notice(_)));
    });
    turn.state.insert_firing(Firing {
        id,
        kind,
        revision,
        definition,
        decided: turn.moment,
        payload,
        cause,
        overtaken_at,
        attempt: AttemptNumber(0),
        last_end: None,
        stop_asked: None,
        phase,
    });
    turn.tell(Event::Fired { firing: id, revision, kind });
}

/// Everything up to `mark` is decided; when nothing more can come, the schedule is finished.
pub(super) fn move_mark(turn: &mut Turn<'_>, uid: Uid, mark: Timestamp, next_at: Option<Timestamp>) {
    let finished = turn.state.change(uid, |schedule| {
        assert!(mark >= schedule.mark, "a mark never retreats");
        schedule.mark = mark;
        schedule.next_at = next_at;
        let used_up = schedule.definition.max_firings.is_some_and(|most| schedule.fired >= most);
        let finished = schedule.is_active() && (next_at.is_none() || used_up);
        if finished {
            schedule.state = State::Finished;
            schedule.next_at = None;
        }
        finished
    });
    if finished == Some(true) {
        turn.tell(Event::Finished { uid });
    }
}

/// Removes a schedule of which nothing more can come, if that is what its definition asks for. A backfill that runs may
/// still make firings of it.
pub(super) fn complete(turn: &mut Turn<'_>, uid: Uid) {
    let is_over = turn.state.schedule(uid).is_some_and(|schedule| {
        schedule.state == State::Finished
            && schedule.live == 0
            && schedule.chained == 0
            && schedule.definition.policy.after_completion == AfterCompletion::Delete
    });
    let is_over = is_over && !turn.state.backfills().any(|it| it.uid == uid && it.is_running());
    if is_over {
        schedule::remove(turn, uid, "campanile");
    }
}

fn park(turn: &mut Turn<'_>, uid: Uid, reason: &str) {
    turn.state.change(uid, |schedule| {
        schedule.state = State::Parked { reason: reason.into() };
        schedule.next_at = None;
        schedule.updated_at = turn.moment.at;
        schedule.updated_index = turn.moment.index;
    });
    turn.tell(Event::Parked { uid, reason: reason.into() });
}
