//! The one place that starts the `git` program.
//!
//! Guarantees of every call:
//! 1. No `GIT_*` variable of liza's own environment reaches git: a hook or a careless shell may have set `GIT_DIR`, and
//!    the command would then answer for another repository.
//! 2. Git never looks for a repository above the directory it runs in. A worktree that lost its `.git` file would
//!    otherwise answer for the main checkout, which is above it.
//! 3. No hook, no fsmonitor program, no pager, no editor, no prompt, no background gc. liza runs hooks that a
//!    person accepted with `git hook run`, at the step they belong to.
//! 4. Replaced objects and grafts are not followed: what was approved is what is merged.
//!    Neither are the files that speed up git's lookup of history and objects: they can be forged.
//! 5. Git, its hooks and its filters do not get the agent's secret.
//! 6. In a guarded repository, liza names every path to git, and git sees only settings a person accepted (`door`).

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Output};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use thiserror::Error;

use super::door;
use crate::host::{Child, Obstacle, Program, Streams};

/// Longest part of git's error output that an error carries.
const LONGEST_STDERR: usize = 4096;

#[derive(Debug, Error)]
pub enum GitError {
    #[error("the `git` program was not found")]
    Missing,
    #[error("cannot start `git {subcommand}`")]
    Spawn { subcommand: &'static str, source: io::Error },
    #[error("`git {subcommand}` failed ({status}): {stderr}")]
    Failed { subcommand: &'static str, status: String, stderr: String },
    #[error("`git {subcommand}` gave an unexpected answer: {what}")]
    Unexpected { subcommand: &'static str, what: String },
    #[error("`{}` is not a checkout: it has no `.git`", dir.display())]
    NoCheckout { dir: PathBuf },
    #[error("liza does not run git in this directory: {why}")]
    Misled { why: String },
    #[error("cannot use `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl GitError {
    /// Adds the path to an I/O error.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    /// None if the path does not exist.
    pub(super) fn if_there<T>(path: &Path, result: io::Result<T>) -> Result<Option<T>, Self> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some).map_err(Self::io(path)),
        }
    }

    pub(super) fn unexpected(subcommand: &'static str, what: impl Into<String>) -> Self {
        Self::Unexpected { subcommand, what: what.into() }
    }
}

/// One call of the `git` program, under construction.
#[derive(Debug)]
pub struct Git {
    dir: PathBuf,
    held_for: Option<PathBuf>,
    subcommand: &'static str,
    config: Vec<OsString>,
    /// Settings for this call only, whatever characters their keys contain.
    set: Vec<(String, String)>,
    args: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    stdin: Option<Vec<u8>>,
}

impl Git {
    /// A command that only reads, or only writes objects: it fetches nothing.
    ///
    /// Otherwise a partial clone would start the configured ssh program.
    pub fn reading(dir: &Path, subcommand: &'static str) -> Self {
        Self::acting(dir, subcommand).env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none")
    }

    /// A command that changes refs or a worktree.
    pub fn acting(dir: &Path, subcommand: &'static str) -> Self {
        Self {
            dir: dir.to_owned(),
            held_for: None,
            subcommand,
            config: Vec::new(),
            set: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            stdin: None,
        }
        .config("core.fsmonitor=false")
        .config("core.commitGraph=false")
        .config("core.multiPackIndex=false")
        .without_hooks()
        .config("gc.auto=0")
        .config("maintenance.auto=false")
        .config("advice.graftFileDeprecated=false")
    }

    /// Disables hooks, except for the commands that look up the hooks directory or run a hook.
    fn without_hooks(self) -> Self {
        let about_hooks = ["rev-parse", "config", "hook"].contains(&self.subcommand);
        if about_hooks { self } else { self.config("core.hooksPath=/dev/null") }
    }

    /// Processes that git starts neither outlive git nor act on this board: filters are programs that an agent may
    /// have chosen.
    pub fn held_for_gate(mut self, board: &Path) -> Self {
        self.held_for = Some(board.to_owned());
        self
    }

    /// Sets `key=value` for this call only.
    pub fn config(mut self, setting: &str) -> Self {
        self.config.push("-c".into());
        self.config.push(setting.into());
        self
    }

