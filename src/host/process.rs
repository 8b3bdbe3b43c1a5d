//! Processes, named so that a reused pid is never taken for the one that had it before.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

use crate::board::Process;

/// The command of liza that stands between a process and what it starts, so that nothing of that is left over.
pub const HOLD: &str = "__hold";
/// Its option that names the board whose gate it holds.
pub const HOLD_GATE: &str = "--gate";

/// This process.
pub fn this_process() -> Process {
    let pid = std::process::id();
    Process {
        pid,
        started: start_time(pid).unwrap_or(0),
        boot: super::clock::boot_id(),
        namespace: pid_namespace(),
    }
}

/// Where a program is, as the search path of this process has it.
pub fn program(name: &str) -> Option<std::path::PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &std::path::Path| {
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        let path = std::path::PathBuf::from(name);
        return runs(&path).then_some(path);
    }
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|dir| dir.join(name)).find(|path| runs(path))
}

/// The process that has this number now.
pub fn process(pid: u32) -> Process {
    Process { pid, started: start_time(pid).unwrap_or(0), ..this_process() }
}

/// This program, to be started again.
pub fn this_program() -> PathBuf {
    match std::env::current_exe() {
        Ok(path) if path.exists() => path,
        // Replaced while it runs, as by a new build: the kernel still has it.
        _ => PathBuf::from("/proc/self/exe"),
    }
}

/// Whatever a child sets free comes to this process instead of leaving the family.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// The numbers of all living processes that descend from this one.
pub fn descendants() -> Vec<u32> {
    descendants_except(&BTreeSet::new())
}

/// The same without those that descend from one of these, and without these.
pub fn descendants_except(spared: &BTreeSet<u32>) -> Vec<u32> {
    below(std::process::id(), spared)
}

/// The numbers of all living processes that descend from that one.
pub fn descendants_of(pid: u32) -> Vec<u32> {
    below(pid, &BTreeSet::new())
}

/// What a process and all that descends from it have used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Burden {
    /// Those that descend from it.
    pub processes: u64,
    /// Processor time, with that of children which have ended.
    pub cpu_ms: u64,
}

/// Nothing, where the system does not tell.
pub fn burden_of(pid: u32) -> Option<Burden> {
    let mut burden = Burden::default();
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
            // Gone meanwhile, and then its children are somebody else's; or the kernel lists none.
            None if next != pid => {}
            None => listed = below(pid, &BTreeSet::new()),
        }
    }
    let mut ticks = 0;
    for (at, one) in std::iter::once(pid).chain(listed).enumerate() {
        let Some(fields) = stat_fields(one) else {
            if at == 0 {
                return None;
            }
            continue;
        };
        // User and system time, its own and that of the children it has waited for.
        ticks += (11..=14).filter_map(|field| fields.get(field)?.parse::<u64>().ok()).sum::<u64>();
        if at > 0 && fields.first().is_none_or(|state| state != "Z") {
            burden.processes += 1;
        }
    }
    burden.cpu_ms = ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second().max(1);
    Some(burden)
}

fn children_of(pid: u32) -> Option<BTreeSet<u32>> {
    let mut found = BTreeSet::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let path = thread.path();
        match std::fs::read_to_string(path.join("children")) {
            Ok(listed) => found.extend(listed.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
            Err(_) if !path.exists() => {}
            Err(_) => return None,
        }
    }
    Some(found)
}

/// The children of this process.
pub fn children() -> BTreeSet<u32> {
    if let Some(children) = children_by_thread() {
        return children;
    }
    let here = std::process::id();
    parents().into_iter().filter(|(_, parent)| *parent == here).map(|(child, _)| child).collect()
}

