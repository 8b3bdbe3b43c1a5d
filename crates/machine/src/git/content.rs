//! The present content of a worktree: committed, staged, changed or new.
//!
//! Nothing here changes the worktree's own index or acquires its lock; an agent may be committing at the same moment.

mod extent;
mod glance;

use std::fs::File;

use super::commit::{NewCommit, Signature, commit_tree};
use super::prelude::*;
use super::query::{id_of, open_bare};
use super::scratch::scratch_dir;
use crate::host::place::Temporary;

pub use extent::LARGEST_SAVED;
pub use glance::{Present, present};

/// Identifies everything in a worktree that could be work: equal fingerprints mean that no work was done in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    pub head: CommitId,
    /// The tree of a commit of all present files, untracked but not ignored ones included.
    pub tree: CommitId,
    /// The other side of a merge in progress.
    pub merge_head: Option<CommitId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirtyKind {
    Staged,
    Unstaged,
    StagedAndUnstaged,
    Untracked,
    Conflicted,
    /// The submodule is at another commit or has changes inside.
    Submodule,
}

/// A path that differs from the checked-out commit.
#[derive(Debug, PartialEq, Eq)]
pub struct DirtyPath {
    pub path: String,
    pub kind: DirtyKind,
}

/// A commit of work in progress that is on no branch.
#[derive(Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub commit: CommitId,
    /// What git said about unreadable files, and nested repositories, of which git keeps only a commit id; empty if
    /// everything is saved.
    pub left_out: String,
}

/// The checked-out commit. Read from git's files where they are plain; otherwise asked from git.
pub fn head(worktree: &Path) -> Result<CommitId, GitError> {
    if let Some(head) = head_by_files(worktree) {
        return Ok(head);
    }
    let git = Git::reading(worktree, "rev-parse").args(["--verify", "--quiet"]).end_of_options();
    parse_id("rev-parse", &git.arg("HEAD^{commit}").run_line()?)
}

/// The same without a process, if HEAD is a branch or a commit; git handles all other forms.
fn head_by_files(worktree: &Path) -> Option<CommitId> {
    // In a guarded repository, a `.git` file that an agent may have written does not decide where HEAD is.
    if let Some((repo, git_dir)) = super::door::repository_of(worktree).ok()? {
        let text = plain_text(&git_dir.join("HEAD")).ok()?;
        let query = Query::open(&repo).ok()?;
        return match text.trim_end().strip_prefix("ref: ") {
            Some(name) if name.starts_with("refs/heads/") => query.ref_commit(name).ok()?,
            Some(_) => None,
            None => CommitId::new(text.trim_end()).ok().filter(|id| query.has_commit(id)),
        };
    }
    let git_dir = git_dir(worktree).ok()?;
    let text = plain_text(&git_dir.join("HEAD")).ok()?;
    let git = open_bare(&common_dir_of(&git_dir)).ok()?;
    let commit = match text.trim_end().strip_prefix("ref: ") {
        Some(name) if name.starts_with("refs/heads/") => git.find_reference(name).ok()?.peel_to_commit(),
        Some(_) => return None,
        None => git.find_commit(git2::Oid::from_str(text.trim_end()).ok()?),
    };
    id_of(commit.ok()?.id()).ok()
}

/// The commit being merged into this worktree, while the merge is not finished.
pub fn merge_head(worktree: &Path) -> Result<Option<CommitId>, GitError> {
    let file = git_dir(worktree)?.join("MERGE_HEAD");
    let text = GitError::if_there(&file, plain_text(&file))?.unwrap_or_default();
    Ok(text.lines().next().and_then(|line| CommitId::new(line.trim()).ok()))
}

/// Reads the content of a worktree, leaving no trace in the repository. Paths in `but` do not count.
pub fn fingerprint(worktree: &Path, but: &[String]) -> Result<Fingerprint, GitError> {
    let scratch = Scratch::new(worktree, Objects::Throwaway)?;
    let large = scratch.large_files(but)?;
    succeeded("add", scratch.add_everything(&[], &large, but)?)?;
    scratch.add_stand_ins(&large)?;
    Ok(Fingerprint { head: head(worktree)?, tree: scratch.write_tree()?, merge_head: merge_head(worktree)? })
}

