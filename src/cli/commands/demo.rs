use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::{Value, json};

use crate::flow::Failure;
use crate::text::shown;

use super::super::ui::{Answer, Ui};

/// Walk from an empty repository to merged work, with real commands
///
/// Makes a throw-away repository in a temporary folder and plays planner, coder and reviewer in it: real worktrees, a
/// refused self-approval, a rejection and its fix, and a real merge. Needs nothing but git.
///
/// Example: liza demo --keep liza-demo
#[derive(Args)]
pub struct DemoArgs {
    /// Make the repository here and keep it
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

const PROGRAM: &str = "#!/bin/sh\n# Prints a greeting.\necho \"Hello, World!\"\n";
const FIRST_TRY: &str = "#!/bin/sh\n# Prints a greeting for a name.\necho \"Hello, $1!\"\n";
const SECOND_TRY: &str =
    "#!/bin/sh\n# Prints a greeting for a name, or for the world.\necho \"Hello, ${1:-World}!\"\n";
const TEST: &str = "[ \"$(sh greet.sh Ada)\" = \"Hello, Ada!\" ] || exit 1\necho all good\n";
const BETTER_TEST: &str = "[ \"$(sh greet.sh Ada)\" = \"Hello, Ada!\" ] || exit 1\n[ \"$(sh greet.sh)\" = \"Hello, World!\" ] || exit 1\necho all good\n";
const SPEC: &str =
    "# Greeting\n\n`greet.sh NAME` prints `Hello, NAME!`; without a name it greets the World.\n";
const PLAN: &str = "tasks:
  - id: greet-by-name
    title: Greet by name
    spec_ref: specs/vision.md
    done_when:
      - \"`sh greet.sh Ada` prints Hello, Ada!\"
      - \"`sh greet.sh` prints Hello, World!\"
    scope:
      in: [greet.sh, tests/]
  - id: document
    title: Say how to greet
    spec_ref: specs/vision.md
    kind: docs
    done_when: [\"the README names the argument\"]
    scope:
      in: [README.md]
    depends_on: [greet-by-name]
";

pub fn run(args: &DemoArgs, ui: Ui) -> Result<Answer, Failure> {
    let temporary = tempfile::Builder::new()
        .prefix("liza-demo-")
        .tempdir()
        .map_err(|error| Failure::new("io.failed", format!("no temporary folder could be made: {error}")))?;
    let root = match &args.keep {
        Some(dir) if dir.exists() => {
            return Err(Failure::usage(format!("{} is there already", dir.display()))
                .hint("name a folder that is not"));
        }
        Some(dir) => dir.clone(),
        None => temporary.path().join("greeting"),
    };
    std::fs::create_dir_all(&root).map_err(|error| Failure::io("make", &root, &error))?;
    let root = root.canonicalize().map_err(|error| Failure::io("find", &root, &error))?;
    let liza = std::env::current_exe()
        .map_err(|error| Failure::new("io.failed", format!("this program cannot be found: {error}")))?;
    let demo = Demo { root: root.clone(), home: temporary.path().to_owned(), liza, ui };
    let commit = demo.play()?;
    let mut text =
        format!("\nThe work is on `integration` as {commit}; main and the checkout were never touched.\n");
    if args.keep.is_some() {
        text.push_str(&format!(
            "Look around in {}:\n  liza status --all     the board\n  liza log              what happened\n  git log --graph integration\n",
            root.display()
        ));
    } else {
        text.push_str("Try next:\n  liza demo --keep DIR     the same, to look around in\n  liza init \"<goal>\"       in a repository of your own\n  liza --help              every command\n");
    }
    Ok(Answer::new(json!({ "merge_commit": commit, "repository": args.keep.as_ref().map(|_| &root) }), text))
}

struct Demo {
    root: PathBuf,
    home: PathBuf,
    liza: PathBuf,
    ui: Ui,
}

/// Somebody with an identity.
struct Actor {
    id: String,
    token_file: String,
}

impl Demo {
    fn play(&self) -> Result<String, Failure> {
        self.say("A small repository, and a board in it.");
        self.git(&self.root, &["init", "-q", "-b", "main"])?;
        self.write(&self.root, "greet.sh", PROGRAM)?;
        self.write(&self.root, "README.md", "# Greeting\n\nRun `sh greet.sh`.\n")?;
        self.write(&self.root, "specs/vision.md", SPEC)?;
        self.commit(&self.root, "A greeting")?;
        self.liza(None, &["init", "A program that greets people by name"], 0)?;

        self.say("The planner cuts the goal into two tasks; the second waits for the first.");
        self.write(&self.home, "plan.yaml", PLAN)?;
        let plan = self.home.join("plan.yaml").display().to_string();
        self.liza(None, &["plan", &plan], 0)?;
        self.liza(None, &["status"], 0)?;

        self.say("A coder takes the first task. It says what it will do before it does it.");
        let coder = self.register("coder")?;
        let reviewer = self.register("code_reviewer")?;
        let worktree = self.claim(&coder)?;
        self.checkpoint(&coder)?;
        self.write(&worktree, "greet.sh", FIRST_TRY)?;
        self.write(&worktree, "tests/test_greet.sh", TEST)?;
        self.commit(&worktree, "Greet by name")?;
        let first = self.submit(&coder)?;

        self.say("The coder tries to approve its own work. No flag gets around this.");
        self.liza(Some(&coder), &["review", "approve", "greet-by-name", "--commit", &first], 1)?;

        self.say("Somebody else reviews a sealed checkout of that commit, and finds something.");
        self.liza(Some(&reviewer), &["next", "--role", "code_reviewer"], 0)?;
        self.liza(
            Some(&reviewer),
            &[
                "review",
                "reject",
                "greet-by-name",
                "--commit",
                &first,
                "--reason",
                "Without a name it greets nobody",
                "--issue",
                "major:greet.sh:3:an empty name must greet the World, as the spec says",
            ],
            0,
        )?;

        self.say("The coder gets it back with the feedback, and mends it.");
        self.liza(Some(&coder), &["task", "show", "greet-by-name", "--feedback"], 0)?;
        let worktree = self.claim(&coder)?;
        self.checkpoint(&coder)?;
        self.write(&worktree, "greet.sh", SECOND_TRY)?;
        self.write(&worktree, "tests/test_greet.sh", BETTER_TEST)?;
        self.commit(&worktree, "Greet the world without a name")?;
        let second = self.submit(&coder)?;
        self.liza(Some(&reviewer), &["review", "claim", "greet-by-name"], 0)?;
        self.liza(
            Some(&reviewer),
            &[
                "review",
                "approve",
                "greet-by-name",
                "--commit",
                &second,
                "--summary",
                "does what the spec says",
            ],
            0,
        )?;

        self.say("Only now does the integration branch move, by compare-and-swap, to exactly that tree.");
        let merged = self.liza_json(Some(&reviewer), &["merge", "greet-by-name"])?;
        let commit = merged["merge_commit"].as_str().unwrap_or_default().to_owned();
        self.show(&format!("merged as {commit}"));
        self.liza(None, &["status", "--all"], 0)?;
        self.say("Board, log and repository tell the same story.");
        self.liza(None, &["verify"], 0)?;
        self.show(&self.git(&self.root, &["log", "--oneline", "--graph", "integration"])?);
        let greeting = self.git(&self.root, &["show", "integration:greet.sh"])?;
        if greeting.trim() != SECOND_TRY.trim() {
            return Err(Failure::new("bug.demo", "integration does not hold the reviewed work"));
        }
        Ok(commit)
    }

    fn say(&self, text: &str) {
        self.ui.narrate(&format!("\n# {text}"));
    }

    fn show(&self, text: &str) {
        for line in text.lines() {
            self.ui.narrate(&format!("  {line}"));
        }
    }

    fn write(&self, dir: &Path, name: &str, text: &str) -> Result<(), Failure> {
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| Failure::io("make", parent, &error))?;
        }
        std::fs::write(&path, text).map_err(|error| Failure::io("write", &path, &error))
    }

