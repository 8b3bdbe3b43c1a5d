//! Spending limits: `spend:` in liza.yaml, and when an alert reports them.

use super::prelude::*;

pub use crate::board::caps::{Cap, CapUse, Caps as SpendConfig};

/// Refuses invalid caps: a negative cap would silently have no effect.
pub fn check(caps: &SpendConfig) -> Result<(), String> {
    for (name, cap) in [("task", &caps.task), ("agent", &caps.agent), ("run", &caps.run)] {
        if let Some(usd) = cap.usd.filter(|usd| !(usd.is_finite() && *usd >= 0.0)) {
            let what = "a cap is an amount of US dollars, and 0 means none";
            return Err(format!("spend.{name}.usd is {usd}; {what}"));
        }
    }
    Ok(())
}

/// The bodies that are needed to decide what may start: with a cap for tasks, those of every task that could.
pub fn needed_to_begin(board: &Board, caps: &SpendConfig) -> Needs {
    let capped = !caps.task.is_none();
    let wanted = |task: &&Task| match task.status {
        Status::ReadyForReview | Status::Approved => true,
        Status::Idle | Status::Rejected | Status::IntegrationFailed | Status::Working => capped,
        _ => false,
    };
    Needs::Tasks(board.tasks.iter().filter(wanted).map(|task| task.id.clone()).collect())
}

/// Every cap that is nearly or wholly used, of unfinished tasks, of agents, and of the run. Tasks without a loaded body
/// are skipped.
pub fn near(board: &Board, caps: &SpendConfig) -> Vec<CapUse> {
    if caps.is_none() {
        return Vec::new();
    }
    let open = board.tasks.iter().filter(|task| !task.status.is_terminal());
    let of_tasks = SpendConfig { task: caps.task, ..SpendConfig::default() };
    let of_agents = SpendConfig { agent: caps.agent, ..SpendConfig::default() };
    let of_run = SpendConfig { run: caps.run, ..SpendConfig::default() };
    let mut found: Vec<CapUse> = open.flat_map(|task| of_tasks.uses(board, Some(task), None)).collect();
    let agents: Vec<&AgentId> =
        board.rest.agents.iter().filter(|(_, agent)| agent.is_active()).map(|(id, _)| id).collect();
    found.extend(agents.into_iter().flat_map(|agent| of_agents.uses(board, None, Some(agent))));
    found.extend(of_run.uses(board, None, None));
    found.retain(CapUse::is_near);
    found
}
