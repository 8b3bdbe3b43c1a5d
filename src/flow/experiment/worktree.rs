//! The worktree of a run: makes it from the base, snapshots it, and removes it once its work is kept under a ref.

use std::os::unix::fs::MetadataExt;

use super::Lab;
use crate::experiment::Summary;
use crate::flow::prelude::*;
use crate::git::content::{self, snapshot};
use crate::git::tree::{Entry, differences};
use crate::host::anchored_path::AnchoredPath;

pub use crate::flow::ownership::EXPERIMENT_REFS as REFS;

/// Acquires the lock for making and removing worktrees: the board's, or without a board that of all experiments.
fn with_lock<T>(lab: &Lab, act: impl FnOnce() -> Result<T>) -> Result<T> {
    if lab.has_board {
        let _lock = lab.machine.lock_worktrees()?;
        return act();
    }
    let dir = fs::File::open(&lab.runs).map_err(|error| Failure::io("open", &lab.runs, &error))?;
    dir.lock().map_err(|error| Failure::io("lock", &lab.runs, &error))?;
    act()
}

fn worktrees<'a>(lab: &'a Lab, trash: &'a Path) -> Worktrees<'a> {
    Worktrees::new(&lab.repo, &lab.worktrees, trash)
}

/// The commit that runs start from: HEAD, or a snapshot of the person's checkout.
pub fn base(lab: &Lab, head: &CommitId, of_working_tree: bool) -> Result<CommitId> {
    if !of_working_tree {
        return Ok(head.clone());
    }
    let who = lab.identity.at(host::now().wall.0);
    let taken =
        snapshot(&lab.repo, lab.root(), "The working tree that experiments start from\n", &who, &[], &[])?;
    Ok(taken.commit)
}

pub fn make(lab: &Lab, path: &Path, base: &CommitId, run_id: &str) -> Result<()> {
    let trash = lab.runs.join(".trash");
    with_lock(lab, || {
        Ok(worktrees(lab, &trash).add_detached(path, base, &format!("experiment {run_id}"))?)
    })?;
    crash::point("experiment.worktree_registered");
    worktrees(lab, &trash)
        .check_out(path, base, || host::progress::narrate("writing the files of a worktree"))?;
    Ok(())
}

/// The ref of a run's change.
pub fn ref_of(run_id: &str) -> String {
    format!("{REFS}{run_id}")
}

/// A worktree whose link to git was changed would lead git commands to another checkout, perhaps the person's own.
fn sound(lab: &Lab, path: &Path) -> Result<()> {
    checkouts::check_sound(&lab.repo, path)
        .map_err(|fault| failure!(ErrorCode::GitFailed, "the worktree of the run was manipulated: {fault}"))
}

fn snapshot_of(lab: &Lab, path: &Path, run: &Summary) -> Result<content::Snapshot> {
    sound(lab, path)?;
    let message = format!("{}\n\nLiza-Experiment: {}\n", run.title, run.run_id);
    Ok(snapshot(&lab.repo, path, &message, &lab.identity.at(host::now().wall.0), &[], &[])?)
}

/// Commits the present content and keeps it under the run's ref.
pub fn keep(lab: &Lab, path: &Path, run: &Summary) -> Result<(CommitId, Option<String>)> {
    let taken = snapshot_of(lab, path, run)?;
    refs::pin(&lab.repo, &ref_of(&run.run_id), &taken.commit)?;
    Ok((taken.commit, Some(taken.left_out).filter(|text| !text.is_empty())))
}

/// Keeps later content beside the reviewed content: the run's ref keeps the reviewed commit, a ref with `-rest` at the end the later
/// one. Without a reviewed commit, the run's own ref is used. Returns the ref, if there was anything to keep.
pub fn keep_rest(lab: &Lab, path: &Path, run: &Summary) -> Result<Option<String>> {
    let content::Snapshot { commit: taken, left_out } = snapshot_of(lab, path, run)?;
    if !left_out.is_empty() {
        let place = path.display();
        return Err(failure!(ErrorCode::GitUnsaved, "not everything in {place} could be saved: {left_out}")
            .hint("move away what you need and delete the rest there, then `liza experiment prune`"));
    }
    let query = crate::git::Query::open(&lab.repo)?;
    let own = ref_of(&run.run_id);
    let seen = refs::value(&lab.repo, &own)?;
    let known = seen.as_ref().unwrap_or(&run.base_commit);
    if query.tree_of(known)? == query.tree_of(&taken)? {
        return Ok(None);
    }
    let name = if seen.is_some() { format!("{own}-rest") } else { own };
    refs::pin(&lab.repo, &name, &taken)?;
    Ok(Some(name))
}

