//! More and more files that nobody announced.
//!
//! One such file is a slip that `task submit` names anyway. What counts is that it spreads: more of them at three looks in
//! a row, or, while there come more, more of them than of those that belong to the task. Never more than a warning: a
//! submit with such files is refused, so nothing can be lost by letting it go on.

use crate::board::oversight::Behaviour;
use crate::policy::overseer::detection::Detection;

use super::looks::{Looks, grown, span};

/// Three growths need four looks.
const WINDOW: usize = 4;
/// Fewer are not worth a word even if nothing else was changed yet.
const SOME: u64 = 3;

pub fn detect(looks: &Looks<'_>) -> Option<Detection> {
    let window = looks.last(WINDOW)?;
    let latest = looks.latest();
    let astray = latest.files_unannounced;
    let announced = latest.files_modified.saturating_sub(astray);
    let more = grown(window, |look| look.files_unannounced);
    let at_every_look = window.windows(2).all(|pair| pair[1].files_unannounced > pair[0].files_unannounced);
    let outweigh = more > 0 && astray >= SOME && astray > announced;
    if !at_every_look && !outweigh {
        return None;
    }
    Some(Detection::warning(
        Behaviour::ScopeCreep,
        latest,
        if at_every_look && outweigh { 0.8 } else { 0.6 },
        vec![
            format!("{more} more files in {} that were neither announced nor are in scope", span(window)),
            format!("{astray} of them in all, beside {announced} that belong to the task"),
        ],
    ))
}
