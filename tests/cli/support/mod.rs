//! A repository with a board, and the people and agents who act in it.

#![allow(dead_code, reason = "every module of the tests uses its own part")]

pub mod process;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use process::Bounded as _;

/// A temporary home and repository; removed when dropped.
pub struct World {
    home: tempfile::TempDir,
    pub root: PathBuf,
}

/// The answer of a command.
#[derive(Debug, Clone)]
pub struct Ran {
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            exit: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.exit, 0, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.exit, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    #[track_caller]
    pub fn data(&self) -> Value {
        self.json()["data"].clone()
    }

    /// The code of the error in the JSON answer.
    #[track_caller]
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// The caller of a command: an agent with its token, or the human.
#[derive(Debug, Clone, Default)]
pub struct Who {
    pub id: Option<String>,
    pub token: Option<String>,
}

pub const HUMAN: Who = Who { id: None, token: None };

impl World {
    /// A repository with one commit on `main`; no git identity is configured anywhere.
    pub fn bare_repo() -> Self {
        let home = temporary_home();
        let root = home.path().join("repo");
        std::fs::create_dir(&root).expect("a directory");
        std::fs::create_dir(home.path().join("tmp")).expect("a directory");
        let world = Self { root: root.canonicalize().expect("a path"), home };
        world.git(&["init", "-q", "-b", "main"]);
        world.write("README.md", "hello\n");
        world.write("specs/vision.md", "# Vision\n");
        world.commit_all("start");
        world
    }

    /// The same home with another repository in it.
    pub fn moved_to(mut self, root: &Path) -> Self {
        self.root = root.canonicalize().expect("a path");
        self
    }

