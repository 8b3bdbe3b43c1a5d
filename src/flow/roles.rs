//! The role registry of this project: what each role may do, and which agents were registered under other settings.

use super::prelude::*;
use crate::policy::provider::ProviderEntry;
use crate::policy::registry::{Matrix, Problem, matrix, problems};

pub struct Roles {
    pub config: ProjectConfig,
    pub matrix: Matrix,
    pub problems: Vec<Problem>,
    /// Agents, with their roles, whose grants differ from what liza.yaml says now.
    pub registered_before: Vec<(String, Vec<Role>)>,
    pub revision: u64,
}

pub fn roles(ctx: &Context) -> Result<Roles> {
    let config = ctx.project_config()?;
    let snapshot = ctx.read(&Needs::Nothing)?;
    let registry = Registry::new(&config);
    let catalog = Catalog::new(&config);
    let player = |role: &Role| played_by(registry, &catalog, role);
    let agents = snapshot.board.rest.agents.iter();
    let before =
        agents.filter(|(_, agent)| agent.is_active() && registry.grants(&agent.roles) != agent.grants);
    Ok(Roles {
        matrix: matrix(registry, &player),
        problems: problems(registry, &player),
        registered_before: before.map(|(id, agent)| (id.to_string(), agent.roles.clone())).collect(),
        revision: snapshot.board.revision,
        config,
    })
}

/// The default provider of a role, if it can be started.
pub fn played_by(registry: Registry<'_>, catalog: &Catalog, role: &Role) -> Option<(String, ProviderEntry)> {
    let (name, _) = registry.provider(role)?;
    Some((name.to_owned(), catalog.entry(name).ok()?.clone()))
}
