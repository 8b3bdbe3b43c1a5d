//! The origin of a process, as far as the kernel shows it.

use super::agent::Process;
use super::prelude::*;

/// What liza knows about the origin of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descent {
    /// The nearest first.
    pub ancestors: Vec<Process>,
    /// How many of these are nearer than the nearest `git` among them: a process that git started is a hook, a filter
    /// or an alias.
    pub below_git: Option<usize>,
    /// An agent with a running runner that may be an ancestor but is not visible from here.
    pub unseen: Option<super::AgentId>,
    /// The process outlived its agent's runner and is detached from it.
    pub orphan: bool,
    /// A gate, a validation or one of liza's git commands started the process: it acts for no agent and no person.
    pub gate: bool,
    /// The part of the origin that the kernel does not show.
    pub hidden: Option<Hidden>,
    /// The mark inherited from the command of an agent.
    pub mark: Option<Mark>,
}

/// What a process hides, or cannot see. Such a process may change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// The process's ancestors.
    Processes,
    /// The id of this boot, or a clock that can be compared with the clocks of other processes.
    Clock,
    /// The locks that identify runners.
    Locks,
    /// Everything, because the process can open no more files.
    Unopened,
}

impl Hidden {
    pub fn what(self) -> &'static str {
        match self {
            Self::Processes => "the kernel's /proc does not show which processes started this one",
            Self::Clock => {
                "this process has a clock of its own (a time namespace), or cannot read the boot's name"
            }
            Self::Unopened => "/proc could not be opened: too many files are open, or memory is short",
            Self::Locks => "a file system is mounted over the lock files of this board's runners",
        }
    }
}

/// Two numbers that all processes of an agent or a gate inherit and can only lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    pub locks: u64,
    pub rttime: u64,
}

impl Mark {
    /// Both numbers are too large to limit anything, and their sum is constant. The numbers of a gate are lower, so
    /// that a gate that an agent started can be marked too.
    const LEAST: u64 = 1 << 61;
    const SPREAD: u64 = 1 << 60;
    const LEAST_OF_GATE: u64 = 1 << 59;

    /// The mark of processes that the agent of this runner started.
    pub fn of(runner: &Process) -> Self {
        let text = format!("{} {} {} {}", runner.pid, runner.started, runner.boot, runner.namespace);
        Self::made_of(&text, Self::LEAST)
    }

    /// The mark of processes that a gate of the board in this directory started.
    pub fn of_gate(device: u64, inode: u64) -> Self {
        Self::made_of(&format!("gate {device} {inode}"), Self::LEAST_OF_GATE)
    }

    fn made_of(text: &str, least: u64) -> Self {
        let hash = blake3::hash(text.as_bytes());
        let number = hash.as_bytes().iter().take(8).fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
        let number = number % Self::SPREAD;
        Self { locks: least + number, rttime: least + Self::SPREAD - number }
    }

    /// Whether it is a mark, or was one before it was lowered.
    pub fn is_plausible(self) -> bool {
        self.locks <= Self::LEAST + Self::SPREAD && self.rttime <= Self::LEAST + Self::SPREAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowering_creates_no_other_origin_mark() {
        let process = |pid| Process { pid, started: 7, boot: "b".into(), namespace: "n".into() };
        let gates = (1..100).map(|inode| Mark::of_gate(1, inode));
        assert!(gates.clone().all(|mark| mark.locks < Mark::LEAST && mark.rttime < Mark::LEAST));
        assert_all_apart(gates.collect());
        assert_all_apart((1..200).map(|pid| Mark::of(&process(pid))).collect());
    }

    fn assert_all_apart(marks: Vec<Mark>) {
        for (at, one) in marks.iter().enumerate() {
            assert!(one.is_plausible());
            for other in &marks[at + 1..] {
                let lowers = |a: &Mark, b: &Mark| b.locks <= a.locks && b.rttime <= a.rttime;
                assert!(!lowers(one, other) && !lowers(other, one), "{one:?} {other:?}");
            }
        }
    }
}
