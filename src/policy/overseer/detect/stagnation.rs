//! Much is used and nothing comes of it.

use crate::board::Role;
use crate::board::oversight::{Action, Behaviour};
use crate::policy::overseer::config::OverseerConfig;
use crate::policy::overseer::detection::Detection;
use crate::policy::overseer::snapshot::AgentSnapshot;

use super::looks::{Looks, grown, no_progress, span};

const WINDOW: usize = 4;

/// Whoever reads and judges uses tokens for long before there is a finding, and changes no tree at all.
const READERS_MAY_USE: u64 = 5;

/// Where a provider tells no tokens while it works, its output is measured: a token is about so many bytes of it.
const BYTES_PER_TOKEN: u64 = 4;

/// A warning after one window. For whoever writes it is critical after two, with twice the tokens; one that has not
/// changed a file yet may still be reading up, so its halt takes four. Readers are never halted for it: that they found
/// nothing may be what there is to find, and a person is asked instead.
pub fn detect(looks: &Looks<'_>, config: &OverseerConfig) -> Option<Detection> {
    let latest = looks.latest();
    let reader = !writes(&latest.role);
    let factor = if reader { READERS_MAY_USE } else { 1 };
    let threshold = config.stagnation_token_threshold.saturating_mul(factor);
    let stuck_for = |times: usize| {
        let window = looks.last(WINDOW * times).filter(|window| no_progress(window))?;
        let used = used(window);
        let too_much = used.amount > threshold.saturating_mul(times as u64);
        too_much.then_some((used, window))
    };
    let (used, window) = stuck_for(1)?;
    let evidence = |used: &Used, window: &[&AgentSnapshot], times: u64| {
        vec![
            format!(
                "{} in {}, more than {} are too many without progress",
                used.words(),
                span(window),
                threshold.saturating_mul(times)
            ),
            "no change of the tree, no step or finding on the board and no message in that time".to_owned(),
        ]
    };
    let times = if latest.files_modified == 0 && !reader { 4 } else { 2 };
    let Some((used_long, long)) = stuck_for(times) else {
        return Some(Detection::warning(Behaviour::Stagnation, latest, 0.75, evidence(&used, window, 1)));
    };
    let evidence = evidence(&used_long, long, times as u64);
    Some(if reader {
        let warning = Detection::warning(Behaviour::Stagnation, latest, 0.75, evidence);
        Detection { suggested: Action::Escalate, ..warning }
    } else {
        Detection::critical(Behaviour::Stagnation, latest, 0.85, evidence)
    })
}

/// Whether files are what comes of this role's work. Of a role that the project added, it is supposed.
fn writes(role: &Role) -> bool {
    !role.judges() && !matches!(role.as_str(), "planner" | "overseer" | "supervisor" | "operator" | "auditor")
}

struct Used {
    amount: u64,
    /// Of output, if that had to stand for tokens.
    bytes: Option<u64>,
}

impl Used {
    fn words(&self) -> String {
        match self.bytes {
            Some(bytes) => {
                format!("about {} tokens were used ({bytes} bytes of output; none are reported)", self.amount)
            }
            None => format!("{} tokens were used", self.amount),
        }
    }
}

fn used(window: &[&AgentSnapshot]) -> Used {
    if window.iter().any(|look| look.tokens > 0) {
        return Used { amount: grown(window, |look| look.tokens), bytes: None };
    }
    let bytes = grown(window, |look| look.output_bytes);
    Used { amount: bytes / BYTES_PER_TOKEN, bytes: Some(bytes) }
}
