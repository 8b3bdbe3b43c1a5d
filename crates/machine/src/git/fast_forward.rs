//! Moves a person's checkout along with its branch, as `git merge --ff-only` would, and moves it back if that fails
//! halfway.
//!
//! Index entries and files that both commits have in common are never changed: the person's changes there stay.

use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use super::prelude::*;
use super::query::oid;
use super::tree::{is_free, remove};

/// How long git may write files before liza reports it.
const SILENCE: Duration = Duration::from_secs(1);

/// A path by which two trees differ, with mode and id on each side.
struct Difference {
    path: PathBuf,
    sides: [Option<(String, CommitId)>; 2],
}

/// The tree without files: where a branch without a commit starts.
pub fn empty_tree(repo: &Repo) -> Result<CommitId, GitError> {
    let git = Git::reading(&repo.root, "hash-object").args(["-t", "tree", "-w", "--stdin"]);
    parse_id("hash-object", &git.stdin(Vec::new()).run_line()?)
}

/// Files that keep a checkout from moving to another commit or tree: uncommitted changes, and untracked files where a
/// file is to be written. Ignored files too, which git would overwrite. None if nothing would be lost.
pub fn obstacles(
    repo: &Repo,
    checkout: &Path,
    from: &CommitId,
    to: &CommitId,
) -> Result<Vec<String>, GitError> {
    let all = differences(repo, from, to)?;
    let tracked: BTreeSet<&Path> =
        all.iter().filter(|one| one.sides[0].is_some()).map(|one| one.path.as_path()).collect();
    let mut found = BTreeSet::new();
    for one in all.iter().filter(|one| one.sides[0].is_none()) {
        untracked_at(checkout, &one.path, &tracked, &mut found);
    }
    if !found.is_empty() {
        // Git compares what the person has already staged.
        let index = index_of(checkout)?;
        found.retain(|path| !index.contains_key(path));
    }
    let output = two_trees(checkout, &["-n"], from, to)?.output()?;
    if !output.status.success() {
        let changed = |how: &[&str]| -> Result<BTreeSet<Vec<u8>>, GitError> {
            let git =
                Git::acting(checkout, "diff-index").args(["-z", "--name-only", "--no-renames"]).args(how);
            let names = git.end_of_options().arg(from.as_str()).run()?;
            Ok(records(&names).map(<[u8]>::to_vec).collect())
        };
        let (in_files, in_index) = (changed(&[])?, changed(&["--cached"])?);
        let is_changed = |path: &Path| {
            let name = path.as_os_str().as_bytes();
            in_files.contains(name) || in_index.contains(name)
        };
        found.extend(all.iter().map(|one| one.path.clone()).filter(|path| is_changed(path)));
        if found.is_empty() {
            return Err(failed("read-tree", &output));
        }
    }
    Ok(found.into_iter().map(|path| lossy(path.as_os_str().as_bytes())).collect())
}

/// Untracked files at the path of a new file: at it, on the way to it, or below it.
fn untracked_at(checkout: &Path, path: &Path, tracked: &BTreeSet<&Path>, found: &mut BTreeSet<PathBuf>) {
    let mut parts: Vec<&Path> = path.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
    parts.reverse();
    for part in parts {
        let Ok(meta) = checkout.join(part).symlink_metadata() else { return };
        if !meta.is_dir() {
            if !tracked.contains(part) {
                found.insert(part.to_owned());
            }
            return;
        }
    }
    let mut below = vec![path.to_owned()];
    while let Some(dir) = below.pop() {
        for entry in fs::read_dir(checkout.join(&dir)).into_iter().flatten().flatten() {
            let path = dir.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below.push(path);
            } else if !tracked.contains(path.as_path()) {
                found.insert(path);
            }
        }
    }
}

/// Moves index and files of a checkout from one commit to another. Git refuses, changing nothing, if a file would be
/// lost.
pub fn bring(checkout: &Path, from: &CommitId, to: &CommitId, say: impl FnOnce()) -> Result<(), GitError> {
    two_trees(checkout, &[], from, to)?.run_saying(SILENCE, say)
}

