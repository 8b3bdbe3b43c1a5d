//! A run becomes the work of a task: claimed, announced from its plan, applied as a bundle, then reviewed and merged like any
//! other. The person or agent that adopts it is the task's implementer, and so are the run's coder and reviewer; where the change came from
//! stands in the commit's trailers.

use super::{Kept, Lab};
use crate::board::history::Plan;
use crate::experiment::Verdict;
use crate::flow::prelude::*;
use crate::flow::{bundle, claim, submit};

#[derive(Debug, Serialize)]
pub struct Adopted {
    pub task: TaskId,
    pub run_id: String,
    pub commit: CommitId,
    pub files: Vec<String>,
    pub worktree: String,
    pub status: Status,
}

/// What the adopter says beside what the run knows.
pub struct Announced {
    /// The command that shows that the change is right, and what it prints.
    pub validation: Option<(String, String)>,
}

pub fn adopt(
    ctx: &Context,
    lab: &Lab,
    run: &Kept,
    task: &TaskId,
    said: &Announced,
) -> Result<(Adopted, u64)> {
    let summary = &run.summary;
    let run_id = &summary.run_id;
    let approved = summary.review.as_ref().filter(|review| review.verdict == Verdict::Approve);
    let (Some(name), Some(plan), Some(review)) = (&summary.kept_as, &summary.plan, approved) else {
        return Err(failure!(
            Code::Value,
            "the run {run_id} has no change that its reviewer approved (it ended as {})",
            summary.status
        )
        .hint("`liza experiment list` shows the runs; only approved ones can be adopted"));
    };
    let kept = refs::value(&ctx.repo, name)?;
    let head =
        kept.filter(|kept| review.commit.as_ref().is_none_or(|seen| seen == kept)).ok_or_else(|| {
            failure!(
                ErrorCode::GitRef,
                "the change of {run_id} that was approved is not at `{name}` any more"
            )
            .hint(format!("`liza experiment run IDEAS --only {}` tries the idea again", summary.idea))
        })?;
    let files = bundle::paths_between(ctx, &summary.base_commit, &head)?;
    let validation = validation(lab, said)?;
    let (claimed, _) = claim::claim(ctx, task)?;
    let checkpoint = Checkpoint {
        intent: format!("{} (experiment {run_id})", summary.title),
        assumptions: Vec::new(),
        risks: risks_of(plan),
        validation: Plan { command: validation.0, expect: validation.1 },
        files_to_modify: files.clone(),
    };
    let let_go = |failure: Failure| {
        // What was claimed for this is free again.
        let reason = format!("adopting {run_id} failed: {}", clipped(&failure.message, 300));
        let _ = ctx.commit_step(Release { task: task.clone(), epoch: Some(claimed.epoch), reason });
        failure
    };
    let (announced, revision) = submit::checkpoint(ctx, task, checkpoint).map_err(let_go)?;
    let adopted = |commit: CommitId| Adopted {
        task: task.clone(),
        run_id: run_id.clone(),
        commit,
        files: files.clone(),
        worktree: claimed.worktree.clone(),
        status: announced.status,
    };
    if announced.status == Status::Blocked {
        return Ok((adopted(head), revision));
    }
    crash::point("experiment.announced");
    let path =
        bundle::between(ctx, task, &summary.base_commit, &head, &format!("{}{run_id}", bundle::EXPERIMENT))?;
    let loaded = bundle::load(&path)?;
    let (applied, revision) = bundle::apply(ctx, &loaded, task)?;
    Ok((adopted(applied.applied.commit), revision))
}

/// The command that is announced: the adopter's, or the experiment's own tests.
fn validation(lab: &Lab, said: &Announced) -> Result<(String, String)> {
    use crate::policy::gate::GateCommand;
    if let Some(validation) = &said.validation {
        return Ok(validation.clone());
    }
    let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    let command = match &lab.config().test_command {
        Some(GateCommand::Shell(text)) => text.clone(),
        Some(GateCommand::Argv(words)) => words.iter().map(quoted).collect::<Vec<_>>().join(" "),
        None => {
            return Err(Failure::usage("no test command is configured, so the checkpoint has no validation")
                .hint("add --validate CMD --expect TEXT, or set `experiment.test_command` in liza.yaml"));
        }
    };
    let dir = lab.config().test_cwd.as_ref().map_or(String::new(), |dir| format!("cd {} && ", quoted(dir)));
    let done = "the experiment's tests passed";
    Ok((format!("{dir}{{ {command}; }} && echo '{}'", done.replace('\'', "'\\''")), done.to_owned()))
}

/// The section RISKS of a plan, in one paragraph.
fn risks_of(plan: &str) -> String {
    let mut lines = plan.lines().skip_while(|line| {
        !line.trim().trim_start_matches(['#', '*', '_', ' ']).to_ascii_uppercase().starts_with("RISKS")
    });
    let first = lines.next().and_then(|line| line.split_once(':')).map(|(_, rest)| rest).unwrap_or_default();
    let rest: Vec<&str> = std::iter::once(first)
        .chain(lines)
        .map(|line| line.trim_matches(['*', ' ']))
        .filter(|line| !line.is_empty())
        .collect();
    let text = clipped(&rest.join(" "), 1000).into_owned();
    if text.is_empty() { "as named in the plan of the experiment".to_owned() } else { text }
}