    /// Scripted agents bring their own git identity: nothing depends on this machine's configuration.
    fn command(&self, program: &Path, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(dir).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("GIT_") || text.starts_with("LIZA_") {
                command.env_remove(&name);
            }
        }
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
            command.env(name, "Demo Agent");
        }
        for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "agent@localhost");
        }
        command
    }

    fn git(&self, dir: &Path, args: &[&str]) -> Result<String, Failure> {
        let output = self
            .command(Path::new("git"), dir)
            .args(["-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"])
            .args(args)
            .output()
            .map_err(|error| {
                Failure::new("git.missing", format!("git cannot be run: {error}"))
                    .hint("install git 2.38 or newer")
            })?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Failure::new("git.failed", format!("git {}: {why}", args.join(" "))));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn commit(&self, dir: &Path, message: &str) -> Result<(), Failure> {
        self.git(dir, &["add", "-A"])?;
        self.git(dir, &["commit", "-q", "-m", message])?;
        self.ui.narrate(&format!("$ git commit -m \"{message}\""));
        Ok(())
    }

    fn start(&self, who: Option<&Actor>, args: &[&str]) -> Result<std::process::Output, Failure> {
        let mut command = self.command(&self.liza, &self.root);
        command.args(args);
        if let Some(who) = who {
            command.env("LIZA_AGENT_ID", &who.id).env("LIZA_AGENT_TOKEN_FILE", &who.token_file);
        }
        let name = who.map_or(String::new(), |who| format!("[{}] ", who.id));
        let words: Vec<String> = args
            .iter()
            .filter(|arg| **arg != "--json")
            .map(|arg| if arg.contains(' ') { format!("\"{arg}\"") } else { (*arg).to_owned() })
            .collect();
        self.ui.narrate(&format!("{name}$ liza {}", words.join(" ")));
        command.output().map_err(|error| Failure::new("io.failed", format!("liza cannot be run: {error}")))
    }

    /// Runs a command that must end with this exit code, and shows what it says.
    fn liza(&self, who: Option<&Actor>, args: &[&str], exit: i32) -> Result<(), Failure> {
        let output = self.start(who, args)?;
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        self.show(&shown(&text));
        if output.status.code() == Some(exit) {
            return Ok(());
        }
        Err(Failure::new(
            "bug.demo",
            format!("liza {} ended with {:?}, not {exit}", args.join(" "), output.status.code()),
        ))
    }

    fn liza_json(&self, who: Option<&Actor>, args: &[&str]) -> Result<Value, Failure> {
        let mut all = vec!["--json"];
        all.extend(args);
        let output = self.start(who, &all)?;
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if output.status.success() {
            return Ok(answer["data"].clone());
        }
        let why = answer["error"]["message"].as_str().unwrap_or_default().to_owned();
        Err(Failure::new("bug.demo", format!("liza {} failed: {why}", args.join(" "))))
    }

    fn register(&self, role: &str) -> Result<Actor, Failure> {
        let data = self.liza_json(None, &["agent", "register", "--role", role])?;
        let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
        Ok(Actor { id: text("id"), token_file: text("token_file") })
    }

    fn claim(&self, coder: &Actor) -> Result<PathBuf, Failure> {
        let data = self.liza_json(Some(coder), &["next", "--role", "coder"])?;
        let worktree = PathBuf::from(data["worktree"].as_str().unwrap_or_default());
        self.show(&format!(
            "{} is {}'s, iteration {}, in {}",
            data["task"].as_str().unwrap_or_default(),
            coder.id,
            data["iteration"],
            worktree.strip_prefix(&self.root).unwrap_or(&worktree).display()
        ));
        Ok(worktree)
    }

    fn checkpoint(&self, coder: &Actor) -> Result<(), Failure> {
        self.liza(
            Some(coder),
            &[
                "task",
                "checkpoint",
                "greet-by-name",
                "--intent",
                "greet.sh greets the name it is given",
                "--risks",
                "none, one small script",
                "--validate",
                "sh tests/test_greet.sh",
                "--expect",
                "all good",
                "--file",
                "greet.sh",
                "--file",
                "tests/test_greet.sh",
            ],
            0,
        )
    }

    fn submit(&self, coder: &Actor) -> Result<String, Failure> {
        let data = self.liza_json(Some(coder), &["task", "submit", "greet-by-name"])?;
        let commit = data["review_commit"].as_str().unwrap_or_default().to_owned();
        self.show(&format!("liza ran the validation itself; under review is {commit}"));
        Ok(commit)
    }
}