/// The same as the kernel lists them, which is much faster than to look at every process; not every kernel does.
fn children_by_thread() -> Option<BTreeSet<u32>> {
    let mut found = BTreeSet::new();
    for thread in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        let listed = match std::fs::read_to_string(thread.path().join("children")) {
            Ok(listed) => listed,
            // A thread that just ended has none.
            Err(_) if !thread.path().exists() => continue,
            Err(_) => return None,
        };
        found.extend(listed.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    Some(found)
}

/// Ends all that descends from this process, without those that descend from one of these, and without these. False if
/// some of it is still there after that time.
///
/// A process that forks and ends again and again is gone before its number is read somewhere. So its children are read
/// where that is fastest, and everything is stopped before anything is ended.
pub fn end_descendants_except(spared: &BTreeSet<u32>, patience: Duration) -> bool {
    const QUICK_ROUNDS: usize = 200;
    let deadline = Instant::now() + patience;
    let signal = |pids: &[Pid], signal: Signal| {
        for pid in pids {
            let _ = rustix::process::kill_process(*pid, signal);
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
            signal(&own, Signal::KILL);
            for pid in own {
                let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
        // Whatever is left of the family comes to this process when those above it end.
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
        let all: Vec<Pid> = stopped.into_iter().filter_map(pid_of).collect();
        signal(&all, Signal::KILL);
        for pid in all {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
        let left = has_children()
            && (is_listed_by_thread() && spared.is_empty() || children().difference(spared).next().is_some());
        if !left || Instant::now() > deadline {
            return !left;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether there is any child, ended ones that nobody waited for included. Lists may miss one that comes while they are made;
/// this does not.
fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(rustix::process::waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

fn is_listed_by_thread() -> bool {
    children_by_thread().is_some()
}

fn pid_of(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// Every living process and its parent.
fn parents() -> HashMap<u32, u32> {
    let mut parents = HashMap::new();
    let Ok(entries) = std::fs::read_dir("/proc") else { return parents };
    for pid in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let Some(fields) = stat_fields(pid) else { continue };
        let parent = fields.get(1).and_then(|field| field.parse::<u32>().ok());
        if let Some(parent) = parent
            && !fields.first().is_some_and(|state| state == "Z" || state == "X")
        {
            parents.insert(pid, parent);
        }
    }
    parents
}

fn below(here: u32, spared: &BTreeSet<u32>) -> Vec<u32> {
    let parents = parents();
    let descends = |pid: u32| {
        let mut at = pid;
        // Read one after the other, the table may be at odds with itself; it has no longer way than this.
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

/// The processes this one descends from, the nearest first, up to the first of its pid namespace. Nothing, if they
/// cannot be told: there is no /proc, or somebody hides it or put something else in its place.
pub fn ancestors() -> Option<Vec<Process>> {
    if !proc_is_real() {
        return None;
    }
    // A parent that ends while it is looked at leaves its child to another one: then the whole walk is made again.
    (0..100).find_map(|_| walk_up())
}

fn walk_up() -> Option<Vec<Process>> {
    let mut found: Vec<Process> = Vec::new();
    let here = this_process();
    let mut child = here.pid;
    loop {
        let parent = parent_of(child)?;
        if parent == 0 {
            return Some(found);
        }
        let started = start_time(parent)?;
        // Between the two looks its number may have become somebody else's.
        if parent_of(child)? != parent || found.iter().any(|known| known.pid == parent) {
            return None;
        }
        found.push(Process {
            pid: parent,
            started,
            boot: here.boot.clone(),
            namespace: here.namespace.clone(),
        });
        child = parent;
    }
}

fn parent_of(pid: u32) -> Option<u32> {
    stat_fields(pid)?.get(1)?.parse().ok()
}

/// Whether that very process still runs. In doubt (another pid namespace) it counts as alive.
pub fn lives(process: &Process) -> bool {
    let here = this_process();
    if process.boot != here.boot {
        return false;
    }
    if process.namespace != here.namespace {
        return true;
    }
    if cfg!(target_os = "linux") {
        return start_time(process.pid) == Some(process.started) && !is_zombie(process.pid);
    }
    let pid = i32::try_from(process.pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// Whether the process with this number is a liza: whoever names a file after its pid can be asked for by it. Where
/// that cannot be told, it may be.
pub fn is_running_liza(pid: u32) -> bool {
    if cfg!(target_os = "linux") {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        return name.starts_with("liza") && !is_zombie(pid);
    }
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// The environment a process was started with; nothing where that cannot be told, or it is another process by now.
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
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let this = std::env::current_exe().ok();
    let same = std::fs::read_link(format!("/proc/{pid}/exe")).ok() == this && this.is_some();
    same && words.windows(2).any(|pair| pair == [b"agent".as_slice(), b"run".as_slice()])
}

/// The board whose gate the process with this number holds: it is `liza __hold --gate BOARD …`. Whoever only looks like
/// one does itself no good: what descends from it may do less, not more.
pub fn holds_gate_of(pid: u32) -> Option<PathBuf> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = line.split(|byte| *byte == 0).skip(1);
    if words.next()? != HOLD.as_bytes() || words.next()? != HOLD_GATE.as_bytes() {
        return None;
    }
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(words.next()?)))
}

/// Whether somebody who was killed left a holder of a gate of this board, which has not ended yet what it holds.
pub fn has_orphaned_holder(board: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (here, namespace) = (real(board), pid_namespace());
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.any(|pid| {
        let orphaned = || {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let for_whom = line.split(|byte| *byte == 0).nth(4)?;
            let for_whom = std::str::from_utf8(for_whom).ok()?.parse::<u32>().ok()?;
            let seen_from_here = std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok()?;
            let parent = parent_of(pid)?;
            Some(parent != for_whom && seen_from_here.as_os_str() == namespace.as_str())
        };
        holds_gate_of(pid).is_some_and(|of| real(&of) == here) && orphaned() == Some(true)
    })
}

/// Whether the process with this number runs the program of this name: that very file, not something called so.
pub fn is_program(pid: u32, name: &str) -> bool {
    let found = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    found.is_some() && found == program(name).and_then(|path| path.canonicalize().ok())
}

/// Whether the process with this number is in the process group of the other one.
pub fn is_in_group_of(pid: u32, other: u32) -> bool {
    let group = |pid: u32| stat_fields(pid).and_then(|fields| fields.get(2).cloned());
    group(pid).is_some() && group(pid) == group(other)
}

/// Whether what the kernel says of processes is what is read there: whoever has a mount namespace of his own can put
/// anything in its place.
fn proc_is_real() -> bool {
    #[cfg(target_os = "linux")]
    {
        let is_procfs = |path: &str| rustix::fs::statfs(path).is_ok_and(|found| found.f_type == 0x9fa0);
        is_procfs("/proc") && is_procfs("/proc/self/stat")
    }
    #[cfg(not(target_os = "linux"))]
    false
}

fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Another process's may have been put in its place.
    if stat.split(' ').next()?.parse::<u32>().ok()? != pid {
        return None;
    }
    // The command name is in brackets and may contain anything, brackets and blanks too.
    let after = stat.rsplit_once(')')?.1;
    Some(after.split_whitespace().map(str::to_owned).collect())
}

fn start_time(pid: u32) -> Option<u64> {
    stat_fields(pid)?.get(19)?.parse().ok()
}

fn is_zombie(pid: u32) -> bool {
    stat_fields(pid)
        .and_then(|fields| fields.first().cloned())
        .is_some_and(|state| state == "Z" || state == "X")
}

fn pid_namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_family_uses_is_summed_also_when_some_of_it_has_ended() {
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
    fn a_process_is_known_by_more_than_its_pid() {
        let here = this_process();
        assert!(lives(&here));
        assert!(!lives(&Process { started: here.started + 1, ..here.clone() }) || !cfg!(target_os = "linux"));
        assert!(!lives(&Process { boot: "another".into(), ..here.clone() }));
        assert!(lives(&Process { namespace: "elsewhere".into(), pid: 1, started: 0, ..here.clone() }));
        let above = ancestors().unwrap_or_default();
        assert!(!above.contains(&here));
        assert!(above.iter().all(lives) || !cfg!(target_os = "linux"));
    }
}
