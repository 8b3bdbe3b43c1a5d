//! Ends all processes that an agent's command left behind.
//!
//! On Linux the runner is a child subreaper: orphaned processes of the command still descend from the runner. They end with
//! the runner, too: it starts the command through `liza __hold`, a process that the kernel signals when the runner dies, and
//! that then kills its descendants.

use rustix::process::WaitOptions;

use super::prelude::*;
use crate::host;

/// Makes this process end when its parent ends; false if the parent is gone already.
pub fn end_with_parent(parent: u32, signal: Signal) -> bool {
    #[cfg(target_os = "linux")]
    {
        if rustix::process::set_parent_process_death_signal(Some(signal)).is_err() {
            return true;
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = signal;
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    now == Some(parent)
}

/// Kills the rest of a command: its process group and all descendants of this process. Call it only when this process has
/// no other children.
pub fn end_remains(of: &Child) -> usize {
    of.signal_group(Signal::KILL);
    end_descendants()
}

/// Kills all descendants of this process. It adopts orphans, so without a child it has no descendants.
pub fn end_descendants() -> usize {
    reap();
    if !crate::host::has_children() {
        return 0;
    }
    let found = crate::host::descendants().len();
    crate::host::end_descendants_except(&BTreeSet::new(), Duration::from_secs(5));
    reap();
    found
}

/// Reaps children that have ended.
fn reap() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}

/// Runs a command between a starter and the command's processes: as a child subreaper it adopts the command's orphans, and
/// when the starter dies or sends SIGUSR1, it kills them all. It exits as the command did.
///
/// A runner ends what its agent's command left; the processes of a gate end with the gate's command.
pub fn hold(
    parent: u32,
    for_gate: Option<&Path>,
    program: &OsString,
    args: &[OsString],
) -> std::io::Result<u8> {
    host::leave_session();
    match for_gate {
        Some(board) => {
            host::show_as_holder();
            host::mark_as_gate(board);
        }
        None if host::is_runner(parent) => host::mark_as_agent(&host::process(parent)),
        None => {}
    }
    adopt_orphans();
    let (tx, rx) = std::sync::mpsc::channel();
    // These signals reach the whole process group. The command decides how to end; this process waits for it.
    let ended = tx.clone();
    super::signals::forward(|_| {})?;
    super::signals::forward_one(signal_hook::consts::SIGUSR1, move || {
        let _ = ended.send(());
    })?;
    if !end_with_parent(parent, Signal::USR1) {
        return Err(std::io::Error::other("the starting process is gone"));
    }
    let mut child = Program::new(program).args(args).start()?;
    child.on_exit(move || {
        let _ = tx.send(());
    })?;
    let _ = rx.recv();
    let Some(status) = child.try_wait()? else {
        // The starter died or asked for the end: kill the command.
        end_descendants();
        return Ok(1);
    };
    if for_gate.is_some() {
        end_descendants();
    }
    use std::os::unix::process::ExitStatusExt;
    if let Some(code) = status.code() {
        return Ok(u8::try_from(code).unwrap_or(1));
    }
    // End by the same signal, so that the starter sees it; without a second core dump.
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    let signal = status.signal().unwrap_or(signal_hook::consts::SIGTERM);
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    if signal == signal_hook::consts::SIGKILL {
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
    }
    Ok(u8::try_from(128 + signal).unwrap_or(255))
}
