use crate::board::lease::Lease;
use crate::cli::prelude::*;

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
        for (id, agent) in &board.rest.agents {
            let own = |lease: &Lease| &lease.agent == id && lease.incarnation == agent.incarnation;
            let held = board.tasks.iter().filter(|task| task.lease.as_ref().is_some_and(own));
            let holds: Vec<&TaskId> = held.map(|task| &task.id).collect();
            let roles: Vec<&str> = agent.roles.iter().map(|role| role.as_str()).collect();
            let (id_column, roles) = (pad_to(id.as_str(), 20), pad_to(&roles.join(","), 24));
            let status = pad_to(if agent.is_active() { "active" } else { "retired" }, 8);
            let seen = ago(session.ctx.now.wall.since(agent.heartbeat));
            let mut line = format!("{id_column} {roles} {status} seen {seen}");
            if !holds.is_empty() {
                line.push_str(&format!("  works on {}", commas(&holds)));
            }
            if !agent.spent.is_nothing() {
                line.push_str(&format!("  spent {}", agent.spent.words()));
            }
            text.line(line);
            // The hash of the token is nobody's business.
            rows.push(json!({
            "id": id, "roles": agent.roles, "incarnation": agent.incarnation, "status": agent.status,
            "registered_at": agent.registered_at, "heartbeat": agent.heartbeat, "holds": holds,
            "spent": (!agent.spent.is_nothing()).then_some(agent.spent),
            "runner": agent.runner.as_ref().filter(|runner| crate::host::lives(runner)).map(|runner| runner.pid),
        }));
        }
        if text.is_empty() {
            text.push_str("no agent is registered; `liza agent register --role coder --shell` makes one");
        }
        Ok(Answer::new(json!({ "agents": rows }), text).at(board.revision))
    }
}
