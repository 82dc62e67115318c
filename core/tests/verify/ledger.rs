//! A world's ledger with the keys of its rows, and what the verifier says of it.

use std::collections::BTreeMap;

use campanile_core::event::Row;
use campanile_core::id::{LogIndex, Run, Uid};
use campanile_core::machine::Machine;
use campanile_core::plan::Past;
use campanile_core::time::{Span, Timestamp};
use campanile_core::verify::{Place, Scope, Verdict, Verifier};

use crate::world::World;

/// Rows with the entry of each.
pub type Ledger = Vec<(LogIndex, Row)>;

/// The ledger of the log of a world.
pub fn ledger_of(world: &World) -> Ledger {
    let mut replica = Machine::default();
    let rows = world.log.iter().flat_map(|(index, command)| {
        let rows = replica.apply(*index, command).1;
        rows.into_iter().map(|row| (*index, row)).collect::<Ledger>()
    });
    rows.collect()
}

/// What is said of a ledger whose end was waited for.
pub fn verify(ledger: &[(LogIndex, Row)]) -> Verdict {
    verify_in(Scope { patience: Span::ZERO, ..Scope::default() }, ledger)
}

pub fn verify_in(scope: Scope, ledger: &[(LogIndex, Row)]) -> Verdict {
    let mut verifier = Verifier::new(scope);
    hear(&mut verifier, ledger);
    verifier.finish()
}

pub fn hear(verifier: &mut Verifier, ledger: &[(LogIndex, Row)]) {
    let mut place = Place::default();
    for (index, row) in ledger {
        place = if *index == place.index {
            Place { n: place.n + 1, ..place }
        } else {
            Place { index: *index, n: 0 }
        };
        verifier.hear(place, row);
    }
}

/// Nothing fired before.
pub struct NoPast;

impl Past for NoPast {
    fn runs(&self, _: Uid, _: Timestamp, _: Timestamp) -> BTreeMap<Timestamp, Run> {
        BTreeMap::new()
    }
}
