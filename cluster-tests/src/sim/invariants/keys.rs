//! A request acts once, however often its key comes: each time it gets the first answer, across failovers too (API, *Rules*;
//! SEMANTICS §2.1).

use super::answers::{Answer, Answers};
use super::{Findings, Invariant};
use crate::sim::story::{End, Step};

/// What the log answered.
#[derive(Debug, Default)]
pub(super) struct Keys {
    answers: Answers,
}

impl Invariant for Keys {
    fn name(&self) -> &'static str {
        "a key acts once"
    }

    fn step(&mut self, step: &Step<'_>, _: &mut Findings) {
        self.answers.hear(step);
    }

    fn end(&mut self, _: &End<'_>, found: &mut Findings) {
        for (key, answers) in self.answers.each() {
            let mut first: Option<&Answer> = None;
            for answer in answers {
                match first {
                    // Once it is forgotten, the key is another request's.
                    Some(first) if answer.at < first.at + first.keep => {
                        if answer.told || answer.reply != first.reply {
                            found.add(self.name(), || {
                                let (old, new) = (&first.reply, &answer.reply);
                                format!(
                                    "the key {key} was answered {old:?} by entry {} and {new:?} by {}",
                                    first.index, answer.index
                                )
                            });
                        }
                    }
                    _ => first = Some(answer),
                }
            }
        }
    }
}
