//! Changes since earlier reviews, determined before the lock is acquired.

use super::prelude::*;
use crate::board::convergence::Drift;

/// Changes since every commit that an issue was last seen at, and since the last review of another commit.
pub fn since_reviews(
    ctx: &Context,
    board: &Board,
    task: &TaskId,
    commit: &CommitId,
    feedback: &Feedback,
) -> Result<Vec<Drift>> {
    let Some(body) = board.task(task).map(|task| task.body()) else { return Ok(Vec::new()) };
    let mut commits: Vec<&CommitId> = body
        .issues
        .iter()
        .filter_map(|issue| issue.seen_at.as_ref())
        .chain(body.reviews.iter().map(|review| &review.commit).rfind(|reviewed| *reviewed != commit))
        .filter(|seen| *seen != commit)
        .collect();
    commits.sort();
    commits.dedup();
    let found = feedback.issues.iter().map(|finding| finding.file.as_str());
    let about: Vec<&str> = body.issues.iter().map(|issue| issue.file.as_str()).chain(found).collect();
    let query = ctx.query()?;
    // A rule refuses a verdict on a missing commit; an earlier commit that is gone has no drift.
    let there = |commit: &CommitId| query.has_commit(commit);
    if !there(commit) {
        return Ok(Vec::new());
    }
    commits
        .into_iter()
        .filter(|seen| there(seen))
        .map(|seen| query.drift(seen, commit, &about).map_err(Failure::from))
        .collect()
}
