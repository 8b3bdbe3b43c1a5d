//! How long a session has shown a behaviour without interruption, and how certain that was at any look of it.
//!
//! One look is a sample: a child process that happens to be there, a moment of computing. So a grade that was reached stays
//! until the work really moves. The ring carries this from look to look, since an episode may last longer than the ring.

use super::{detection::Detection, snapshot::AgentSnapshot, snapshot::Episode};
use crate::policy::prelude::*;

/// The episodes that continue in this snapshot; `found` is what this snapshot alone shows, `window` the number of
/// snapshots in a window.
pub(super) fn at_look(
    before: Option<&AgentSnapshot>,
    now: &AgentSnapshot,
    found: &[Detection],
    window: usize,
) -> Vec<Episode> {
    let shown = |behaviour: Behaviour| found.iter().find(|one| one.behaviour == behaviour);
    let known = |behaviour: Behaviour| {
        before.and_then(|before| before.episodes.iter().find(|one| one.behaviour == behaviour))
    };
    let at = |behaviour: Behaviour| {
        let earlier = known(behaviour);
        let stands = earlier.zip(before).is_some_and(|(_, before)| !progressed(behaviour, before, now));
        let detection = shown(behaviour);
        let unseen = match detection {
            Some(_) => 0,
            None => earlier.map_or(0, |earlier| earlier.unseen).saturating_add(1),
        };
        // A behaviour that was never critical ends when a whole window does not show it: reading in bursts is no
        // episode.
        let lasts = earlier.is_some_and(|earlier| earlier.critical) || unseen < window;
        let goes_on = stands && lasts && before.is_some_and(|before| !now.progress_since(before));
        if detection.is_none() && !goes_on {
            return None;
        }
        Some(Episode {
            behaviour,
            // A clock that was set back must not make a new question older than its reason.
            since: earlier.map_or(now.time, |earlier| earlier.since.min(now.time)),
            critical: stands && earlier.is_some_and(|earlier| earlier.critical)
                || detection.is_some_and(|one| one.severity == Gravity::Critical),
            unseen,
        })
    };
    // Used resources do not come back, so the grade of exhaustion cannot fall.
    Behaviour::ALL.into_iter().filter(|behaviour| !behaviour.is_exhaustion()).filter_map(at).collect()
}

/// Whether the work progressed between two snapshots, for the grade of this behaviour.
fn progressed(behaviour: Behaviour, before: &AgentSnapshot, now: &AgentSnapshot) -> bool {
    match behaviour {
        Behaviour::InfiniteLoop => now.progress_since(before) || now.other_call_since(before),
        // Trees come and go here; a new tree ends the count of the detector.
        Behaviour::Oscillation => now.stepped_since(before),
        _ => now.progress_since(before),
    }
}

/// The detections of this snapshot, with the grade that their episodes have reached.
pub(super) fn keep_grades(found: &mut [Detection], latest: &AgentSnapshot) {
    for detection in found {
        let Some(episode) = latest.episodes.iter().find(|one| one.behaviour == detection.behaviour) else {
            continue;
        };
        detection.episode_began = episode.since;
        // One weaker snapshot does not lower the grade of the episode.
        if episode.critical && detection.suggested != Action::Halt {
            (detection.severity, detection.suggested) = (Gravity::Critical, Action::Halt);
            let since = episode.since;
            let why = format!(
                "an earlier snapshot since {since} was critical, and the work has not progressed since"
            );
            detection.evidence.push(why);
        }
    }
}
