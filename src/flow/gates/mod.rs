//! Runs the gates on a tree: in a private worktree of exactly that commit, never in a person's or agent's checkout.
//!
//! 1. An earlier pass of the same command on the same tree in the same environment is reused (`reuse`).
//! 2. Otherwise a private worktree is moved to the commit (`gate_worktree`), and the gate's command runs there without any
//!    identity (`ask`, and `flow::shell` for the process itself).
//!    An agent's sandbox may not allow that: then the agent's runner runs the gate (`by_runner`).
//! 3. All results are written to a file for people and scripts (`record`).

pub mod accepted;
mod ask;
mod attention;
pub mod by_runner;
pub mod environment;
mod gate_worktree;
pub mod record;
mod reuse;
pub mod shown;
mod tree_snapshot;

use ask::{Asking, Shared};
use attention::Attention;

use crate::flow::prelude::*;

pub use ask::command_line;
pub use environment::record as record_environment;

/// For how many trees that belong to no task results are kept.
const MOST_TREES: usize = 500;

pub struct Question<'a> {
    pub moment: Moment,
    pub commit: &'a CommitId,
    /// The task it runs for; its results are kept under that name.
    pub task: Option<&'a TaskId>,
    /// Only these gates; without it, all gates of this moment.
    pub only: Option<&'a [String]>,
    /// Runs them even if a result is cached.
    pub fresh: bool,
}

impl<'a> Question<'a> {
    pub fn new(moment: Moment, commit: &'a CommitId) -> Self {
        Self { moment, commit, task: None, only: None, fresh: false }
    }
}

/// Runs every gate of the moment in turn, and stops after a required one that did not pass.
pub fn judge(ctx: &Context, question: &Question<'_>) -> Result<GateReport> {
    let config = ctx.project_config()?;
    check_names(&config.gates, question.only.unwrap_or_default())?;
    let tree = ctx.query()?.tree_of(question.commit)?;
    let mut report = GateReport::empty(question.moment, question.commit.clone(), tree);
    let selected: Vec<&Gate> = config
        .gates
        .iter()
        .filter(|gate| question.only.map_or(gate.is_asked(question.moment), |only| only.contains(&gate.name)))
        .collect();
    let elsewhere = config.gates.iter().filter(|gate| gate.is_required() && !selected.contains(gate));
    report.later = elsewhere.map(|gate| gate.name.clone()).collect();
    if selected.is_empty() {
        return Ok(report);
    }
    // A gate that runs gates would never end.
    ctx.refuse_gate_process()?;
    report.required =
        selected.iter().filter(|gate| gate.is_required()).map(|gate| gate.name.clone()).collect();
    let snapshot = match question.task {
        Some(task) => ctx.read(&Needs::task(task))?,
        None => ctx.read(&Needs::Nothing)?,
    };
    match question.moment {
        Moment::Approve | Moment::Merge | Moment::Advance => accepted::check(ctx, &snapshot.board, &config)?,
        // The earlier a gate is recorded, the less time an agent has to change it first.
        Moment::Submit => accepted::note_new(ctx, &snapshot.board, &config)?,
        Moment::Bundle | Moment::ByHand => {}
    }
    // A manual run on any tree decides nothing.
    let binds = question.moment != Moment::ByHand || question.task.is_some();
    let attention = Attention::new(ctx, question.task);
    let mut shared = Shared::new(ctx, question, &report.tree, &snapshot.board, &config.gating.keep);
    for gate in selected {
        attention.check()?;
        let asking = Asking::of(&shared, gate)?;
        let outcome = match reuse::find(ctx, &asking.key, binds).filter(|_| !question.fresh) {
            Some(former) => former,
            None => {
                ctx.narrate(format!("gate {}: {}", gate.name, command_line(&gate.command)));
                match by_runner::ask_runner(ctx, question, gate, &mut shared, &snapshot.board, &attention)? {
                    // The answer is a file that the agent could have written: a pass counts only if it is on record.
                    Some(outcome) if outcome.status == GateStatus::Pass => {
                        reuse::find(ctx, &asking.key, true).unwrap_or_else(|| GateOutcome {
                            reason: Some("the board has no record of its pass".to_owned()),
                            ..GateOutcome::new(&gate.name, GateStatus::CouldNotRun)
                        })
                    }
                    Some(outcome) => outcome,
                    None => {
                        let outcome = ask::ask(&mut shared, &asking, &attention)?;
                        if asking.is_whole() {
                            reuse::keep(ctx, &asking.key, &outcome, binds);
                        }
                        outcome
                    }
                }
            }
        };
        ctx.narrate(outcome_line(&outcome));
        let ends = gate.is_required() && outcome.status != GateStatus::Pass;
        report.results.push(outcome);
        if ends {
            break;
        }
    }
    drop(shared);
    record::write(ctx, question.task, &report, &config.gates)?;
    if question.task.is_none() {
        let gates = ctx.machine.gates();
        prune(&gates, MOST_TREES, |name| name.starts_with("tree-"));
        prune(&gates.join("logs"), MOST_TREES * config.gates.len(), |_| true);
    }
    Ok(report)
}

