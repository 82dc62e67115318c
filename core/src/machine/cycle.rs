//! Schedules that would follow themselves (`on_failure`, `on_success`), refused when they are defined.
//!
//! Whoever closes a circle is the last of it to be put, so it is enough to look from what is put.

use std::collections::BTreeSet;

use super::Turn;
use crate::chain::MAX_CHAIN;
use crate::definition::{Action, Definition, ScheduleName};
use crate::reply::Rejection;

/// A look at what follows what. Several definitions of one entry share it: what leads nowhere is looked at once.
#[derive(Default)]
pub(super) struct Look {
    /// No circle is behind these.
    done: BTreeSet<ScheduleName>,
}

/// A schedule on the way, and what follows it and has not been looked at.
type Step = (ScheduleName, Vec<ScheduleName>);

impl Look {
    /// Looks at what follows a schedule of that definition, whether it has been put or not.
    pub(super) fn check(
        &mut self,
        turn: &Turn<'_>,
        name: &ScheduleName,
        definition: &Definition,
    ) -> Result<(), Rejection> {
        let mut way: Vec<Step> = vec![(name.clone(), after(definition))];
        let mut on_way: BTreeSet<ScheduleName> = [name.clone()].into();
        let known = self.done.len();
        while let Some((_, ahead)) = way.last_mut() {
            let Some(next) = ahead.pop() else {
                if let Some((over, _)) = way.pop() {
                    on_way.remove(&over);
                    self.done.insert(over);
                }
                continue;
            };
            if on_way.contains(&next) {
                return Err(circle(&way, &next));
            }
            if self.done.contains(&next) {
                continue;
            }
            if self.done.len() - known + way.len() > MAX_CHAIN {
                let why = format!("more than {MAX_CHAIN} schedules follow each other");
                return Err(Rejection::Limit(why.into()));
            }
            let behind = turn.state.named(&next).map(|schedule| after(&schedule.definition));
            on_way.insert(next.clone());
            way.push((next, behind.unwrap_or_default()));
        }
        Ok(())
    }
}

fn after(definition: &Definition) -> Vec<ScheduleName> {
    definition.actions().filter_map(Action::schedule).cloned().collect()
}

fn circle(way: &[Step], again: &ScheduleName) -> Rejection {
    let path = way.iter().map(|(name, _)| name).skip_while(|name| *name != again).chain([again]);
    Rejection::Cycle(path.map(ScheduleName::as_str).collect::<Vec<_>>().join(" -> ").into())
}
