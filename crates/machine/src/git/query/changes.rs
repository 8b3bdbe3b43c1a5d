//! Which paths differ between two commits.
//!
//! Walks both trees, without a diff: no rename detection (a rename is one path removed and one added, and both must
//! be in scope), and no setting or attribute can hide a path.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{ObjectType, Oid, Tree, TreeEntry};

use super::{Query, QueryError, absent_is_none, oid};
use crate::board::CommitId;

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

#[derive(Debug)]
pub struct ChangedPath {
    /// Relative to the root. Bytes that are not UTF-8 are shown as U+FFFD; the directory stays readable.
    pub path: String,
    pub status: ChangeStatus,
}

/// A path that is not a directory, with its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Leaf {
    id: Oid,
    kind: EntryKind,
}

/// An entry of a tree: a leaf, a directory, or neither.
type Node<'q> = (Option<Leaf>, Option<Tree<'q>>);

impl Query {
    /// The paths that differ between two commits, sorted.
    pub fn changed_paths(&self, from: &CommitId, to: &CommitId) -> Result<Vec<ChangedPath>, QueryError> {
        let mut changes = Vec::new();
        let (old, new) = (self.tree_object(from)?, self.tree_object(to)?);
        self.compare(Some(&old), Some(&new), "", &mut changes)?;
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
        let trees = [old, new].into_iter().flatten();
        let names: BTreeSet<Vec<u8>> =
            trees.flat_map(|tree| tree.iter().map(|entry| entry.name_bytes().to_owned())).collect();
        for name in names {
            let path = format!("{prefix}{}", String::from_utf8_lossy(&name));
            let ((old_leaf, old_dir), (new_leaf, new_dir)) = (self.node(old, &name)?, self.node(new, &name)?);
            changes.extend(change(&path, old_leaf, new_leaf));
            if old_dir.is_some() || new_dir.is_some() {
                self.compare(old_dir.as_ref(), new_dir.as_ref(), &format!("{path}/"), changes)?;
            }
        }
        Ok(())
    }

    fn node<'q>(&'q self, tree: Option<&Tree<'_>>, name: &[u8]) -> Result<Node<'q>, QueryError> {
        let Some(entry) = tree.and_then(|tree| tree.get_name_bytes(name)) else { return Ok((None, None)) };
        if entry.kind() == Some(ObjectType::Tree) {
            return Ok((None, Some(self.tree_by_id(entry.id())?)));
        }
        Ok((Some(Leaf { id: entry.id(), kind: EntryKind::of(entry.filemode()) }), None))
    }

    /// The entry at a path of a tree, unless it is a directory.
    pub(in crate::git) fn leaf_in_tree(
        &self,
        tree: &CommitId,
        path: &str,
    ) -> Result<Option<TreeEntry<'static>>, QueryError> {
        let found = self.objects.find_tree(oid(tree)?);
        let found = found.and_then(|tree| absent_is_none(tree.get_path(Path::new(path))));
        let entry = found.map_err(QueryError::read(format!("`{path}` in tree {tree}")))?;
        Ok(entry.filter(|entry| entry.kind() != Some(ObjectType::Tree)))
    }
}

fn change(path: &str, old: Option<Leaf>, new: Option<Leaf>) -> Option<ChangedPath> {
    let is_file = |kind| matches!(kind, EntryKind::File | EntryKind::Executable);
    let status = match (old, new) {
        (None, None) => return None,
        (None, Some(_)) => ChangeStatus::Added,
        (Some(_), None) => ChangeStatus::Deleted,
        (Some(old), Some(new)) if old == new => return None,
        (Some(old), Some(new)) if old.kind != new.kind && !(is_file(old.kind) && is_file(new.kind)) => {
            ChangeStatus::TypeChanged
        }
        (Some(old), Some(new)) if old.id == new.id => ChangeStatus::ModeChanged,
        (Some(_), Some(_)) => ChangeStatus::Modified,
    };
    Some(ChangedPath { path: path.to_owned(), status })
}

/// Git's own test: a NUL byte in the first 8000.
pub(in crate::git) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8000).any(|&byte| byte == 0)
}
