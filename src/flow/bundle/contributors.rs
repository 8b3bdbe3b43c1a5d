//! Who contributed to the changes of a bundle, by the records of the board and the archive. The bundle's own list of
//! authors is not enough: it could exclude a reviewer who never saw the bundle.

use crate::flow::prelude::*;
use crate::wire::bundle::Bundle;

/// The agents that worked on the task the bundle was made from, and on every task that submitted, or has on its
/// branch, exactly the resulting tree. All bodies must be loaded.
pub fn recorded(
    ctx: &Context,
    board: &Board,
    bundle: &Bundle,
    tree: Option<&CommitId>,
) -> Result<Vec<AgentId>> {
    let mut found: BTreeSet<AgentId> = run_of(bundle).map(of_run).unwrap_or_default().into_iter().collect();
    let mut take = |task: &Task| {
        found.extend(task.implementers.iter().cloned());
        let authors = task.body().submission.iter().flat_map(|submission| &submission.authors);
        let known = authors.filter_map(|author| {
            board.rest.agents.keys().find(|id| id.as_str().eq_ignore_ascii_case(author)).cloned()
        });
        found.extend(known);
    };
    if let Some(id) = &bundle.task {
        match board.task(id) {
            Some(task) => take(task),
            None => ctx.store.archived_beside(board, id)?.iter().for_each(&mut take),
        }
    }
    if let Some(tree) = tree {
        let (archived, _) = ctx.store.all_archived(board)?;
        for task in board.tasks.iter().chain(&archived) {
            if leads_to(ctx, task, tree)? {
                take(task);
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// The run of `liza experiment` that a bundle was made of.
pub fn run_of(bundle: &Bundle) -> Option<&str> {
    bundle.metadata.author.strip_prefix(super::EXPERIMENT)
}

/// The coder and the reviewer of an experiment have no identity on the board. They count as implementers under special names: the
/// approval of the run's reviewer does not count here, and an agent with such a name may not approve either.
fn of_run(run: &str) -> Vec<AgentId> {
    let end = run.rsplit('-').next().unwrap_or_default();
    let names = ["coder", "reviewer"].map(|who| format!("experiment-{who}-{end}"));
    names.iter().filter_map(|name| AgentId::new(name).ok()).collect()
}

fn leads_to(ctx: &Context, task: &Task, tree: &CommitId) -> Result<bool> {
    let query = ctx.query()?;
    let body = task.body();
    let mut commits: Vec<CommitId> = task.review_commit.iter().cloned().collect();
    commits.extend(body.submission.iter().map(|submission| submission.commit.clone()));
    if let Some(attempt) = body.attempt() {
        // Work without changes so far has the tree it started from.
        let head = query.head_of_branch(&attempt.branch)?;
        commits.extend(head.filter(|head| *head != attempt.base_commit));
    }
    for commit in commits {
        if query.has_commit(&commit) && &query.tree_of(&commit)? == tree {
            return Ok(true);
        }
    }
    Ok(false)
}
