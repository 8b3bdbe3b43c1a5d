//! Whether a merge holds exactly the combined changes of its two sides, and nothing else.

use std::collections::HashSet;

use crate::flow::prelude::*;
use crate::git::merge::resolve_tree;
use crate::git::{Class, classify};

/// Compares the trees where that is enough, and repeats the merge where it is not (renames, resolved conflicts).
pub fn holds(ctx: &Context, onto: &CommitId, theirs: &CommitId, merge: &CommitId) -> Result<bool> {
    Ok(by_paths(ctx, onto, theirs, merge)? || by_merging(ctx, onto, theirs, merge)?)
}

/// What only the task changed is as in the task, and nothing else changed.
fn by_paths(ctx: &Context, onto: &CommitId, theirs: &CommitId, merge: &CommitId) -> Result<bool> {
    let query = ctx.query()?;
    let Some(base) = query.merge_base(onto, theirs)? else { return Ok(false) };
    let paths = |from: &CommitId, to: &CommitId| -> Result<HashSet<String>> {
        Ok(query.changed_paths(from, to)?.into_iter().map(|change| change.path).collect())
    };
    let (of_task, of_others) = (paths(&base, theirs)?, paths(&base, onto)?);
    let (made, differs) = (paths(onto, merge)?, paths(merge, theirs)?);
    let both = of_task.intersection(&of_others).next().is_some();
    Ok(!both && made.is_subset(&of_task) && of_task.is_disjoint(&differs))
}

fn by_merging(ctx: &Context, onto: &CommitId, theirs: &CommitId, merge: &CommitId) -> Result<bool> {
    let wanted = ctx.query()?.tree_of(merge)?;
    Ok(match merge_tree(&ctx.repo, onto, theirs)? {
        MergeTree::Clean(tree) => tree == wanted,
        MergeTree::Conflict { tree, files } => match classify(&files) {
            Class::Trivial(resolutions) => resolve_tree(&ctx.repo, &tree, &resolutions)? == wanted,
            Class::Logic(_) => false,
        },
    })
}
