//! What agents of a run set free, and what was there before it.

use rustix::process::{Pid, WaitOptions};

use super::super::prelude::*;

pub struct Orphans {
    /// Processes that this process had started before it became liza (`exec`): neither they nor their children are ours.
    early: Vec<Process>,
    /// Ended, but perhaps not reaped yet.
    ended: Vec<Pid>,
}

impl Orphans {
    /// To be called before anything is started.
    pub fn at_start() -> Self {
        let found = if crate::host::has_children() { crate::host::descendants() } else { Vec::new() };
        let early = found.into_iter().map(crate::host::process).collect();
        Self { early, ended: Vec::new() }
    }

    /// Learns what the early ones have started meanwhile, as long as it can be seen whose it is.
    pub fn learn(&mut self, runners: &BTreeSet<u32>) {
        self.early.retain(crate::host::lives);
        if self.early.is_empty() {
            return;
        }
        let known: BTreeSet<u32> = self.early.iter().map(|process| process.pid).collect();
        // In this order, so that what is started meanwhile is not taken for theirs.
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
        // What was set free is below a child of this process; only then every process is looked at.
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

    /// The last look: the children of what was ended come one after the other.
    pub fn end_all(&mut self, runners: &BTreeSet<u32>) {
        let deadline = Instant::now() + Duration::from_secs(2);
        // That there is none is sure, unlike what a list of children says that is made while they come and go.
        while crate::host::has_children() && self.end(runners) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
