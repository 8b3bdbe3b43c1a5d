use crate::board::agent::Agent;
use crate::board::lease::Lease;
use crate::cli::prelude::*;
use crate::cli::times::ago_words;

/// List the agents of this board
///
/// Example: liza agent list
#[derive(Args)]
pub struct ListArgs {}

impl OnBoard for ListArgs {
    const ACCESS: Access = Access::ReadsAnyVersion;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let snapshot = session.ctx.read(&Needs::Nothing)?;
        let board = &snapshot.board;
        let mut text = String::new();
        let mut rows = Vec::new();
        let agents = &board.rest.agents;
        let id_width = agents.keys().map(|id| id.as_str().len()).max().unwrap_or(0);
        let role_width = agents.values().map(|agent| role_names(agent).len()).max().unwrap_or(0);
        for (id, agent) in agents {
            let own = |lease: &Lease| &lease.agent == id && lease.incarnation == agent.incarnation;
            let held = board.tasks.iter().filter(|task| task.lease.as_ref().is_some_and(own));
            let holds: Vec<&TaskId> = held.map(|task| &task.id).collect();
            let runs = agent.runner.as_ref().filter(|runner| crate::host::lives(runner));
            let state = state(agent, runs.is_some(), !holds.is_empty() || reviews(board, id, agent));
            let seen = ago_words(session.ctx.now.wall.since(agent.heartbeat));
            let mut line = format!(
                "{}  {}  {}  seen {seen}",
                pad_to(id.as_str(), id_width),
                pad_to(&role_names(agent), role_width),
                pad_to(state, 8)
            );
            if !holds.is_empty() {
                line.push_str(&format!("  works on {}", commas(&holds)));
            }
            if !agent.spent.is_nothing() {
                line.push_str(&format!("  spent {}", agent.spent.words()));
            }
            text.line(line);
            // Without the hash of the token.
            rows.push(json!({
                "id": id, "roles": agent.roles, "incarnation": agent.incarnation, "status": agent.status,
                "registered_at": agent.registered_at, "heartbeat": agent.heartbeat, "holds": holds,
                "spent": (!agent.spent.is_nothing()).then_some(agent.spent),
                "state": state, "runner": runs.map(|runner| runner.pid),
            }));
        }
        if text.is_empty() {
            text.push_str("no agent is registered; `liza agent register --role coder --shell` registers one");
        }
        Ok(Answer::new(json!({ "agents": rows }), text).at(board.revision))
    }
}

fn role_names(agent: &Agent) -> String {
    let names: Vec<&str> = agent.roles.iter().map(|role| role.as_str()).collect();
    names.join(",")
}

/// `finished`: the runner has ended and the agent holds no work. `gone`: the runner has ended and the agent still holds work.
fn state(agent: &Agent, runs: bool, holds_work: bool) -> &'static str {
    match (agent.is_active(), agent.runner.is_some(), runs) {
        (false, ..) => "retired",
        (true, _, true) => "running",
        (true, true, false) if holds_work => "gone",
        (true, true, false) => "finished",
        (true, false, false) => "active",
    }
}

fn reviews(board: &Board, id: &AgentId, agent: &Agent) -> bool {
    let own = |lease: &Lease| &lease.agent == id && lease.incarnation == agent.incarnation;
    board.tasks.iter().any(|task| task.review_lease.as_ref().is_some_and(own))
}
