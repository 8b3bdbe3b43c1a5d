//! `liza.yaml`: the project's settings. Committed, read from the main root, never from a task's tree.

use super::audit::AuditConfig;
use super::experiment::ExperimentConfig;
use super::prelude::*;
use super::prices::Prices;
use super::team::{Roles, RunConfig, TeamMember, WatchConfig};
use super::worktrees::WorktreesConfig;
use super::{
    breaker::BreakerConfig, checklist::Checklists, checklist::RedTeamConfig, overseer::OverseerConfig,
};
use super::{gate::Gate, gate::Gating, provider::ProviderEntry, reviewing::ReviewConfig, spend::SpendConfig};
use crate::board::inside;

settings! {
    pub struct ProjectConfig {
        pub version: u32 = 1,
        /// Files that count as tests.
        pub tests: Vec<PathPattern> = usual_tests(),
        /// Files that are code: a task of kind docs, config or spec must not change them.
        pub code: Vec<PathPattern> = patterns(CODE),
        /// Exceptions from `code`: settings and documentation that are written in a programming language.
        pub not_code: Vec<PathPattern> = patterns(NOT_CODE),
        /// Files that agents and tools act on: a change needs the reviewer's explicit consent.
        pub protected: Vec<PathPattern> = patterns(PROTECTED),
        /// Gates in the order of their runs.
        #[serde(deserialize_with = "super::gate::list_or_nothing")]
        pub gates: Vec<Gate>,
        /// Inactive gates, each with its reason.
        #[serde(skip)]
        pub inactive_gates: Vec<Gate>,
        pub gating: Gating,
        /// The checklists of reviewers, by the risk of the task.
        #[serde(skip_serializing_if = "super::settings::is_default")]
        pub checklists: Checklists,
        /// The red team reviews between approval and merge; without this setting it does not.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub red_team: Option<RedTeamConfig>,
        /// Settings and permissions of roles; also additional roles.
        #[serde(deserialize_with = "super::team::registry_by_any_name")]
        pub roles: Roles,
        /// The default provider of agents.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub provider: Option<String>,
        /// The agents that `liza run` starts.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub team: Vec<TeamMember>,
        /// Providers, besides or instead of the built-in ones.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub providers: BTreeMap<String, ProviderEntry>,
        pub run: RunConfig,
        pub watch: WatchConfig,
        pub review: ReviewConfig,
        pub audit: AuditConfig,
        pub overseer: OverseerConfig,
        pub breaker: BreakerConfig,
        pub spend: SpendConfig,
        /// Prices of tokens by model, for providers that report no cost.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub prices: Prices,
        /// Ideas tried and scored: `liza experiment`.
        #[serde(skip_serializing_if = "super::settings::is_default")]
        pub experiment: ExperimentConfig,
        /// Settings of the git hooks.
        pub hooks: HooksConfig,
        pub disk: DiskConfig,
        pub worktrees: WorktreesConfig,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HooksConfig {
    /// Whether task branches may be pushed before they are merged.
    #[serde(default)]
    pub push_task_branches: bool,
}

/// When the disk is too full to start new work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskConfig {
    /// Below this many free bytes liza starts no new work; 0 means no limit. By default 200 MB, or a tenth of a small
    /// disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_free_bytes: Option<u64>,
}

impl DiskConfig {
    /// The free bytes required on a file system of this size.
    pub fn threshold(&self, total: u64) -> u64 {
        self.min_free_bytes.unwrap_or_else(|| (200 * 1024 * 1024).min(total / 10))
    }
}

/// The files that count as tests where `liza.yaml` does not say it.
pub fn usual_tests() -> Vec<PathPattern> {
    patterns(TESTS)
}

fn patterns(texts: &'static str) -> Vec<PathPattern> {
    texts.split(' ').map(PathPattern::built_in).collect()
}

const TESTS: &str = "\
    **/tests/ **/test/ **/__tests__/ **/spec/ **/testdata/ **/test_*.py **/*_test.py \
    **/*_test.go **/*_test.rs **/tests.rs **/test_*.rs **/*.test.* **/*.spec.* **/*_spec.rb \
    **/*Test.java **/*Tests.java **/*_test.sh **/test_*.sh";

const CODE: &str = "\
    **/*.rs **/*.py **/*.pyx **/*.js **/*.jsx **/*.mjs **/*.cjs **/*.ts **/*.tsx **/*.vue **/*.svelte \
    **/*.go **/*.java **/*.kt **/*.scala **/*.clj **/*.groovy **/*.c **/*.h **/*.cc **/*.cpp **/*.cxx \
    **/*.hpp **/*.m **/*.mm **/*.cs **/*.fs **/*.vb **/*.rb **/*.php **/*.pl **/*.pm **/*.lua **/*.swift \
    **/*.dart **/*.ex **/*.exs **/*.erl **/*.hs **/*.ml **/*.r **/*.jl **/*.zig **/*.nim **/*.sh \
    **/*.bash **/*.zsh **/*.ps1 **/*.sql **/*.asm **/*.s **/*.sol **/*.proto";

const NOT_CODE: &str = "\
    docs/ doc/ **/*.config.js **/*.config.mjs **/*.config.cjs **/*.config.ts **/.eslintrc.js **/.eslintrc.cjs \
    **/.prettierrc.js **/conf.py **/setup.py";

const PROTECTED: &str = "\
    **/CLAUDE.md **/AGENTS.md **/GEMINI.md **/.claude/ **/.codex/ **/.gemini/ **/.qwen/ \
    **/.cursor/ **/.kimi-code/ **/.vscode/ **/.mcp.json opencode.json .github/workflows/ \
    .github/copilot-instructions.md .githooks/ .husky/ lefthook.yml lefthook.yaml \
    .pre-commit-config.yaml **/.gitattributes .gitmodules **/.envrc .aider.conf.yml liza.yaml";

impl ProjectConfig {
    /// Moves inactive gates to their own list: all other code sees only active ones.
    pub fn set_inactive_apart(&mut self) {
        let (active, inactive) =
            std::mem::take(&mut self.gates).into_iter().partition(|gate| gate.inactive.is_none());
        (self.gates, self.inactive_gates) = (active, inactive);
    }

    /// The names of the providers of this project's agents.
    pub fn providers_in_use(&self) -> BTreeSet<&str> {
        let of_roles = self.roles.values().map(|role| &role.provider);
        let of_team = self.team.iter().map(|member| &member.provider);
        let named = of_roles.chain(of_team).chain([&self.provider]).filter_map(Option::as_deref);
        named.filter(|name| *name != super::team::HUMAN).collect()
    }

    /// The test files among `paths`.
    pub fn tests_among<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Vec<String> {
        matching(&self.tests, paths)
    }

    /// The code files among `paths`.
    pub fn code_among<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Vec<String> {
        let mut code = matching(&self.code, paths);
        code.retain(|path| matching(&self.not_code, [path.as_str()]).is_empty());
        code
    }

    pub fn protected_among<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Vec<String> {
        matching(&self.protected, paths)
    }
}

fn matching<'p>(patterns: &[PathPattern], paths: impl IntoIterator<Item = &'p str>) -> Vec<String> {
    paths
        .into_iter()
        .filter(|path| RepoPath::new(path).is_ok_and(|path| inside(&path, patterns)))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_pattern_is_canonical() {
        let ProjectConfig { tests, code, not_code, protected, .. } = ProjectConfig::default();
        for pattern in [tests, code, not_code, protected].concat() {
            assert_eq!(PathPattern::new(pattern.as_str()), Ok(pattern));
        }
    }

    #[test]
    fn tests_are_known_by_their_names() {
        let config = ProjectConfig::default();
        for path in
            ["tests/a.rs", "src/x/tests/y.py", "pkg/a_test.go", "web/a.test.ts", "test_a.py", "a/test_b.py"]
        {
            assert_eq!(config.tests_among([path]).len(), 1, "{path}");
        }
        for path in ["src/main.rs", "src/latest.rs", "contest.py", "docs/tests.md"] {
            assert!(config.tests_among([path]).is_empty(), "{path}");
        }
    }

    #[test]
    fn code_is_known_by_its_ending() {
        let config = ProjectConfig::default();
        for path in ["src/main.rs", "greet.sh", "a/b.py", "web/app.tsx"] {
            assert_eq!(config.code_among([path]).len(), 1, "{path}");
        }
        for path in ["README.md", "docs/example.py", "vite.config.ts", "Cargo.toml", ".github/ci.yml"] {
            assert!(config.code_among([path]).is_empty(), "{path}");
        }
    }

    #[test]
    fn agent_configuration_is_protected_at_any_depth() {
        let config = ProjectConfig::default();
        for path in [
            "CLAUDE.md",
            "web/AGENTS.md",
            ".claude/settings.json",
            ".gitattributes",
            "a/.mcp.json",
            "liza.yaml",
        ] {
            assert_eq!(config.protected_among([path]).len(), 1, "{path}");
        }
        assert!(config.protected_among(["src/claude.rs"]).is_empty());
    }
}