/// Commits all present files on top of HEAD, without changing branch, index or files: saves work in progress.
///
/// A file that git cannot read, or one above [`LARGEST_SAVED`], does not stop the rest from being saved. `ignored`
/// files are saved too; untracked paths in `but` are left out. The caller pins the commit under a ref.
pub fn snapshot(
    repo: &Repo,
    worktree: &Path,
    message: &str,
    who: &Signature,
    ignored: &[String],
    but: &[String],
) -> Result<Snapshot, GitError> {
    let scratch = Scratch::new(worktree, Objects::Kept)?;
    let large = scratch.large_files(but)?;
    let output = scratch.add_everything(&["--ignore-errors"], &large, but)?;
    let mut left_out = match output.status.code() {
        Some(0) => Vec::new(),
        Some(1) => vec![String::from_utf8_lossy(&output.stderr).trim().to_owned()],
        _ => return Err(failed("add", &output)),
    };
    left_out.extend(large.iter().map(extent::too_large));
    left_out.extend(scratch.add_ignored(ignored)?);
    let (tree, head) = (scratch.write_tree()?, head(worktree)?);
    left_out.extend(
        repositories_inside(worktree, &head, &tree)?
            .into_iter()
            .map(|path| format!("`{path}` is a separate repository; its files are not saved")),
    );
    let commit = NewCommit { tree: &tree, parents: &[head], message, author: who, committer: who };
    Ok(Snapshot { commit: commit_tree(repo, &commit)?, left_out: left_out.join("; ") })
}

/// The tree of a commit with these files as they are in a worktree now, committed or not. Writes only objects.
pub fn tree_with(worktree: &Path, base: &CommitId, paths: &[String]) -> Result<CommitId, GitError> {
    let scratch = Scratch::new(worktree, Objects::Kept)?;
    scratch.git("read-tree").arg(base.as_str()).run()?;
    let git = scratch.git("add").env("GIT_LITERAL_PATHSPECS", "1");
    git.args(["-f", "--sparse", "--"]).args(paths).run()?;
    scratch.write_tree()
}

/// Whether git runs the configured filters (`filter.*.clean`) on files that seem changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filters {
    /// As git itself does: what git calls clean is clean.
    Run,
    /// A filter is a program that an agent may have configured: a command that only looks runs none. A touched file
    /// with a filter then counts as changed.
    Skip,
}

/// Nested repositories of a worktree that are new, dirty, or not at the commit that HEAD names.
fn repositories_inside(
    worktree: &Path,
    head: &CommitId,
    tree: &CommitId,
) -> Result<BTreeSet<String>, GitError> {
    let git = Git::reading(worktree, "diff-tree").args(["-r", "-z", "--raw", "--no-renames"]);
    let git = git.arg("--ignore-submodules=none").end_of_options();
    let raw = git.args([head.as_str(), tree.as_str()]).run()?;
    // `:100644 160000 OLD NEW M`, then the path.
    let mut fields = raw.split(|&byte| byte == 0);
    let mut found = BTreeSet::new();
    while let (Some(entry), Some(path)) = (fields.next(), fields.next()) {
        if entry.split(|&byte| byte == b' ').nth(1) == Some(b"160000") {
            found.insert(lossy(path));
        }
    }
    let dirty =
        status(worktree, Filters::Run)?.into_iter().filter(|dirty| dirty.kind == DirtyKind::Submodule);
    found.extend(dirty.map(|dirty| dirty.path));
    Ok(found)
}

/// The paths that keep this worktree from being clean: untracked but not ignored files included, and files that the
/// index tells git to skip (`assume-unchanged`, `skip-worktree`).
pub fn status(worktree: &Path, filters: Filters) -> Result<Vec<DirtyPath>, GitError> {
    Ok(look(worktree, filters, false)?.0)
}

/// The same, and the ignored paths: files by name, wholly ignored directories with a slash at the end.
pub fn status_and_ignored(
    worktree: &Path,
    filters: Filters,
) -> Result<(Vec<DirtyPath>, Vec<String>), GitError> {
    look(worktree, filters, true)
}

fn look(
    worktree: &Path,
    filters: Filters,
    and_ignored: bool,
) -> Result<(Vec<DirtyPath>, Vec<String>), GitError> {
    let skipped = if filters == Filters::Skip { filters_of(worktree)? } else { Vec::new() };
    let looked = |git: Git| {
        let git = git.without(skipped).args(["--porcelain=v2", "-z", "--no-renames"]);
        let git = git.args(["--untracked-files=all", "--ignore-submodules=none"]);
        if and_ignored { git.arg("--ignored=matching") } else { git }.run()
    };
    let index = git_dir(worktree).ok().map(|dir| dir.join("index"));
    let bytes = if hidden(worktree, index.as_deref(), || Git::reading(worktree, "ls-files"))?.is_empty() {
        looked(Git::reading(worktree, "status"))?
    } else {
        looked(Scratch::new(worktree, Objects::Throwaway)?.git("status"))?
    };
    let (ignored, dirty): (Vec<&[u8]>, Vec<&[u8]>) =
        records(&bytes).partition(|record| record.starts_with(b"! "));
    let dirty: Result<_, _> = dirty.into_iter().map(dirty_path).collect();
    Ok((dirty?, ignored.into_iter().map(|record| lossy(&record[2..])).collect()))
}

