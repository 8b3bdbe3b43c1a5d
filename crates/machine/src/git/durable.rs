//! Syncs to disk what a merge made, and nothing else: it does not wait for the writes of other processes.

use std::fs::File;

use git2::{ObjectType, Oid, Tree, TreeEntry};

use super::prelude::*;
use super::query::AccessError;

/// Syncs a merge commit, every object that its parents lack, and these refs with their logs, each with its
/// directories. The caller must know that the parents are on disk.
///
/// False if an object is not in a separate file because it was packed meanwhile: then only a sync of the file system
/// helps.
pub fn sync_merge(
    repo: &Repo,
    query: &Query,
    commit: &CommitId,
    refnames: &[&str],
) -> Result<bool, AccessError> {
    let mut dirs = BTreeSet::new();
    for object in query.made_by_merge(commit)? {
        let id = object.to_string();
        if !sync_file(&repo.common_dir, &format!("objects/{}/{}", &id[..2], &id[2..]), &mut dirs)? {
            return Ok(false);
        }
    }
    for refname in refnames {
        if !sync_file(&repo.common_dir, refname, &mut dirs)? {
            return Ok(false);
        }
        sync_file(&repo.common_dir, &format!("logs/{refname}"), &mut dirs)?;
    }
    // The lowest first: a directory exists durably once its parent is synced.
    for dir in dirs.iter().rev() {
        sync(dir)?;
    }
    Ok(true)
}

/// Syncs a file below `top` and remembers the directories that lead to it. False if it does not exist.
fn sync_file(top: &Path, name: &str, dirs: &mut BTreeSet<PathBuf>) -> Result<bool, GitError> {
    let path = top.join(name);
    if !path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return Ok(false);
    }
    sync(&path)?;
    dirs.extend(path.ancestors().skip(1).take_while(|dir| dir.starts_with(top)).map(Path::to_owned));
    Ok(true)
}

fn sync(path: &Path) -> Result<(), GitError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(GitError::io(path))
}

impl Query {
    /// The objects of a merge commit that no parent has at the same path, the commit included.
    pub(super) fn made_by_merge(&self, commit: &CommitId) -> Result<BTreeSet<Oid>, QueryError> {
        let found = self.commit(commit)?;
        let what = || QueryError::read(format!("the trees of {commit}"));
        let parents = found.parents().map(|parent| parent.tree()).collect::<Result<Vec<_>, _>>();
        let mut made = BTreeSet::from([found.id()]);
        self.collect_made(&found.tree().map_err(what())?, &parents.map_err(what())?, &mut made)?;
        Ok(made)
    }

    fn collect_made(
        &self,
        tree: &Tree<'_>,
        beside: &[Tree<'_>],
        made: &mut BTreeSet<Oid>,
    ) -> Result<(), QueryError> {
        if beside.iter().any(|other| other.id() == tree.id()) {
            return Ok(());
        }
        made.insert(tree.id());
        for entry in tree {
            let same_name =
                |other: &Tree<'_>| other.get_name_bytes(entry.name_bytes()).map(|it| it.to_owned());
            let former: Vec<TreeEntry<'static>> = beside.iter().filter_map(same_name).collect();
            if former.iter().any(|other| other.id() == entry.id()) {
                continue;
            }
            match entry.kind() {
                Some(ObjectType::Tree) => {
                    let below = former.iter().filter(|other| other.kind() == Some(ObjectType::Tree));
                    let below =
                        below.map(|other| self.tree_by_id(other.id())).collect::<Result<Vec<_>, _>>()?;
                    self.collect_made(&self.tree_by_id(entry.id())?, &below, made)?;
                }
                Some(ObjectType::Blob) => {
                    made.insert(entry.id());
                }
                // The commit of a submodule is in another repository.
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::super::{Identity, MergeTree, NewCommit, commit_tree, merge_tree};
    use super::*;

    /// Every loose object in the object store.
    fn loose(fixture: &Fixture) -> BTreeSet<String> {
        let listed = fixture.git(&["cat-file", "--batch-check=%(objectname)", "--batch-all-objects"]);
        listed.lines().map(str::to_owned).collect()
    }

    #[test]
    fn exactly_the_objects_of_a_merge_are_found() {
        let fixture = Fixture::new();
        let (repo, base) = (fixture.repo(), fixture.head());
        let text: String = (0..30).map(|line| format!("{line}\n")).collect();
        fixture.write("dir/deep/both", &text);
        fixture.write("dir/other/x", "x\n");
        fixture.git(&["add", "-A"]);
        fixture.git(&["commit", "-q", "-m", "files"]);
        let start = fixture.head();
        let ours =
            fixture.branch("ours", &start, &[("dir/deep/both", &format!("first\n{text}")), ("a", "1")]);
        let theirs = fixture.branch("theirs", &start, &[("dir/deep/both", &format!("{text}last\n"))]);
        let before = loose(&fixture);
        let MergeTree::Clean(tree) = merge_tree(&repo, &ours, &theirs).unwrap() else { panic!("clean") };
        let who = Identity::fallback().at(1_700_000_000);
        let new =
            NewCommit { tree: &tree, parents: &[ours, theirs], message: "m", author: &who, committer: &who };
        let commit = commit_tree(&repo, &new).unwrap();
        let query = Query::open(&repo).unwrap();
        let made: BTreeSet<String> =
            query.made_by_merge(&commit).unwrap().iter().map(ToString::to_string).collect();
        // The commit, three directories, and the file that both changed.
        assert_eq!(made.len(), 5);
        assert_eq!(made, loose(&fixture).difference(&before).cloned().collect());

        fixture.git(&["update-ref", "refs/heads/x/integration", commit.as_str()]);
        assert!(sync_merge(&repo, &query, &commit, &["refs/heads/x/integration"]).unwrap());
        assert!(!sync_merge(&repo, &query, &commit, &["refs/heads/none"]).unwrap());
        fixture.git(&["repack", "-q", "-a", "-d"]);
        fixture.git(&["prune-packed"]);
        let refs = ["refs/heads/x/integration"];
        assert!(!sync_merge(&repo, &Query::open(&repo).unwrap(), &commit, &refs).unwrap(), "packed");
        assert_eq!(query.made_by_merge(&base).unwrap().len(), 3, "of a first commit all is new");
    }
}
