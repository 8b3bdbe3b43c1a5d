//! The role registry: the permissions of roles, from `roles` in liza.yaml or by default. They become grants on the
//! board, and tools that an agent command is started without.

mod matrix;
mod problems;
#[cfg(test)]
mod tests;

use super::ProjectConfig;
use super::prelude::*;
use super::provider::{Denied, ProviderEntry, ToolClass};
use super::team::RoleConfig;
use crate::board::agent::BUILT_IN_ROLES;
use crate::board::grants::{Grants, default_recipients, default_spawns};

pub use matrix::{Cell, Held, Matrix, Row, matrix};
pub use problems::{Problem, problems};

/// An operation or tool that can be allowed or denied.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    Operation(Operation),
    Tools(ToolClass),
    /// A tool by its provider's name.
    Tool(String),
}

impl Right {
    pub fn named(name: &str) -> Self {
        let operation = || Operation::named(name).map(Self::Operation);
        let class = || ToolClass::parse(name).map(Self::Tools);
        operation().or_else(class).unwrap_or_else(|| Self::Tool(name.to_owned()))
    }
}

/// A kind of tools that is denied to a role, and the source of the denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeniedClass {
    pub class: ToolClass,
    /// liza.yaml denies it; otherwise it is the built-in default, which is not applied if the agent could then not run
    /// `liza`.
    pub express: bool,
}

/// All roles of this project, and their permissions.
#[derive(Clone, Copy)]
pub struct Registry<'c> {
    config: &'c ProjectConfig,
}

impl<'c> Registry<'c> {
    pub fn new(config: &'c ProjectConfig) -> Self {
        Self { config }
    }

    /// The built-in roles, then those that liza.yaml adds.
    pub fn roles(self) -> Vec<Role> {
        let built_in = BUILT_IN_ROLES.iter().filter_map(|name| Role::new(name).ok());
        built_in.chain(self.added().cloned()).collect()
    }

    pub fn knows(self, role: &Role) -> bool {
        BUILT_IN_ROLES.contains(&role.as_str()) || self.config.roles.contains_key(role)
    }