fn two_trees(checkout: &Path, how: &[&str], from: &CommitId, to: &CommitId) -> Result<Git, GitError> {
    // Times may have changed without the content, which git would take for a change.
    let _ = Git::acting(checkout, "update-index").args(["-q", "--refresh"]).output()?;
    let git = Git::acting(checkout, "read-tree").args(how).args(["-m", "-u", "--no-recurse-submodules"]);
    Ok(git.end_of_options().args([from.as_str(), to.as_str()]))
}

/// Whether the index has every difference of `to` from `from`. Git writes the index last: then the files have it too.
pub fn has_arrived(repo: &Repo, checkout: &Path, from: &CommitId, to: &CommitId) -> Result<bool, GitError> {
    let index = index_of(checkout)?;
    let all = differences(repo, from, to)?;
    Ok(all.iter().all(|difference| index.get(&difference.path) == difference.sides[1].as_ref()))
}

/// Moves a checkout back to `from`, from any state that a killed move to `to` left. A file that is as in neither
/// commit, nor the start of a file that git was writing, is the person's: it stays, and is returned by name.
pub fn take_back(
    repo: &Repo,
    query: &Query,
    checkout: &Path,
    from: &CommitId,
    to: &CommitId,
) -> Result<Vec<String>, GitError> {
    let mut ours = differences(repo, from, to)?;
    let index = index_of(checkout)?;
    let mut theirs = Vec::new();
    let mut keep = |path: &Path| theirs.push(lossy(path.as_os_str().as_bytes()));
    ours.retain(|one| {
        let now = index.get(&one.path);
        let known = now.is_none() || one.sides.iter().flatten().any(|side| now == Some(side));
        if !known {
            keep(&one.path);
        }
        known
    });
    // A submodule has its own checkout, which git does not change here.
    let is_module = |one: &Difference| one.sides.iter().flatten().any(|(mode, _)| mode == "160000");
    let mut lines = Vec::new();
    let (mut gone, mut written) = (Vec::new(), Vec::new());
    for one in ours {
        let files_are_ours = is_module(&one) || is_ours(query, checkout, &one, to)?;
        if !files_are_ours {
            keep(&one.path);
        }
        let entry = match &one.sides[0] {
            Some((mode, id)) => format!("{mode} {id}\t"),
            None => format!("0 {}\t", "0".repeat(from.as_str().len())),
        };
        lines.extend([entry.as_bytes(), one.path.as_os_str().as_bytes(), b"\0"].concat());
        if files_are_ours && !is_module(&one) {
            if one.sides[0].is_some() { written.push(one.path) } else { gone.push(one.path) }
        }
    }
    if !lines.is_empty() {
        Git::acting(checkout, "update-index").args(["-z", "--index-info"]).stdin(lines).run()?;
    }
    for path in gone {
        if checkout.join(&path).symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            remove(checkout, &path)?;
        }
    }
    let is_link = |path: &Path| checkout.join(path).is_symlink();
    let (free, taken): (Vec<PathBuf>, Vec<PathBuf>) =
        written.into_iter().partition(|path| is_link(path) || is_free(checkout, path));
    taken.iter().for_each(|path| keep(path));
    if !free.is_empty() {
        let listed: Vec<u8> =
            free.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        let git = Git::acting(checkout, "checkout-index").args(["-f", "-u", "-z", "--stdin"]);
        git.stdin(listed).run()?;
    }
    let _ = Git::acting(checkout, "update-index").args(["-q", "--refresh"]).output()?;
    theirs.sort();
    Ok(theirs)
}

