//! Back and forth between things that were tried before.
//!
//! A tree that was never there before is something new that is tried, and an agent may try as often as it likes. So only
//! those returns count that came after the last new tree and the last step on the board: X, Y, X, Y is two of them. One
//! return is an undone mistake or a look at how it was before (`git stash`); two are a pattern; with three it is hard to
//! believe in another reason.

use std::collections::BTreeSet;

use crate::board::oversight::Behaviour;
use crate::policy::overseer::detection::Detection;
use crate::policy::overseer::snapshot::AgentSnapshot;

use super::looks::Looks;

const PATTERN: usize = 2;
const CERTAIN: usize = 3;

pub fn detect(looks: &Looks<'_>) -> Option<Detection> {
    let latest = looks.latest();
    let returns = returns(looks.all());
    if returns.count < PATTERN {
        return None;
    }
    let evidence = vec![
        format!(
            "the tree came back {} times to one that had been left, in {} s; {} different ones were there",
            returns.count,
            latest.elapsed_seconds.saturating_sub(returns.since),
            returns.different
        ),
        "no new tree and no step on the board in that time".to_owned(),
    ];
    // Whoever tells no calls may be a test that writes files and takes them away again.
    if returns.count >= CERTAIN && latest.tool_calls > 0 {
        return Some(Detection::critical(Behaviour::Oscillation, latest, 0.85, evidence));
    }
    Some(Detection::warning(Behaviour::Oscillation, latest, 0.7, evidence))
}

#[derive(Default)]
struct Returns {
    count: usize,
    different: usize,
    since: u64,
}

fn returns(looks: &[&AgentSnapshot]) -> Returns {
    let mut found = Returns::default();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut before: Option<(&AgentSnapshot, &str)> = None;
    // Calls that were made when the tree last changed.
    let mut calls_then = 0;
    for look in looks {
        let Some(tree) = look.tree.as_deref() else { continue };
        let Some((last, last_tree)) = before else {
            seen.insert(tree);
            (found.since, calls_then) = (look.elapsed_seconds, look.tool_calls);
            before = Some((look, tree));
            continue;
        };
        if look.board_mark != last.board_mark {
            seen.clear();
            seen.insert(tree);
            (found.count, found.since) = (0, look.elapsed_seconds);
        } else if tree != last_tree {
            if seen.insert(tree) {
                (found.count, found.since) = (0, look.elapsed_seconds);
            } else if look.tool_calls != calls_then || look.tool_calls == 0 {
                // What comes and goes within one call is the work of a program, not of the agent.
                found.count += 1;
            }
            calls_then = look.tool_calls;
        }
        before = Some((look, tree));
    }
    found.different = seen.len();
    found
}
