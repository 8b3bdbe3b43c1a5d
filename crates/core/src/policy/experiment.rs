//! The experiment flow: `experiment:` in liza.yaml (specs/experiments.md).

use super::gate::GateCommand;
use super::prelude::*;

settings! {
    pub struct ExperimentConfig {
        /// A file or a directory of ideas, relative to the root of the repository.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ideas_file: Option<String>,
        /// A text file that lists the planner's context: one path or pattern per line.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub planner_repo_files: Option<String>,
        pub prompts: PromptFiles,
        pub agents: ExperimentAgents,
        pub agents_sdk: AgentsSdk,
        pub codex_mcp: CodexMcp,
        /// How many times the coder may fix rejected work, after its first attempt.
        pub max_review_rounds: u32 = 2,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub test_command: Option<GateCommand>,
        /// The working directory, relative to the root of the worktree.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub test_cwd: Option<String>,
        /// Seconds.
        pub test_timeout: u64 = 1800,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sweep_command: Option<GateCommand>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sweep_cwd: Option<String>,
        pub sweep_timeout: u64 = 3600,
        /// The file that the sweep writes, relative to the root of the worktree.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub results_csv: Option<String>,
        /// The results to compare with, relative to the root of the repository.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub baseline_csv: Option<String>,
        pub score: ScoreConfig,
        pub worktree_root: String = "agentic_experimentation/worktrees".to_owned(),
        pub experiments_root: String = "agentic_experimentation/experiments".to_owned(),
        pub keep_worktrees: bool,
        pub base_on_working_tree: bool,
        /// Files of variables for agents and commands; a variable that is already set keeps its value.
        pub env_files: Vec<String> = vec!["agentic_experimentation/.env".to_owned(), ".env".to_owned()],
    }
}

sparse_settings! {
    /// Files with the instructions of each agent, instead of the built-in ones.
    pub struct PromptFiles {
        pub planner: Option<String>,
        pub coder: Option<String>,
        pub coder_fix: Option<String>,
        pub reviewer: Option<String>,
    }
}

sparse_settings! {
    pub struct ExperimentAgents {
        pub planner: ExperimentAgent,
        pub coder: ExperimentAgent,
        pub reviewer: ExperimentAgent,
    }
}

sparse_settings! {
    pub struct ExperimentAgent {
        /// A provider of the catalog, or `codex_mcp` for the coder; by default the project's provider.
        pub provider: Option<String>,
        pub model: Option<String>,
        pub args: Vec<String>,
    }
}

sparse_settings! {
    pub struct AgentsSdk {
        /// The most turns of a session.
        pub max_turns: Option<u64>,
    }
}

settings! {
    /// How Codex is started as an MCP server, for `agents.coder.provider: codex_mcp`.
    pub struct CodexMcp {
        pub command: Vec<String> = vec!["codex".to_owned(), "mcp-server".to_owned()],
        pub sandbox: String = "workspace-write".to_owned(),
        pub approval_policy: String = "on-request".to_owned(),
    }
}

settings! {
    /// Which value of the results is the score.
    pub struct ScoreConfig {
        /// The column, by its name in the first line.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub column: Option<String>,
        pub pick: Pick,
        pub better: Better,
    }
}

words! {
    /// Which row counts.
    #[derive(Default)]
    pub enum Pick {
        #[default]
        Max = "max",
        Min = "min",
        Mean = "mean",
        Last = "last",
    }
}

words! {
    #[derive(Default)]
    pub enum Better {
        #[default]
        Higher = "higher",
        Lower = "lower",
    }
}

/// The coder's provider that speaks to an older Codex through MCP.
pub const CODEX_MCP: &str = "codex_mcp";

impl ExperimentConfig {
    /// The first invalid setting, with its name.
    pub fn problem(&self) -> Option<String> {
        let agents = &self.agents;
        for (role, agent) in [("planner", &agents.planner), ("reviewer", &agents.reviewer)] {
            if agent.provider.as_deref() == Some(CODEX_MCP) {
                return Some(format!(
                    "`experiment.agents.{role}.provider` cannot be `{CODEX_MCP}`: only the coder works through it"
                ));
            }
        }
        if self.codex_mcp.command.is_empty() {
            return Some("`experiment.codex_mcp.command` names no program".to_owned());
        }
        let scored = self.results_csv.is_some();
        if scored && self.sweep_command.is_none() {
            return Some(
                "`experiment.results_csv` needs `experiment.sweep_command`, which writes it".to_owned(),
            );
        }
        if scored && self.score.column.is_none() {
            return Some(
                "`experiment.score.column` is missing: the column of `results_csv` that is the score"
                    .to_owned(),
            );
        }
        let paths = [
            ("ideas_file", &self.ideas_file),
            ("planner_repo_files", &self.planner_repo_files),
            ("test_cwd", &self.test_cwd),
            ("sweep_cwd", &self.sweep_cwd),
            ("results_csv", &self.results_csv),
            ("baseline_csv", &self.baseline_csv),
        ];
        for (name, path) in paths.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?))) {
            if !is_inside(path) {
                return Some(format!("`experiment.{name}`: `{path}` leads out of the repository"));
            }
        }
        for (name, root) in
            [("worktree_root", &self.worktree_root), ("experiments_root", &self.experiments_root)]
        {
            if root.is_empty() || (!root.starts_with('/') && !is_inside(root)) {
                return Some(format!("`experiment.{name}`: `{root}` is no directory of this repository"));
            }
        }
        (self.worktree_root == self.experiments_root)
            .then(|| "`experiment.worktree_root` and `experiment.experiments_root` must differ".to_owned())
    }
}

fn is_inside(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').all(|part| part != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_experiment_settings_are_named() {
        assert_eq!(ExperimentConfig::default().problem(), None);
        let mut config =
            ExperimentConfig { results_csv: Some("out.csv".into()), ..ExperimentConfig::default() };
        assert!(config.problem().expect("a problem").contains("sweep_command"));
        config.sweep_command = Some(GateCommand::Shell("make sweep".into()));
        assert!(config.problem().expect("a problem").contains("score.column"));
        config.score.column = Some("sharpe".into());
        assert_eq!(config.problem(), None);
        config.baseline_csv = Some("../elsewhere.csv".into());
        assert!(config.problem().expect("a problem").contains("baseline_csv"));
        config.baseline_csv = None;
        config.agents.reviewer.provider = Some(CODEX_MCP.into());
        assert!(config.problem().expect("a problem").contains("agents.reviewer"));
    }
}
