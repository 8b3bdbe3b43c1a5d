//! The team that `liza run` starts, and its limits.

use serde::Deserializer;

use super::prelude::*;
use super::settings::whole_if_said;
pub use crate::board::route::RunMode;

/// As the provider of a team member: a person has that role.
pub const HUMAN: &str = "human";

/// Agents of one role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamMember {
    #[serde(deserialize_with = "role_by_any_name")]
    pub role: Role,
    /// How many; their ids are numbered.
    #[serde(default = "one_of_them")]
    pub count: u32,
    /// Their provider, if not that of the role or the project; `human` is a person, for whom a run waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

fn one_of_them() -> u32 {
    1
}

/// The default team; with as many reviewers as an approval needs, and with a red team agent if the project has red team
/// turns.
pub fn default_team(red_team: bool, reviewers: u32) -> Vec<TeamMember> {
    let member = |role: Role, count: u32| TeamMember { role, count, provider: None };
    let mut team =
        vec![member(Role::planner(), 1), member(Role::coder(), 2), member(Role::code_reviewer(), reviewers)];
    team.extend(red_team.then(|| member(Role::red_team(), 1)));
    team
}

sparse_settings! {
    /// The settings and permissions of one role. `liza roles` shows the permissions and how they are enforced.
    pub struct RoleConfig {
        /// The purpose of the role, for people.
        pub description: Option<String>,
        pub provider: Option<String>,
        /// The provider for the second attempt at a slice whose agent crashed or gave an invalid answer.
        pub fallback: Option<String>,
        pub model: Option<String>,
        /// Additional arguments for the provider's command.
        pub args: Vec<String>,
        /// A prompt template, relative to the root of the repository.
        pub template: Option<String>,
        pub limits: Limits,
        /// The only operations on the board, and the only kinds of tools (read, write, run, network), that the role may
        /// use; each of the two lists is complete if it has an entry. It cannot grant what the rules forbid to the
        /// role.
        pub allow: Vec<String>,
        /// Operations on the board, kinds of tools, or tools by their provider's names, that the role may not use.
        pub deny: Vec<String>,
        /// Roles that it may plan work for, if it plans.
        #[serde(deserialize_with = "roles_by_any_name")]
        pub may_spawn: Option<Vec<Role>>,
        /// Roles it may send messages to.
        #[serde(deserialize_with = "roles_by_any_name")]
        pub may_message: Option<Vec<Role>>,
        /// The only paths that its commits may touch, within its task's scope; by default all of them.
        pub paths: Vec<PathPattern>,
    }
}

/// Roles may have the names of a work graph or older names: `implementer`, `scaffolder`, `reviewer`, `project_manager`.
fn one_name(role: Role) -> Role {
    Role::of_work_graph(role.as_str()).unwrap_or(role)
}

fn role_by_any_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
    Role::deserialize(deserializer).map(one_name)
}

fn roles_by_any_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Role>>, D::Error> {
    let said = Option::<Vec<Role>>::deserialize(deserializer)?;
    Ok(said.map(|roles| roles.into_iter().map(one_name).collect()))
}

/// Roles by their names on the board. One role under two names is an error.
pub fn registry_by_any_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Roles, D::Error> {
    let mut roles = Roles::new();
    for (said, config) in Roles::deserialize(deserializer)? {
        let role = one_name(said);
        if roles.insert(role.clone(), config).is_some() {
            return Err(serde::de::Error::custom(format_args!(
                "`roles` has the role {role} twice, under two of its names"
            )));
        }
    }
    Ok(roles)
}

sparse_settings! {
    /// The limits of one session. A missing value is the built-in one of the role; 0 means no limit.
    #[derive(Copy)]
    pub struct Limits {
        #[serde(deserialize_with = "whole_if_said")]
        pub wall_seconds: Option<u64>,
        #[serde(deserialize_with = "whole_if_said")]
        pub turns: Option<u64>,
        #[serde(deserialize_with = "whole_if_said")]
        pub tokens: Option<u64>,
    }
}