/// Runs one command that is no gate of the project on a commit, like a gate. Its result is neither reused nor kept.
pub fn ask_one(ctx: &Context, commit: &CommitId, gate: &Gate) -> Result<GateOutcome> {
    ctx.refuse_gate_process()?;
    let config = ctx.project_config()?;
    let tree = ctx.query()?.tree_of(commit)?;
    let snapshot = ctx.read(&Needs::Nothing)?;
    let question = Question { fresh: true, ..Question::new(Moment::ByHand, commit) };
    let attention = Attention::new(ctx, None);
    let mut shared = Shared::new(ctx, &question, &tree, &snapshot.board, &config.gating.keep);
    attention.check()?;
    let asking = Asking::of(&shared, gate)?;
    let outcome = ask::ask(&mut shared, &asking, &attention)?;
    ctx.narrate(outcome_line(&outcome));
    Ok(outcome)
}

/// Refuses names of unknown gates.
pub fn check_names(gates: &[Gate], names: &[String]) -> Result<()> {
    let Some(unknown) = names.iter().find(|name| !gates.iter().any(|gate| &gate.name == *name)) else {
        return Ok(());
    };
    let known: Vec<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
    let hint = match known.is_empty() {
        true => "no gates are configured; `gates:` in liza.yaml names them".to_owned(),
        false => format!("gates: {}", known.join(", ")),
    };
    Err(failure!(ErrorCode::UsageGate, "there is no gate `{unknown}`").hint(hint))
}

/// The result in one line: `gate test: fail (177 of 179) after 8.1 s: 2 tests failed`.
fn outcome_line(outcome: &GateOutcome) -> String {
    let counts = match (outcome.passed, outcome.total) {
        (Some(passed), Some(total)) => format!(" ({passed} of {total})"),
        _ => String::new(),
    };
    let when = match outcome.reused {
        true => ", from an earlier run on the same tree".to_owned(),
        false => format!(" after {}", seconds(outcome.duration_ms)),
    };
    let flaky = if outcome.flaky { ", only on a second try (flaky)" } else { "" };
    let why = outcome.reason.as_ref().map_or(String::new(), |why| format!(": {why}"));
    format!("gate {}: {}{counts}{when}{flaky}{why}", outcome.name, outcome.status.as_str())
}

pub fn seconds(milliseconds: u64) -> String {
    format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100)
}

/// Removes the oldest matching files if there are too many: all of them can be made again.
fn prune(dir: &Path, most: usize, fits: impl Fn(&str) -> bool) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let of_name = entries.filter(|entry| entry.file_name().to_str().is_some_and(&fits));
    let mut all: Vec<PathBuf> = of_name.map(|entry| entry.path()).collect();
    if all.len() <= most {
        return;
    }
    all.sort_by_cached_key(|path| path.metadata().and_then(|meta| meta.modified()).ok());
    // A few more than needed, so that not every gate has to do it.
    for path in all.iter().take(all.len() - most + most / 10) {
        let _ = fs::remove_file(path);
    }
}
