//! The agent changes more and more files that its task does not name.
//!
//! One such file is a slip that `task submit` names anyway. What counts is that it spreads: more of them at three looks in
//! a row, or, while there come more, more of them than of those that belong to the task. Never more than a warning: a
//! submit with such files is refused, so nothing can be lost by letting it go on.

use super::{measure::Measure, session_snapshots::*};
use crate::policy::{overseer::*, prelude::*};

/// Three increases need four snapshots.
const WINDOW: usize = 4;
/// Fewer files are not reported, even if no other file was changed.
const SOME: u64 = 3;

pub fn measure(looks: &SessionSnapshots<'_>, _: &OverseerConfig) -> Measure {
    let of = |what, now| Measure::new(Behaviour::ScopeCreep, what, now, WINDOW as u64 - 1);
    if looks.last(WINDOW).is_some_and(outweigh) {
        return of("snapshots in a row with more files out of scope, more than in scope", 3);
    }
    let growing = looks.all().windows(2).rev();
    let running = growing.take_while(|pair| pair[1].files_unannounced > pair[0].files_unannounced).count();
    of("snapshots in a row with more files that were neither announced nor are in scope", running as u64)
}

/// Whether more files are out of scope than in it, and their number still grows.
fn outweigh(window: &[&AgentSnapshot]) -> bool {
    let Some(latest) = window.last() else { return false };
    let astray = latest.files_unannounced;
    let announced = latest.files_modified.saturating_sub(astray);
    grown(window, |look| look.files_unannounced) > 0 && astray >= SOME && astray > announced
}

pub fn detect(looks: &SessionSnapshots<'_>, _: &OverseerConfig) -> Option<Detection> {
    let window = looks.last(WINDOW)?;
    let latest = looks.latest();
    let astray = latest.files_unannounced;
    let announced = latest.files_modified.saturating_sub(astray);
    let more = grown(window, |look| look.files_unannounced);
    let at_every_look = window.windows(2).all(|pair| pair[1].files_unannounced > pair[0].files_unannounced);
    let confidence = if at_every_look && outweigh(window) { 0.8 } else { 0.6 };
    let evidence = vec![
        format!("{more} more files in {} that were neither announced nor are in scope", span(window)),
        format!("{astray} of them in all, besides {announced} that belong to the task"),
    ];
    Some(Detection::warning(Behaviour::ScopeCreep, latest, confidence, evidence))
}
