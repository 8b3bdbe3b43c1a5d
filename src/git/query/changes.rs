//! Which paths differ between two commits.
//!
//! A walk over the two trees, not a diff: no rename detection (a rename is a path gone and a path come, and both must
//! be in scope), and no setting or attribute can hide a path.

use std::path::Path;

use git2::{ObjectType, Oid, Tree};

use super::{Query, QueryError, absent_is_none, oid};
use crate::board::CommitId;

/// What kind of thing a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Executable,
    Symlink,
    Submodule,
}

impl EntryKind {
    pub(in crate::git) fn of(mode: i32) -> Self {
        match mode & 0o170_000 {
            0o120_000 => Self::Symlink,
            0o160_000 => Self::Submodule,
            _ if mode & 0o111 != 0 => Self::Executable,
            _ => Self::File,
        }
    }
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeStatus {
    Added,
    Deleted,
    Modified,
    /// Same content, made executable or no longer so.
    ModeChanged,
    /// A file became a symlink or a submodule, or the reverse.
    TypeChanged,
}

/// One path that differs.
#[derive(Debug)]
pub struct ChangedPath {
    /// Relative to the root. Bytes that are no UTF-8 are shown as U+FFFD, the directory they are in stays readable.
    pub path: String,
    pub status: ChangeStatus,
    /// What it is now, or was if it is gone.
    pub kind: EntryKind,
    /// Either version has a NUL byte near its start, git's own test.
    pub binary: bool,
}

/// A path that is no directory, with the object behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Leaf {
    id: Oid,
    kind: EntryKind,
}

enum Node<'q> {
    Leaf(Leaf),
    Directory(Tree<'q>),
}

impl Query {
    /// The paths that differ between two commits, sorted.
    pub fn changed_paths(&self, from: &CommitId, to: &CommitId) -> Result<Vec<ChangedPath>, QueryError> {
        let tree = |commit: &CommitId| {
            self.commit(commit)?.tree().map_err(QueryError::read(format!("the tree of {commit}")))
        };
        let mut changes = Vec::new();
        self.compare(Some(&tree(from)?), Some(&tree(to)?), "", &mut changes)?;
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    fn compare(
        &self,
        old: Option<&Tree<'_>>,
        new: Option<&Tree<'_>>,
        prefix: &str,
        changes: &mut Vec<ChangedPath>,
    ) -> Result<(), QueryError> {
        if let (Some(old), Some(new)) = (old, new)
            && old.id() == new.id()
        {
            return Ok(());
        }
        let names = |tree: Option<&Tree<'_>>| -> Vec<Vec<u8>> {
            tree.map(|tree| tree.iter().map(|entry| entry.name_bytes().to_owned()).collect())
                .unwrap_or_default()
        };
        let mut all = names(old);
        all.extend(names(new));
        all.sort_unstable();
        all.dedup();
        for name in all {
            let path = format!("{prefix}{}", String::from_utf8_lossy(&name));
            let (before, after) = (self.node(old, &name)?, self.node(new, &name)?);
            let (old_leaf, old_dir) = split(&before);
            let (new_leaf, new_dir) = split(&after);
            if let Some(change) = self.change(&path, old_leaf, new_leaf)? {
                changes.push(change);
            }
            if old_dir.is_some() || new_dir.is_some() {
                self.compare(old_dir, new_dir, &format!("{path}/"), changes)?;
            }
        }
        Ok(())
    }

    fn node<'q>(&'q self, tree: Option<&Tree<'_>>, name: &[u8]) -> Result<Option<Node<'q>>, QueryError> {
        let Some(entry) = tree.and_then(|tree| tree.get_name_bytes(name)) else { return Ok(None) };
        if entry.kind() == Some(ObjectType::Tree) {
            let tree =
                self.git.find_tree(entry.id()).map_err(QueryError::read(format!("tree {}", entry.id())))?;
            return Ok(Some(Node::Directory(tree)));
        }
        Ok(Some(Node::Leaf(Leaf { id: entry.id(), kind: EntryKind::of(entry.filemode()) })))
    }

    fn change(
        &self,
        path: &str,
        old: Option<Leaf>,
        new: Option<Leaf>,
    ) -> Result<Option<ChangedPath>, QueryError> {
        let is_file = |kind| matches!(kind, EntryKind::File | EntryKind::Executable);
        let (status, kind) = match (old, new) {
            (None, None) => return Ok(None),
            (Some(old), Some(new)) if old == new => return Ok(None),
            (None, Some(new)) => (ChangeStatus::Added, new.kind),
            (Some(old), None) => (ChangeStatus::Deleted, old.kind),
            (Some(old), Some(new))
                if is_file(old.kind) != is_file(new.kind) || !is_file(new.kind) && old.kind != new.kind =>
            {
                (ChangeStatus::TypeChanged, new.kind)
            }
            (Some(old), Some(new)) if old.id == new.id => (ChangeStatus::ModeChanged, new.kind),
            (Some(_), Some(new)) => (ChangeStatus::Modified, new.kind),
        };
        let mut binary = false;
        for leaf in [old, new].into_iter().flatten() {
            if is_file(leaf.kind) && !binary {
                binary = is_binary(&self.blob(leaf.id)?);
            }
        }
        Ok(Some(ChangedPath { path: path.to_owned(), status, kind, binary }))
    }
}

impl Query {
    /// The object at a path of a tree, if there is one that is no directory.
    pub(in crate::git) fn id_in_tree(&self, tree: &CommitId, path: &str) -> Result<Option<Oid>, QueryError> {
        Ok(self.leaf_in_tree(tree, path)?.map(|(id, _)| id))
    }

    /// The mode of a path of a tree, as git writes it in octal.
    pub(in crate::git) fn mode_in_tree(
        &self,
        tree: &CommitId,
        path: &str,
    ) -> Result<Option<i32>, QueryError> {
        Ok(self.leaf_in_tree(tree, path)?.map(|(_, mode)| mode))
    }

    fn leaf_in_tree(&self, tree: &CommitId, path: &str) -> Result<Option<(Oid, i32)>, QueryError> {
        let what = || format!("`{path}` in tree {tree}");
        let tree = self.git.find_tree(oid(tree)?).map_err(QueryError::read(what()))?;
        let entry = absent_is_none(tree.get_path(Path::new(path))).map_err(QueryError::read(what()))?;
        Ok(entry
            .filter(|entry| entry.kind() != Some(ObjectType::Tree))
            .map(|entry| (entry.id(), entry.filemode())))
    }
}

fn split<'n, 'q>(node: &'n Option<Node<'q>>) -> (Option<Leaf>, Option<&'n Tree<'q>>) {
    match node {
        None => (None, None),
        Some(Node::Leaf(leaf)) => (Some(*leaf), None),
        Some(Node::Directory(tree)) => (None, Some(tree)),
    }
}

/// Git's own test: a NUL byte in the first 8000.
pub(in crate::git) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8000).any(|&byte| byte == 0)
}
