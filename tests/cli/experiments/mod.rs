//! `liza experiment`: from ideas to scored changes, with scripted agents.

mod adopting;
mod agents;
mod codex_mcp;
mod endings;
mod flow;
mod hostile;
mod interrupted;
mod settings;

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{HUMAN, Ran, World};

/// A repository with a number to improve, and agents that do what an idea says.
pub struct Bench {
    pub world: World,
}

const PLANNER: &str = "cat > /dev/null; printf 'PLAN\\n1. change param\\n\\nRISKS\\nnone worth a name\\n'\n";
/// Executes the lines `do: COMMAND` of an idea; after a rejection also the lines `fix: COMMAND`.
const CODER: &str = r##"p=$(cat)
printf '%s\n' "$p" | sed -n 's/^do: //p' > "$HOME/steps"
case "$p" in *"# Review"*) printf '%s\n' "$p" | sed -n 's/^fix: //p' >> "$HOME/steps" ;; esac
. "$HOME/steps"
echo "did what the idea says"
"##;
/// Rejects a change that contains the word `bad`.
const REVIEWER: &str = r#"p=$(cat)
case "$p" in *"+bad"*) echo "the line bad has to go"; echo "VERDICT: REJECT" ;; *) echo fine; echo "VERDICT: APPROVE" ;; esac
"#;
const SWEEP: &str = "printf 'name,score\\nrun,%s\\n' \"$(cat param)\" > results.csv\n";

impl Bench {
    pub fn new() -> Self {
        Self::with("")
    }

    /// With more settings below `experiment:`.
    pub fn with(more: &str) -> Self {
        let bench = Self { world: World::bare_repo() };
        for (name, text) in [("planner", PLANNER), ("coder", CODER), ("reviewer", REVIEWER)] {
            bench.agent(name, text);
        }
        bench.world.write("param", "10\n");
        bench.world.write("sweep.sh", SWEEP);
        bench.world.write("baseline.csv", "name,score\nbase,10\n");
        bench.settings(more);
        bench.world.commit_all("a number to improve");
        bench
    }

    pub fn settings(&self, more: &str) {
        let home = self.world.home().display();
        let providers: String = ["planner", "coder", "reviewer"]
            .iter()
            .map(|name| format!("  {name}: {{command: [sh, {home}/{name}.sh]}}\n"))
            .collect();
        let text = format!(
            "version: 1\nproviders:\n{providers}experiment:\n  agents: {{planner: {{provider: planner}}, coder: {{provider: coder}}, reviewer: {{provider: reviewer}}}}\n  test_command: grep -qx '[0-9]*' param\n  sweep_command: sh sweep.sh\n  results_csv: results.csv\n  baseline_csv: baseline.csv\n  score: {{column: score}}\n{more}"
        );
        self.world.write("liza.yaml", &text);
    }

    /// Replaces the script of an agent.
    pub fn agent(&self, name: &str, text: &str) {
        std::fs::write(self.world.home().join(format!("{name}.sh")), text).expect("written");
    }

    /// One file per idea.
    pub fn idea(&self, name: &str, text: &str) {
        self.world.write(&format!("ideas/{name}.md"), text);
    }

    pub fn run(&self, more: &[&str]) -> Ran {
        let mut args = vec!["experiment", "run", "ideas"];
        args.extend(more);
        self.world.liza(&HUMAN, &args)
    }

    /// The summary of an idea's last run.
    pub fn summary(&self, idea: &str) -> Value {
        let shown = self.world.json(&HUMAN, &["experiment", "show", idea]).ok().data();
        shown["run"].clone()
    }

    /// Tries one idea and returns its summary.
    pub fn tried(&self, text: &str) -> Value {
        self.idea("one", &format!("# One\n{text}\n"));
        self.run(&["--only", "one"]);
        self.summary("one")
    }

    pub fn dir(&self, idea: &str) -> PathBuf {
        PathBuf::from(self.summary(idea)["dir"].as_str().expect("a directory"))
    }

    pub fn artifact(&self, idea: &str, name: &str) -> String {
        std::fs::read_to_string(self.dir(idea).join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}
