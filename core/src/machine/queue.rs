//! Queues, secrets and dead letters, as users change them.

use std::sync::Arc;

use super::Turn;
use crate::command::{
    DeleteQueue, DeleteSecret, DiscardLetters, PauseQueue, PutQueue, PutSecret, ResumeQueue,
};
use crate::event::Event;
use crate::queue::{Bucket, MAX_QUEUES, Queue, QueuePause, QueueSettings};
use crate::reply::{Change, Rejection, Reply};
use crate::secret::{MAX_KEEP_PREVIOUS, MAX_SECRET, MAX_SECRETS, Secret};

pub(super) fn put(turn: &mut Turn<'_>, command: &PutQueue) -> Result<Reply, Rejection> {
    command.settings.check().map_err(|(_, why, _)| Rejection::Invalid(why.into()))?;
    let current = turn.state.queue(&command.name).cloned();
    command.condition.judge(current.as_ref().map(|known| known.updated_index))?;
    let change = match &current {
        Some(known) if known.settings == command.settings => {
            return Ok(Reply::Queue(Change::Unchanged, known.updated_index));
        }
        Some(_) => Change::Changed,
        None => Change::Created,
    };
    change_queue(turn, &command.name, &command.request.by, |queue, now| {
        // A new rate begins with a full period, an old one goes on with what it has left.
        if queue.settings.rate != command.settings.rate {
            queue.bucket = command.settings.rate.map(|rate| Bucket::full(rate, now));
        }
        queue.settings = command.settings.clone();
    })?;
    turn.tell(Event::QueuePut {
        name: command.name.clone(),
        settings: command.settings.clone(),
        by: command.request.by.clone(),
    });
    Ok(Reply::Queue(change, turn.moment.index))
}

/// Idempotent; a queue that is paused is leased of again.
pub(super) fn delete(turn: &mut Turn<'_>, command: &DeleteQueue) -> Result<Reply, Rejection> {
    let current = turn.state.queue(&command.name).map(|known| known.updated_index);
    command.condition.judge(current)?;
    if current.is_none() {
        return Ok(Reply::Deleted(false));
    }
    turn.state.remove_queue(&command.name);
    turn.tell(Event::QueueDeleted { name: command.name.clone(), by: command.request.by.clone() });
    Ok(Reply::Deleted(true))
}

pub(super) fn pause(turn: &mut Turn<'_>, command: &PauseQueue) -> Result<Reply, Rejection> {
    let known = turn.state.queue(&command.name);
    if let Some(queue) = known
        && queue.paused.as_ref().is_some_and(|paused| paused.note == command.note)
    {
        return Ok(Reply::Queue(Change::Unchanged, queue.updated_index));
    }
    let by = &command.request.by;
    change_queue(turn, &command.name, by, |queue, now| {
        queue.paused = Some(QueuePause { note: command.note.clone(), at: now, by: by.clone() });
    })?;
    turn.tell(Event::QueuePaused { name: command.name.clone(), note: command.note.clone(), by: by.clone() });
    Ok(Reply::Queue(Change::Changed, turn.moment.index))
}

pub(super) fn resume(turn: &mut Turn<'_>, command: &ResumeQueue) -> Result<Reply, Rejection> {
    let known = turn.state.queue(&command.name);
    if known.is_none_or(|queue| queue.paused.is_none()) {
        let index = known.map(|queue| queue.updated_index).unwrap_or_default();
        return Ok(Reply::Queue(Change::Unchanged, index));
    }
    change_queue(turn, &command.name, &command.request.by, |queue, _| queue.paused = None)?;
    turn.tell(Event::QueueResumed { name: command.name.clone(), by: command.request.by.clone() });
    Ok(Reply::Queue(Change::Changed, turn.moment.index))
}

/// Changes a queue, or makes it with the default settings first.
fn change_queue(
    turn: &mut Turn<'_>,
    name: &Arc<str>,
    by: &str,
    change: impl FnOnce(&mut Queue, crate::time::Timestamp),
) -> Result<(), Rejection> {
    let moment = turn.moment;
    let mut queue = match turn.state.queue(name) {
        Some(known) => Queue::clone(known),
        None if turn.state.queues.len() >= MAX_QUEUES => {
            return Err(Rejection::Limit(format!("more than {MAX_QUEUES} queues with settings").into()));
        }
        None => Queue {
            settings: QueueSettings::default(),
            paused: None,
            bucket: None,
            updated_at: moment.at,
            updated_index: moment.index,
            updated_by: by.into(),
        },
    };
    change(&mut queue, moment.at);
    let queue = Queue { updated_at: moment.at, updated_index: moment.index, updated_by: by.into(), ..queue };
    turn.state.insert_queue(name, queue);
    Ok(())
}

pub(super) fn put_secret(turn: &mut Turn<'_>, command: &PutSecret) -> Result<Reply, Rejection> {
    if command.text.expose().is_empty() || command.text.expose().len() > MAX_SECRET {
        return Err(Rejection::Invalid(format!("a secret has 1-{MAX_SECRET} bytes").into()));
    }
    let moment = turn.moment;
    let current = turn.state.secret(&command.name).cloned();
    command.condition.judge(current.as_ref().map(|known| known.updated_index))?;
    let keep_until = moment.at + command.keep_previous.min(MAX_KEEP_PREVIOUS);
    let (change, previous, created_at) = match &current {
        Some(known) if known.current == command.text => {
            return Ok(Reply::Secret(Change::Unchanged, known.updated_index));
        }
        Some(known) => {
            let previous = (known.current.clone(), keep_until);
            (Change::Changed, Some(previous).filter(|(_, until)| *until > moment.at), known.created_at)
        }
        None if turn.state.secrets.len() >= MAX_SECRETS => {
            return Err(Rejection::Limit(format!("more than {MAX_SECRETS} secrets").into()));
        }
        None => (Change::Created, None, moment.at),
    };
    let by = &command.request.by;
    turn.tell(Event::SecretPut {
        name: command.name.clone(),
        previous_until: previous.as_ref().map(|(_, until)| *until),
        by: by.clone(),
    });
    let secret = Secret {
        current: command.text.clone(),
        previous,
        created_at,
        rotated_at: moment.at,
        updated_index: moment.index,
        updated_by: by.clone(),
    };
    turn.state.secrets.insert(command.name.clone(), Arc::new(secret));
    Ok(Reply::Secret(change, moment.index))
}

/// Idempotent; refused while a schedule names it.
pub(super) fn delete_secret(turn: &mut Turn<'_>, command: &DeleteSecret) -> Result<Reply, Rejection> {
    let current = turn.state.secret(&command.name).map(|known| known.updated_index);
    command.condition.judge(current)?;
    match turn.state.secret_users(&command.name) {
        0 => {}
        users => return Err(Rejection::InUse(users)),
    }
    if turn.state.secrets.remove(&command.name).is_none() {
        return Ok(Reply::Deleted(false));
    }
    turn.tell(Event::SecretDeleted { name: command.name.clone(), by: command.request.by.clone() });
    Ok(Reply::Deleted(true))
}

pub(super) fn discard(turn: &mut Turn<'_>, command: &DiscardLetters) -> Reply {
    let mut discarded = 0;
    for firing in &command.firings {
        if turn.state.letters.remove(*firing) {
            discarded += 1;
            turn.tell(Event::LetterDiscarded { firing: *firing, by: command.request.by.clone() });
        }
    }
    Reply::Discarded(discarded)
}
