use clap::{Args, Subcommand};
use serde_json::json;

use crate::board::rules::{Heartbeat, RetireAgent};
use crate::board::{AgentId, Needs};
use crate::flow::init::parse_role;
use crate::flow::{Failure, agents};
use crate::text::{ago, pad_to};

use super::super::Session;
use super::super::ui::Answer;

/// Identities of agents
///
/// Example: liza agent list
#[derive(Subcommand)]
pub enum AgentCommand {
    Register(RegisterArgs),
    List(ListArgs),
    Heartbeat(HeartbeatArgs),
    Retire(RetireArgs),
    Run(super::agent_run::RunArgs),
}

/// Give an agent an identity and a secret token
///
/// Registering an id again ends its former incarnation: the old token stops working and its leases count as expired.
///
/// Example: eval "$(liza agent register --role coder --shell)"
#[derive(Args)]
pub struct RegisterArgs {
    /// What it is there for; repeat for several
    #[arg(long, required = true, value_name = "ROLE")]
    pub role: Vec<String>,
    /// Its name (default: the role and the next free number)
    #[arg(long)]
    pub id: Option<String>,
    /// Print export lines for a shell
    #[arg(long)]
    pub shell: bool,
}

/// List the agents of this board
///
/// Example: liza agent list
#[derive(Args)]
pub struct ListArgs {}

/// Say that this agent is alive; renews its leases
///
/// Example: liza agent heartbeat
#[derive(Args)]
pub struct HeartbeatArgs {}

/// End an agent's identity; its reserved tasks become free
///
/// Example: liza agent retire coder-1
#[derive(Args)]
pub struct RetireArgs {
    /// The agent
    pub id: String,
}

pub fn run(session: &mut Session, command: AgentCommand) -> Result<Answer, Failure> {
    match command {
        AgentCommand::Register(args) => register(session, &args),
        AgentCommand::List(_) => list(session),
        AgentCommand::Run(args) => super::agent_run::run(session, &args),
        AgentCommand::Heartbeat(_) => {
            let committed = session.ctx.commit(Heartbeat {})?;
            Ok(Answer::new(committed.outcome, "noted").at(committed.board.revision))
        }
        AgentCommand::Retire(args) => {
            let id = parse_agent(&args.id)?;
            session.seal_request()?;
            let committed = session.ctx.commit(RetireAgent { id: id.clone() })?;
            Ok(Answer::new(committed.outcome, format!("{id} is retired")).at(committed.board.revision))
        }
    }
}

pub(super) fn parse_agent(text: &str) -> Result<AgentId, Failure> {
    AgentId::new(text).map_err(|why| Failure::usage(format!("`{text}` cannot be an agent's id: {why}")))
}

fn register(session: &mut Session, args: &RegisterArgs) -> Result<Answer, Failure> {
    let roles = args.role.iter().map(|role| parse_role(role)).collect::<Result<Vec<_>, _>>()?;
    let id = args.id.as_deref().map(parse_agent).transpose()?;
    session.seal_request()?;
    let (data, revision) = agents::register(&session.ctx, roles, id)?;
    let id = data["id"].as_str().unwrap_or_default();
    let file = data["token_file"].as_str().unwrap_or_default();
    let exports =
        format!("export LIZA_AGENT_ID={id}\nexport LIZA_AGENT_TOKEN_FILE='{}'", file.replace('\'', "'\\''"));
    let text = if args.shell {
        exports
    } else {
        format!(
            "registered {id} (incarnation {})\ntoken: {}\nin its shell:\n{exports}",
            data["incarnation"],
            data["token"].as_str().unwrap_or_default()
        )
    };
    Ok(Answer::new(data, text).at(revision))
}

fn list(session: &mut Session) -> Result<Answer, Failure> {
    let snapshot = session.ctx.read(&Needs::Nothing)?;
    let board = &snapshot.board;
    let mut text = String::new();
    let mut rows = Vec::new();
    for (id, agent) in &board.rest.agents {
        let holds: Vec<&str> = board
            .tasks
            .iter()
            .filter(|task| {
                task.lease
                    .as_ref()
                    .is_some_and(|lease| &lease.agent == id && lease.incarnation == agent.incarnation)
            })
            .map(|task| task.id.as_str())
            .collect();
        let roles: Vec<&str> = agent.roles.iter().map(|role| role.as_str()).collect();
        let status = if agent.is_active() { "active" } else { "retired" };
        let seen = ago(session.ctx.now.wall.since(agent.heartbeat));
        text.push_str(&format!(
            "{} {} {} seen {seen}{}{}\n",
            pad_to(id.as_str(), 20),
            pad_to(&roles.join(","), 24),
            pad_to(status, 8),
            if holds.is_empty() { String::new() } else { format!("  works on {}", holds.join(", ")) },
            if agent.spent.is_nothing() { String::new() } else { format!("  spent {}", agent.spent.words()) }
        ));
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
