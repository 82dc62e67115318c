//! Where rows that change how a schedule stands are indexed by their place in the log: what stood at an earlier entry is
//! one look backwards from there, however much has fired meanwhile.
//!
//! Uids are below 2^53 (`Uid::of`), so each of these spaces is told from schedules, and from the others, by one high bit.

use campanile_core::definition::ScheduleName;
use campanile_core::event::Event;
use campanile_core::id::Uid;
use campanile_core::retry::mix;
use campanile_storage::history::Key;
use campanile_storage::ledger::Position;

/// What changed a schedule, under its uid with this bit set.
const CHANGES: u64 = 1 << 62;
/// Rows that carry the name of a schedule, under a hash of the name with this bit set.
const NAMES: u64 = 1 << 61;
/// Rows that carry a calendar, under a hash of its name with this bit set.
const CALENDARS: u64 = 1 << 60;
/// A hash takes the bits below.
const HASH: u64 = CALENDARS - 1;
/// Every schedule, under this uid and with its own uid for a nominal.
pub(in crate::service) const SCHEDULES: Uid = Uid(1 << 59);

/// How much of a `run` is the kind of a change; the rest is the number of its row, so that keys sort as the log does.
const KIND_BITS: u32 = 4;

/// How a row changed a schedule: it stands in the key, so that what is not looked for is passed without reading its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::service) enum Change {
    /// A definition came into force.
    Defined,
    /// Everything about it was told again.
    Standing,
    /// It was removed.
    Deleted,
    /// It was paused.
    Paused,
    /// It was resumed.
    Resumed,
    /// It cannot be evaluated.
    Parked,
    /// Nothing more can come of it.
    Finished,
    /// A user skipped ahead.
    MarkSet,
    /// Its next instant is another one.
    NextMoved,
}

impl Change {
    const ALL: [Self; 9] = [
        Self::Defined,
        Self::Standing,
        Self::Deleted,
        Self::Paused,
        Self::Resumed,
        Self::Parked,
        Self::Finished,
        Self::MarkSet,
        Self::NextMoved,
    ];

    fn of(event: &Event) -> Option<(Uid, Self)> {
        Some(match event {
            Event::Defined { uid, .. } => (*uid, Self::Defined),
            Event::Standing { uid, .. } => (*uid, Self::Standing),
            Event::Deleted { uid, .. } => (*uid, Self::Deleted),
            Event::Paused { uid, .. } => (*uid, Self::Paused),
            Event::Resumed { uid, .. } => (*uid, Self::Resumed),
            Event::Parked { uid, .. } => (*uid, Self::Parked),
            Event::Finished { uid } => (*uid, Self::Finished),
            Event::MarkSet { uid, .. } => (*uid, Self::MarkSet),
            Event::NextMoved { uid, .. } => (*uid, Self::NextMoved),
            _ => return None,
        })
    }

    /// What the key of a change says of it.
    pub(in crate::service) fn of_key(key: Key) -> Option<Self> {
        Self::ALL.get((key.run & ((1 << KIND_BITS) - 1)) as usize).copied()
    }
}

/// Adds the keys of a row that changes how a schedule, or what it names, stands.
pub(super) fn add(position: Position, event: &Event, keys: &mut Vec<Key>) {
    // The log will not grow to 2^63 entries.
    let place = i64::try_from(position.index).unwrap_or(i64::MAX);
    let key = |uid: Uid, nominal: i64, run: u32| Key { uid: uid.0, nominal, run, position };
    if let Some((uid, change)) = Change::of(event) {
        keys.push(key(changes_of(uid), place, position.n << KIND_BITS | change as u32));
    }
    match event {
        Event::Defined { uid, name, .. } | Event::Standing { uid, name, .. } => {
            keys.push(key(named(name), place, position.n));
            keys.push(key(SCHEDULES, uid.0.cast_signed(), 0));
        }
        Event::CalendarPut { name, .. }
        | Event::CalendarDeleted { name, .. }
        | Event::CalendarStanding { name, .. } => keys.push(key(calendar_named(name), place, position.n)),
        _ => {}
    }
}

/// Where the changes of a schedule are: by log index, then in the order of their rows.
pub(in crate::service) fn changes_of(uid: Uid) -> Uid {
    Uid(uid.0 | CHANGES)
}

/// Where the rows are that carry this name, by log index. Another name may have the same hash: compare.
pub(in crate::service) fn named(name: &ScheduleName) -> Uid {
    Uid(NAMES | hash(name.as_str()))
}

/// Where the rows are that carry this calendar, by log index. Another name may have the same hash: compare.
pub(in crate::service) fn calendar_named(name: &str) -> Uid {
    Uid(CALENDARS | hash(name))
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte))) & HASH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changes_of_one_entry_sort_as_their_rows_and_say_what_they_are() {
        let uid = Uid(7);
        let rows = [Event::Finished { uid }, Event::Deleted { uid, by: "a".into() }];
        let mut keys = Vec::new();
        for (n, event) in rows.iter().enumerate() {
            add(Position::new(9, n as u32), event, &mut keys);
        }
        assert!(keys.is_sorted());
        let changes: Vec<_> = keys.iter().map(|key| Change::of_key(*key)).collect();
        assert_eq!(changes, [Some(Change::Finished), Some(Change::Deleted)]);
    }

    #[test]
    fn no_space_meets_another_one() {
        let name = ScheduleName::parse("a/b").expect("a name");
        let spaces = [changes_of(Uid(1 << 52)), named(&name), calendar_named("a"), SCHEDULES];
        let bits: Vec<u32> = spaces.iter().map(|uid| uid.0.leading_zeros()).collect();
        assert!(bits.is_sorted() && spaces.iter().all(|uid| uid.0 >= 1 << 53), "{spaces:?}");
    }
}
