//! What no attack may change: the person's files, branches, tags and settings, who is on the board, and what was approved
//! and landed. Read from the files themselves: whatever was planted has no say in it.

use super::Attack;
use crate::cli::prelude::*;
use crate::store::Store;

/// Who may be on the board of an attack: those that the person registered, and those that its runners play.
const KNOWN: [&str; 6] = ["rev", "other", "coder-1", "coder-2", "code-reviewer-1", "planner-1"];
const INTEGRATION: &str = ".git/refs/heads/integration";

/// The files of a person and what they hold.
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

    /// What differs, as far as it was not the attack itself that changed it.
    fn differences(&self, now: &Self, attack: &Attack) -> Vec<String> {
        let names: BTreeSet<&String> = self.files.keys().chain(now.files.keys()).collect();
        let changed = names.into_iter().filter(|name| self.files.get(*name) != now.files.get(*name));
        changed
            .filter(|name| !attack.spoils(name))
            .map(|name| format!("`{name}` of the person is not as it was"))
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

/// What a file holds; of a link, where it leads.
fn content(path: &Path) -> Option<Vec<u8>> {
    match std::fs::read_link(path) {
        Ok(to) => Some(format!("link to {}", to.display()).into_bytes()),
        Err(_) => std::fs::read(path).ok(),
    }
}

/// Everything that was changed and must not have been.
pub fn touched(root: &Path, before: &Snapshot, attack: &Attack) -> Vec<String> {
    let now = Snapshot::take(root);
    let mut found = before.differences(&now, attack);
    if attack.spoils("board") {
        // The attack wrote into it: what it says now is for the attack's own check.
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
        found.push(format!("integration is at {}, where liza did not put it", clipped(at.trim(), 12)));
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
            found.push(format!("{} was approved by {}, who made it", task.id, approval.reviewer));
        }
        let landed = task.status == Status::Merged;
        if landed && !attack.lets_land(task.id.as_str()) {
            found.push(format!("{} was merged", task.id));
        }
        // Only a step of a reviewer or of a person can end in an approval.
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
    fn every_change_of_the_persons_things_is_seen() {
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
            let seen = before.differences(&Snapshot::take(root), &PLAIN);
            assert!(seen.len() == 1 && seen[0].contains(name), "{name}: {seen:?}");
            write(name, "before");
        }
        write(".git/refs/tags/v2", "new");
        assert_eq!(before.differences(&Snapshot::take(root), &PLAIN).len(), 1);
        std::fs::remove_file(root.join(".git/refs/tags/v2")).expect("removed");
        // A link to the same words is not the same file, and a missing one is missed.
        std::fs::remove_file(root.join("c.txt")).expect("removed");
        assert_eq!(before.differences(&Snapshot::take(root), &PLAIN).len(), 1);
        std::os::unix::fs::symlink("a/b.txt", root.join("c.txt")).expect("a link");
        assert_eq!(before.differences(&Snapshot::take(root), &PLAIN).len(), 1);
        write(".git/config", "after");
        write("a/b.txt", "after");
        assert_eq!(before.differences(&Snapshot::take(root), &SPOILING).len(), 1, "only the link");
    }
}
