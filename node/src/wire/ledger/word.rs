//! The `type` of each fact, by which readers of the stream choose.

use super::Fact;

macro_rules! words {
    ($($fact:ident => $word:literal,)*) => {
        impl Fact {
            /// Every `type` that there is.
            pub const WORDS: &[&str] = &[$($word),*];

            /// Its `type`.
            #[must_use]
            pub fn word(&self) -> &'static str {
                match self {
                    $(Self::$fact { .. } => $word,)*
                }
            }
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($fact)),*];
    };
}

// One list for both, so that a fact without a word does not compile.
words! {
    LeaderEpoch => "leader_epoch",
    Fired => "fired",
    Skipped => "skipped",
    Begun => "begun",
    Settled => "settled",
    Defined => "defined",
    Deleted => "deleted",
    Paused => "paused",
    Resumed => "resumed",
    Parked => "parked",
    Finished => "finished",
    NodeAdmitted => "node_admitted",
    MarkSet => "mark_set",
    StopAsked => "stop_asked",
    Cancelled => "cancelled",
    BackfillCreated => "backfill_created",
    BackfillEnded => "backfill_ended",
    CalendarPut => "calendar_put",
    CalendarDeleted => "calendar_deleted",
    ZonesUsed => "zones_used",
    NextMoved => "next_moved",
    QueuePut => "queue_put",
    QueueDeleted => "queue_deleted",
    QueuePaused => "queue_paused",
    QueueResumed => "queue_resumed",
    SecretPut => "secret_put",
    SecretDeleted => "secret_deleted",
    ChainDropped => "chain_dropped",
    LetterDiscarded => "letter_discarded",
    Outage => "outage",
    LedgerChecked => "ledger_checked",
    Restating => "restating",
    Standing => "standing",
    CalendarStanding => "calendar_standing",
    Restated => "restated",
    MembersChanged => "members_changed",
    LedgerDropped => "ledger_dropped",
    FormatLevelSet => "format_level_set",
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As serde's `snake_case` does it.
    fn snake(name: &str) -> String {
        let mut snake = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
        }
        snake
    }

    #[test]
    fn a_fact_is_chosen_by_the_type_that_it_is_written_with() {
        assert_eq!(NAMES.iter().map(|name| snake(name)).collect::<Vec<_>>(), Fact::WORDS);
        let fact = Fact::LedgerDropped { before: 7 };
        assert_eq!(serde_json::to_value(&fact).expect("a fact is JSON")["type"], fact.word());
    }
}
