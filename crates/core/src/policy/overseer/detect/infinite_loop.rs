//! The agent makes the same call or changes the same file again and again.

use super::{measure::Measure, session_snapshots::*};
use crate::policy::{overseer::*, prelude::*};

pub fn detect(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Option<Detection> {
    let window = looks.last(config.loop_window())?;
    if same_file(window).is_some() { file_detection(window) } else { call_detection(window, config) }
}

pub fn measure(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Measure {
    let alarm = config.loop_window();
    let of = |what, now| Measure::new(Behaviour::InfiniteLoop, what, now, alarm as u64);
    let same = "snapshots in a row with the same call, repeated without progress";
    let Some(window) = looks.last(alarm) else {
        let so_far = same_call(looks.all(), alarm).unwrap_or(0);
        return of(same, so_far.min(alarm as u64 - 1));
    };
    if same_file(window).is_some() {
        return of("snapshots in a row with the same file, which returned to former content", alarm as u64);
    }
    // An agent that waits for a build reads its output repeatedly; that is no loop.
    if busy(window, config) {
        return of("snapshots in a row with the same call; none count while its processes work", 0);
    }
    of(same, same_call(window, alarm).unwrap_or(0))
}

/// In how many of these snapshots, up to the last, the same call with the same arguments was repeated, without another
/// call and without progress. The name of a tool alone is no evidence: a working agent calls the same few tools all
/// day. A call that still runs is no evidence either: its count does not grow.
fn same_call(window: &[&AgentSnapshot], alarm: usize) -> Option<u64> {
    let latest = window.last()?;
    let call = latest.last_call.as_ref()?;
    let fits = |looks: &[&AgentSnapshot]| {
        let calls = grown(looks, |look| look.tool_calls);
        let repeated = grown(looks, |look| look.repeated_calls);
        let everywhere = looks.iter().all(|look| look.last_call.as_ref() == Some(call));
        everywhere && repeated == calls && no_progress(looks)
    };
    let looks = (2..=window.len()).take_while(|count| fits(&window[window.len() - count..])).last()?;
    let goes_on = grown(&window[window.len() - looks..], |look| look.repeated_calls) >= 2;
    let often = latest.repeated_calls >= alarm as u64;
    // While the call was repeated less often than that, the number of snapshots alone must not reach the alarm.
    let most = if goes_on && often { looks } else { looks.min(alarm.saturating_sub(1)) };
    Some(most as u64)
}

fn call_detection(window: &[&AgentSnapshot], config: &OverseerConfig) -> Option<Detection> {
    let latest = window.last()?;
    let repeated = grown(window, |look| look.repeated_calls);
    let tool = shown_line(latest.last_tool.as_deref().unwrap_or("a tool"));
    let (tool, times, span) = (clipped(&tool, 80), latest.repeated_calls, span(window));
    let mut evidence = vec![
        format!(
            "`{tool}` was called {times} times in a row with the same arguments, {repeated} of them in the last {span}"
        ),
        "no other call, no change of the tree and no step on the board in that time".to_owned(),
    ];
    // The agent may wait for a process that itself waits, such as a download. But if calls come many times a second, a
    // child process belongs to the call.
    if children_stay(window) && !hammers(window, config) {
        evidence.push(format!("child processes alive and idle: {}", latest.children()));
        let warning = Detection::warning(Behaviour::InfiniteLoop, latest, 0.7, evidence);
        return Some(Detection { suggested: Action::Escalate, ..warning });
    }
    Some(Detection::critical(Behaviour::InfiniteLoop, latest, 0.9, evidence))
}

/// How often one file changed, and how often its content returned to an earlier one, if it changed in every snapshot
/// and no other file did. Without returns, an agent that writes one file for a minute would be nudged.
fn same_file(window: &[&AgentSnapshot]) -> Option<(usize, usize)> {
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
    // Changes within one call are the work of a program, such as a test that writes a file.
    let by_itself = latest.tool_calls == 0 || grown(window, |look| look.tool_calls) >= changes as u64;
    let found = one_file && by_itself && changes + 1 == window.len() && returns > 0 && freshly_seen(window);
    found.then_some((changes, returns))
}

fn file_detection(window: &[&AgentSnapshot]) -> Option<Detection> {
    let (changes, returns) = same_file(window)?;
    let latest = window.last()?;
    let file = shown_line(latest.last_file_modified.as_deref().unwrap_or_default());
    let evidence = vec![
        format!("`{}` was changed {changes} times in {}", clipped(&file, 120), span(window)),
        format!("{returns} of these changes restored former content; no step on the board in that time"),
    ];
    Some(Detection::warning(Behaviour::InfiniteLoop, latest, 0.7, evidence))
}