/// The variable whose secret value a change contains, if any. A diff encodes binary files, so their content is checked, too.
pub fn leaked<'l>(lab: &'l Lab, base: &CommitId, commit: &CommitId, diff: &[u8]) -> Result<Option<&'l str>> {
    if lab.secrets.is_empty() {
        return Ok(None);
    }
    if let Some(name) = lab.leaked(diff) {
        return Ok(Some(name));
    }
    let query = crate::git::Query::open(&lab.repo)?;
    for found in differences(&lab.repo, base, commit)? {
        if let Entry::File { bytes, .. } = query.entry_at(commit, &found.path)?
            && let Some(name) = lab.leaked(&bytes)
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The change of a commit as one patch; applied to the base, it gives the commit's tree.
pub fn diff(lab: &Lab, base: &CommitId, commit: &CommitId) -> Result<Vec<u8>> {
    let git = Git::reading(lab.root(), "diff-tree").args([
        "-p",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-color",
    ]);
    let git =
        git.args(["--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"]).end_of_options();
    Ok(git.args([base.as_str(), commit.as_str()]).run()?)
}

/// Every file of a worktree with its metadata: a write updates the change time, which no program can set.
pub type Listing = BTreeMap<PathBuf, (u64, u64, i64, i64)>;

/// The most files of a listing.
const MOST_LISTED: usize = 100_000;

/// The present files and directories; none if there are too many or they cannot be read.
pub fn listing(path: &Path) -> Option<Listing> {
    let mut found = Listing::new();
    let mut open = vec![path.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).ok()? {
            let entry = entry.ok()?;
            if entry.file_type().ok()?.is_dir() {
                open.push(entry.path());
            }
            let meta = entry.metadata().ok()?;
            found.insert(entry.path(), (meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec()));
        }
        if found.len() > MOST_LISTED {
            return None;
        }
    }
    Some(found)
}

/// Restores the files of this commit if a read-only agent has changed them. Returns whether it has.
pub fn put_back(lab: &Lab, path: &Path, commit: &CommitId, tree: &CommitId) -> Result<bool> {
    sound(lab, path)?;
    if content::fingerprint(path, &[])?.tree == *tree {
        return Ok(false);
    }
    Git::acting(path, "checkout")
        .args(["--quiet", "--force", "--detach"])
        .end_of_options()
        .arg(commit.as_str())
        .run()?;
    Git::acting(path, "clean").args(["--quiet", "-ffd"]).run()?;
    Ok(true)
}

/// Unlocks the worktree, so that the person's git can remove it.
pub fn unlock(lab: &Lab, path: &Path) -> Result<()> {
    with_lock(lab, || {
        let locked = checkouts::recorded_at(&lab.repo, path)?.iter().any(|record| record.locked.is_some());
        if locked {
            Git::acting(lab.root(), "worktree").arg("unlock").end_of_options().arg(path).run()?;
        }
        Ok(())
    })
}

/// Deletes a worktree whose work is kept, with git's record of it.
pub fn remove(lab: &Lab, path: &Path) -> Result<()> {
    with_lock(lab, || {
        let records = checkouts::recorded_at(&lab.repo, path)?;
        let delete =
            |base: &Path, path: &Path| match AnchoredPath::at(base, path).and_then(|path| path.delete()) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(Failure::io("delete", path, &error))
                }
                _ => Ok(()),
            };
        delete(&lab.worktrees, path)?;
        crash::point("experiment.worktree_deleted");
        for record in records {
            delete(&lab.repo.common_dir, &record.admin_dir)?;
        }
        Ok(())
    })
}