    /// Sets these keys to nothing for this call only, whatever characters they contain.
    pub fn without(self, keys: Vec<String>) -> Self {
        self.with(keys.into_iter().map(|key| (key, String::new())))
    }

    /// Sets these keys for this call only, whatever characters they contain.
    pub fn with(mut self, settings: impl IntoIterator<Item = (String, String)>) -> Self {
        self.set.extend(settings);
        self
    }

    /// Makes what this call writes survive a power loss.
    pub fn durable(self) -> Self {
        self.config("core.fsync=committed")
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Ends the options, so that git takes every later argument literally even if it starts with a dash.
    pub fn end_of_options(self) -> Self {
        self.arg("--end-of-options")
    }

    pub fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Runs it and returns its output, whatever the exit status.
    pub fn output(self) -> Result<Output, GitError> {
        // The ceiling is a colon-separated list, so a directory with a colon in its name would escape it.
        if self.dir.join(".git").symlink_metadata().is_err() {
            return Err(GitError::NoCheckout { dir: self.dir });
        }
        self.spawn()
    }

    /// Runs it and returns its standard output; any exit status other than 0 is an error.
    pub fn run(self) -> Result<Vec<u8>, GitError> {
        let subcommand = self.subcommand;
        succeeded(subcommand, self.output()?)
    }

    /// Runs it and returns its standard output as one trimmed line of text.
    pub fn run_line(self) -> Result<String, GitError> {
        let subcommand = self.subcommand;
        let text = String::from_utf8(self.run()?);
        let text = text.map_err(|_| GitError::unexpected(subcommand, "text that is not UTF-8"))?;
        Ok(text.trim_end().to_owned())
    }

    /// As [`Git::run`], for a command without output that may take long: after `patience` it calls `say`.
    pub fn run_saying(self, patience: Duration, say: impl FnOnce()) -> Result<(), GitError> {
        let subcommand = self.subcommand;
        if self.dir.join(".git").symlink_metadata().is_err() {
            return Err(GitError::NoCheckout { dir: self.dir });
        }
        let child = self.begin()?;
        if let Some(stdout) = &child.stdout
            && !ends_within(stdout, patience)
        {
            say();
        }
        succeeded(subcommand, to_its_end(child, subcommand)?).map(|_| ())
    }

    /// The output of `git version`, run outside of any repository.
    pub fn version() -> Result<String, GitError> {
        let stdout = succeeded("version", Self::acting(Path::new("/"), "version").spawn()?)?;
        Ok(String::from_utf8_lossy(&stdout).trim().to_owned())
    }

    /// Runs it and returns at most the first `bytes` of its standard output.
    pub fn run_start(self, bytes: u64) -> Result<Vec<u8>, GitError> {
        let subcommand = self.subcommand;
        let mut child = self.begin()?;
        let lost = |source| GitError::Spawn { subcommand, source };
        let mut start = Vec::new();
        if let Some(mut pipe) = child.stdout.take() {
            (&mut pipe).take(bytes).read_to_end(&mut start).map_err(lost)?;
            // Reading stops at the limit; git then dies of the closed pipe, which is no failure.
            let full = start.len() as u64 == bytes;
            drop(pipe);
            if full {
                child.signal(Signal::KILL);
                child.wait().map_err(lost)?;
                return Ok(start);
            }
        }
        succeeded(subcommand, Output { stdout: start, ..child.output().map_err(lost)? })
    }

    fn spawn(self) -> Result<Output, GitError> {
        let subcommand = self.subcommand;
        to_its_end(self.begin()?, subcommand)
    }

    fn begin(self) -> Result<Child, GitError> {
        let Self { dir, held_for, subcommand, config, set, args, env, stdin } = self;
        let way = door::access_for(&dir, subcommand)?;
        let held_for = held_for.or_else(|| way.as_ref().and_then(|way| way.held_for().map(Path::to_owned)));
        let git = match held_for {
            Some(board) => Program::held_for_gate(&board, "git"),
            None => Program::new("git"),
        };
        let settled = way.as_ref().map(door::Way::config).unwrap_or_default();
        let git = git.args(config).args(settled).arg(subcommand).args(args).dir(&dir);
        let mut git = isolate_in_tests(scrub(git)).env("GIT_CEILING_DIRECTORIES", ceiling_of(&dir));
        for (name, value) in env.into_iter().chain(way.iter().flat_map(door::Way::env)) {
            git = git.env(name, value);
        }
        git = git.env("GIT_CONFIG_COUNT", set.len().to_string());
        for (number, (key, value)) in set.into_iter().enumerate() {
            git = git
                .env(format!("GIT_CONFIG_KEY_{number}"), key)
                .env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        git.stdin(stdin).streams(Streams::Apart).start().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => GitError::Missing,
            _ => GitError::Spawn { subcommand, source },
        })
    }
}

