//! Submodule commits that only one worktree has. Git clones a submodule once per worktree, below the worktree's
//! record, so commits made there are lost with the record, even if a branch names them.

use git2::{ObjectType, Oid, TreeWalkMode, TreeWalkResult};

use super::prelude::*;
use super::query::open_bare;

/// Which submodule commits would be lost with this worktree, in words; none if the main repository has them all.
///
/// `record` is git's record of the worktree and `tree` its directory, wherever both are now.
pub fn only_here(repo: &Repo, record: &Path, tree: &Path) -> Option<String> {
    let links = links(repo, record);
    let mut clones = Vec::new();
    below(&record.join("modules"), &mut PathBuf::new(), &mut clones);
    // A submodule created in place has its repository inside the worktree.
    for (path, _) in &links {
        let inside = tree.join(path).join(".git");
        if inside.is_dir() {
            clones.push((path.clone(), inside));
        }
    }
    clones.iter().find_map(|(name, clone)| {
        let kept = repo.common_dir.join("modules").join(name);
        let shown = name.display();
        match missing(clone, &kept, &links) {
            Ok(None) => None,
            Ok(Some(commit)) if !kept.is_dir() => Some(format!(
                "the commit {commit} of the submodule `{shown}`, which the main checkout does not have (`git submodule update --init`)"
            )),
            Ok(Some(commit)) => Some(format!(
                "the commit {commit} of the submodule `{shown}`, which the main checkout lacks (`git --git-dir='{}' fetch '{}' {commit}:refs/heads/kept-{commit}` brings it there)",
                kept.display(),
                clone.display(),
            )),
            Err(error) => Some(format!("the submodule `{shown}`, which cannot be read: {}", error.message())),
        }
    })
}

/// The submodules of the checked-out commit, with their commits. Empty if that cannot be determined; then only the
/// HEADs of the clones count.
fn links(repo: &Repo, record: &Path) -> Vec<(PathBuf, Oid)> {
    let head = plain_text(&record.join("HEAD")).unwrap_or_default();
    let Ok(git) = open_bare(&repo.common_dir) else { return Vec::new() };
    let commit = match head.trim().strip_prefix("ref: ") {
        Some(refname) => git.find_reference(refname).and_then(|found| found.peel_to_commit()),
        None => Oid::from_str(head.trim()).and_then(|id| git.find_commit(id)),
    };
    let mut found = Vec::new();
    if let Ok(tree) = commit.and_then(|commit| commit.tree()) {
        let _ = tree.walk(TreeWalkMode::PreOrder, |above, entry| {
            if entry.kind() == Some(ObjectType::Commit) {
                let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
                found.push((Path::new(above).join(name), entry.id()));
            }
            TreeWalkResult::Ok
        });
    }
    found
}

/// Repositories below a `modules` directory, by name; a name may have several parts, and each may have its own
/// modules.
fn below(dir: &Path, name: &mut PathBuf, found: &mut Vec<(PathBuf, PathBuf)>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        name.push(entry.file_name());
        if path.join("HEAD").is_file() && path.join("objects").is_dir() {
            found.push((name.clone(), path.clone()));
            name.push("modules");
            below(&path.join("modules"), name, found);
            name.pop();
        } else {
            below(&path, name, found);
        }
        name.pop();
    }
}

/// A commit that this clone has checked out, has a branch for, or that the checked-out commit requires, and that the
/// other repository lacks.
fn missing(clone: &Path, kept: &Path, links: &[(PathBuf, Oid)]) -> Result<Option<Oid>, git2::Error> {
    let clone = open_bare(clone)?;
    let mut wanted: Vec<Oid> =
        links.iter().map(|(_, id)| *id).filter(|id| clone.find_commit(*id).is_ok()).collect();
    // A clone without commits has nothing to lose.
    wanted.extend(clone.head().ok().and_then(|head| head.target()));
    wanted
        .extend(plain_text(&clone.path().join("HEAD")).ok().and_then(|text| Oid::from_str(text.trim()).ok()));
    for name in ["refs/heads/*", "refs/tags/*", "refs/stash"] {
        for found in clone.references_glob(name)? {
            wanted.push(found?.peel_to_commit()?.id());
        }
    }
    let Ok(kept) = open_bare(kept) else { return Ok(wanted.first().copied()) };
    Ok(wanted.into_iter().find(|id| kept.find_commit(*id).is_err()))
}
