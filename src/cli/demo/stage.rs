//! The demo's surroundings: a repository, a home directory, and a folder of marker files by which the scripted agents
//! report their progress. Settings of this machine's git have no effect there.

use std::process::Output;

use super::project;
use crate::board::SwitchKind;
use crate::cli::prelude::*;
use crate::host::{Program, this_program};
use crate::store::{Machine, Store};
use crate::supervise::ChildAnswer;
use crate::wire::log::Record;

/// The size and speed of the demo.
#[derive(Debug, Clone, Copy)]
pub struct Cast {
    pub tasks: u32,
    pub coders: u32,
    /// Seconds that each agent waits after each step.
    pub speed: Option<f64>,
}

/// The result of the tests on one tree.
pub struct Tested {
    pub green: bool,
    pub output: String,
}

pub struct Stage {
    pub root: PathBuf,
    pub cast: Cast,
    pub ui: Ui,
    home: PathBuf,
    markers: PathBuf,
    /// TMPDIR of all processes of the demo: killed processes do not clean up their files.
    scratch: PathBuf,
}

impl Stage {
    /// Makes the repository with the program and a new board. The folder `temporary` is deleted at the end.
    pub fn build(root: &Path, temporary: &Path, cast: Cast, ui: Ui) -> Result<Self, Failure> {
        let files = project::files(cast.tasks, cast.coders);
        let stage = Self::make(root, temporary, cast, ui, files, "wordtool, its spec, and the agents")?;
        stage.must_liza(&["init", project::GOAL, "--spec", project::SPEC, "--no-hooks"])?;
        Ok(stage)
    }

