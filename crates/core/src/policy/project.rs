//! `liza.yaml`: what people decide about their project. Committed, read from the main root, never from a task's tree.

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
        /// A change to such a file counts as a test.
        pub tests: Vec<PathPattern> = patterns(TESTS),
        /// Such a file is code: a task of kind docs, config or spec must not change it.
        pub code: Vec<PathPattern> = patterns(CODE),
        /// Of these, none is: settings and documentation that are written in a programming language.
        pub not_code: Vec<PathPattern> = patterns(NOT_CODE),
        /// A change to such a file needs the reviewer's express consent: agents and tools act on it.
        pub protected: Vec<PathPattern> = patterns(PROTECTED),
        /// Checks that a tree must pass, in the order they are run.
        #[serde(deserialize_with = "super::gate::list_or_nothing")]
        pub gates: Vec<Gate>,
        /// Gates that stand in the file and are not asked, each with its reason.
        #[serde(skip)]
        pub inactive_gates: Vec<Gate>,
        pub gating: Gating,
        /// What reviewers have to answer, by the risk of the task.
        #[serde(skip_serializing_if = "super::settings::is_default")]
        pub checklists: Checklists,
        /// Gives the red team a turn between approval and merge; without it there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub red_team: Option<RedTeamConfig>,
        /// How roles are played and what they may do; also roles beside the built-in ones.
        #[serde(deserialize_with = "super::team::registry_by_any_name")]
        pub roles: Roles,
        /// By whom agents are played whose role and team say nothing else.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub provider: Option<String>,
        /// Whom `liza run` starts.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub team: Vec<TeamMember>,
        /// Agent commands, beside or instead of the built-in ones.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub providers: BTreeMap<String, ProviderEntry>,
        pub run: RunConfig,
        pub watch: WatchConfig,
        pub review: ReviewConfig,
        pub audit: AuditConfig,
        pub overseer: OverseerConfig,
        pub breaker: BreakerConfig,
        pub spend: SpendConfig,
        /// What a million tokens of a model cost, for providers that report no cost.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub prices: Prices,
        /// Ideas tried and scored: `liza experiment`.
        #[serde(skip_serializing_if = "super::settings::is_default")]
        pub experiment: ExperimentConfig,
        /// What the git hooks allow.
        pub hooks: HooksConfig,
        pub disk: DiskConfig,
        pub worktrees: WorktreesConfig,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HooksConfig {
    /// Whether branches of tasks may be pushed before they are merged.
    #[serde(default)]
    pub push_task_branches: bool,
}

/// When the disk counts as too full to begin anything new.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskConfig {
    /// Below so many free bytes nothing new is begun; 0 lets everything through. Without it, 200 MB, or a tenth of a
    /// disk that is smaller than that suggests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_free_bytes: Option<u64>,
}

impl DiskConfig {
    /// How much must be free on a file system of this size.
    pub fn threshold(&self, total: u64) -> u64 {
        self.min_free_bytes.unwrap_or_else(|| (200 * 1024 * 1024).min(total / 10))
    }
}

fn patterns(texts: &str) -> Vec<PathPattern> {
    texts.split(' ').filter_map(|text| PathPattern::new(text).ok()).collect()
}

const TESTS: &str = "\
    **/tests/** **/test/** **/__tests__/** **/spec/** **/testdata/** **/test_*.py **/*_test.py \
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
    **/CLAUDE.md **/AGENTS.md **/GEMINI.md **/.claude/** **/.codex/** **/.gemini/** **/.qwen/** \
    **/.cursor/** **/.kimi-code/** **/.vscode/** **/.mcp.json opencode.json .github/workflows/ \
    .github/copilot-instructions.md .githooks/ .husky/ lefthook.yml lefthook.yaml \
    .pre-commit-config.yaml **/.gitattributes .gitmodules **/.envrc .aider.conf.yml liza.yaml";

impl ProjectConfig {
    /// Sets inactive gates apart: whatever asks gates sees the active ones only.
    pub fn set_inactive_apart(&mut self) {
        let (active, inactive) =
            std::mem::take(&mut self.gates).into_iter().partition(|gate| gate.inactive.is_none());
        (self.gates, self.inactive_gates) = (active, inactive);
    }

    /// The names of providers that agents of this project are to be played by.
    pub fn providers_in_use(&self) -> BTreeSet<&str> {
        let of_roles = self.roles.values().map(|role| &role.provider);
        let of_team = self.team.iter().map(|member| &member.provider);
        let named = of_roles.chain(of_team).chain([&self.provider]).filter_map(Option::as_deref);
        named.filter(|name| *name != super::team::HUMAN).collect()
    }

    /// Those of `paths` that count as tests.
    pub fn tests_among<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Vec<String> {
        matching(&self.tests, paths)
    }

    /// Those of `paths` that are code.
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
    fn every_built_in_pattern_is_valid() {
        assert_eq!(patterns(TESTS).len(), TESTS.split(' ').count());
        assert_eq!(patterns(CODE).len(), CODE.split(' ').count());
        assert_eq!(patterns(NOT_CODE).len(), NOT_CODE.split(' ').count());
        assert_eq!(patterns(PROTECTED).len(), PROTECTED.split(' ').count());
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
