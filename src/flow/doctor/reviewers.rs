//! Whether there are as many reviewers as an approval needs.

use super::{Finding, Scene};
use crate::flow::prelude::*;

pub fn enough(scene: &Scene) -> Result<Vec<Finding>> {
    let config = scene.ctx.project_config()?;
    let most = config.review.quorum.most();
    let (Some(board), true) = (scene.board(), most > 1) else { return Ok(Vec::new()) };
    let role = Role::code_reviewer();
    let registered = board.rest.agents.values().filter(|agent| agent.is_active() && agent.has(&role)).count();
    let seats: u32 = config.team.iter().filter(|member| member.role == role).map(|member| member.count).sum();
    let there = registered.max(seats as usize);
    if there >= most as usize {
        return Ok(Vec::new());
    }
    let risks = [(Risk::Low, "low"), (Risk::Medium, "medium"), (Risk::High, "high")];
    let asking: Vec<&str> = risks
        .iter()
        .filter(|(risk, _)| config.review.quorum.of(*risk) as usize > there)
        .map(|(_, name)| *name)
        .collect();
    Ok(vec![Finding::new(
        "review.quorum",
        format!(
            "review.quorum asks for {most} reviewers of tasks of {} risk, and there {} {there}",
            asking.join(" or "),
            if there == 1 { "is" } else { "are" }
        ),
        "such a task waits for an approval that no registered agent may give",
        "add a code_reviewer to `team` in liza.yaml or `liza agent register --role code_reviewer`; a person may give the other approval: `liza review claim TASK`",
    )])
}