impl Limits {
    /// The limits of a role: its own, then the built-in ones; a limit of 0 is left out.
    pub fn of_role(role: &Role, config: Option<&RoleConfig>) -> Self {
        let said = config.map(|config| config.limits).unwrap_or_default();
        let (wall, turns, tokens) = match role.as_str() {
            "planner" => (900, 30, 100_000),
            "coder" => (1800, 50, 150_000),
            "test_engineer" => (1200, 40, 100_000),
            "code_reviewer" => (600, 20, 100_000),
            "overseer" => (1800, 100, 100_000),
            _ => (1800, 50, 100_000),
        };
        let settle = |said: Option<u64>, built_in: u64| Some(said.unwrap_or(built_in)).filter(|at| *at > 0);
        Self {
            wall_seconds: settle(said.wall_seconds, wall),
            turns: settle(said.turns, turns),
            tokens: settle(said.tokens, tokens),
        }
    }
}

settings! {
    #[derive(Eq)]
    pub struct RunConfig {
        /// How many agents work at the same time; `max_parallel` is the same setting.
        #[serde(alias = "max_parallel")]
        pub window: u32 = 4,
        /// The same for goals that `liza run "WHAT"` has routed; at most 12 if files change, and 16 otherwise.
        pub routed_window: u32 = 16,
        pub mode: RunMode,
        /// How many agents this machine and its accounts allow in all.
        pub max_threads: u32 = 48,
        /// How many of those are kept free: for the planner, and for other needs.
        pub reserve_threads: u32 = 4,
        /// How long an agent has to end after the request to stop.
        pub grace_seconds: u64 = 10,
    }
}

impl RunConfig {
    /// How many agents may work at the same time, by all settings; at least one.
    pub fn effective_window(&self) -> usize {
        self.capped(self.window, self.mode)
    }

    /// The same for a routed goal, by its mode.
    pub fn routed_window(&self, mode: RunMode) -> usize {
        self.capped(self.routed_window, mode)
    }

    /// The wanted number, limited by the mode and the threads; at least one.
    pub fn capped(&self, wanted: u32, mode: RunMode) -> usize {
        let room = self.max_threads.saturating_sub(self.reserve_threads);
        wanted.min(mode.cap()).min(room).max(1) as usize
    }
}

/// What the watcher reports to people, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchConfig {
    /// A command to run for every alert; the alert is in its environment (LIZA_ALERT_*).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<String>,
}

/// Roles and their settings.
pub type Roles = BTreeMap<Role, RoleConfig>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_keeps_to_every_cap() {
        let config = |window, mode, max, reserve| RunConfig {
            window,
            mode,
            max_threads: max,
            reserve_threads: reserve,
            ..RunConfig::default()
        };
        assert_eq!(RunConfig::default().effective_window(), 4);
        assert_eq!(config(40, RunMode::Mixed, 48, 4).effective_window(), 12);
        assert_eq!(config(40, RunMode::ReadOnly, 48, 4).effective_window(), 16);
        assert_eq!(config(40, RunMode::Write, 8, 4).effective_window(), 4);
        assert_eq!(config(4, RunMode::Write, 2, 4).effective_window(), 1);
        let routed = |mode| RunConfig::default().routed_window(mode);
        assert_eq!([routed(RunMode::Write), routed(RunMode::Mixed), routed(RunMode::ReadOnly)], [12, 12, 16]);
        assert_eq!(config(4, RunMode::Write, 12, 4).routed_window(RunMode::ReadOnly), 8);
    }

    #[test]
    fn a_limit_of_zero_is_none() {
        let role = Role::coder();
        let built_in = Limits::of_role(&role, None);
        assert_eq!(built_in.wall_seconds, Some(1800));
        let engineer = Limits::of_role(&Role::test_engineer(), None);
        assert_eq!(
            (engineer.wall_seconds, engineer.turns, engineer.tokens),
            (Some(1200), Some(40), Some(100_000))
        );
        let said: Limits =
            serde_json::from_str(r#"{"wall_seconds": 900.0, "tokens": null}"#).expect("limits");
        assert_eq!((said.wall_seconds, said.turns, said.tokens), (Some(900), None, None));
        let said = RoleConfig {
            limits: Limits { wall_seconds: Some(0), turns: Some(7), tokens: None },
            ..RoleConfig::default()
        };
        let limits = Limits::of_role(&role, Some(&said));
        assert_eq!((limits.wall_seconds, limits.turns, limits.tokens), (None, Some(7), Some(150_000)));
    }
}
