//! Trees without a checkout: the entry at a path, the difference of two commits, and a new tree made from an old one.

use git2::{ObjectType, TreeWalkMode, TreeWalkResult};

use super::prelude::*;
use super::{query::AccessError, query::EntryKind, scratch::scratch_dir};
use crate::host::place::Place;

/// The entry at a path of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Absent,
    Directory,
    /// The bytes as stored, before any checkout conversion.
    File {
        bytes: Vec<u8>,
        executable: bool,
    },
    Symlink,
    Submodule,
}

/// One path by which two commits differ, with git's rename detection.
#[derive(Debug)]
pub struct Difference {
    pub path: String,
    pub renamed_from: Option<String>,
    /// The kind of entry on either side.
    pub kinds: [Option<EntryKind>; 2],
}

/// One path of a new tree.
#[derive(Debug)]
pub enum Edit<'e> {
    Write { path: &'e str, bytes: &'e [u8], executable: bool },
    Remove { path: &'e str },
}

impl Query {
    /// The entry at a path of a commit; links are not followed.
    pub fn entry_at(&self, commit: &CommitId, path: &str) -> Result<Entry, QueryError> {
        let Some(found) = self.found_at(commit, path)? else { return Ok(Entry::Absent) };
        if found.kind() == Some(ObjectType::Tree) {
            return Ok(Entry::Directory);
        }
        Ok(match EntryKind::of(found.filemode()) {
            EntryKind::Symlink => Entry::Symlink,
            EntryKind::Submodule => Entry::Submodule,
            kind => Entry::File { bytes: self.blob(found.id())?, executable: kind == EntryKind::Executable },
        })
    }

    /// The object of the file at a path of a commit.
    pub fn blob_id(&self, commit: &CommitId, path: &str) -> Result<Option<CommitId>, QueryError> {
        let found = self.leaf_in_tree(&self.tree_of(commit)?, path)?;
        found.map(|entry| super::query::id_of(entry.id())).transpose()
    }

    /// Every file below a directory of a commit.
    pub fn files_below(&self, commit: &CommitId, dir: &str) -> Result<Vec<String>, QueryError> {
        let unreadable = || QueryError::read(format!("`{dir}` at {commit}"));
        let entry = self.tree_object(commit)?.get_path(Path::new(dir)).map_err(unreadable())?;
        let mut found = Vec::new();
        let walked = self.tree_by_id(entry.id())?.walk(TreeWalkMode::PreOrder, |parent, entry| {
            if entry.kind() != Some(ObjectType::Tree) {
                let name = String::from_utf8_lossy(entry.name_bytes());
                found.push(format!("{dir}/{parent}{name}"));
            }
            TreeWalkResult::Ok
        });
        walked.map_err(unreadable())?;
        Ok(found)
    }
}

/// Every path by which two commits differ. The git program compares them, so renames are git's.
pub fn differences(repo: &Repo, from: &CommitId, to: &CommitId) -> Result<Vec<Difference>, GitError> {
    let raw = Git::reading(&repo.root, "diff-tree")
        .args(["-r", "-z", "--raw", "-M", "--no-relative", "--ignore-submodules=none"])
        .end_of_options()
        .args([from.as_str(), to.as_str()])
        .run()?;
    let unexpected = |what: &[u8]| GitError::unexpected("diff-tree", String::from_utf8_lossy(what));
    // `:100644 100755 OLD NEW R086`, then one path, or two of a rename.
    let mut fields = records(&raw);
    let mut found = Vec::new();
    while let Some(entry) = fields.next() {
        let text = std::str::from_utf8(entry).map_err(|_| unexpected(entry))?;
        let parts: Vec<&str> = text.trim_start_matches(':').split(' ').collect();
        let [old, new, _, _, status] = parts[..] else { return Err(unexpected(entry)) };
        let mut path = || -> Result<String, GitError> {
            let path = fields.next().ok_or_else(|| unexpected(entry))?;
            String::from_utf8(path.to_owned()).map_err(|_| {
                let what = format!("`{}`, a name that is not UTF-8", String::from_utf8_lossy(path));
                GitError::unexpected("diff-tree", what)
            })
        };
        let first = path()?;
        // A copy counts as a new file: the source does not change.
        let (path, renamed_from) = match status.chars().next() {
            Some('R') => (path()?, Some(first)),
            Some('C') => (path()?, None),
            _ => (first, None),
        };
        let old = if status.starts_with('C') { "0" } else { old };
        let kind = |mode: &str| match i32::from_str_radix(mode, 8) {
            Ok(0) => Ok(None),
            Ok(mode) => Ok(Some(EntryKind::of(mode))),
            Err(_) => Err(unexpected(entry)),
        };
        found.push(Difference { path, renamed_from, kinds: [kind(old)?, kind(new)?] });
    }
    Ok(found)
}

