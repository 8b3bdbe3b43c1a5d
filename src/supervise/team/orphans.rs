//! Processes that agents of a run left behind, as opposed to processes that existed before the run.

use rustix::process::{Pid, WaitOptions};

use super::super::prelude::*;

pub struct Orphans {
    /// Processes that this process had started before it became liza (`exec`): neither they nor their children are ours.
    early: Vec<Process>,
    /// Killed, but perhaps not reaped yet.
    ended: Vec<Pid>,
}

impl Orphans {
    /// Call this before the run starts any process.
    pub fn at_start() -> Self {
        let found = if crate::host::has_children() { crate::host::descendants() } else { Vec::new() };
        let early = found.into_iter().map(crate::host::process).collect();
        Self { early, ended: Vec::new() }
    }

    /// Adds children of the early processes, while their parents still show whose they are.
    pub fn learn(&mut self, runners: &BTreeSet<u32>) {
        self.early.retain(crate::host::lives);
        if self.early.is_empty() {
            return;
        }
        let known: BTreeSet<u32> = self.early.iter().map(|process| process.pid).collect();
        // In this order, so that a process started meanwhile is not taken for an early one.
        let all = crate::host::descendants_except(runners);
        let ours: BTreeSet<u32> =
            crate::host::descendants_except(&runners.union(&known).copied().collect()).into_iter().collect();
        let theirs = all.into_iter().filter(|pid| !ours.contains(pid) && !known.contains(pid));
        self.early.extend(theirs.map(crate::host::process));
    }

    /// Ends processes that agents of killed runners left behind: this process has adopted them. Returns how many.
    pub fn end(&mut self, runners: &BTreeSet<u32>) -> usize {
        self.learn(runners);
        let mut spared = runners.clone();
        spared.extend(self.early.iter().map(|process| process.pid));
        // Orphans are below a child of this process; without a new child, the process list is not read.
        if crate::host::children().is_subset(&spared) {
            return 0;
        }
        let found = crate::host::descendants_except(&spared);
        for pid in found.iter().filter_map(|pid| i32::try_from(*pid).ok()).filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            self.ended.push(pid);
        }
        self.ended
            .retain(|pid| matches!(rustix::process::waitpid(Some(*pid), WaitOptions::NOHANG), Ok(None)));
        found.len()
    }

    /// Kills until none is left: the children of a killed process become orphans in turn.
    pub fn end_all(&mut self, runners: &BTreeSet<u32>) {
        let deadline = Instant::now() + Duration::from_secs(2);
        // "No child" from the kernel is certain; a list of children may miss some that start meanwhile.
        while crate::host::has_children() && self.end(runners) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
