//! The role registry: valid settings that do not have the effect they seem to have.

use super::{Finding, Scene};
use crate::flow::prelude::*;
use crate::flow::roles::played_by;
use crate::policy::registry::problems;

pub fn senseless(scene: &Scene) -> Result<Vec<Finding>> {
    // Another examination reports an unreadable liza.yaml.
    let Ok(config) = scene.ctx.project_config() else { return Ok(Vec::new()) };
    let (registry, catalog) = (Registry::new(&config), Catalog::new(&config));
    let found = problems(registry, &|role| played_by(registry, &catalog, role)).into_iter();
    let why = "the role's permissions differ from what this setting suggests; `liza roles` shows them";
    let found = found.map(|problem| {
        let what = format!("liza.yaml, {}: {}", problem.at, problem.what);
        Finding::new("roles.senseless", what, why, problem.remedy)
    });
    Ok(found.collect())
}
