use crate::cli::prelude::*;
use crate::flow::merge::{First, MergeOptions, Merged, merge, merge_first};

/// Merge approved work into the integration branch
///
/// Merges without a checkout, runs the gates on exactly the merged tree, and moves the branch only if no other
/// process has moved it. A conflict is exit 11: trivial ones leave the task INTEGRATION_FAILED (or are resolved with
/// --resolve-trivial), real ones leave it BLOCKED. A failing gate is exit 7 and leaves the task INTEGRATION_FAILED;
/// but if integration itself fails the gate, nothing is merged and the task stays APPROVED.
///
/// Example: liza merge t1
#[derive(Args)]
pub struct MergeArgs {
    /// Id of the task
    #[arg(required_unless_present = "all", conflicts_with = "all", add = Completer::Tasks(|status| matches!(status, Status::Approved | Status::IntegrationFailed)))]
    pub task: Option<TaskId>,
    /// All approved tasks: highest priority first, then oldest approval, then narrowest owned paths
    #[arg(long)]
    pub all: bool,
    /// Resolve conflicts in white space, import order and pure additions
    #[arg(long)]
    pub resolve_trivial: bool,
    /// Merge this commit, in which a person resolved the conflict with the task's work
    #[arg(long, value_name = "COMMIT", conflicts_with = "all")]
    pub resolved: Option<Revision>,
}

impl OnBoard for MergeArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let resolved = self.resolved.as_ref().map(|rev| session.ctx.commit_named(rev)).transpose()?;
        let options = MergeOptions { resolve_trivial: self.resolve_trivial, resolved };
        session.seal_request()?;
        match &self.task {
            Some(task) => merge_one(session, task, &options),
            None => merge_all(session, &options),
        }
    }
}

fn merge_one(session: &mut Session, id: &TaskId, options: &MergeOptions) -> Result<Answer, Failure> {
    let Merged { end, revision } = merge(&session.ctx, id, options)?;
    if let Some(why) = &end.failure {
        let failure = if why.gate.is_some() { gate_failure(id, why) } else { conflict(id, &end, why) };
        return Err(failure.with_data(end, revision));
    }
    let mut text =
        format!("{id} is merged as {}", end.merge_commit.as_ref().map_or("", |commit| commit.as_str()));
    let snapshot = session.ctx.read(&Needs::task(id))?;
    let approval = snapshot.board.task(id).and_then(|task| task.body().approval.as_ref());
    if let Some(approval) = approval.filter(|approval| !approval.notes.is_empty()) {
        let notes = approval.notes.join(", ");
        text.push_str(&format!("; it was accepted with notes ({notes}), which `liza task show {id}` lists"));
    }
    Ok(Answer::new(end, text).at(revision))
}

fn gate_failure(id: &TaskId, why: &NotMerged) -> Failure {
    let read = why.log.as_ref().map_or(String::new(), |log| format!("read {log}; "));
    Failure::new(Code::GateRed, format!("{id} cannot be merged: {}", why.reason))
        .hint(format!("{read}integration is unchanged; a coder fixes it after `liza task claim {id}`"))
        .detail("gate", why.gate.clone())
        .detail("log", why.log.clone())
        .detail("failing", why.failing.clone())
}

fn conflict(id: &TaskId, end: &MergeEnd, why: &NotMerged) -> Failure {
    let failure = Failure::new(ErrorCode::GitConflict, format!("{id} cannot be merged: {}", why.reason));
    if end.outcome == MergeResult::Blocked {
        failure.hint(format!(
            "a person merges the two on a branch that contains both, then `liza merge {id} --resolved COMMIT`"
        ))
    } else {
        failure.hint(format!(
            "`liza merge {id} --resolve-trivial` resolves it, or a coder does with `liza task claim {id}`"
        ))
    }
}

/// Whether to try the next task: it may fix a failing integration branch, or merge where this one does not.
fn of_one_task(failure: &Failure) -> bool {
    matches!(failure.code.class(), Class::Stale | Class::Tier0 | Class::Gate)
}

/// The outcome of one task of the queue.
#[derive(Serialize)]
#[serde(untagged)]
enum Turn {
    Ended(Box<MergeEnd>),
    Refused { task: TaskId, outcome: &'static str, code: ErrorCode, reason: String, hint: Option<String> },
}

fn merge_all(session: &mut Session, options: &MergeOptions) -> Result<Answer, Failure> {
    // A request id belongs to one merge, not to a queue of merges.
    session.ctx.request = None;
    let mut turns: Vec<Turn> = Vec::new();
    let mut tried: BTreeSet<TaskId> = BTreeSet::new();
    let mut text = String::new();
    let mut worst: Option<Failure> = None;
    let mut refused: Option<Failure> = None;
    let mut revision = session.ctx.read(&Needs::Nothing)?.board.revision;
    while let Some(First { task: id, merged }) =
        merge_first(&session.ctx, options, |task| !tried.contains(task))?
    {
        match merged {
            Ok(merged) => {
                let failure = merged.end.failure.as_ref();
                let reason = failure.map_or(String::new(), |why| format!(": {}", why.reason));
                text.line(format!("{id}: {}{reason}", merged.end.outcome.as_str()));
                revision = merged.revision;
                if let Some(why) = failure {
                    let code = if why.gate.is_some() { Code::GateRed.into() } else { ErrorCode::GitConflict };
                    worst = Some(Failure::new(code, format!("{id} was not merged: {}", why.reason)));
                }
                turns.push(Turn::Ended(Box::new(merged.end)));
            }
            // Continues after a failure of one task; stops at a failure that concerns all tasks.
            Err(failure) if of_one_task(&failure) => {
                let hint = failure.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
                text.line(format!("{id}: {}{hint}", failure.message));
                turns.push(Turn::Refused {
                    task: id.clone(),
                    outcome: "refused",
                    code: failure.code,
                    reason: failure.message.clone(),
                    hint: failure.hint.clone(),
                });
                worst = Some(failure.clone());
                refused.get_or_insert(failure);
            }
            Err(failure) if turns.is_empty() => return Err(failure),
            Err(mut failure) => {
                failure.message = format!("{}; before that:\n{}", failure.message, text.trim_end());
                return Err(failure.with_data(json!({ "merges": turns }), revision));
            }
        }
        tried.insert(id);
    }
    if turns.is_empty() {
        text.push_str("no task is approved");
    }
    let data = json!({ "merges": turns });
    // If no task was merged, the first failure is the answer.
    if let Some(failure) = refused.filter(|_| turns.iter().all(|turn| matches!(turn, Turn::Refused { .. }))) {
        return Err(failure.with_data(data, revision));
    }
    Ok(Answer::new(data, text).at(revision).failed_if(worst))
}