/// Every setting that makes a filter run or makes its absence an error.
fn filters_of(worktree: &Path) -> Result<Vec<String>, GitError> {
    let git = Git::reading(worktree, "config").args(["-z", "--name-only", "--get-regexp"]);
    let output = git.arg(r"^filter\..*\.(clean|smudge|process|required)$").output()?;
    // 1: none is set.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(failed("config", &output));
    }
    let not_text = |_| GitError::unexpected("config", "a filter whose name is not UTF-8");
    records(&output.stdout).map(|key| String::from_utf8(key.to_owned()).map_err(not_text)).collect()
}

/// The first ignored file or directory in a worktree, if any.
pub fn ignored(worktree: &Path) -> Result<Option<String>, GitError> {
    let bytes = Git::reading(worktree, "ls-files")
        .args(["-z", "--others", "--ignored", "--exclude-standard", "--directory"])
        .run()?;
    Ok(records(&bytes).next().map(lossy))
}

/// Existing files that the index tells git to skip. A file that a sparse checkout left out does not exist.
///
/// Read in-process; git lists an index of a kind that libgit2 does not know (split, sparse).
fn hidden(
    worktree: &Path,
    index: Option<&Path>,
    listing: impl FnOnce() -> Git,
) -> Result<Vec<Vec<u8>>, GitError> {
    let mut paths = match index.and_then(|index| git2::Index::open(index).ok()) {
        Some(index) => index.iter().filter(is_marked).map(|entry| entry.path).collect(),
        None => marked_by_git(&listing().args(["-v", "-z"]).run()?),
    };
    paths.retain(|path| worktree.join(OsStr::from_bytes(path)).symlink_metadata().is_ok());
    Ok(paths)
}

fn is_marked(entry: &git2::IndexEntry) -> bool {
    let extended = git2::IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended);
    git2::IndexEntryFlag::from_bits_truncate(entry.flags).contains(git2::IndexEntryFlag::VALID)
        || extended.contains(git2::IndexEntryExtendedFlag::SKIP_WORKTREE)
}

fn marked_by_git(listed: &[u8]) -> Vec<Vec<u8>> {
    let entries = listed.split(|&byte| byte == 0).filter_map(|entry| match entry {
        [tag, b' ', path @ ..] if *tag == b'S' || tag.is_ascii_lowercase() => Some(path.to_vec()),
        _ => None,
    });
    entries.collect()
}

fn dirty_path(entry: &[u8]) -> Result<DirtyPath, GitError> {
    let text = String::from_utf8_lossy(entry);
    parse_dirty(&text).ok_or_else(|| GitError::unexpected("status", text.clone()))
}

/// Reads one record: `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path` or `? path`.
fn parse_dirty(entry: &str) -> Option<DirtyPath> {
    let (tag, rest) = entry.split_once(' ')?;
    let fields_before_path = match tag {
        "?" => return Some(DirtyPath { path: rest.to_owned(), kind: DirtyKind::Untracked }),
        "1" => 7,
        "u" => 9,
        _ => return None,
    };
    let mut fields = rest.splitn(fields_before_path + 1, ' ');
    let (xy, sub) = (fields.next()?, fields.next()?);
    let path = fields.nth(fields_before_path - 2)?.to_owned();
    let kind = match (tag, xy.as_bytes()) {
        ("u", _) => DirtyKind::Conflicted,
        _ if sub.starts_with('S') => DirtyKind::Submodule,
        (_, [_, b'.']) => DirtyKind::Staged,
        (_, [b'.', _]) => DirtyKind::Unstaged,
        _ => DirtyKind::StagedAndUnstaged,
    };
    Some(DirtyPath { path, kind })
}

/// The directory in which git keeps this worktree's own state.
pub(super) fn git_dir(worktree: &Path) -> Result<PathBuf, GitError> {
    let dot_git = worktree.join(".git");
    if dot_git.is_dir() {
        return Ok(dot_git);
    }
    read_git_file(&dot_git).ok_or_else(|| GitError::NoCheckout { dir: worktree.to_owned() })
}

fn common_dir_of(git_dir: &Path) -> PathBuf {
    read_link_file(&git_dir.join("commondir"), git_dir).unwrap_or_else(|| git_dir.to_owned())
}