/// A tree that is `base` with these edits, written as objects only; nothing is checked out. A file that replaces a
/// directory removes everything below it: the caller has checked that this is intended. A caller that needs the tree
/// to survive a power cut syncs the file system.
pub fn edited(
    repo: &Repo,
    query: &Query,
    base: &CommitId,
    edits: &[Edit<'_>],
) -> Result<CommitId, AccessError> {
    let zero = "0".repeat(base.as_str().len());
    let mut removals = Vec::new();
    let mut additions = Vec::new();
    for edit in edits {
        match edit {
            Edit::Remove { path } => removals.extend(format!("0 {zero}\t{path}\0").into_bytes()),
            Edit::Write { path, bytes, executable } => {
                let mode = if *executable { "100755" } else { "100644" };
                let id = query.write_blob(bytes)?;
                additions.extend(format!("{mode} {id}\t{path}\0").into_bytes());
            }
        }
    }
    // Removals first: a file may replace a directory.
    Ok(with_entries(repo, base, [removals, additions])?)
}

/// The same with entries in the format of `update-index`, batch by batch.
pub(super) fn with_entries(
    repo: &Repo,
    base: &CommitId,
    batches: impl IntoIterator<Item = Vec<u8>>,
) -> Result<CommitId, GitError> {
    let scratch = scratch_dir(&repo.common_dir, &repo.root)?;
    let index = scratch.path().join("index");
    let git = |subcommand| {
        let git = Git::reading(&repo.root, subcommand).durable();
        git.config("core.splitIndex=false").env("GIT_INDEX_FILE", &index)
    };
    git("read-tree").end_of_options().arg(base.as_str()).run()?;
    for entries in batches.into_iter().filter(|entries| !entries.is_empty()) {
        git("update-index").args(["-z", "--index-info"]).stdin(entries).run()?;
    }
    parse_id("write-tree", &git("write-tree").run_line()?)
}

/// Whether a commit made in this worktree would move this branch.
pub fn is_on_branch(worktree: &Path, branch: &str) -> Result<bool, GitError> {
    let output = Git::reading(worktree, "symbolic-ref").args(["--quiet", "HEAD"]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim_end() == format!("refs/heads/{branch}"))
}

/// Moves index and files of a worktree from one commit to another; the branch is already there. Git refuses, changing
/// nothing, if a file is not as in `from`; untracked files stay.
pub fn bring_along(worktree: &Path, from: &CommitId, to: &CommitId) -> Result<(), GitError> {
    // Times may have changed without the content, which git would take for a change.
    let _ = Git::acting(worktree, "update-index").args(["-q", "--refresh"]).output()?;
    let git = Git::acting(worktree, "read-tree").args(["-m", "-u", "--no-recurse-submodules"]);
    git.end_of_options().args([from.as_str(), to.as_str()]).run().map(|_| ())
}

/// The index lock of a worktree, if it exists: another git is at work, or one died.
pub fn index_lock(worktree: &Path) -> Result<Option<PathBuf>, GitError> {
    let path = Git::reading(worktree, "rev-parse").args(["--git-path", "index.lock"]).run_line()?;
    let path = worktree.join(path);
    Ok(path.symlink_metadata().is_ok().then_some(path))
}

/// Moves index and files of a worktree to `to`, from any state between `from` and `to`: replaces every differing file
/// that is as in one of the two, or missing. A file that is as in neither holds an agent's work: it stays, and is
/// returned by name.
pub fn settle(
    repo: &Repo,
    query: &Query,
    worktree: &Path,
    from: &CommitId,
    to: &CommitId,
) -> Result<Vec<String>, AccessError> {
    let mut paths: BTreeSet<String> = BTreeSet::new();
    for found in differences(repo, from, to)? {
        paths.extend(found.renamed_from);
        paths.insert(found.path);
    }
    let is_file = |path: &&String| worktree.join(path).symlink_metadata().is_ok_and(|meta| meta.is_file());
    let files: Vec<&String> = paths.iter().filter(is_file).collect();
    // A leading quote would make git take the name for a quoted one.
    let plain =
        |path: &&String| if path.starts_with('"') { format!("./{path}\n") } else { format!("{path}\n") };
    let listed: String = files.iter().map(plain).collect();
    // As git would store them, and as they are: attributes may make the two differ.
    let hashed = |how: &[&str]| -> Result<Vec<CommitId>, GitError> {
        let git = Git::reading(worktree, "hash-object").arg("--stdin-paths").args(how);
        let text = git.stdin(listed.clone().into_bytes()).run_line()?;
        text.lines().map(|line| parse_id("hash-object", line)).collect()
    };
    let (stored, bare) = (hashed(&[])?, hashed(&["--no-filters"])?);
    let mut theirs = Vec::new();
    for (path, now) in files.into_iter().zip(stored.iter().zip(&bare)) {
        let known = [query.blob_id(from, path)?, query.blob_id(to, path)?];
        let is_known = known.iter().flatten().any(|known| known == now.0 || known == now.1);
        if !is_known && !is_half_written(query, worktree, to, path)? {
            theirs.push(path.clone());
        }
    }
    paths.retain(|path| !theirs.contains(path));
    Git::acting(worktree, "read-tree").end_of_options().arg(to.as_str()).run()?;
    let (mut written, mut gone) = (Vec::new(), Vec::new());
    for path in paths {
        if query.blob_id(to, &path)?.is_some() { written.push(path) } else { gone.push(path) }
    }
    // Removals first, with the directories they leave empty: a file may replace a directory, and the reverse.
    for path in gone {
        match worktree.join(&path).symlink_metadata() {
            Ok(meta) if meta.is_file() => remove(worktree, Path::new(&path))?,
            Ok(meta) if !meta.is_dir() => theirs.push(path),
            _ => {}
        }
    }
    // Git would overwrite a file at this path.
    let (free, taken): (Vec<String>, Vec<String>) =
        written.into_iter().partition(|path| is_free(worktree, Path::new(path)));
    theirs.extend(taken);
    if !free.is_empty() {
        let listed: String = free.iter().map(|path| format!("{path}\0")).collect();
        let git = Git::acting(worktree, "checkout-index").args(["-f", "-u", "-z", "--stdin"]);
        git.stdin(listed.into_bytes()).run()?;
    }
    let _ = Git::acting(worktree, "update-index").args(["-q", "--refresh"]).output()?;
    theirs.sort();
    Ok(theirs)
}

/// Whether a file is the start of its new version: git was killed while writing it, and it holds no work.
fn is_half_written(query: &Query, worktree: &Path, to: &CommitId, path: &str) -> Result<bool, AccessError> {
    let Some(whole) = query.file_at(to, path)? else { return Ok(false) };
    let file = worktree.join(path);
    let is_file = file.symlink_metadata().is_ok_and(|meta| meta.is_file());
    Ok(is_file && std::fs::read(&file).is_ok_and(|now| whole.starts_with(&now)))
}

/// Removes a file of a worktree, and the directories that this leaves empty.
pub(super) fn remove(worktree: &Path, path: &Path) -> Result<(), GitError> {
    let file = worktree.join(path);
    std::fs::remove_file(&file).map_err(GitError::io(&file))?;
    let above = path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty());
    let _ = above.map(|dir| remove_empty(worktree, dir)).find(|removed| !removed);
    Ok(())
}

