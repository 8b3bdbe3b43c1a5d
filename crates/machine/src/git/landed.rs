//! Whether work has landed: without this proof liza removes nothing that leads to the work.

use serde::Serialize;

use super::prelude::*;
use super::query::AccessError;

/// Why a commit's work is known to be in a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The branch contains the commit.
    Ancestor,
    /// The merge that the branch contains has exactly the commit's tree.
    EqualTree,
    /// Each of its commits is in the branch as the same patch, byte for byte.
    PatchId,
}

impl Proof {
    pub fn words(self) -> &'static str {
        match self {
            Self::Ancestor => "integration contains it",
            Self::EqualTree => "its merge has the same tree",
            Self::PatchId => "integration has the same patches",
        }
    }
}

/// The proof that the work of `commit` is in the branch at `head`; none if there is none. `merge` is the commit that
/// landed the task, if known.
pub fn proof(
    repo: &Repo,
    query: &Query,
    commit: &CommitId,
    head: &CommitId,
    merge: Option<&CommitId>,
) -> Result<Option<Proof>, AccessError> {
    if query.is_ancestor(commit, head)? {
        return Ok(Some(Proof::Ancestor));
    }
    if let Some(merge) = merge
        && query.has_commit(merge)
        && query.is_ancestor(merge, head)?
        && query.tree_of(merge)? == query.tree_of(commit)?
    {
        return Ok(Some(Proof::EqualTree));
    }
    // A merge can hold changes that none of its parents has, and has no patch of its own to compare.
    let missing = query.commits_between(head, commit)?;
    if missing.is_empty() || missing.iter().any(|commit| commit.parents.len() != 1) {
        return Ok(None);
    }
    let git = Git::reading(&repo.root, "rev-list").args(["--cherry-mark", "--left-right", "--no-merges"]);
    let said = git.end_of_options().arg(format!("{commit}...{head}")).run_line()?;
    let alike = said.lines().filter_map(|line| line.strip_prefix('='));
    let (ours, theirs): (Vec<&str>, Vec<&str>) =
        alike.partition(|id| missing.iter().any(|commit| commit.id.as_str() == *id));
    if ours.len() != missing.len() {
        return Ok(None);
    }
    // Git treats patches that differ in whitespace as equal. In some languages they are not.
    let landed = theirs.iter().map(|id| patch(repo, id)).collect::<Result<Vec<_>, _>>()?;
    for id in ours {
        if !landed.contains(&patch(repo, id)?) {
            return Ok(None);
        }
    }
    Ok(Some(Proof::PatchId))
}

/// The changes of a commit, byte for byte, without positions: no line numbers, and no ids of contents that are spelt
/// out anyway.
fn patch(repo: &Repo, commit: &str) -> Result<Vec<u8>, GitError> {
    let text = Git::reading(&repo.root, "diff-tree")
        .args(["-p", "-r", "--root", "--no-commit-id", "--full-index"])
        .args(["--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"])
        .end_of_options()
        .arg(commit)
        .run()?;
    let mut plain = Vec::with_capacity(text.len());
    let mut contents: &[u8] = b"";
    // File lines are prefixed with ` `, `+` or `-`, so none of them looks like a line of git's own.
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(b"index ") {
            contents = line;
        } else if line.starts_with(b"@@ ") {
            plain.extend_from_slice(b"@@\n");
        } else {
            if line.starts_with(b"Binary files ") {
                plain.extend_from_slice(contents);
            }
            plain.extend_from_slice(line);
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn work_has_landed_only_with_a_proof() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let base = fixture.head();
        let ask = |commit: &CommitId, head: &CommitId, merge: Option<&CommitId>| {
            let query = Query::open(&repo).unwrap();
            proof(&repo, &query, commit, head, merge).unwrap()
        };
        let work = fixture.branch("work", &base, &[("a", "1\n")]);
        let other = fixture.branch("other", &base, &[("b", "1\n")]);
        assert_eq!(ask(&base, &work, None), Some(Proof::Ancestor));
        assert_eq!(ask(&work, &other, None), None);
        // The same patch on top of something else.
        let again = fixture.branch("again", &other, &[("a", "1\n")]);
        assert_eq!(ask(&work, &again, None), Some(Proof::PatchId));
        // The same except for whitespace, or except for its position.
        let python = fixture.branch("python", &base, &[("p.py", "if x:\n    a()\n    b()\n")]);
        let other_python = fixture.branch("other-python", &other, &[("p.py", "if x:\n    a()\nb()\n")]);
        assert_eq!(ask(&python, &other_python, None), None);
        let lines: String = (0..30).map(|number| format!("{number}\n")).collect();
        let long = fixture.branch("long", &base, &[("long", &lines)]);
        let below = fixture.branch("below", &long, &[("long", &format!("{lines}end\n"))]);
        let above = fixture.branch("above", &long, &[("long", &format!("start\n{lines}"))]);
        let both = fixture.branch("both", &above, &[("long", &format!("start\n{lines}end\n"))]);
        assert_eq!(ask(&below, &both, None), Some(Proof::PatchId), "only the line numbers differ");
        // Contents that are not text are compared as a whole.
        let binary = fixture.branch("binary", &base, &[("bin", "\0one")]);
        let same_binary = fixture.branch("same-binary", &other, &[("bin", "\0one")]);
        let other_binary = fixture.branch("other-binary", &other, &[("bin", "\0two")]);
        assert_eq!(ask(&binary, &same_binary, None), Some(Proof::PatchId));
        assert_eq!(ask(&binary, &other_binary, None), None);
        // With one more commit that did not land, the work has not landed.
        let more = fixture.branch("more", &work, &[("c", "1\n")]);
        assert_eq!(ask(&more, &again, None), None);
        // Squashed: no patch is the same, but the merge has the same tree.
        let squashed = fixture.branch("squashed", &base, &[("a", "1\n"), ("c", "1\n")]);
        assert_eq!(ask(&more, &squashed, None), None);
        assert_eq!(ask(&more, &squashed, Some(&squashed)), Some(Proof::EqualTree));
        // A merge that the branch does not contain proves nothing.
        assert_eq!(ask(&more, &other, Some(&squashed)), None);
    }
}