/// The output of a command; an error if a named pipe or a file without content keeps it, where git reads a file by its
/// name (`.gitattributes`, `.gitignore`, a ref, a record): it would wait for ever, or read for minutes.
fn to_its_end(child: Child, subcommand: &'static str) -> Result<Output, GitError> {
    let found = std::cell::RefCell::new(None);
    let is_stuck = |pid: u32| {
        *found.borrow_mut() = crate::host::obstacle_of(pid);
        found.borrow().is_some()
    };
    let output = child.output_unless(is_stuck).map_err(|source| GitError::Spawn { subcommand, source })?;
    output.ok_or_else(|| {
        let why = match found.take() {
            Some(Obstacle::Pipe(path)) if path != Path::new("") => {
                format!("`{}` is a named pipe, and git waits for it; remove it", path.display())
            }
            Some(Obstacle::Hollow(path)) => {
                format!(
                    "`{}` is a large file without content, and git reads it all; remove it",
                    path.display()
                )
            }
            _ => "git waits for a named pipe in place of a file; `find . -type p` lists them".to_owned(),
        };
        GitError::Misled { why }
    })
}

/// Waits until a pipe has something to read or is closed.
fn ends_within(pipe: &ChildStdout, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&timeout)) {
            Err(Errno::INTR) => {}
            found => return !matches!(found, Ok(0)),
        }
    }
}

/// The NUL-separated parts of an answer requested with `-z`.
pub(super) fn records(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|&byte| byte == 0).filter(|record| !record.is_empty())
}

pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of a command that succeeded; otherwise its error.
pub(super) fn succeeded(subcommand: &'static str, output: Output) -> Result<Vec<u8>, GitError> {
    if output.status.success() { Ok(output.stdout) } else { Err(failed(subcommand, &output)) }
}

/// The error for an unexpected exit status.
pub(super) fn failed(subcommand: &'static str, output: &Output) -> GitError {
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.trim();
    let whole = |end: &usize| text.is_char_boundary(*end);
    let end = (0..=text.len().min(LONGEST_STDERR)).rfind(whole).unwrap_or_default();
    let stderr = text[..end].to_owned();
    let code = output.status.code();
    let status = code.map_or("killed by a signal".to_owned(), |code| format!("exit {code}"));
    GitError::Failed { subcommand, status, stderr }
}

fn scrub(git: Program) -> Program {
    git.without_env(|name| name.starts_with("GIT_") || name == "LIZA_AGENT_TOKEN")
        // A commit must not depend on local settings: libgit2 knows neither replacements nor grafts.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", ":")
        .env("GIT_PAGER", "cat")
        .env("LC_ALL", "C")
}

/// The directory above which git must not look for a repository.
fn ceiling_of(dir: &Path) -> OsString {
    let real = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    real.parent().unwrap_or(&real).as_os_str().to_owned()
}

/// Keeps the git settings of the person who runs the tests out of the tests.
#[cfg(test)]
fn isolate_in_tests(git: Program) -> Program {
    git.env("HOME", "/nonexistent").env("XDG_CONFIG_HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1")
}

