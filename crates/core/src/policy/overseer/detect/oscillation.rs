//! Back and forth between things that were tried before.
//!
//! A tree that was never there before is something new that is tried, and an agent may try as often as it likes. So only
//! those returns count that came after the last new tree and the last step on the board: X, Y, X, Y is two of them. One
//! return is an undone mistake or a look at how it was before (`git stash`); two are a pattern; with three it is hard to
//! believe in another reason.
//!
//! A state is only what stood: at two looks at the files, and while the agent went from one call to another. What comes
//! and goes within one call is the work of a program, such as a test that writes a file and removes it again.

use super::{measure::Measure, session_snapshots::*};
use crate::policy::{overseer::*, prelude::*};

const PATTERN: u64 = 2;
const CERTAIN: u64 = 3;
/// A tree that does not change for this many snapshots counts as a state.
const STANDS: usize = 2;

pub fn measure(looks: &SessionSnapshots<'_>, _: &OverseerConfig) -> Measure {
    let what = "returns to a former tree since the last new one";
    Measure::new(Behaviour::Oscillation, what, returns(looks.all()).count, PATTERN)
}

pub fn detect(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Option<Detection> {
    let latest = looks.latest();
    let Returns { count, different, since } = returns(looks.all());
    let seconds = latest.elapsed_seconds.saturating_sub(since);
    let evidence = vec![
        format!(
            "the tree returned {count} times to a former state in {seconds} s; there were {different} different states"
        ),
        "no new tree and no step on the board in that time".to_owned(),
    ];
    // Without reported tool calls, or while processes compute, the cause may be a test that writes files and removes
    // them.
    if latest.tool_calls == 0 || busy(looks.all(), config) {
        let warning = Detection::warning(Behaviour::Oscillation, latest, 0.7, evidence);
        return Some(Detection { suggested: Action::Escalate, ..warning });
    }
    if count >= CERTAIN {
        return Some(Detection::critical(Behaviour::Oscillation, latest, 0.85, evidence));
    }
    Some(Detection::warning(Behaviour::Oscillation, latest, 0.7, evidence))
}

#[derive(Default)]
struct Returns {
    count: u64,
    different: usize,
    since: u64,
}

/// Consecutive snapshots of one tree.
struct Stay<'h> {
    tree: &'h str,
    looks: usize,
    /// The number of calls in the first and the last of them.
    calls: (u64, u64),
}

impl Stay<'_> {
    fn stands(&self) -> bool {
        self.looks >= STANDS && (self.calls.1 > self.calls.0 || self.calls.1 == 0)
    }
}

fn returns(looks: &[&AgentSnapshot]) -> Returns {
    let mut found = Returns::default();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut before: Option<&AgentSnapshot> = None;
    let mut stay: Option<Stay<'_>> = None;
    // The last state, and all states.
    let mut stood: Option<&str> = None;
    let mut stood_before: BTreeSet<&str> = BTreeSet::new();
    for look in looks {
        let fresh = before.is_none_or(|before| is_fresh(before, look));
        let stepped = before.is_some_and(|before| before.board_mark != look.board_mark);
        before = Some(look);
        if stepped {
            seen.clear();
            stood_before.clear();
            (stay, stood) = (None, None);
            (found.count, found.since) = (0, look.elapsed_seconds);
        }
        let Some(tree) = look.tree.as_deref().filter(|_| fresh) else { continue };
        if seen.insert(tree) {
            (found.count, found.since) = (0, look.elapsed_seconds);
        }
        let now = match stay.take() {
            Some(now) if now.tree == tree => {
                Stay { looks: now.looks + 1, calls: (now.calls.0, look.tool_calls), ..now }
            }
            _ => Stay { tree, looks: 1, calls: (look.tool_calls, look.tool_calls) },
        };
        if now.stands() && stood != Some(tree) {
            found.count += u64::from(!stood_before.insert(tree));
            stood = Some(tree);
        }
        stay = Some(now);
    }
    found.different = seen.len();
    found
}
