//! The worktree of a run: made from the base, looked at as a whole, and removed once its work is kept under a ref.

use std::os::unix::fs::MetadataExt;

use super::Lab;
use crate::experiment::Summary;
use crate::flow::prelude::*;
use crate::git::content::{self, snapshot};
use crate::git::tree::{Entry, differences};
use crate::host::place::Place;

pub use crate::flow::ownership::EXPERIMENT_REFS as REFS;

/// Holds off others who make or remove worktrees: the board's own lock, or that of all experiments where there is no board.
fn locked<T>(lab: &Lab, act: impl FnOnce() -> Result<T>) -> Result<T> {
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

/// The commit that runs start from: HEAD, or everything in the person's checkout as it is now.
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
    locked(lab, || Ok(worktrees(lab, &trash).add_detached(path, base, &format!("experiment {run_id}"))?))?;
    crash::point("experiment.worktree_registered");
    worktrees(lab, &trash)
        .check_out(path, base, || host::progress::narrate("writing the files of a worktree"))?;
    Ok(())
}

/// Where the change of a run is kept.
pub fn ref_of(run_id: &str) -> String {
    format!("{REFS}{run_id}")
}

/// A worktree whose link to git was changed would lead git commands to another checkout, perhaps the person's own.
fn sound(lab: &Lab, path: &Path) -> Result<()> {
    checkouts::check_sound(&lab.repo, path)
        .map_err(|fault| failure!(ErrorCode::GitFailed, "the worktree of the run was tampered with: {fault}"))
}

fn taken(lab: &Lab, path: &Path, run: &Summary) -> Result<content::Snapshot> {
    sound(lab, path)?;
    let message = format!("{}\n\nLiza-Experiment: {}\n", run.title, run.run_id);
    Ok(snapshot(&lab.repo, path, &message, &lab.identity.at(host::now().wall.0), &[], &[])?)
}

/// Everything that is there now as a commit, kept under the run's ref.
pub fn keep(lab: &Lab, path: &Path, run: &Summary) -> Result<(CommitId, Option<String>)> {
    let taken = taken(lab, path, run)?;
    refs::pin(&lab.repo, &ref_of(&run.run_id), &taken.commit)?;
    Ok((taken.commit, Some(taken.left_out).filter(|text| !text.is_empty())))
}

/// Keeps what is there now beside what the reviewer saw, which stays under the run's ref: the rest has `-rest` at the end of its
/// name. Where nothing was kept before it is the run's ref. Gives the name, if there was anything to keep.
pub fn keep_rest(lab: &Lab, path: &Path, run: &Summary) -> Result<Option<String>> {
    let content::Snapshot { commit: taken, left_out } = taken(lab, path, run)?;
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

/// The variable whose value stands in a change, if one does. A diff shows binary files in letters of its own, so their content
/// is looked at too.
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

/// What a commit changes, as one patch that gives its tree when it is applied to the base.
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

/// Every file of a worktree with what the kernel knows of it: a write changes the file's change time, which no program can set.
pub type Listing = BTreeMap<PathBuf, (u64, u64, i64, i64)>;

/// More files are not listed.
const MOST_LISTED: usize = 100_000;

/// The files there are now, directories included; nothing where they are too many or cannot be read.
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

/// Puts the files back to what this commit has, if an agent that was only to look has changed them. True if that was so.
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

/// Lets the person's own git remove it.
pub fn unlock(lab: &Lab, path: &Path) -> Result<()> {
    locked(lab, || {
        let locked = checkouts::recorded_at(&lab.repo, path)?.iter().any(|record| record.locked.is_some());
        if locked {
            Git::acting(lab.root(), "worktree").arg("unlock").end_of_options().arg(path).run()?;
        }
        Ok(())
    })
}

/// Deletes a worktree whose work is kept, with git's record of it.
pub fn remove(lab: &Lab, path: &Path) -> Result<()> {
    locked(lab, || {
        let records = checkouts::recorded_at(&lab.repo, path)?;
        let delete = |base: &Path, path: &Path| match Place::at(base, path).and_then(|place| place.delete()) {
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
