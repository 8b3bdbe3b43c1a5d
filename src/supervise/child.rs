//! Starting an agent's command and making sure that nothing of it is left when it ends.
//!
//! The command gets a process group of its own. On Linux the runner is a child subreaper, so that whatever the command
//! sets free still descends from the runner, and all of it dies with its runner: it is started through `liza __hold`,
//! which stands in between, asks the kernel to be told of the runner's death, and then ends what is below it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

use crate::board::Process;
pub use crate::host::{adopt_orphans, this_program};

/// What is started, and how.
pub struct Start<'a> {
    pub program: &'a str,
    pub args: &'a [String],
    pub cwd: &'a Path,
    /// All of its environment.
    pub env: Vec<(OsString, OsString)>,
    pub stdin: Option<Vec<u8>>,
}

/// A command that runs.
pub struct Running {
    child: Child,
    pid: Pid,
    pub process: Process,
}

pub struct Pipes {
    pub out: Option<ChildStdout>,
    pub err: Option<ChildStderr>,
}

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

pub fn start(what: Start<'_>) -> std::io::Result<(Running, Pipes)> {
    let mut command = Command::new(this_program());
    command
        .arg(crate::host::HOLD)
        .arg(std::process::id().to_string())
        .arg("--")
        .arg(what.program)
        .args(what.args);
    command
        .current_dir(what.cwd)
        .env_clear()
        .envs(what.env)
        .process_group(0)
        .stdin(if what.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let raw = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = raw.ok_or_else(|| std::io::Error::other("the new process has no number"))?;
    let process = crate::host::process(child.id());
    if let (Some(text), Some(mut input)) = (what.stdin, child.stdin.take()) {
        // A command that does not read would hold us; one that ended is no error.
        std::thread::spawn(move || {
            let _ = input.write_all(&text);
        });
    }
    let pipes = Pipes { out: child.stdout.take(), err: child.stderr.take() };
    Ok((Running { child, pid, process }, pipes))
}

impl Running {
    /// Calls back when the command has ended. It is not reaped by that: until `reap` nobody else can get its number.
    pub fn on_exit(&self, tell: impl FnOnce() + Send + 'static) {
        let pid = self.pid;
        std::thread::spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
            tell();
        });
    }

    pub fn ask_to_end(&self) {
        let _ = rustix::process::kill_process_group(self.pid, Signal::TERM);
    }

    pub fn kill(&self) {
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
    }

    pub fn reap(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait()
    }
}

/// Ends whatever is left of a command: its group, and all that descends from this process. To be called when nothing
/// else was started by it.
pub fn end_remains(of: &Running) -> usize {
    of.kill();
    end_descendants()
}

/// Ends all that descends from this process.
pub fn end_descendants() -> usize {
    let found = crate::host::descendants().len();
    crate::host::end_descendants_except(&BTreeSet::new(), Duration::from_secs(5));
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
    found
}

/// Stands between a process and the command it starts: as a child subreaper it keeps whatever the command sets free, and
/// when that process dies, or says so by SIGUSR1, it ends all of it. Answers as the command did.
///
/// A runner ends by itself what its agent's command left; what a gate's command left goes with the command.
pub fn hold(parent: u32, for_gate: bool, program: &OsString, args: &[OsString]) -> std::io::Result<u8> {
    adopt_orphans();
    let (tx, rx) = std::sync::mpsc::channel();
    // These reach the whole group, the command too; it decides, and this process waits for it.
    let ended = tx.clone();
    super::signals::forward(|_| {})?;
    super::signals::forward_one(signal_hook::consts::SIGUSR1, move || {
        let _ = ended.send(());
    })?;
    if !end_with_parent(parent, Signal::USR1) {
        return Err(std::io::Error::other("whoever started it is gone"));
    }
    let mut child = Command::new(program).args(args).spawn()?;
    let raw = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = raw.ok_or_else(|| std::io::Error::other("the new process has no number"))?;
    std::thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
        let _ = tx.send(());
    });
    let _ = rx.recv();
    let Some(status) = child.try_wait()? else {
        // It is not to end by itself: its starter died or said so.
        end_descendants();
        return Ok(1);
    };
    if for_gate {
        end_descendants();
    }
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ok(u8::try_from(code).unwrap_or(1)),
        (None, signal) => {
            // So that its starter sees by which signal it ended. One picture of that memory is enough.
            let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
            let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
            let signal = signal.unwrap_or(signal_hook::consts::SIGTERM);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            if signal == signal_hook::consts::SIGKILL {
                let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
            }
            Ok(u8::try_from(128 + signal).unwrap_or(255))
        }
    }
}
