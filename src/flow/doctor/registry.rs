//! The role registry: settings that can be read and do not do what they seem to say.

use super::{Finding, Scene};
use crate::flow::failure::Failure;
use crate::flow::roles::played_by;
use crate::policy::registry::{Registry, problems};
use crate::provider::Catalog;

pub fn senseless(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    // That a liza.yaml cannot be read is told elsewhere.
    let Ok(config) = scene.ctx.project_config() else { return Ok(Vec::new()) };
    let (registry, catalog) = (Registry::new(&config), Catalog::new(&config));
    let found = problems(registry, &|role| played_by(registry, &catalog, role));
    Ok(found
        .into_iter()
        .map(|problem| {
            Finding::new(
                "roles.senseless",
                format!("liza.yaml, {}: {}", problem.at, problem.what),
                "the role may do other things than whoever wrote this believes; `liza roles` shows what holds",
                problem.remedy,
            )
        })
        .collect())
}