    /// Makes a repository with these files in one commit, and no board.
    pub fn make(
        root: &Path,
        temporary: &Path,
        cast: Cast,
        ui: Ui,
        files: Vec<(&'static str, String)>,
        message: &str,
    ) -> Result<Self, Failure> {
        let (home, markers, scratch) =
            (temporary.join("home"), temporary.join("stage"), temporary.join("tmp"));
        for dir in [root, &home, &markers, &scratch] {
            std::fs::create_dir_all(dir).map_err(|error| Failure::io("make", dir, &error))?;
        }
        let root = root.canonicalize().map_err(|error| Failure::io("find", root, &error))?;
        let stage = Self { root, cast, ui, home, markers, scratch };
        for (name, text) in files {
            stage.write(name, &text)?;
        }
        stage.git(&["init", "--quiet", "--template=", "--initial-branch=main", "."])?;
        // In the repository's own configuration, so that it also applies when a person uses the repository later.
        stage.git(&["config", "commit.gpgsign", "false"])?;
        stage.git(&["config", "core.autocrlf", "false"])?;
        stage.git(&["add", "--all"])?;
        stage.git(&["commit", "--quiet", "--no-verify", "-m", message])?;
        Ok(stage)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.root.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| Failure::io("make", parent, &error))?;
        }
        std::fs::write(&path, text).map_err(|error| Failure::io("write", &path, &error))
    }

    /// Makes the file of the PAUSE switch, as any program may do.
    pub fn touch_pause(&self, agent: Option<&str>, reason: &str) -> Result<(), Failure> {
        let path = self.store().switch_path(SwitchKind::Pause, agent);
        std::fs::write(&path, reason).map_err(|error| Failure::io("write", &path, &error))
    }

    /// The text of a marker file; none before an agent wrote it.
    pub fn marker(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.markers.join(name)).ok().filter(|text| text.ends_with('\n'))
    }

    /// Writes a marker file; an agent that waits for it goes on.
    pub fn mark(&self, name: &str) -> Result<(), Failure> {
        let path = self.markers.join(name);
        std::fs::write(&path, "demo\n").map_err(|error| Failure::io("write", &path, &error))
    }

    /// The prompts of the coders of this task, one per session.
    pub fn prompts(&self, task: &str) -> Vec<String> {
        let machine = Machine::new(Store::address_in(&self.root), &self.root);
        let rounds = TaskId::new(task).map(|task| machine.rounds(&task)).unwrap_or_default();
        let files = rounds.iter().flat_map(|round| std::fs::read_dir(round).into_iter().flatten().flatten());
        let prompts = files.filter(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            name.starts_with("coder-") && name.ends_with(".prompt.md")
        });
        prompts.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
    }

    /// Prepares a program to run in the repository, in its own process group: only the demo handles Ctrl-C.
    pub fn in_repository(&self, program: Program) -> Program {
        let program =
            isolated(program, &self.root, &self.home, &self.scratch).env("DEMO_STAGE", &self.markers);
        match self.cast.speed.filter(|speed| *speed > 0.0) {
            Some(speed) => program.env("DEMO_SPEED", speed.to_string()),
            None => program,
        }
    }

    pub fn git(&self, args: &[&str]) -> Result<String, Failure> {
        let git = self
            .in_repository(Program::new("git"))
            .env("GIT_AUTHOR_NAME", "Demo")
            .env("GIT_COMMITTER_NAME", "Demo")
            .env("GIT_AUTHOR_EMAIL", "demo@localhost")
            .env("GIT_COMMITTER_EMAIL", "demo@localhost");
        let output = git.args(args).output().map_err(|error| {
            Failure::new(ErrorCode::GitMissing, format!("git cannot be run: {error}"))
                .hint("install git 2.38 or newer")
        })?;
        if output.status.success() {
            return Ok(text_of(&output.stdout));
        }
        let why = text_of(&output.stderr);
        Err(Failure::new(ErrorCode::GitFailed, format!("git {}: {}", args.join(" "), why.trim())))
    }

    fn run_liza(&self, args: &[&str]) -> Result<Output, Failure> {
        self.in_repository(Program::new(this_program()))
            .args(args)
            .output()
            .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("liza cannot be run: {error}")))
    }

    /// Runs a command as the person, and returns its output whatever the exit code.
    pub fn liza(&self, args: &[&str]) -> Result<String, Failure> {
        let output = self.run_liza(args)?;
        Ok(format!("{}{}", text_of(&output.stdout), text_of(&output.stderr)))
    }

    /// The same; the command must succeed.
    pub fn must_liza(&self, args: &[&str]) -> Result<(), Failure> {
        let output = self.run_liza(&[&["--json"], args].concat())?;
        if output.status.success() {
            return Ok(());
        }
        let answer: ChildAnswer = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let why = answer.error.unwrap_or_default().message;
        Err(Failure::new(ErrorCode::BugDemo, format!("`liza {}` failed: {why}", args.join(" "))))
    }

    pub fn store(&self) -> Store {
        Store::new(Store::address_in(&self.root))
    }

    pub fn board(&self) -> Result<Board, Failure> {
        Ok(self.store().read(&Needs::Everything)?.board)
    }

    /// The journal up to this revision of the board.
    pub fn log(&self, board: &Board) -> Result<Vec<Record>, Failure> {
        Ok(self.store().read_log(board.journal.length)?)
    }

    /// Checks out these trees one after the other in a private directory `name`, and runs the tests of each, as the gate
    /// does.
    pub fn tests_of(&self, name: &str, trees: &[&str]) -> Result<Vec<Tested>, Failure> {
        let checkout = self.markers.join(name);
        let text = checkout.display().to_string();
        self.git(&["worktree", "add", "--quiet", "--detach", "--no-checkout", &text, "integration"])?;
        let tested = trees.iter().map(|tree| {
            self.git(&["-C", &text, "read-tree", "--reset", "-u", tree])?;
            let ran = self.in_repository(Program::new("sh")).arg("tests/run.sh").dir(&checkout).output();
            let ran =
                ran.map_err(|error| Failure::new(ErrorCode::IoFailed, format!("sh cannot be run: {error}")))?;
            Ok(Tested { green: ran.status.success(), output: text_of(&ran.stdout) })
        });
        let tested = tested.collect();
        self.git(&["worktree", "remove", "--force", &text])?;
        tested
    }

    pub fn heading(&self, text: &str) {
        self.ui.narrate(&format!("\n# {text}"));
    }

    /// Shows the output of a command, indented below the demo's own text.
    pub fn show(&self, text: &str) {
        for line in text.lines() {
            self.ui.narrate(&format!("    {line}"));
        }
    }
}

/// Hides this machine's git and liza settings from a program: it gets its own home and temporary folder, no configuration
/// outside the repository, and a process group that can be killed as a whole.
pub fn isolated(program: Program, root: &Path, home: &Path, scratch: &Path) -> Program {
    program
        .dir(root)
        .own_group()
        .without_env(|name| ["GIT_", "LIZA_", "DEMO_", "XDG_"].iter().any(|start| name.starts_with(start)))
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("TMPDIR", scratch)
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
