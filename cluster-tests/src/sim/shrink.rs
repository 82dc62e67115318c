//! Cutting a plan down while it still shows the same: a finding with three faults says more than one with sixty.
//!
//! First a shorter world, since every run after it is quicker; then parts of the plan are left out, halves before quarters
//! before single faults; then a shorter world again.

use super::plan::Plan;
use super::world::{Order, Verdict};

/// A finding, cut down.
#[derive(Debug)]
pub struct Cut {
    /// What still shows it. Loud, so that its verdict has the last events.
    pub order: Order,
    /// What its world came to.
    pub verdict: Verdict,
    /// How many worlds were played for it.
    pub runs: usize,
}

/// Cuts down the plan of an order whose world shows a finding of that name, in at most so many runs and one more.
pub fn shrink(order: &Order, name: &str, most: usize, play: impl Fn(&Order) -> Verdict) -> Cut {
    let mut search = Search { order: order.clone(), name, left: most, play };
    let whole = Some(order.faults());
    search.order = Order { plan: whole, loud: false, ..order.clone() };
    search.shorten();
    search.leave_out();
    search.shorten();
    let last = Order { loud: true, ..search.order };
    let verdict = (search.play)(&last);
    Cut { order: last, verdict, runs: most - search.left + 1 }
}

struct Search<'a, F> {
    /// The smallest that shows it.
    order: Order,
    name: &'a str,
    /// How many runs are left.
    left: usize,
    play: F,
}

impl<F: Fn(&Order) -> Verdict> Search<'_, F> {
    fn shorten(&mut self) {
        while self.order.minutes > 1 {
            let minutes = self.order.minutes / 2;
            let plan = self.plan().within(minutes);
            if !self.shows(Order { minutes, plan: Some(plan), ..self.order.clone() }) {
                return;
            }
        }
    }

    fn leave_out(&mut self) {
        if self.plan().lasting.is_some() {
            let plan = Plan { lasting: None, ..self.plan() };
            self.shows(Order { plan: Some(plan), ..self.order.clone() });
        }
        let mut size = self.plan().faults.len().div_ceil(2);
        while size > 0 && self.left > 0 {
            let was = self.plan().faults.len();
            self.leave_out_parts(size);
            // Once more while that helps: what was needed for something that is gone now may go too.
            if size > 1 || self.plan().faults.len() == was {
                size /= 2;
            }
        }
    }

    /// Tries the plan without each part of that size, from the end, which most likely came too late to matter.
    fn leave_out_parts(&mut self, size: usize) {
        let mut end = self.plan().faults.len();
        while end > 0 && self.left > 0 {
            let start = end.saturating_sub(size);
            let mut plan = self.plan();
            plan.faults.drain(start..end.min(plan.faults.len()));
            self.shows(Order { plan: Some(plan), ..self.order.clone() });
            end = start;
        }
    }

    /// Whether this order shows the finding; then it is the smallest.
    fn shows(&mut self, order: Order) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let shows = (self.play)(&order).found.told.iter().any(|(name, _)| *name == self.name);
        if shows {
            self.order = order;
        }
        shows
    }

    fn plan(&self) -> Plan {
        self.order.faults()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault::Kind;
    use super::*;

    /// A world that is found when its plan has a kill before a transfer, without being played.
    fn judged(order: &Order) -> Verdict {
        let mut verdict = Verdict { plan: order.faults(), ..Verdict::default() };
        let at = |kind| verdict.plan.faults.iter().find(|fault| fault.kind == kind).map(|fault| fault.at);
        let (kill, transfer) = (at(Kind::Kill), at(Kind::Transfer));
        if kill.is_some() && transfer.is_some_and(|at| Some(at) > kill) {
            verdict.found.add("planted", String::new);
        }
        verdict
    }

    #[test]
    fn what_is_left_of_a_plan_are_the_two_faults_that_show_the_finding() {
        let order =
            Order { seed: 3, minutes: 10, loud: false, kinds: Kind::ALL.to_vec(), plan: None, mutant: None };
        assert!(judged(&order).found.told.iter().any(|(name, _)| *name == "planted"), "choose another seed");
        assert!(order.faults().faults.len() > 20);
        let cut = shrink(&order, "planted", 200, judged);
        let kinds: Vec<Kind> = cut.order.faults().faults.iter().map(|fault| fault.kind).collect();
        assert_eq!(kinds, [Kind::Kill, Kind::Transfer]);
        assert_eq!(cut.order.faults().lasting, None);
        assert!(cut.runs <= 201 && !cut.verdict.found.is_clean());
    }

    #[test]
    fn a_bound_on_runs_is_kept_and_what_is_left_still_shows_it() {
        let order =
            Order { seed: 3, minutes: 10, loud: false, kinds: Kind::ALL.to_vec(), plan: None, mutant: None };
        let cut = shrink(&order, "planted", 4, judged);
        assert_eq!(cut.runs, 5);
        assert!(!cut.verdict.found.is_clean());
    }
}
