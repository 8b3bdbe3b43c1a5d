//! The role registry: settings that can be read and do not do what they seem to say.

use super::{Finding, Scene};
use crate::flow::prelude::*;
use crate::flow::roles::played_by;
use crate::policy::registry::problems;

pub fn senseless(scene: &Scene) -> Result<Vec<Finding>> {
    // That a liza.yaml cannot be read is told elsewhere.
    let Ok(config) = scene.ctx.project_config() else { return Ok(Vec::new()) };
    let (registry, catalog) = (Registry::new(&config), Catalog::new(&config));
    let found = problems(registry, &|role| played_by(registry, &catalog, role)).into_iter();
    let why = "the role may do other things than whoever wrote this believes; `liza roles` shows what holds";
    let found = found.map(|problem| {
        let what = format!("liza.yaml, {}: {}", problem.at, problem.what);
        Finding::new("roles.senseless", what, why, problem.remedy)
    });
    Ok(found.collect())
}
