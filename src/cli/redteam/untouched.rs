//! Finds forbidden changes: to the person's files, branches, tags and settings, to the list of agents, to approvals and
//! merges. It reads the files directly, so planted hooks and filters have no effect on it.

use super::Attack;
use crate::cli::prelude::*;
use crate::store::Store;

/// Agents that may be on the board of an attack: the person registered them, or its runners did.
const KNOWN: [&str; 6] = ["rev", "other", "coder-1", "coder-2", "code-reviewer-1", "planner-1"];
const INTEGRATION: &str = ".git/refs/heads/integration";

/// The person's files with their contents.
#[derive(Debug, PartialEq, Eq)]
pub struct Snapshot {
    files: BTreeMap<String, Vec<u8>>,
    integration: Vec<u8>,
}

impl Snapshot {
    pub fn take(root: &Path) -> Self {
        let mut files = BTreeMap::new();
        let own = |name: &str| [".git", ".liza", ".worktrees"].contains(&name);
        collect(root, "", &own, &mut files);
        for name in ["HEAD", "index", "config", "packed-refs", "refs/heads/main", "refs/heads/mine"] {
            let path = format!(".git/{name}");
            if let Some(bytes) = content(&root.join(&path)) {
                files.insert(path, bytes);
            }
        }
        collect(&root.join(".git/refs/tags"), ".git/refs/tags/", &|_| false, &mut files);
        Self { files, integration: content(&root.join(INTEGRATION)).unwrap_or_default() }
    }

    /// The changed files, except those that the attack is expected to change.
    fn differences(&self, now: &Self, attack: &Attack) -> Vec<String> {
        let names: BTreeSet<&String> = self.files.keys().chain(now.files.keys()).collect();
        let changed = names.into_iter().filter(|name| self.files.get(*name) != now.files.get(*name));
        changed
            .filter(|name| !attack.spoils(name))
            .map(|name| format!("the person's file `{name}` has changed"))
            .collect()
    }
}

fn collect(dir: &Path, prefix: &str, is_own: &dyn Fn(&str) -> bool, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_own(&name) {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                collect(&entry.path(), &format!("{prefix}{name}/"), &|_| false, files)
            }
            _ => {
                files.insert(format!("{prefix}{name}"), content(&entry.path()).unwrap_or_default());
            }
        }
    }
}

/// The content of a file; for a link, its target.
fn content(path: &Path) -> Option<Vec<u8>> {
    match std::fs::read_link(path) {
        Ok(to) => Some(format!("link to {}", to.display()).into_bytes()),
        Err(_) => std::fs::read(path).ok(),
    }
}

/// All forbidden changes, in words.
pub fn forbidden_changes(root: &Path, before: &Snapshot, attack: &Attack) -> Vec<String> {
    let now = Snapshot::take(root);
    let mut found = before.differences(&now, attack);
    if attack.spoils("board") {
        // The attack is expected to change the board; its own script checks that.
        return found;
    }
    let board = match Store::new(Store::address_in(root)).read(&Needs::Everything) {
        Ok(snapshot) => snapshot.board,
        Err(error) => {
            found.push(format!("the board cannot be read: {error}"));
            return found;
        }
    };
    found.extend(wrong_on_board(&board, attack));
    let head = board.rest.integration.head.as_ref().map_or("", |head| head.as_str());
    let at = String::from_utf8_lossy(&now.integration);
    if !attack.spoils("integration") && at.trim() != head && now.integration != before.integration {
        found.push(format!("integration is at {}, and liza did not move it there", clipped(at.trim(), 12)));
    }
    found
}

fn wrong_on_board(board: &Board, attack: &Attack) -> Vec<String> {
    let mut found = Vec::new();
    for id in board.rest.agents.keys().filter(|id| !KNOWN.contains(&id.as_str())) {
        found.push(format!("an agent `{id}` is on the board"));
    }
    for task in &board.tasks {
        let approval = task.body().approval.as_ref();
        if let Some(approval) = approval.filter(|approval| task.was_implemented_by(&approval.reviewer)) {
            found.push(format!("{} was approved by its own coder {}", task.id, approval.reviewer));
        }
        let landed = task.status == Status::Merged;
        if landed && !attack.lets_land(task.id.as_str()) {
            found.push(format!("{} was merged", task.id));
        }
        // Only a reviewer or a person may approve.
        if task.status == Status::Approved && !attack.has_honest_approval() {
            found.push(format!("{} was approved", task.id));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Attack = Attack { id: "plain", script: "# promise: p\n" };
    const SPOILING: Attack = Attack { id: "spoiling", script: "# spoils: .git/config a\n" };

    #[test]
    fn every_change_to_the_persons_files_is_found() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        let names =
            ["a/b.txt", "c.txt", ".git/config", ".git/HEAD", ".git/refs/heads/mine", ".git/refs/tags/v1"];
        for name in names {
            write(name, "before");
        }
        write(".liza/x", "before");
        let before = Snapshot::take(root);
        write(".liza/x", "after");
        assert_eq!(before.differences(&Snapshot::take(root), &PLAIN), Vec::<String>::new());
        for name in names {
            write(name, "after");
            let found = before.differences(&Snapshot::take(root), &PLAIN);
            assert!(found.len() == 1 && found[0].contains(name), "{name}: {found:?}");
            write(name, "before");
        }
        write(".git/refs/tags/v2", "new");
        assert_eq!(before.differences(&Snapshot::take(root), &PLAIN).len(), 1);
        std::fs::remove_file(root.join(".git/refs/tags/v2")).expect("removed");
        // A link to a file with the same content counts as a change, and so does a missing file.
        std::fs::remove_file(root.join("c.txt")).expect("removed");
        assert_eq!(before.differences(&Snapshot::take(root), &PLAIN).len(), 1);
        std::os::unix::fs::symlink("a/b.txt", root.join("c.txt")).expect("a link");
        assert_eq!(before.differences(&Snapshot::take(root), &PLAIN).len(), 1);
        write(".git/config", "after");
        write("a/b.txt", "after");
        assert_eq!(before.differences(&Snapshot::take(root), &SPOILING).len(), 1, "only the link");
    }
}