    /// The same with a board.
    pub fn new() -> Self {
        let world = Self::bare_repo();
        world.human(&["init", "A greeting program"]).ok();
        world
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    pub fn write(&self, relative: &str, text: &str) {
        write(&self.root, relative, text);
    }

    pub fn read(&self, relative: &str) -> String {
        std::fs::read_to_string(self.path(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
    }

    pub fn state(&self) -> String {
        self.read(".liza/state.yaml")
    }

    /// A command with a clean environment: no identity, no configuration of this machine.
    pub fn command(&self, program: &str, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path().join("tmp"))
            .env("XDG_CONFIG_HOME", self.home.path().join("config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C")
            // Agent CLIs of this machine must not affect a test.
            .env("LIZA_TEST_NO_PROVIDERS", "1")
            .stdin(Stdio::null());
        command
    }

    #[track_caller]
    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let ran = self.git_as(&HUMAN, dir, args, &[]);
        assert_eq!(ran.exit, 0, "git {args:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout.trim_end().to_owned()
    }

    /// Git as a person would run it, without checking the result.
    pub fn git_as(&self, who: &Who, dir: &Path, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let mut command = self.command("git", dir);
        command
            .args(args)
            .env("GIT_AUTHOR_NAME", "Mona")
            .env("GIT_AUTHOR_EMAIL", "mona@example.org")
            .env("GIT_COMMITTER_NAME", "Mona")
            .env("GIT_COMMITTER_EMAIL", "mona@example.org");
        if let Some(id) = &who.id {
            command.env("LIZA_AGENT_ID", id);
        }
        if let Some(token) = &who.token {
            command.env("LIZA_AGENT_TOKEN", token);
        }
        for (name, value) in env {
            command.env(name, value);
        }
        Ran::of(command.finish().expect("git runs"))
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root, args)
    }

    #[track_caller]
    pub fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// The command line of liza for a caller, not yet run.
    pub fn liza_command(&self, who: &Who, dir: &Path, args: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_liza"), dir);
        command.args(args);
        if let Some(id) = &who.id {
            command.env("LIZA_AGENT_ID", id);
        }
        if let Some(token) = &who.token {
            command.env("LIZA_AGENT_TOKEN", token);
        }
        command
    }

    pub fn liza_in(&self, who: &Who, dir: &Path, args: &[&str]) -> Ran {
        Ran::of(self.liza_command(who, dir, args).finish().expect("liza runs"))
    }

    pub fn liza(&self, who: &Who, args: &[&str]) -> Ran {
        self.liza_in(who, &self.root, args)
    }

    pub fn human(&self, args: &[&str]) -> Ran {
        self.liza(&HUMAN, args)
    }

    /// With `--json`; [`Ran::json`] reads the answer.
    pub fn json(&self, who: &Who, args: &[&str]) -> Ran {
        let mut all = vec!["--json"];
        all.extend(args);
        self.liza(who, &all)
    }

    /// With `--json` and extra environment variables.
    pub fn json_env(&self, who: &Who, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let mut all = vec!["--json"];
        all.extend(args);
        self.liza_with(who, &all, b"", env)
    }

    /// With `--json`, and every clock this many seconds ahead.
    pub fn later(&self, seconds: i64, who: &Who, args: &[&str]) -> Ran {
        self.json_env(who, args, &[("LIZA_TEST_ADVANCE", &seconds.to_string())])
    }

    /// With `--json` and a text on standard input.
    pub fn json_stdin(&self, who: &Who, args: &[&str], stdin: &str) -> Ran {
        let mut all = vec!["--json"];
        all.extend(args);
        self.liza_with(who, &all, stdin.as_bytes(), &[])
    }

    /// Board and log, byte for byte.
    pub fn bytes(&self) -> (Vec<u8>, Vec<u8>) {
        let read = |name: &str| std::fs::read(self.path(".liza").join(name)).unwrap_or_default();
        (read("state.yaml"), read("log.yaml"))
    }

    /// The command is refused with this exit code and error code, names a next step, and changes nothing.
    #[track_caller]
    pub fn refused(&self, who: &Who, args: &[&str], exit: i32, code: &str) -> Value {
        let before = self.bytes();
        let ran = self.json(who, args);
        let answer = ran.json();
        assert_eq!((ran.exit, ran.code().as_str()), (exit, code), "{args:?}: {}", ran.stdout);
        assert_eq!(answer["ok"], false, "{args:?}");
        assert_eq!(answer["error"]["exit"], exit, "{args:?}");
        assert!(self.bytes() == before, "{args:?} changed the board");
        answer["error"].clone()
    }

    /// A breach of Tier 0: refused, tasks unchanged, and recorded exactly once.
    #[track_caller]
    pub fn tier0(&self, who: &Who, args: &[&str], code: &str) -> Value {
        let (revision, count, tasks) = (self.revision(), self.violations(), self.tasks());
        let ran = self.json(who, args);
        assert_eq!((ran.exit, ran.code().as_str()), (1, code), "{args:?}: {}", ran.stdout);
        assert_eq!(self.violations(), count + 1, "{args:?}");
        assert_eq!(self.revision(), revision + 1, "{args:?}");
        assert_eq!(self.tasks(), tasks, "{args:?}");
        let last = self.json(&HUMAN, &["log", "-n", "1"]).ok().data()["records"][0].clone();
        assert_eq!(last["event"], "record_violation", "{last}");
        assert_eq!(last["by"], who.id.as_deref().unwrap_or("human"), "{last}");
        ran.json()["error"].clone()
    }

    pub fn violations(&self) -> u64 {
        self.json(&HUMAN, &["status"]).ok().data()["tier0_violations"].as_u64().expect("a count")
    }

    /// Every task on the board.
    #[track_caller]
    pub fn tasks(&self) -> Vec<Value> {
        let rows = self.json(&HUMAN, &["status"]).ok().data()["tasks"].clone();
        rows.as_array().expect("tasks").clone()
    }

    /// The row of one task in `status`.
    #[track_caller]
    pub fn row(&self, id: &str) -> Value {
        self.tasks().into_iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no task {id}"))
    }

    /// Replaces the only occurrence of `from` in state.yaml, as an editor would.
    #[track_caller]
    pub fn edit_state(&self, from: &str, to: &str) {
        let text = self.state();
        assert_eq!(text.matches(from).count(), 1, "`{from}` in:\n{text}");
        std::fs::write(self.path(".liza/state.yaml"), text.replace(from, to)).expect("an edit");
    }

    /// With standard input and extra environment variables.
    pub fn liza_with(&self, who: &Who, args: &[&str], stdin: &[u8], env: &[(&str, &str)]) -> Ran {
        use std::io::Write as _;
        let mut command = self.liza_command(who, &self.root, args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in env {
            command.env(name, value);
        }
        let mut child = command.start().expect("liza starts");
        // A command that does not read its input may have ended already.
        let _ = child.stdin.take().expect("a pipe").write_all(stdin);
        Ran::of(child.wait_with_output().expect("liza ends"))
    }

    #[track_caller]
    pub fn register(&self, role: &str, id: &str) -> Who {
        self.register_roles(&[role], id)
    }

    #[track_caller]
    pub fn register_roles(&self, roles: &[&str], id: &str) -> Who {
        let mut args = vec!["agent", "register", "--id", id];
        for role in roles {
            args.extend(["--role", role]);
        }
        let data = self.json(&HUMAN, &args).ok().data();
        Who { id: Some(id.to_owned()), token: data["token"].as_str().map(str::to_owned) }
    }

    /// A claimable task that may change `paths`.
    #[track_caller]
    pub fn task(&self, id: &str, paths: &[&str]) {
        self.task_with(id, paths, &[]);
    }

    #[track_caller]
    pub fn task_with(&self, id: &str, paths: &[&str], more: &[&str]) {
        let mut args = vec![
            "task",
            "add",
            "--id",
            id,
            "--title",
            id,
            "--spec",
            "specs/vision.md",
            "--done",
            "it works",
            "--finalize",
        ];
        for path in paths {
            args.extend(["--in", path]);
        }
        // A code task needs tests in its scope.
        let has_room = |path: &&str| path.contains("test") || path.contains('*') || path.ends_with('/');
        if !paths.iter().any(has_room) && !more.contains(&"--kind") {
            args.extend(["--kind", "config"]);
        }
        args.extend(more);
        self.human(&args).ok();
    }

    #[track_caller]
    pub fn claim(&self, who: &Who, id: &str) -> PathBuf {
        let data = self.json(who, &["task", "claim", id]).ok().data();
        PathBuf::from(data["worktree"].as_str().expect("a worktree"))
    }

    #[track_caller]
    pub fn checkpoint(&self, who: &Who, id: &str, files: &[&str]) {
        self.checkpoint_with(who, id, files, "echo ok", "ok");
    }

    /// A checkpoint with this validation.
    #[track_caller]
    pub fn checkpoint_with(&self, who: &Who, id: &str, files: &[&str], validate: &str, expect: &str) {
        let mut args = checkpoint_args(id, files, validate, expect);
        // A code task announces its tests, whatever the test is about.
        let task = if files.iter().any(|file| file.contains("test")) { Value::Null } else { self.show(id) };
        let room = task["scope"]["in"].as_array().cloned().unwrap_or_default();
        let room = room.iter().filter_map(Value::as_str).find(|path| path.contains("test"));
        if let Some(room) = room.filter(|_| task["kind"] == "code") {
            args.extend(["--file", room]);
        }
        self.liza(who, &args).ok();
    }

    /// Claim, checkpoint, a file and a test, commit, submit. Returns the commit under review.
    #[track_caller]
    pub fn submit_work(&self, who: &Who, id: &str, file: &str, text: &str) -> String {
        let worktree = self.claim(who, id);
        let test = format!("tests/test_{id}.sh");
        self.checkpoint(who, id, &[file, &test]);
        self.write_and_commit(&worktree, &[(file, text), (&test, "echo ok\n")]);
        let data = self.json(who, &["task", "submit", id]).ok().data();
        data["review_commit"].as_str().expect("a commit").to_owned()
    }

    #[track_caller]
    pub fn write_and_commit(&self, worktree: &Path, files: &[(&str, &str)]) -> String {
        for (file, text) in files {
            write(worktree, file, text);
        }
        self.git_in(worktree, &["add", "-A"]);
        self.git_in(worktree, &["commit", "-q", "-m", "work"]);
        self.git_in(worktree, &["rev-parse", "HEAD"])
    }

    #[track_caller]
    pub fn approve(&self, reviewer: &Who, id: &str, commit: &str) {
        self.liza(reviewer, &["review", "claim", id]).ok();
        self.liza(reviewer, &["review", "approve", id, "--commit", commit, "--summary", "fine"]).ok();
    }

    /// Takes a new task to READY_FOR_REVIEW.
    #[track_caller]
    pub fn submitted(&self, coder: &Who, id: &str, file: &str, text: &str) -> String {
        self.task(id, &[file, &format!("tests/test_{id}.sh")]);
        self.submit_work(coder, id, file, text)
    }

    /// Takes a new task to APPROVED.
    #[track_caller]
    pub fn approved(&self, coder: &Who, reviewer: &Who, id: &str, file: &str, text: &str) -> String {
        let commit = self.submitted(coder, id, file, text);
        self.approve(reviewer, id, &commit);
        commit
    }

    /// Takes a new task to MERGED.
    #[track_caller]
    pub fn merge_task(&self, coder: &Who, reviewer: &Who, id: &str, file: &str, text: &str) -> String {
        self.task(id, &[file, &format!("tests/test_{id}.sh")]);
        let commit = self.submit_work(coder, id, file, text);
        self.approve(reviewer, id, &commit);
        let data = self.json(reviewer, &["merge", id]).ok().data();
        data["merge_commit"].as_str().expect("a commit").to_owned()
    }

    #[track_caller]
    pub fn show(&self, id: &str) -> Value {
        self.json(&HUMAN, &["task", "show", id]).ok().data()
    }

    #[track_caller]
    pub fn status_of(&self, id: &str) -> String {
        self.show(id)["status"].as_str().expect("a status").to_owned()
    }

    pub fn revision(&self) -> u64 {
        self.json(&HUMAN, &["status"]).ok().json()["revision"].as_u64().expect("a revision")
    }

    /// The board is valid, and board, log and repository agree.
    #[track_caller]
    pub fn sound(&self) {
        self.human(&["validate"]).ok();
        self.human(&["verify"]).ok();
    }
}

/// Prints to the harness's own standard error which test is skipped and why: the harness hides the output of passing tests.
pub fn skip(why: &str) {
    use std::io::Write as _;
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "skipped {}: {why}", thread.name().unwrap_or("a test"));
}

/// The cases of a sweep: the short list in the suite, the full list with `LIZA_SWEEP=full` (`scripts/torture suite`).
pub fn sweep<T>(short: T, full: T) -> T {
    if std::env::var_os("LIZA_SWEEP").is_some_and(|value| value == "full") { full } else { short }
}

/// In memory where the machine has room: the results do not depend on how long a disk takes to sync.
/// `LIZA_TEST_ON_DISK` chooses the disk.
pub fn temporary_home() -> tempfile::TempDir {
    const ROOM: u64 = 1 << 30;
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize));
    let in_memory = (free >= ROOM && std::env::var_os("LIZA_TEST_ON_DISK").is_none())
        .then(|| tempfile::tempdir_in(memory).ok())
        .flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().expect("a temporary directory"))
}

/// The arguments of a good checkpoint.
pub fn checkpoint_args<'a>(
    id: &'a str,
    files: &[&'a str],
    validate: &'a str,
    expect: &'a str,
) -> Vec<&'a str> {
    let mut args = vec![
        "task",
        "checkpoint",
        id,
        "--intent",
        "the files say what the spec asks for",
        "--risks",
        "none that matter",
        "--validate",
        validate,
        "--expect",
        expect,
    ];
    for file in files {
        args.extend(["--file", file]);
    }
    args
}

/// The paths in the details of an error.
pub fn paths(error: &Value) -> Vec<String> {
    let list = error["details"]["paths"].as_array().cloned().unwrap_or_default();
    list.iter().filter_map(|path| path.as_str().map(str::to_owned)).collect()
}

pub fn write(root: &Path, relative: &str, text: &str) {
    let path = root.join(relative);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).expect("a directory");
    }
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
