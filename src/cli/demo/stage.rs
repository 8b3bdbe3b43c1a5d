//! Where the demo plays: a repository of its own, a home of its own, and a folder of marker files by which the scripted
//! agents say where they are. Whatever the machine's git was told has no say here.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::flow::Failure;
use crate::supervise::child::this_program;

use super::super::ui::Ui;
use super::project;

/// How large the demo is, and how slow.
#[derive(Debug, Clone, Copy)]
pub struct Cast {
    pub tasks: u32,
    pub coders: u32,
    /// Seconds that each agent rests after each step.
    pub speed: Option<f64>,
}

/// What the tests of a tree said.
pub struct Tested {
    pub green: bool,
    pub said: String,
}

pub struct Stage {
    pub root: PathBuf,
    pub cast: Cast,
    pub ui: Ui,
    home: PathBuf,
    markers: PathBuf,
    /// Where everything the demo starts puts what is temporary: what has to be killed takes nothing away with it.
    scratch: PathBuf,
}

impl Stage {
    /// The repository with the program, a board in it, and nothing done yet. `place` holds what goes away at the end.
    pub fn build(root: &Path, place: &Path, cast: Cast, ui: Ui) -> Result<Self, Failure> {
        let (home, markers, scratch) = (place.join("home"), place.join("stage"), place.join("tmp"));
        for dir in [root, &home, &markers, &scratch] {
            std::fs::create_dir_all(dir).map_err(|error| Failure::io("make", dir, &error))?;
        }
        let root = root.canonicalize().map_err(|error| Failure::io("find", root, &error))?;
        let stage = Self { root, cast, ui, home, markers, scratch };
        for (name, text) in project::files(cast.tasks, cast.coders) {
            stage.write(name, &text)?;
        }
        stage.git(&["init", "--quiet", "--template=", "--initial-branch=main", "."])?;
        // In the repository itself, so that it holds for whoever looks around in it later.
        stage.git(&["config", "commit.gpgsign", "false"])?;
        stage.git(&["config", "core.autocrlf", "false"])?;
        stage.git(&["add", "--all"])?;
        stage.git(&["commit", "--quiet", "--no-verify", "-m", "wordtool, its spec, and the agents"])?;
        stage.liza_json(&["init", project::GOAL, "--spec", project::SPEC, "--no-hooks"])?;
        Ok(stage)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.root.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| Failure::io("make", parent, &error))?;
        }
        std::fs::write(&path, text).map_err(|error| Failure::io("write", &path, &error))
    }

    /// A file under `.liza`, as anybody may make one to set a switch.
    pub fn touch(&self, switch: &str, reason: &str) -> Result<(), Failure> {
        let path = self.root.join(".liza").join(switch);
        std::fs::write(&path, reason).map_err(|error| Failure::io("write", &path, &error))
    }

    /// What an agent wrote when it came to this point; nothing before.
    pub fn marker(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.markers.join(name)).ok().filter(|text| text.ends_with('\n'))
    }

    /// Lets an agent go on that waits for it.
    pub fn mark(&self, name: &str) -> Result<(), Failure> {
        let path = self.markers.join(name);
        std::fs::write(&path, "demo\n").map_err(|error| Failure::io("write", &path, &error))
    }

    /// What coders were told about this task, from one session to the next.
    pub fn prompts(&self, task: &str) -> Vec<String> {
        let rounds =
            std::fs::read_dir(self.root.join(".liza/runs").join(task)).into_iter().flatten().flatten();
        let files = rounds.flat_map(|round| std::fs::read_dir(round.path()).into_iter().flatten().flatten());
        let prompts = files.filter(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            name.starts_with("coder-") && name.ends_with(".prompt.md")
        });
        prompts.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
    }

    /// A command in the repository. In a process group of its own: Ctrl-C is for the demo to handle.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null()).process_group(0);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["GIT_", "LIZA_", "DEMO_", "XDG_"].iter().any(|start| text.starts_with(start)) {
                command.env_remove(&name);
            }
        }
        command
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("TMPDIR", &self.scratch)
            .env("DEMO_STAGE", &self.markers);
        if let Some(speed) = self.cast.speed.filter(|speed| *speed > 0.0) {
            command.env("DEMO_SPEED", speed.to_string());
        }
        command
    }

    pub fn git(&self, args: &[&str]) -> Result<String, Failure> {
        let mut command = self.command(Path::new("git"));
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
            command.env(name, "Demo");
        }
        for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "demo@localhost");
        }
        let output = command.args(args).output().map_err(|error| {
            Failure::new("git.missing", format!("git cannot be run: {error}"))
                .hint("install git 2.38 or newer")
        })?;
        if output.status.success() {
            return Ok(said(&output.stdout));
        }
        let why = said(&output.stderr);
        Err(Failure::new("git.failed", format!("git {}: {}", args.join(" "), why.trim())))
    }

    fn run_liza(&self, args: &[&str]) -> Result<Output, Failure> {
        self.command(&this_program())
            .args(args)
            .output()
            .map_err(|error| Failure::new("io.failed", format!("liza cannot be run: {error}")))
    }

    /// What the person at the keyboard types, and what comes back, whatever the exit code.
    pub fn liza(&self, args: &[&str]) -> Result<String, Failure> {
        let output = self.run_liza(args)?;
        Ok(format!("{}{}", said(&output.stdout), said(&output.stderr)))
    }

    pub fn liza_json(&self, args: &[&str]) -> Result<Value, Failure> {
        let mut all = vec!["--json"];
        all.extend(args);
        let output = self.run_liza(&all)?;
        let mut answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if output.status.success() {
            let revision = answer["revision"].take();
            let mut data = answer["data"].take();
            if data.is_object() {
                data["revision"] = revision;
            }
            return Ok(data);
        }
        let why = answer["error"]["message"].as_str().unwrap_or_default();
        Err(Failure::new("bug.demo", format!("`liza {}` failed: {why}", args.join(" "))))
    }

    /// Checks out these trees one after the other in a place of that name where nobody works, and runs the tests of each
    /// there, as the gate does.
    pub fn tests_of(&self, name: &str, trees: &[&str]) -> Result<Vec<Tested>, Failure> {
        let place = self.markers.join(name);
        let text = place.display().to_string();
        self.git(&["worktree", "add", "--quiet", "--detach", "--no-checkout", &text, "integration"])?;
        let tested = trees.iter().map(|tree| {
            self.git(&["-C", &text, "read-tree", "--reset", "-u", tree])?;
            let ran = self.command(Path::new("sh")).arg("tests/run.sh").current_dir(&place).output();
            let ran = ran.map_err(|error| Failure::new("io.failed", format!("sh cannot be run: {error}")))?;
            Ok(Tested { green: ran.status.success(), said: said(&ran.stdout) })
        });
        let tested = tested.collect();
        self.git(&["worktree", "remove", "--force", &text])?;
        tested
    }

    pub fn heading(&self, text: &str) {
        self.ui.narrate(&format!("\n# {text}"));
    }

    /// Text of others, set off from what the demo says.
    pub fn show(&self, text: &str) {
        for line in text.lines() {
            self.ui.narrate(&format!("    {line}"));
        }
    }
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