/// Where the created objects go.
#[derive(Debug, Clone, Copy)]
enum Objects {
    /// Into the scratch directory, removed with it.
    Throwaway,
    /// Into the repository, synced to disk.
    Kept,
}

/// A copy of a worktree's index to work on.
struct Scratch<'a> {
    worktree: &'a Path,
    dir: Temporary,
    objects: Objects,
    real_objects: OsString,
}

impl<'a> Scratch<'a> {
    fn new(worktree: &'a Path, objects: Objects) -> Result<Self, GitError> {
        let git_dir = git_dir(worktree)?;
        let common_dir = common_dir_of(&git_dir);
        let dir = scratch_dir(&common_dir, worktree)?;
        let throwaway = dir.path().join("objects");
        fs::create_dir(&throwaway).map_err(GitError::io(&throwaway))?;
        let scratch = Self { worktree, dir, objects, real_objects: quoted(&common_dir.join("objects")) };
        if !copy_with_time(&git_dir.join("index"), &scratch.index())? {
            scratch.git("read-tree").arg("HEAD").run()?;
        }
        scratch.look_everywhere()?;
        Ok(scratch)
    }

    /// Removes the marks from the copy that make git skip existing files.
    fn look_everywhere(&self) -> Result<(), GitError> {
        let mut paths = hidden(self.worktree, Some(&self.index()), || self.git("ls-files"))?.join(&0);
        if paths.is_empty() {
            return Ok(());
        }
        paths.push(0);
        for mark in ["--no-assume-unchanged", "--no-skip-worktree"] {
            let git = self.git("update-index").args([mark, "-z", "--stdin"]);
            git.stdin(paths.clone()).run()?;
        }
        Ok(())
    }

    fn index(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    fn git(&self, subcommand: &'static str) -> Git {
        let git = Git::reading(self.worktree, subcommand)
            .config("core.splitIndex=false")
            .config("core.untrackedCache=false")
            .config("core.safecrlf=false")
            .env("GIT_INDEX_FILE", self.index());
        match self.objects {
            Objects::Kept => git.durable(),
            Objects::Throwaway => git
                .env("GIT_OBJECT_DIRECTORY", self.dir.path().join("objects"))
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.real_objects),
        }
    }

    fn add_everything(
        &self,
        options: &[&str],
        large: &[extent::Large],
        but: &[String],
    ) -> Result<std::process::Output, GitError> {
        let git = self.git("add").args(["-A", "--sparse"]).args(options).args(["--", "."]);
        let git = git.args(large.iter().map(extent::Large::excluded));
        let but = self.not_ignored(but)?;
        let git = git.args(but.iter().map(|path| extent::excluded(path.trim_end_matches('/').as_ref())));
        let what = format!("reading the changed files of {}", self.worktree.display());
        let output = crate::host::progress::saying(&what, || git.output())?;
        self.add_tracked_below(&but)?;
        Ok(output)
    }

    /// Adds files at these paths that git tracks: only what git does not know is left out.
    fn add_tracked_below(&self, paths: &[String]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let literal = |subcommand| self.git(subcommand).env("GIT_LITERAL_PATHSPECS", "1");
        let paths = paths.iter().map(|path| path.trim_end_matches('/'));
        let tracked = literal("ls-files").args(["-z", "--"]).args(paths).run()?;
        if tracked.is_empty() {
            return Ok(());
        }
        let git = literal("add").args(["-u", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"]);
        git.stdin(tracked).run().map(|_| ())
    }

    fn write_tree(&self) -> Result<CommitId, GitError> {
        parse_id("write-tree", &self.git("write-tree").run_line()?)
    }
}

/// Copies the index so that git need not hash every file again. False if there is none.
///
/// The copy gets the original's time: git trusts a file's recorded size and time only if the index is younger than
/// the file, so a copy that looks younger than it is would hide a change made in the same instant.
pub(super) fn copy_with_time(from: &Path, to: &Path) -> Result<bool, GitError> {
    let Some(mut source) = GitError::if_there(from, File::open(from))? else { return Ok(false) };
    let modified = source.metadata().and_then(|meta| meta.modified()).map_err(GitError::io(from))?;
    let mut target = File::create(to).map_err(GitError::io(to))?;
    std::io::copy(&mut source, &mut target).map_err(GitError::io(to))?;
    target.set_modified(modified).map_err(GitError::io(to))?;
    Ok(true)
}

/// A path as one entry of git's colon-separated list of object directories.
fn quoted(path: &Path) -> OsString {
    let Some(text) = path.to_str() else { return path.as_os_str().to_owned() };
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")).into()
}

#[cfg(test)]
mod tests;
