//! What was tried how often, and the journal of a random walk.

use std::collections::BTreeMap;
use std::fmt;

use crate::board::call::{Call, World};
use crate::board::time::Stamp;
use crate::board::{Actor, Board, Code, Transition, apply, violations};

use super::State;

/// How often each verb was accepted, and refused with which code.
#[derive(Debug, Default)]
pub struct Tally {
    accepted: BTreeMap<&'static str, usize>,
    refused: BTreeMap<(&'static str, String), usize>,
}

impl Tally {
    pub fn accept(&mut self, verb: &'static str) {
        *self.accepted.entry(verb).or_default() += 1;
    }

    pub fn refuse(&mut self, verb: &'static str, code: Code) {
        *self.refused.entry((verb, code.as_str().to_owned())).or_default() += 1;
    }

    /// How often it was accepted, and refused.
    pub fn of(&self, verb: &str) -> (usize, usize) {
        let refused =
            self.refused.iter().filter(|((name, _), _)| *name == verb).map(|(_, count)| count).sum();
        (self.accepted.get(verb).copied().unwrap_or_default(), refused)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "accepted: {:?}; refused: {:?}", self.accepted, self.refused)
    }
}

/// One line as the journal of a board has it, with the transition as text.
struct Line {
    by: Actor,
    at: Stamp,
    world: World,
    what: String,
}

/// All changes of a walk, and the whole board that they lead to: nothing of its past is forgotten there.
pub struct Journal {
    first: Board,
    whole: Board,
    lines: Vec<Line>,
}

impl Journal {
    pub fn of(state: &State) -> Self {
        Self { first: state.board().clone(), whole: state.board().clone(), lines: Vec::new() }
    }

    /// Does the same to the whole board. What the walk forgot must make no difference.
    pub fn write(&mut self, state: &State, by: &Actor, what: &Transition) -> Result<(), String> {
        let call = state.bench.call(by.clone());
        apply(&mut self.whole, what, &call, None)
            .map_err(|refusal| format!("{} is refused on the whole board: {refusal}", what.name()))?;
        let (at, world) = (state.bench.now.clone(), state.bench.world.clone());
        let what = serde_json::to_string(what).map_err(|why| why.to_string())?;
        self.lines.push(Line { by: by.clone(), at, world, what });
        Ok(())
    }

    /// Makes the board again, from the first one and the journal alone.
    pub fn replay(&self, state: &State) -> Result<(), String> {
        let mut again = self.first.clone();
        for line in &self.lines {
            let what: Transition =
                serde_json::from_str(&line.what).map_err(|why| format!("{why}: {}", line.what))?;
            let call = Call::new(line.by.clone(), &line.at, &line.world);
            apply(&mut again, &what, &call, None)
                .map_err(|refusal| format!("{} is refused on replay: {refusal}", what.name()))?;
        }
        if again != self.whole {
            return Err("the journal leads to another board".to_owned());
        }
        if let Some(violation) = violations(&again).first() {
            return Err(format!("invariant {violation} on the whole board"));
        }
        let statuses =
            |board: &Board| board.tasks.iter().map(|task| (task.id.clone(), task.status)).collect::<Vec<_>>();
        if statuses(&again) != statuses(state.board()) || again.rest.routes != state.board().rest.routes {
            return Err("the walk and the journal disagree".to_owned());
        }
        Ok(())
    }
}
