//! Compares every recorded move of the integration branch with the repository.

use std::collections::HashSet;

use anyhow::{Result, anyhow, bail};

use super::story::{Move, Story};
use crate::flow::moved;
use crate::flow::ownership::ArchivedTask;
use crate::flow::prelude::*;

/// Checks that the branch moved only as recorded: by liza's merges, and by advances that a person asked for.
pub fn line(ctx: &Context, board: &Board, records: &[Record]) -> Result<String> {
    let branch = &board.config().integration_branch;
    let story = Story::of(records, branch);
    let query = ctx.query()?;
    let head = query.head_of_branch(branch)?;
    let Some(mut at) = story.start.clone() else {
        bail!("the log does not record its first commit");
    };
    let explain = |from: &CommitId, to: Option<CommitId>| match moved::evidence(ctx, branch, from, to) {
        Ok(evidence) => (evidence.message(), evidence.remedy()),
        Err(failure) => (failure.message, accepting(branch)),
    };
    let mut merges = 0;
    let mut broken: Option<String> = None;
    for step in &story.moves {
        if step.task.is_none() && step.old.as_ref() == Some(&step.new) {
            // A person named the present head and gave a reason: that records what led to it.
            broken = None;
        } else if step.task.is_none() && step.new == at {
            // A person moved it back to where liza had it.
        } else if broken.is_none() && !step.old.as_ref().is_some_and(|old| story.leads(&at, old)) {
            let what =
                step.task.as_ref().map_or("an advance".to_owned(), |task| format!("the merge of {task}"));
            let (description, _) = explain(&at, step.old.clone());
            broken = Some(format!("before {what} (revision {}): {description}", step.revision));
        }
        if let Some(task) = &step.task {
            merge_is_ours(ctx, query, task, step)?;
            merges += 1;
        }
        at = step.new.clone();
    }
    if let Some(broken) = broken {
        bail!("{broken} ({})", accepting(branch));
    }
    match head {
        Some(head) if head == at => Ok(format!(
            "`{branch}` is at {}, as recorded: {merges} merges and {} advances",
            head.short(),
            story.moves.len() - merges
        )),
        Some(head) if moved::is_under_way(board, branch, &head) || story.leads(&at, &head) => {
            Ok(format!("`{branch}` is at {}, moved by a merge in progress", head.short()))
        }
        head => {
            let (description, remedy) = explain(&at, head);
            bail!("{description} ({remedy})")
        }
    }
}

fn accepting(branch: &str) -> String {
    format!("`liza integration advance {branch} --reason …` accepts it")
}

/// Checks that the commit exists, has the recorded parent, and names its task.
fn merge_is_ours(ctx: &Context, query: &crate::git::Query, task: &TaskId, step: &Move) -> Result<()> {
    let commit = &step.new;
    let parents = query.parents_of(commit).map_err(|_| anyhow!("the merge {commit} of {task} is gone"))?;
    if parents.first() != step.old.as_ref() {
        bail!("the merge {commit} of {task} has another parent than the log records");
    }
    let message = query.message_of(commit)?;
    if !message.lines().any(|line| line == format!("Liza-Task: {task}")) {
        bail!("the commit {commit} does not name {task}");
    }
    let (onto, theirs) = match &parents[..] {
        [onto, theirs] => (onto, theirs),
        // The branch was at the task's own head: git lists one parent only once.
        [onto] => (onto, onto),
        _ => bail!("the merge {commit} of {task} has {} parents, not two", parents.len()),
    };
    if !super::patch::holds(ctx, onto, theirs, commit)? {
        bail!(
            "the merge {commit} of {task} differs from the merge of {} and {}",
            onto.short(),
            theirs.short()
        );
    }
    Ok(())
}

/// Checks that every MERGED task is in the branch, with exactly the approved commit.
///
/// `start` is where the branch was when liza began: later merges are not in it.
pub fn merged_work(
    ctx: &Context,
    board: &Board,
    archive: &[ArchivedTask],
    start: Option<&CommitId>,
) -> Result<String> {
    use crate::board::Status;
    let query = ctx.query()?;
    let branch = &board.config().integration_branch;
    let head = query.head_of_branch(branch)?.ok_or_else(|| anyhow!("the branch `{branch}` is gone"))?;
    // A task with a result has no merge commit; another check reads its file.
    let landed = |task: &&Task| task.status == Status::Merged && !task.stands_on_result();
    let on_board = board.tasks.iter().filter(landed).map(|task| {
        let body = task.body();
        let approved = body.approval.as_ref().map(|approval| approval.commit.clone());
        (&task.id, body.merge.as_ref().and_then(|merge| merge.commit.clone()), approved)
    });
    let landed = |task: &&ArchivedTask| {
        task.status == Status::Merged && !task.merge.as_ref().is_some_and(|merge| merge.nothing)
    };
    let archived = archive.iter().filter(landed).map(|task| {
        let commit = |landed: &Option<crate::flow::ownership::Landed>| {
            landed.as_ref().and_then(|landed| landed.commit.clone())
        };
        (&task.id, commit(&task.merge), commit(&task.approval))
    });
    // One walk over the commits since then serves all of them.
    let since: HashSet<CommitId> = match start {
        Some(start) => query.ids_between(start, &head)?.into_iter().collect(),
        None => HashSet::new(),
    };
    let mut count = 0;
    for (id, merge, approved) in on_board.chain(archived) {
        let Some(merge) = merge else { bail!("{id} is MERGED without a merge commit") };
        for commit in [Some(merge), approved].into_iter().flatten() {
            let there =
                since.contains(&commit) || query.has_commit(&commit) && query.is_ancestor(&commit, &head)?;
            if !there {
                bail!("{id} is MERGED, but `{branch}` does not contain {commit}");
            }
        }
        count += 1;
    }
    let verb = if count == 1 { "is" } else { "are" };
    Ok(format!("{} {verb} in `{branch}`", crate::text::plural(count, "merged task")))
}
