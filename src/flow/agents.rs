//! Identities: liza makes the token, shows it once and keeps it in a file that only its owner can read.

use super::context::token_hash;
use super::prelude::*;
use crate::board::agent::{default_id, numbered_ids};

/// A registered agent, and the token that proves it.
#[derive(Debug, Clone, Serialize)]
pub struct Registration {
    #[serde(flatten)]
    pub agent: Registered,
    pub token: String,
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub token_file: PathBuf,
}

pub fn register(ctx: &Context, roles: Vec<Role>, id: Option<AgentId>) -> Result<(Registration, u64)> {
    // A repeated request registers the same id again: only its receiver knows the first token.
    if let Some((Registered { id, .. }, _)) = ctx.answered()? {
        let again = Context { request: None, ..ctx.again() };
        return register_once(&again, &roles, id, Taking::Any, None);
    }
    if let Some(id) = id {
        return register_once(ctx, &roles, id, Taking::Any, None);
    }
    // Two registrations at once may choose the same number; the loser chooses again.
    for _ in 0..100 {
        let snapshot = ctx.read(&Needs::Nothing)?;
        let free = roles.first().and_then(|role| default_id(role, |id| snapshot.board.agent(id).is_some()));
        let Some(id) = free else { break };
        match register_once(ctx, &roles, id, Taking::Fresh, None) {
            Err(failure) if failure.code == Code::IdTaken => continue,
            other => return other,
        }
    }
    Err(Failure::new(ErrorCode::BusyIds, "could not generate an unused agent id")
        .hint("choose one with --id"))
}

/// Which ids may be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taking {
    /// Only ids that no agent has.
    Fresh,
    Any,
}

/// Registers an agent that a runner supervises. Without a name it gets the first number that is unused, or whose
/// runner is gone.
pub fn register_running(
    ctx: &Context,
    role: &Role,
    id: Option<AgentId>,
    runner: &Process,
    take: impl Fn(&AgentId) -> bool,
) -> Result<(Registration, u64)> {
    let roles = [role.clone()];
    if let Some(id) = id {
        if !take(&id) {
            return Err(running_already(&id));
        }
        return register_once(ctx, &roles, id, Taking::Any, Some(runner));
    }
    let snapshot = ctx.read(&Needs::Nothing)?;
    for id in numbered_ids(role) {
        let free = match snapshot.board.agent(&id) {
            None => true,
            Some(agent) => may_be_run(ctx, role, &id, agent),
        };
        if free && take(&id) {
            return register_once(ctx, &roles, id, Taking::Any, Some(runner));
        }
    }
    Err(Failure::new(ErrorCode::BusyIds, "could not generate an unused agent id")
        .hint("choose one with --id"))
}

/// The agent that a runner would register now, and the resulting board.
pub fn foreseen(ctx: &Context, board: &Board, role: &Role, id: Option<AgentId>) -> Result<(AgentId, Board)> {
    let is_free = |id: &AgentId| board.agent(id).is_none_or(|agent| may_be_run(ctx, role, id, agent));
    let none = || {
        Failure::new(ErrorCode::BusyIds, "could not generate an unused agent id").hint("choose one with --id")
    };
    let id = id.or_else(|| numbered_ids(role).find(is_free)).ok_or_else(none)?;
    let config = ctx.project_config()?;
    let roles = vec![role.clone()];
    let register = RegisterAgent {
        id: id.clone(),
        grants: Registry::new(&config).grants(&roles),
        roles,
        token_hash: String::new(),
        configured_roles: config.roles.into_keys().collect(),
        runner: Some(host::this_process()),
        fresh: false,
        former_runner_lives: false,
    };
    let world = World::default();
    let call = Call::new(Actor::Human, &ctx.now, &world);
    let mut then = board.clone();
    register.change(&mut then, &call);
    Ok((id, then))
}

/// An agent registered by hand is in use, even though it has no runner on record.
fn may_be_run(ctx: &Context, role: &Role, id: &AgentId, agent: &crate::board::agent::Agent) -> bool {
    agent.has(role) && agent.runner.is_some() && !ctx.machine.is_running(id, agent.runner.as_ref())
}

fn running_already(id: &AgentId) -> Failure {
    failure!(Code::AgentRunning, "a runner of `{id}` is running")
        .hint("choose another --id, or stop that runner first")
}

fn register_once(
    ctx: &Context,
    roles: &[Role],
    id: AgentId,
    taking: Taking,
    supervised_by: Option<&Process>,
) -> Result<(Registration, u64)> {
    let snapshot = ctx.read(&Needs::Nothing)?;
    let runner = snapshot.board.agent(&id).and_then(|agent| agent.runner.clone());
    let token = crate::host::secret()
        .map_err(|error| Failure::io("read", Path::new("the kernel's randomness"), &error))?;
    let config = ctx.project_config()?;
    let committed = ctx.commit(RegisterAgent {
        id: id.clone(),
        roles: roles.to_vec(),
        token_hash: token_hash(&token),
        grants: Registry::new(&config).grants(roles),
        configured_roles: config.roles.into_keys().collect(),
        runner: supervised_by.cloned(),
        fresh: taking == Taking::Fresh,
        // The successor already holds the lock.
        former_runner_lives: supervised_by.is_none() && ctx.machine.is_running(&id, runner.as_ref()),
    })?;
    let path = ctx.machine.write_token(&id, &token)?;
    Ok((Registration { agent: committed.outcome, token, token_file: path }, committed.board.revision))
}
