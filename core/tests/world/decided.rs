//! What a ledger says was decided.

use std::collections::BTreeMap;
use std::sync::Arc;

use campanile_core::definition::Definition;
use campanile_core::event::{Event, Row};
use campanile_core::firing::Kind;
use campanile_core::id::{Revision, Uid};
use campanile_core::series::{NoCalendars, Series, Texts};
use campanile_core::time::{Span, Timestamp};

/// One decided instant; the incarnation is named by when it was created, since uids differ between worlds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decided {
    name: String,
    created_at: Timestamp,
    nominal: Timestamp,
}

/// Every decided instant of the plan in the ledger, runs of skips spelled out by the definition in force.
pub fn decided(rows: &[Row]) -> Vec<Decided> {
    let mut texts = Texts::default();
    let mut incarnations: BTreeMap<Uid, (String, Timestamp)> = BTreeMap::new();
    let mut definitions: BTreeMap<(Uid, Revision), Arc<Definition>> = BTreeMap::new();
    let mut decided = Vec::new();
    for row in rows {
        match &row.event {
            Event::Defined { uid, name, revision, definition, .. } => {
                incarnations.entry(*uid).or_insert((name.to_string(), row.at));
                definitions.insert((*uid, *revision), definition.clone());
            }
            Event::Fired { firing, kind: Kind::Scheduled | Kind::CatchUp, .. } => {
                let (name, created_at) = incarnations[&firing.uid].clone();
                decided.push(Decided { name, created_at, nominal: firing.nominal });
            }
            Event::Skipped { uid, revision, from, to, count, .. } => {
                let series = Series::of(&definitions[&(*uid, *revision)], &NoCalendars, &mut texts).unwrap();
                let (name, created_at) = incarnations[uid].clone();
                let mut after = *from - Span::from_millis(1);
                for _ in 0..*count {
                    let nominal = series.next(after).expect("the skipped instants exist").at;
                    decided.push(Decided { name: name.clone(), created_at, nominal });
                    after = nominal;
                }
                assert_eq!(after, *to, "a row of skips names its last instant");
            }
            _ => {}
        }
    }
    decided
}