/// Removes an empty directory of a worktree; follows no link on the way.
fn remove_empty(worktree: &Path, dir: &Path) -> bool {
    Place::at(worktree, &worktree.join(dir)).is_ok_and(|place| place.remove_empty())
}

/// Whether a file can be written at this path without removing another.
pub(super) fn is_free(worktree: &Path, path: &Path) -> bool {
    let is_way = |part: &Path| worktree.join(part).symlink_metadata().map_or(true, |meta| meta.is_dir());
    let mut ways = path.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty());
    ways.all(is_way)
        && match worktree.join(path).symlink_metadata() {
            Ok(meta) if meta.is_dir() => remove_empty(worktree, path),
            Ok(meta) => meta.is_file(),
            Err(_) => true,
        }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn edits_make_a_tree_from_another() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        fixture.write("dir/a", "1\n");
        fixture.write("dir/b", "2\n");
        fixture.write("ünï code", "3\n");
        fixture.git(&["add", "-A"]);
        fixture.git(&["commit", "-q", "-m", "files"]);
        let base = fixture.head();
        let query = Query::open(&repo).unwrap();
        let tree = query.tree_of(&base).unwrap();
        assert_eq!(edited(&repo, &query, &tree, &[]).unwrap(), tree);
        // A directory becomes a file, and a new one appears.
        let edits = [
            Edit::Write { path: "dir", bytes: b"x", executable: true },
            Edit::Remove { path: "dir/a" },
            Edit::Remove { path: "dir/b" },
            Edit::Write { path: "ünï code/new", bytes: b"\0", executable: false },
            Edit::Remove { path: "ünï code" },
        ];
        let made = edited(&repo, &query, &tree, &edits).unwrap();
        let listed = fixture.git(&["-c", "core.quotePath=false", "ls-tree", "-r", "-z", made.as_str()]);
        assert!(
            listed.contains("\tdir\0")
                && listed.contains("\tünï code/new\0")
                && listed.contains("100755 blob"),
            "{listed:?}"
        );
        assert!(!listed.contains("dir/"), "{listed:?}");
        assert_eq!(fixture.git(&["status", "--porcelain"]), "", "nothing was checked out");
        assert_eq!(query.entry_at(&base, "dir").unwrap(), Entry::Directory);
        assert_eq!(query.entry_at(&base, "dir/none/x").unwrap(), Entry::Absent);
        assert_eq!(query.entry_at(&base, "dir/a/x").unwrap(), Entry::Absent);
        let mut below = query.files_below(&base, "dir").unwrap();
        below.sort();
        assert_eq!(below, ["dir/a", "dir/b"]);
    }
}
