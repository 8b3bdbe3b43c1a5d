//! From a goal to delivered work: what a newcomer types, with an agent CLI on the PATH.

mod goals;
mod settings;
mod setup;
mod specs;
mod three_commands;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, World};
use crate::team::QUICK;

/// A repository with these files, and an agent CLI called `claude` that is this script.
pub struct Newcomer {
    pub world: World,
    path: String,
    /// The commands typed so far.
    pub typed: Vec<String>,
}

impl Newcomer {
    pub fn new(files: &[(&str, &str)], script: &str) -> Self {
        let world = World::bare_repo();
        std::fs::remove_dir_all(world.path("specs")).expect("removed");
        for (name, text) in files {
            world.write(name, text);
        }
        world.commit_all("the project");
        let bin = world.home().join("bin");
        std::fs::create_dir_all(&bin).expect("a directory");
        let liza = Path::new(env!("CARGO_BIN_EXE_liza")).parent().expect("a directory").display().to_string();
        program(&bin.join("claude"), &format!("#!/bin/sh\nHOME='{}'\n{script}", world.home().display()));
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{liza}:{path}", bin.display());
        Self { world, path, typed: Vec::new() }
    }

    /// What a person types.
    pub fn types(&mut self, args: &[&str]) -> Ran {
        self.typed.push(args.join(" "));
        self.liza(args)
    }

    pub fn liza(&self, args: &[&str]) -> Ran {
        let mut env: Vec<(&str, &str)> = QUICK.to_vec();
        // A project's tools look for their installed packages.
        let home = std::env::var("HOME").unwrap_or_default();
        let (cargo, rustup) =
            (tool_home("CARGO_HOME", &home, ".cargo"), tool_home("RUSTUP_HOME", &home, ".rustup"));
        env.extend([
            ("PATH", self.path.as_str()),
            ("LIZA_TEST_NO_PROVIDERS", "0"),
            ("CARGO_NET_OFFLINE", "true"),
        ]);
        env.extend([("CARGO_HOME", cargo.as_str()), ("RUSTUP_HOME", rustup.as_str())]);
        let identity = [
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.org"),
            ("GIT_COMMITTER_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@example.org"),
        ];
        env.extend(identity);
        let mut command = self.world.liza_command(&HUMAN, &self.world.root, args);
        command.envs(env);
        Ran::of(command.finish().expect("liza runs"))
    }
}

fn tool_home(variable: &str, home: &str, usual: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| format!("{home}/{usual}"))
}

pub fn program(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a program");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("rights");
}

/// An agent that plans one task for the goal, does it by writing `$FILE` and its test, and approves other agents' work.
pub fn agent(file: &str, text: &str, test: &str, test_text: &str) -> String {
    format!(
        r#"
cat > /dev/null
case "$LIZA_ROLE" in
planner)
  liza plan - <<'PLAN'
tasks:
  - id: work
    title: Do what the goal says
    description: all of it
    spec_ref: goal
    done_when: ["`cat {file}` prints it"]
    scope: {{in: ["{file}", "{test}"]}}
    timebox_minutes: 8
PLAN
  ;;
coder)
  liza task checkpoint "$LIZA_TASK" --intent "{file} is there" --risks "none, new files" \
    --validate "cat {file}" --expect hello --file "{file}" --file "{test}" || exit 1
  mkdir -p "$(dirname '{file}')" "$(dirname '{test}')"
  cat > '{file}' <<'TEXT'
{text}
TEXT
  cat > '{test}' <<'TEXT'
{test_text}
TEXT
  git add -A && git commit -qm "$LIZA_TASK" && liza task submit "$LIZA_TASK"
  ;;
code_reviewer)
  liza review approve "$LIZA_TASK" --commit "$(git rev-parse HEAD)" --summary fine
  ;;
esac
"#
    )
}

/// A project without tests.
pub fn plain_agent() -> String {
    agent("hello.txt", "hello", "tests/test_hello.sh", "grep -q hello hello.txt")
}