/// Whether a file holds nothing of a person's: it is missing, as in one of the commits, or the start of the new one.
fn is_ours(query: &Query, checkout: &Path, one: &Difference, to: &CommitId) -> Result<bool, GitError> {
    let file = checkout.join(&one.path);
    let Ok(meta) = file.symlink_metadata() else { return Ok(true) };
    if meta.is_dir() {
        // Paths below have their own differences; a path without one keeps its directory.
        return Ok(true);
    }
    let blobs = || one.sides.iter().flatten();
    if meta.is_symlink() {
        let target = fs::read_link(&file).map_err(GitError::io(&file))?;
        let content = |id: &CommitId| oid(id).and_then(|id| query.blob(id));
        let known = |id: &CommitId| content(id).is_ok_and(|text| text == target.as_os_str().as_bytes());
        return Ok(blobs().any(|(mode, id)| mode == "120000" && known(id)));
    }
    if !meta.is_file() {
        // A pipe or a device: git never writes one, and would wait for it.
        return Ok(false);
    }
    let hashed = |how: &[&str]| -> Result<CommitId, GitError> {
        let git = Git::reading(checkout, "hash-object").args(how).arg("--").arg(&one.path);
        parse_id("hash-object", &git.run_line()?)
    };
    // As git would store it, and as it is: attributes may make the two differ.
    let (stored, bare) = (hashed(&[])?, hashed(&["--no-filters"])?);
    if blobs().any(|(_, id)| *id == stored || *id == bare) {
        return Ok(true);
    }
    if one.sides[1].is_none() {
        return Ok(false);
    }
    let mut name = OsString::from(format!("{to}:"));
    name.push(&one.path);
    let whole = Git::reading(checkout, "cat-file").arg("--filters").arg(name).output()?;
    Ok(whole.status.success() && fs::read(&file).is_ok_and(|now| whole.stdout.starts_with(&now)))
}

fn differences(repo: &Repo, from: &CommitId, to: &CommitId) -> Result<Vec<Difference>, GitError> {
    let raw = Git::reading(&repo.root, "diff-tree")
        .args(["-r", "-z", "--raw", "--no-renames", "--no-relative", "--ignore-submodules=none"])
        .end_of_options()
        .args([from.as_str(), to.as_str()])
        .run()?;
    let mut fields = records(&raw);
    let mut found = Vec::new();
    // `:100644 100755 OLD NEW M`, then the path.
    while let (Some(entry), Some(path)) = (fields.next(), fields.next()) {
        let text = lossy(entry);
        let parts: Vec<&str> = text.trim_start_matches(':').split(' ').collect();
        let [old, new, old_id, new_id, _] = parts[..] else {
            return Err(GitError::unexpected("diff-tree", text));
        };
        let side = |mode: &str, id: &str| -> Result<Option<(String, CommitId)>, GitError> {
            if mode == "000000" { Ok(None) } else { Ok(Some((mode.to_owned(), parse_id("diff-tree", id)?))) }
        };
        let path = PathBuf::from(OsString::from_vec(path.to_owned()));
        found.push(Difference { path, sides: [side(old, old_id)?, side(new, new_id)?] });
    }
    Ok(found)
}

/// Every entry of the index, with mode and id. A conflicting entry counts as missing.
fn index_of(checkout: &Path) -> Result<BTreeMap<PathBuf, (String, CommitId)>, GitError> {
    let listed = Git::reading(checkout, "ls-files").args(["-s", "-z", "--full-name"]).run()?;
    let mut found = BTreeMap::new();
    for record in records(&listed) {
        let Some(tab) = record.iter().position(|&byte| byte == b'\t') else { continue };
        let text = lossy(&record[..tab]);
        if let [mode, id, "0"] = text.split(' ').collect::<Vec<_>>()[..] {
            let path = PathBuf::from(OsString::from_vec(record[tab + 1..].to_owned()));
            found.insert(path, (mode.to_owned(), parse_id("ls-files", id)?));
        }
    }
    Ok(found)
}

/// Writes the reflog entry that git would write, and runs the hook `post-merge` if a person accepted it.
pub fn arrived(repo: &Repo, checkout: &Path, from: &CommitId) -> Result<(), GitError> {
    Git::acting(checkout, "update-ref").end_of_options().args(["ORIG_HEAD", from.as_str()]).run()?;
    if let Some(board) = super::door::may_run_hook(repo, "post-merge") {
        let git = Git::acting(checkout, "hook").args(["run", "--ignore-missing", "post-merge", "--", "0"]);
        git.held_for_gate(&board).run()?;
    }
    Ok(())
}