    fn added(self) -> impl Iterator<Item = &'c Role> {
        self.config.roles.keys().filter(|role| !BUILT_IN_ROLES.contains(&role.as_str()))
    }

    pub fn settings_of(self, role: &Role) -> Option<&'c RoleConfig> {
        self.config.roles.get(role)
    }

    /// The default provider of a role, and the setting that names it.
    pub fn provider(self, role: &Role) -> Option<(&'c str, &'static str)> {
        let of_team = self.config.team.iter().find(|member| &member.role == role);
        let of_team = of_team.and_then(|member| member.provider.as_deref()).map(|name| (name, "team"));
        let of_role = || self.settings_of(role)?.provider.as_deref().map(|name| (name, "roles"));
        of_team.or_else(of_role).or_else(|| self.config.provider.as_deref().map(|name| (name, "provider")))
    }

    fn rights(self, role: &Role, list: impl Fn(&'c RoleConfig) -> &'c [String]) -> Vec<Right> {
        let said = self.settings_of(role).map(list).unwrap_or_default();
        said.iter().map(|name| Right::named(name)).collect()
    }

    fn allowed(self, role: &Role) -> Vec<Right> {
        self.rights(role, |said| &said.allow)
    }

    fn denied(self, role: &Role) -> Vec<Right> {
        self.rights(role, |said| &said.deny)
    }

    /// Whether liza.yaml denies an operation to a role; the rules may deny it as well.
    pub fn denies(self, role: &Role, operation: Operation) -> bool {
        let allowed = self.allowed(role);
        let right = Right::Operation(operation);
        let listed = allowed.iter().any(|right| matches!(right, Right::Operation(_)));
        self.denied(role).contains(&right) || (listed && !allowed.contains(&right))
    }

    /// The kinds of tools that are denied to a role.
    pub fn denied_classes(self, role: &Role) -> Vec<DeniedClass> {
        let (allowed, denied) = (self.allowed(role), self.denied(role));
        let listed = allowed.iter().any(|right| matches!(right, Right::Tools(_)));
        let of = |class: ToolClass| {
            let right = Right::Tools(class);
            let express = denied.contains(&right) || (listed && !allowed.contains(&right));
            let by_default = !listed && default_denied(role).contains(&class);
            (express || by_default).then_some(DeniedClass { class, express })
        };
        ToolClass::ALL.iter().copied().filter_map(of).collect()
    }

    /// The tools that are denied to a role, by their provider's names.
    pub fn denied_tools(self, role: &Role) -> Vec<String> {
        let name = |right: Right| match right {
            Right::Tool(name) => Some(name),
            Right::Operation(_) | Right::Tools(_) => None,
        };
        self.denied(role).into_iter().filter_map(name).collect()
    }

    /// The tools that an agent of a role is started without, as far as this provider command can deny them.
    pub fn started_without(self, role: &Role, entry: &ProviderEntry) -> Denied {
        let held = |denied: &DeniedClass| {
            entry.denial(denied.class).is_some_and(|how| denied.express || !how.without_liza)
        };
        let classes = self.denied_classes(role).into_iter().filter(held).map(|denied| denied.class);
        let by_name = !entry.denies_by_name().is_empty();
        Denied {
            classes: classes.collect(),
            tools: if by_name { self.denied_tools(role) } else { Vec::new() },
        }
    }

    /// Roles that agents of a role may write to.
    pub fn recipients(self, role: &Role) -> Vec<Role> {
        let said = self.settings_of(role).and_then(|said| said.may_message.clone());
        // The planner and the overseer may message added roles, too.
        let with_added = matches!(role.as_str(), "planner" | "overseer");
        said.unwrap_or_else(|| self.by_default(default_recipients(role.as_str()), with_added))
    }

    /// Roles that agents of a role may plan work for.
    pub fn spawns(self, role: &Role) -> Vec<Role> {
        if !allowed_by_rules(role, Operation::Plan) {
            return Vec::new();
        }
        let said = self.settings_of(role).and_then(|said| said.may_spawn.clone());
        said.unwrap_or_else(|| self.by_default(default_spawns(role.as_str()), true))
    }

    fn by_default(self, names: &[&str], with_added: bool) -> Vec<Role> {
        let built_in = names.iter().filter_map(|name| Role::new(name).ok());
        built_in.chain(self.added().filter(|_| with_added).cloned()).collect()
    }

    /// The only paths that a role's commits may touch; an empty list means all.
    pub fn paths(self, role: &Role) -> &'c [PathPattern] {
        self.settings_of(role).map(|said| said.paths.as_slice()).unwrap_or_default()
    }

    /// The grants of an agent with these roles: only differences from the defaults. The agent may do what any of its
    /// roles may.
    pub fn grants(self, roles: &[Role]) -> Grants {
        let denied = |operation: &Operation| {
            let mut may = roles.iter().filter(|role| allowed_by_rules(role, *operation)).peekable();
            may.peek().is_some() && may.all(|role| self.denies(role, *operation))
        };
        let all = |of: &dyn Fn(&Role) -> Vec<Role>| roles.iter().flat_map(of).collect::<BTreeSet<Role>>();
        let beyond = |said: BTreeSet<Role>, default: BTreeSet<Role>| {
            (said != default).then(|| said.into_iter().collect::<Vec<_>>())
        };
        let bounded = roles.iter().all(|role| !self.paths(role).is_empty());
        let mut paths: Vec<PathPattern> = Vec::new();
        for pattern in roles.iter().filter(|_| bounded).flat_map(|role| self.paths(role)) {
            if !paths.contains(pattern) {
                paths.push(pattern.clone());
            }
        }
        Grants {
            denied: Operation::ALL.iter().copied().filter(denied).collect(),
            may_message: beyond(
                all(&|role| self.recipients(role)),
                all(&|role| self.by_default(default_recipients(role.as_str()), false)),
            ),
            may_spawn: beyond(
                all(&|role| self.spawns(role)),
                all(&|role| self.by_default(default_spawns(role.as_str()), false)),
            ),
            paths,
        }
    }

    /// The purpose of a role.
    pub fn description(self, role: &Role) -> &'c str {
        let said = self.settings_of(role).and_then(|said| said.description.as_deref());
        said.unwrap_or_else(|| default_description(role))
    }
}

/// Roles that review, plan or oversee change no files. A reviewer still runs tests and `liza`.
fn default_denied(role: &Role) -> &'static [ToolClass] {
    match role.as_str() {
        "planner" | "code_reviewer" | "red_team" | "overseer" => &[ToolClass::Write],
        _ => &[],
    }
}

fn default_description(role: &Role) -> &'static str {
    match role.as_str() {
        "planner" => "splits the goal into tasks, orders them, answers their questions",
        "coder" => "implements one task at a time, with its tests",
        "code_reviewer" => "reviews submitted work, and merges approved work",
        "test_engineer" => "writes tests, inside a task or for merged code",
        "red_team" => "tries to break approved work before it is merged",
        "overseer" => "finds agents without progress, and stops them",
        "supervisor" => "works on tasks that name it; the program that supervises an agent is its runner",
        "operator" => "works on tasks that name it: releases, deployments, machines",
        "auditor" => "works on tasks that name it: reads and reports",
        _ => "works on tasks that name it",
    }
}
