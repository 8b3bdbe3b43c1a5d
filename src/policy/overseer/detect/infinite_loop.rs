//! The same thing again and again.

use crate::board::oversight::Behaviour;
use crate::policy::overseer::config::OverseerConfig;
use crate::policy::overseer::detection::Detection;
use crate::policy::overseer::snapshot::AgentSnapshot;
use crate::text::{clipped, shown_line};

use super::looks::{Looks, grown, no_progress, span};

pub fn detect(looks: &Looks<'_>, config: &OverseerConfig) -> Option<Detection> {
    let window = looks.last(config.loop_window())?;
    same_call(window).or_else(|| same_file(window))
}

/// One call with the same arguments at every look, made again in between, no other one made, and nothing came of it. The
/// name of a tool alone is no evidence: whoever works calls the same few tools all day. Nor is a call that is still at
/// work: its number does not grow.
fn same_call(window: &[&AgentSnapshot]) -> Option<Detection> {
    let latest = window.last()?;
    let call = latest.last_call.as_ref()?;
    let calls = grown(window, |look| look.tool_calls);
    let repeated = grown(window, |look| look.repeated_calls);
    let everywhere = window.iter().all(|look| look.last_call.as_ref() == Some(call));
    let often = latest.repeated_calls >= window.len() as u64 && repeated >= 2;
    if !everywhere || !often || repeated != calls || !no_progress(window) {
        return None;
    }
    let tool = latest.last_tool.as_deref().unwrap_or("a tool");
    Some(Detection::critical(
        Behaviour::InfiniteLoop,
        latest,
        0.9,
        vec![
            format!(
                "`{}` was called {} times in a row with the same arguments, {repeated} of them in the last {}",
                clipped(&shown_line(tool), 80),
                latest.repeated_calls,
                span(window)
            ),
            "no other call, no change of the tree and no step on the board in that time".to_owned(),
        ],
    ))
}

/// One file changed at every look, nothing else, and its content came back to what it had been. Without that last part
/// somebody who simply writes one file for a minute would be nudged; content that returns was undone.
fn same_file(window: &[&AgentSnapshot]) -> Option<Detection> {
    let (first, latest) = (window.first()?, window.last()?);
    let file = latest.last_file_modified.as_ref()?;
    let one_file = window.iter().all(|look| {
        look.last_file_modified.as_ref() == Some(file)
            && look.files_modified == first.files_modified
            && look.board_mark == first.board_mark
            && look.tree.is_some()
    });
    let changes = window.windows(2).filter(|pair| pair[0].tree != pair[1].tree).count();
    let returns =
        (1..window.len()).filter(|at| window[..*at].iter().any(|look| look.tree == window[*at].tree)).count();
    // What comes and goes within one call is the work of a program, such as a test that writes a file.
    let by_itself = latest.tool_calls == 0 || grown(window, |look| look.tool_calls) >= changes as u64;
    if !one_file || !by_itself || changes + 1 != window.len() || returns == 0 {
        return None;
    }
    Some(Detection::warning(
        Behaviour::InfiniteLoop,
        latest,
        0.7,
        vec![
            format!("`{}` was changed {changes} times in {}", clipped(&shown_line(file), 120), span(window)),
            format!(
                "{returns} of these changes brought back what had been there before; no step on the board in that time"
            ),
        ],
    ))
}
