//! Making sure that nothing of an agent's command is left when it ends.
//!
//! On Linux the runner is a child subreaper, so that whatever the command sets free still descends from the runner, and all
//! of it dies with its runner: it is started through `liza __hold`, a process in between, which the kernel signals when the
//! runner dies, and which then ends its descendants.

use rustix::process::WaitOptions;

use super::prelude::*;
use crate::host;

/// This process ends when its parent does; false if the parent is gone already.
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

/// Ends whatever is left of a command: its group, and all that descends from this process. To be called when nothing
/// else was started by it.
pub fn end_remains(of: &Child) -> usize {
    of.signal_group(Signal::KILL);
    end_descendants()
}

/// Ends all that descends from this process. Without a child there is none, for this process adopts what is set free.
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

/// What has ended by itself is not to be looked for.
fn reap() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}

/// Stands between a process and the command it starts: as a child subreaper it keeps whatever the command sets free, and
/// when that process dies, or says so by SIGUSR1, it ends all of it. Answers as the command did.
///
/// A runner ends by itself what its agent's command left; what a gate's command left goes with the command.
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
    // These reach the whole group, the command too; it decides, and this process waits for it.
    let ended = tx.clone();
    super::signals::forward(|_| {})?;
    super::signals::forward_one(signal_hook::consts::SIGUSR1, move || {
        let _ = ended.send(());
    })?;
    if !end_with_parent(parent, Signal::USR1) {
        return Err(std::io::Error::other("the process that started it is gone"));
    }
    let mut child = Program::new(program).args(args).start()?;
    child.on_exit(move || {
        let _ = tx.send(());
    })?;
    let _ = rx.recv();
    let Some(status) = child.try_wait()? else {
        // It is not to end by itself: its starter died or said so.
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
    // So that its starter sees by which signal it ended. One picture of that memory is enough.
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    let signal = status.signal().unwrap_or(signal_hook::consts::SIGTERM);
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    if signal == signal_hook::consts::SIGKILL {
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
    }
    Ok(u8::try_from(128 + signal).unwrap_or(255))
}
