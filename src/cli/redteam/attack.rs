//! The attacks: scripts with a header, one file each.

macro_rules! attacks {
    ($($id:literal,)*) => {
        /// In the order in which they are shown; a new attack is its file and its row here.
        pub const ALL: &[Attack] = &[$(Attack {
            id: $id,
            script: include_str!(concat!("../../../templates/redteam/attacks/", $id, ".sh")),
        },)*];
    };
}

attacks! {
    // Identity of the caller.
    "no-identity", "stolen-token", "own-session", "double-fork", "killed-runner", "hidden-proc", "pid-namespace",
    "false-boot-id", "other-clock", "odd-name", "preloaded-getpid", "terminal", "typed-terminal", "friend", "people-only",
    // Approving and merging own work.
    "own-approval", "own-merge", "changed-checkout", "moved-after-approval", "out-of-scope", "lost-lease",
    // Git.
    "planted-hooks", "reviewers-own-git", "fsmonitor", "filter", "merge-driver", "worktree-gitfile", "commondir", "no-gitfile",
    "false-git", "replaced-objects", "forged-object", "repository-inside",
    // Branches.
    "tag-of-integration", "symbolic-integration", "linked-integration", "linked-branches", "moved-integration",
    // Gates.
    "weakened-gate", "gate-settings", "forged-gate-pass", "gate-calls-liza",
    // Board and files.
    "edited-limit", "edited-approval", "edited-journal", "rolled-back", "cleaned", "linked-copies", "linked-board", "linked-logs",
    "worktree-link", "deep-directories", "large-note", "large-plan",
}

/// One attack: its name and its script.
#[derive(Debug)]
pub struct Attack {
    pub id: &'static str,
    pub script: &'static str,
}

impl Attack {
    /// A line `# key: value` of the header.
    fn header(&self, key: &str) -> &'static str {
        let lines = self.script.lines().take_while(|line| line.starts_with('#'));
        let mut values =
            lines.filter_map(|line| line.strip_prefix("# ")?.strip_prefix(key)?.strip_prefix(": "));
        values.next().unwrap_or_default()
    }

    fn words(&self, key: &str) -> impl Iterator<Item = &'static str> {
        self.header(key).split_whitespace()
    }

    /// The promise that the attack tries to break.
    pub fn promise(&self) -> &'static str {
        self.header("promise")
    }

    /// What the agent tries, in one line.
    pub fn attempt(&self) -> &'static str {
        self.header("attack")
    }

    /// Its steps: functions of the script, in their order.
    pub fn play(&self) -> Vec<&'static str> {
        self.words("play").collect()
    }

    /// Whether it is one of the few that `liza demo` tries.
    pub fn is_quick(&self) -> bool {
        self.header("quick") == "yes"
    }

    /// Whether the attack is expected to change this (a path in the checkout, `integration` or `board`); then its script
    /// judges the change.
    pub fn spoils(&self, what: &str) -> bool {
        self.words("spoils").any(|spoilt| what == spoilt || what.starts_with(&format!("{spoilt}/")))
    }

    /// Whether honest work on this task may land, and so be approved.
    pub fn lets_land(&self, task: &str) -> bool {
        self.words("lands").any(|lands| lands == task)
    }

    /// Whether a step of it may approve honest work.
    pub fn has_honest_approval(&self) -> bool {
        self.words("play").any(|step| step.starts_with("reviewer") || step.starts_with("person"))
    }

    /// Whether it has a function of this name.
    #[cfg(test)]
    fn has(&self, function: &str) -> bool {
        self.script.lines().any(|line| line.starts_with(&format!("{function}() {{")))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_attack_can_be_judged() {
        for attack in ALL {
            let id = attack.id;
            assert!(!attack.promise().is_empty() && !attack.attempt().is_empty(), "{id}");
            assert!(!attack.play().is_empty(), "{id} has no steps");
            for step in attack.play() {
                assert!(attack.has(step), "{id} has no function {step}");
            }
            assert!(attack.has("outcome"), "{id} is not judged");
            assert!(
                attack.has("won") || attack.has("won_last"),
                "{id}: no control shows that its check can fail"
            );
            // A control carries out the aim of the attack; a script that only reports success proves nothing.
            let pretends = |line: &str| line.trim_start().starts_with("try ") && line.ends_with(" true");
            assert_eq!(attack.script.lines().find(|line| pretends(line)), None, "{id}");
        }
        let mut ids: Vec<&str> = ALL.iter().map(|attack| attack.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len(), "two attacks have one name");
        assert!(ALL.iter().filter(|attack| attack.is_quick()).count() >= 8);
    }

    #[test]
    fn every_file_is_registered() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/redteam/attacks");
        for file in std::fs::read_dir(dir).expect("the attacks").flatten() {
            let name = file.file_name().to_string_lossy().replace(".sh", "");
            assert!(ALL.iter().any(|attack| attack.id == name), "{name} is in no table");
        }
    }
}
