//! Processes, identified so that a reused pid is never taken for the process that had it before.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

use crate::board::{Hidden, Mark, Process};

use super::procfs::{self, this_pid};

/// The liza command that stands between a process and its child, so that no descendant is left over.
pub(super) const HOLD: &str = "__hold";
/// Its option that names the board whose gate it holds.
pub(super) const HOLD_GATE: &str = "--gate";

/// The process name of a gate's holder, by which its descendants find it among their ancestors.
const HOLDER_NAME: &std::ffi::CStr = c"liza-hold";

/// This process. Its identity is read once.
pub fn this_process() -> Process {
    static THIS: OnceLock<Process> = OnceLock::new();
    let read = || {
        let pid = this_pid();
        let started = Stat::of(pid).map_or(0, |stat| stat.started);
        let namespace = procfs::checked().map(|proc| proc.namespaces.clone()).unwrap_or_default();
        Process { pid, started, boot: super::clock::boot_id().to_owned(), namespace }
    };
    THIS.get_or_init(read).clone()
}

/// Gives this process the name of a gate's holder. Called before it starts anything.
pub fn show_as_holder() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::thread::set_name(HOLDER_NAME);
    }
}

/// Moves this process into a session without a terminal: a program in it cannot type into the shell of the person who
/// started it.
pub fn leave_session() {
    let _ = rustix::process::setsid();
}

/// The path of a program, by this process's search path.
pub fn program(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &PathBuf| {
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(runs)
}

/// The process that has this pid now.
pub fn process(pid: u32) -> Process {
    Process { pid, started: Stat::of(pid).map_or(0, |stat| stat.started), ..this_process() }
}

/// The path of this program, for starting it again.
pub fn this_program() -> PathBuf {
    match std::env::current_exe() {
        Ok(path) if path.exists() => path,
        // Replaced while it runs, for example by a new build: the kernel still has the old file.
        _ => PathBuf::from("/proc/self/exe"),
    }
}

/// Makes orphaned descendants children of this process.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// The pids of all living descendants of this process.
pub fn descendants() -> Vec<u32> {
    descendants_except(&BTreeSet::new())
}

/// The same without the spared processes and their descendants.
pub fn descendants_except(spared: &BTreeSet<u32>) -> Vec<u32> {
    below(this_pid(), spared)
}

/// The pids of all living descendants of that process.
pub fn descendants_of(pid: u32) -> Vec<u32> {
    below(pid, &BTreeSet::new())
}

/// What a process and its descendants have used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Burden {
    /// The number of its descendants.
    pub processes: u64,
    /// Processor time, including that of children which have ended.
    pub cpu_ms: u64,
}

/// None if the system does not report it.
pub fn burden_of(pid: u32) -> Option<Burden> {
    let mut open = vec![pid];
    let mut seen = BTreeSet::from([pid]);
    let mut listed = Vec::new();
    while let Some(next) = open.pop() {
        match children_of(next) {
            Some(children) => {
                let new: Vec<u32> = children.into_iter().filter(|child| seen.insert(*child)).collect();
                listed.extend(&new);
                open.extend(new);
            }
            // The process ended meanwhile, and its children have another parent; or the kernel lists none.
            None if next != pid => {}
            None => listed = below(pid, &BTreeSet::new()),
        }
    }
    let (mut ticks, mut processes) = (Stat::of(pid)?.ticks, 0);
    for stat in listed.into_iter().filter_map(Stat::of) {
        ticks += stat.ticks;
        processes += u64::from(stat.state != b'Z');
    }
    let cpu_ms = ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second().max(1);
    Some(Burden { processes, cpu_ms })
}

/// The children of a process as the kernel lists them, which is much faster than looking at every process; not every
/// kernel does.
fn children_of(pid: u32) -> Option<BTreeSet<u32>> {
    let mut found = BTreeSet::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let path = thread.path();
        match std::fs::read_to_string(path.join("children")) {
            Ok(listed) => found.extend(listed.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
            // A thread that just ended has no children.
            Err(_) if !path.exists() => {}
            Err(_) => return None,
        }
    }
    Some(found)
}

/// The children of this process.
pub fn children() -> BTreeSet<u32> {
    let here = this_pid();
    children_of(here).unwrap_or_else(|| {
        parents().into_iter().filter(|(_, parent)| *parent == here).map(|(child, _)| child).collect()
    })
}