#[cfg(not(test))]
fn isolate_in_tests(git: Program) -> Program {
    git
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn failure_names_the_command_and_git_error() {
        let fixture = Fixture::new();
        let error = Git::reading(&fixture.root, "rev-parse").args(["--verify", "no-such"]).run().unwrap_err();
        let GitError::Failed { subcommand, status, stderr } = error else { panic!("{error:?}") };
        assert_eq!((subcommand, status.as_str()), ("rev-parse", "exit 128"));
        assert!(stderr.contains("fatal"), "{stderr}");
    }

    #[test]
    fn value_with_a_dash_is_no_option() {
        let fixture = Fixture::new();
        let error =
            Git::reading(&fixture.root, "rev-parse").args(["--verify"]).end_of_options().arg("--version");
        assert!(matches!(error.run(), Err(GitError::Failed { .. })));
    }

    #[test]
    fn only_the_start_of_long_output_is_read() {
        let fixture = Fixture::new();
        let much = || Git::acting(&fixture.root, "-c").args(["alias.much=!yes", "much"]);
        assert_eq!(much().run_start(1000).unwrap().len(), 1000);
        let head = || Git::reading(&fixture.root, "rev-parse").arg("HEAD");
        assert_eq!(head().run_start(1000).unwrap(), head().run().unwrap());
        let wrong = Git::reading(&fixture.root, "rev-parse").args(["--verify", "no-such"]).run_start(1000);
        assert!(matches!(wrong, Err(GitError::Failed { .. })));
    }

    #[test]
    fn standard_input_larger_than_a_pipe_arrives() {
        let fixture = Fixture::new();
        let bytes = vec![b'x'; 1 << 20];
        let id = Git::reading(&fixture.root, "hash-object").arg("--stdin").stdin(bytes).run_line().unwrap();
        assert_eq!(id.len(), 40);
    }

    /// Such a pipe may stand anywhere in a worktree, and git opens it to read.
    #[test]
    #[cfg(target_os = "linux")]
    fn git_that_waits_for_a_pipe_is_ended() {
        let fixture = Fixture::new();
        fixture.write("sub/file", "x");
        let pipe = fixture.root.join("sub/.gitattributes");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let began = Instant::now();
        let error = Git::acting(&fixture.root, "add").arg("--all").run().unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(60));
        let GitError::Misled { why } = error else { panic!("{error}") };
        assert!(why.contains("sub/.gitattributes` is a named pipe"), "{why}");
        assert!(!fixture.root.join(".git/index.lock").exists(), "git has removed its lock");
        std::fs::remove_file(pipe).unwrap();
        Git::acting(&fixture.root, "add").arg("--all").run().unwrap();
    }

    #[test]
    fn long_error_output_is_cut() {
        let mut output = Git::acting(Path::new("/"), "version").spawn().unwrap();
        output.stderr = "é".repeat(5000).into_bytes();
        let GitError::Failed { stderr, .. } = failed("version", &output) else { panic!() };
        assert!(stderr.len() <= LONGEST_STDERR && !stderr.contains('\u{fffd}'));
    }

    /// Runs in a child whose environment [`hostile_environment_changes_nothing`] prepared.
    #[test]
    #[ignore = "only meaningful in the environment its sibling prepares"]
    fn answers_for_its_own_repository() {
        let fixture = Fixture::new();
        let root = Git::reading(&fixture.root, "rev-parse").arg("--show-toplevel").run_line().unwrap();
        assert_eq!(Path::new(&root), fixture.root);
        let env = Git::acting(&fixture.root, "-c").args(["alias.e=!env", "e"]).run().unwrap();
        let env = String::from_utf8_lossy(&env);
        assert!(!env.contains("hostile") && !env.contains("LIZA_AGENT_TOKEN="), "{env}");
        let query = super::super::Query::open(&fixture.repo()).unwrap();
        assert!(query.head_of_branch("main").unwrap().is_some());
        assert!(
            super::super::content::status(&fixture.root, super::super::content::Filters::Run)
                .unwrap()
                .is_empty()
        );
        super::super::content::fingerprint(&fixture.root, &[]).unwrap();
    }

    #[test]
    fn hostile_environment_changes_nothing() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "git::command::tests::answers_for_its_own_repository", "--ignored"]);
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "GIT_COMMON_DIR",
            "GIT_NAMESPACE",
            "GIT_CONFIG_PARAMETERS",
            "GIT_CONFIG_GLOBAL",
            "GIT_EXTERNAL_DIFF",
            "GIT_SSH_COMMAND",
            "GIT_EXEC_PATH",
            "GIT_TRACE",
            "GIT_CONFIG_COUNT",
            "GIT_AUTHOR_DATE",
            "LIZA_AGENT_TOKEN",
        ] {
            command.env(name, "/hostile");
        }
        let output = crate::testing::finish(&mut command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    }
}
