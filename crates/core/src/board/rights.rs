//! Checks the actor's permissions, as the role registry granted them when the agent was registered.

use super::call::{Actor, Call};
use super::grants::{Grants, Operation, allowed_by_rules, default_recipients, default_spawns};
use super::ids::{AgentId, Role, TaskId};
use super::refusal::{Code, Refusal, refusal};
use super::state::Board;
use super::task::Task;
use super::verb::AnyVerb;

/// Whether the actor works on the task, has it reserved, or reviews it.
fn has_in_hand(task: &Task, by: &Actor) -> bool {
    let by = by.id();
    let leased = [&task.lease, &task.review_lease].into_iter().flatten().any(|lease| lease.agent == by);
    leased || task.assigned_to.as_ref() == Some(&by)
}

/// Whether it would stop a task that another agent holds or reviews.
pub fn stops_others(board: &Board, task: &TaskId, by: &Actor) -> bool {
    board.task(task).is_some_and(|task| !has_in_hand(task, by))
}

/// The permissions of the acting agent; people are not restricted.
pub fn of_actor<'b>(board: &'b Board, by: &Actor) -> Option<&'b Grants> {
    let Actor::Agent { id, .. } = by else { return None };
    board.agent(id).map(|agent| &agent.grants)
}

/// Where in liza.yaml it says so, for a message: `roles.coder.deny`.
pub fn place(board: &Board, by: &AgentId, key: &str) -> String {
    let roles = board.agent(by).map(|agent| agent.roles.as_slice()).unwrap_or_default();
    let places: Vec<String> = roles.iter().map(|role| format!("roles.{role}.{key}")).collect();
    format!("liza.yaml, {}", places.join(", "))
}

/// The hint for an agent whose role lacks a permission: a way to ask that its role still allows.
fn ways_out(grants: &Grants) -> String {
    let ask = if !grants.denied.contains(&Operation::Report) {
        "ask for it with `liza note`"
    } else if !grants.denied.contains(&Operation::Message) {
        "ask for it with `liza message send --to human --type request_input --subject …`"
    } else {
        "block the task you hold with a question (`liza task block`), which every role may do"
    };
    format!(
        "leave it to another role, or {ask}; `liza roles ROLE` shows what a role may do, and what a person changes in \
         liza.yaml counts from the agent's next registration on"
    )
}

/// Refuses an operation that the registry does not grant to the acting agent.
pub fn check(board: &Board, verb: &dyn AnyVerb, call: &Call) -> Result<(), Refusal> {
    let Some(grants) = of_actor(board, &call.by) else { return Ok(()) };
    let Some(operation) = verb.operation(board, &call.by) else { return Ok(()) };
    if !grants.denied.contains(&operation) {
        return Ok(());
    }
    denied(board, &call.by, grants, operation)
}

fn denied(board: &Board, by: &Actor, grants: &Grants, operation: Operation) -> Result<(), Refusal> {
    Err(refusal!(
        Code::Role,
        "the role registry ({}) does not let `{}` {}",
        place(board, &by.id(), "deny/allow"),
        by.id(),
        operation.words()
    )
    .hint(ways_out(grants))
    .detail("operation", operation.as_str()))
}

/// What a switch stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    AllAgents,
    Task(TaskId),
    Agent(AgentId),
}

/// Refuses a switch the actor may not set: an agent may stop itself and the task it works on or reviews, planners and
/// overseers may stop others, and people may stop everything.
pub fn check_switch(board: &Board, by: &Actor, whom: &Stopped) -> Result<(), Refusal> {
    let Some(grants) = of_actor(board, by) else { return Ok(()) };
    let own = match whom {
        Stopped::AllAgents => false,
        Stopped::Task(id) => board.task(id).is_some_and(|task| has_in_hand(task, by)),
        Stopped::Agent(id) => *id == by.id(),
    };
    if own {
        return Ok(());
    }
    let roles = board.agent(&by.id()).map(|agent| agent.roles.as_slice()).unwrap_or_default();
    if !roles.iter().any(|role| allowed_by_rules(role, Operation::Stop)) {
        let whom = match whom {
            Stopped::AllAgents => "all agents".to_owned(),
            Stopped::Task(id) => format!("task `{id}`, which it neither holds nor reviews"),
            Stopped::Agent(id) => format!("`{id}`"),
        };
        return Err(Refusal::new(
            Code::Role,
            format!("`{}` neither plans nor oversees, so it cannot stop {whom}", by.id()),
        )
        .hint(format!(
            "--agent {} or --task with a task of your own stops that much; for others, {}",
            by.id(),
            ways_out(grants)
        ))
        .detail("operation", Operation::Stop.as_str()));
    }
    if grants.denied.contains(&Operation::Stop) {
        return denied(board, by, grants, Operation::Stop);
    }
    Ok(())
}

/// Whether the actor may write to agents of this role. People may write to all agents.
pub fn may_message(board: &Board, by: &Actor, to: &Role) -> bool {
    let Actor::Agent { id, .. } = by else { return true };
    let Some(agent) = board.agent(id) else { return false };
    match &agent.grants.may_message {
        Some(roles) => roles.contains(to),
        None => agent.roles.iter().any(|role| default_recipients(role.as_str()).contains(&to.as_str())),
    }
}

/// Refuses tasks for a role that the actor may not plan work for. People may plan for all roles.
pub fn check_spawn<'r>(
    board: &Board,
    call: &Call,
    roles: impl IntoIterator<Item = &'r Role>,
) -> Result<(), Refusal> {
    let Actor::Agent { id, .. } = &call.by else { return Ok(()) };
    let Some(agent) = board.agent(id) else { return Ok(()) };
    let may = |wanted: &Role| match &agent.grants.may_spawn {
        Some(roles) => roles.contains(wanted),
        None => agent.roles.iter().any(|role| default_spawns(role.as_str()).contains(&wanted.as_str())),
    };
    match roles.into_iter().find(|role| !may(role)) {
        None => Ok(()),
        Some(role) => Err(refusal!(
            Code::Role,
            "the role registry ({}) does not let `{id}` plan work for the role {role}",
            place(board, id, "may_spawn")
        )
        .hint(ways_out(&agent.grants))
        .detail("role", role.as_str())),
    }
}