/// Ends all descendants of this process, except the spared ones and their descendants. False if some still run after
/// `patience`.
///
/// A process that forks and ends again and again is gone before its pid is read anywhere. So children are read the
/// fastest way, and all are stopped before any is ended.
pub fn end_descendants_except(spared: &BTreeSet<u32>, patience: Duration) -> bool {
    const QUICK_ROUNDS: usize = 200;
    let deadline = Instant::now() + patience;
    let signal = |pids: &[Pid], signal: Signal| {
        for pid in pids {
            let _ = rustix::process::kill_process(*pid, signal);
        }
    };
    let kill = |pids: &[Pid]| {
        signal(pids, Signal::KILL);
        for pid in pids {
            let _ = rustix::process::waitpid(Some(*pid), WaitOptions::NOHANG);
        }
    };
    loop {
        if !has_children() {
            return true;
        }
        for _ in 0..QUICK_ROUNDS {
            let own: Vec<Pid> = children().difference(spared).copied().filter_map(pid_of).collect();
            if own.is_empty() {
                break;
            }
            signal(&own, Signal::STOP);
            kill(&own);
        }
        // Remaining descendants become children of this process when their parents end.
        let mut stopped = BTreeSet::new();
        for _ in 0..10 {
            let below: BTreeSet<u32> = descendants_except(spared).into_iter().collect();
            let new: Vec<Pid> = below.difference(&stopped).copied().filter_map(pid_of).collect();
            if new.is_empty() {
                break;
            }
            signal(&new, Signal::STOP);
            stopped.extend(below);
        }
        kill(&stopped.into_iter().filter_map(pid_of).collect::<Vec<_>>());
        let left = has_children()
            && (spared.is_empty() && children_of(this_pid()).is_some()
                || children().difference(spared).next().is_some());
        if !left || Instant::now() > deadline {
            return !left;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether this process has any child, including ended ones that were not waited for. Lists may miss a child that
/// starts while they are made; this does not.
pub fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(rustix::process::waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

pub(super) fn pid_of(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// The pids of all processes.
fn all_pids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Every living process and its parent.
fn parents() -> HashMap<u32, u32> {
    let living = all_pids().filter_map(Stat::of).filter(|stat| !stat.has_ended());
    living.map(|stat| (stat.pid, stat.parent)).collect()
}

fn below(here: u32, spared: &BTreeSet<u32>) -> Vec<u32> {
    let parents = parents();
    let descends = |pid: u32| {
        let mut at = pid;
        // Read one by one, the table may contradict itself; no real chain is longer than this.
        for _ in 0..=parents.len() {
            if spared.contains(&at) {
                return false;
            }
            match parents.get(&at) {
                Some(parent) if *parent == here => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(|pid| descends(*pid)).collect()
}

/// The ancestors of this process.
#[derive(Debug, Clone, Default)]
pub struct Ancestry {
    /// The nearest first, up to the first process of its pid namespace.
    pub processes: Vec<Process>,
    /// The boards whose gates one of them holds.
    pub gates_of: Vec<PathBuf>,
    /// How many of them are nearer than the nearest `git`.
    pub below_git: Option<usize>,
    /// The mark of the runner that this process descends from, which no namespace hides.
    pub mark: Option<Mark>,
}

/// The error says why the ancestors cannot be determined.
pub fn ancestors() -> Result<Ancestry, Hidden> {
    procfs::checked()?;
    let mark = super::mark::own()?;
    // A parent that ends during the walk passes its child to another process: then the whole walk starts again.
    (0..100).find_map(|_| walk_up(mark)).ok_or(Hidden::Processes)
}

fn walk_up(mark: Option<Mark>) -> Option<Ancestry> {
    let mut found = Ancestry { mark, ..Ancestry::default() };
    let here = this_process();
    let mut child = Stat::of(here.pid)?;
    while child.parent != 0 {
        let Some(parent) = Stat::of(child.parent) else {
            // Where /proc hides the processes of other users, the walk ends at one of theirs.
            if is_of_another_user(child.parent) && Stat::of(child.pid)?.parent == child.parent {
                break;
            }
            return None;
        };
        // If the parent has ended meanwhile, its pid may belong to a process that started after the child.
        if parent.started >= child.started && Stat::of(child.pid)?.parent != parent.pid {
            return None;
        }
        if found.processes.iter().any(|known| known.pid == parent.pid) {
            return None;
        }
        if parent.is_holder {
            found.gates_of.extend(holds_gate_of(parent.pid));
        }
        if parent.is_git && found.below_git.is_none() {
            found.below_git = Some(found.processes.len());
        }
        found.processes.push(Process { pid: parent.pid, started: parent.started, ..here.clone() });
        child = parent;
    }
    Some(found)
}

fn is_of_another_user(pid: u32) -> bool {
    pid_of(pid).is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::PERM))
}

/// Whether exactly this process still runs. In doubt (another pid namespace, no /proc) it counts as alive.
pub fn lives(process: &Process) -> bool {
    let here = this_process();
    if cfg!(target_os = "linux") && procfs::checked().is_err() {
        return true;
    }
    if process.boot != here.boot {
        return false;
    }
    if process.namespace != here.namespace {
        return true;
    }
    if cfg!(target_os = "linux") {
        let stat = Stat::of(process.pid);
        return stat.is_some_and(|stat| stat.started == process.started && !stat.has_ended());
    }
    answers(process.pid)
}

/// Whether the process with this pid is a liza: a file named after a pid is checked by this. In doubt, yes.
pub fn is_running_liza(pid: u32) -> bool {
    if cfg!(target_os = "linux") {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        return name.starts_with("liza") && !Stat::of(pid).is_some_and(|stat| stat.has_ended());
    }
    answers(pid)
}

/// Whether a process with this pid exists, as far as signals show.
fn answers(pid: u32) -> bool {
    pid_of(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// The environment a process was started with; none if it cannot be read, or the pid belongs to another process now.
pub fn environment_of(process: &Process) -> Option<Vec<(OsString, OsString)>> {
    let bytes = std::fs::read(format!("/proc/{}/environ", process.pid)).ok().filter(|_| lives(process))?;
    let pairs = bytes.split(|byte| *byte == 0).filter_map(|entry| {
        let at = entry.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
        Some((OsStr::from_bytes(&entry[..at]).to_owned(), OsStr::from_bytes(&entry[at + 1..]).to_owned()))
    });
    Some(pairs.collect())
}

/// Whether the process with this number is `liza agent run`.
pub fn is_runner(pid: u32) -> bool {
    let words = command_line(pid).unwrap_or_default();
    let this = std::env::current_exe().ok();
    let same = std::fs::read_link(format!("/proc/{pid}/exe")).ok() == this && this.is_some();
    same && words.windows(2).any(|pair| pair == ["agent", "run"])
}

/// The board whose gate the process with this pid holds: it is `liza __hold --gate BOARD …`. Imitating one gains
/// nothing: its descendants may do less, not more.
fn holds_gate_of(pid: u32) -> Option<PathBuf> {
    let words = command_line(pid)?;
    words[1..].starts_with(&[HOLD.into(), HOLD_GATE.into()]).then(|| words.get(3).map(PathBuf::from))?
}

/// The command line of a process; it has at least one word, possibly empty.
fn command_line(pid: u32) -> Option<Vec<OsString>> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(line.split(|byte| *byte == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect())
}

/// Whether a holder of a gate of this board is left from a killed process and has not ended its gate yet.
pub fn has_orphaned_holder(board: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (here, namespace) = (real(board), this_process().namespace);
    all_pids().any(|pid| {
        let orphaned = || {
            let for_whom = command_line(pid)?.get(4)?.to_str()?.parse::<u32>().ok()?;
            let parent = Stat::of(pid)?.parent;
            Some(parent != for_whom && namespaces_of(&pid.to_string()) == namespace)
        };
        holds_gate_of(pid).is_some_and(|of| real(&of) == here) && orphaned() == Some(true)
    })
}

/// Whether the process with this pid runs the program of this name: that file, not another of the same name.
pub fn is_program(pid: u32, name: &str) -> bool {
    let found = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    found.is_some() && found == program(name).and_then(|path| path.canonicalize().ok())
}

/// Whether the process with this number is in the process group of the other one.
pub fn is_in_group_of(pid: u32, other: u32) -> bool {
    let group = |pid: u32| Stat::of(pid).map(|stat| stat.group);
    group(pid).is_some() && group(pid) == group(other)
}

/// The contents of `/proc/PID/stat`. Names are bytes: a process may choose any name.
#[derive(Debug, Clone, Copy)]
struct Stat {
    pid: u32,
    state: u8,
    parent: u32,
    group: u32,
    /// When it started, in clock ticks since boot.
    started: u64,
    /// Processor time in ticks, its own and that of the children it has waited for.
    ticks: u64,
    /// Whether it has the process name of a gate's holder.
    is_holder: bool,
    /// Whether it has the process name of git, which a program gets by being executed.
    is_git: bool,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        let mut buffer = [0; 1024];
        Self::parse(pid, procfs::checked().ok()?.read(pid, "stat", &mut buffer).ok()?)
    }

    fn parse(pid: u32, stat: &[u8]) -> Option<Self> {
        // The command name is in brackets and may contain anything, even brackets and blanks.
        let (open, close) = (stat.iter().position(|b| *b == b'(')?, stat.iter().rposition(|b| *b == b')')?);
        // Another process's file may have been mounted over it.
        if stat.get(..open)? != format!("{pid} ").as_bytes() {
            return None;
        }
        let mut fields =
            stat.get(close + 1..)?.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let state = *fields.next()?.first()?;
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse::<i64>().ok();
        let parent = u32::try_from(number()?).ok()?;
        let group = u32::try_from(number()?).ok()?;
        let numbers: Vec<i64> = (5..=21).map_while(|_| number()).collect();
        let at = |field: usize| u64::try_from(*numbers.get(field - 5)?).ok();
        let name = stat.get(open + 1..close)?;
        Some(Self {
            pid,
            state,
            parent,
            group,
            started: at(21)?,
            ticks: (13..=16).map_while(at).sum(),
            is_holder: cfg!(target_os = "linux") && name == HOLDER_NAME.to_bytes(),
            is_git: name == b"git" || name.starts_with(b"git-"),
        })
    }

    fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// The pid and time namespaces, which decide what pids and start times mean. From another namespace the same process
/// looks like a different one.
fn namespaces_of(process: &str) -> String {
    let link = |kind: &str| std::fs::read_link(format!("/proc/{process}/ns/{kind}")).ok();
    let [pid, time] = ["pid", "time"].map(link);
    let names = pid.iter().chain(&time).map(|link| link.display().to_string());
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn usage_of_ended_children_is_summed() {
        let script = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; (sleep 60) & echo up; wait";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("sh -c '{script}'; true")]).stdout(std::process::Stdio::piped());
        let mut child = crate::testing::start(&mut shell);
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
        let burden = burden_of(child.id()).expect("numbers");
        for pid in descendants_of(child.id()).into_iter().chain([child.id()]).filter_map(pid_of) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        let _ = child.wait();
        assert!(burden.processes >= 2, "{burden:?}");
        assert!(burden.cpu_ms > 0, "{burden:?}");
        assert_eq!(burden_of(u32::MAX), None);
    }

    #[test]
    fn process_name_of_any_bytes_is_read() {
        let stat = b"42 (a) \xff R 1 1) S 7 9 1 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 777 46993408 5";
        let read = Stat::parse(42, stat).expect("a process");
        assert_eq!((read.parent, read.group, read.started, read.ticks), (7, 9, 777, 100));
        assert!(!read.has_ended() && !read.is_holder);
        assert!(
            Stat::parse(42, b"42 (liza-hold) Z 7 9 1 0 -1 0 1 2 3 4 1 2 3 4 20 0 1 0 777")
                .expect("one")
                .is_holder
        );
        assert!(Stat::parse(4, stat).is_none());
        assert!(Stat::parse(42, b"42 (cut) S 7 9").is_none());
    }

    #[test]
    fn reused_pid_is_another_process() {
        let here = this_process();
        assert!(lives(&here));
        assert!(!lives(&Process { started: here.started + 1, ..here.clone() }) || !cfg!(target_os = "linux"));
        assert!(!lives(&Process { boot: "another".into(), ..here.clone() }));
        assert!(lives(&Process { namespace: "elsewhere".into(), pid: 1, started: 0, ..here.clone() }));
        let above = ancestors().unwrap_or_default().processes;
        assert!(!above.contains(&here));
        assert!(above.iter().all(lives) || !cfg!(target_os = "linux"));
    }
}
