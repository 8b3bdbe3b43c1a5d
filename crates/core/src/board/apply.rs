//! The one transition function: check, change, revision + 1. Every change of the board goes through it.

use std::any::Any;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::{Actor, Call};
use super::intent::RequestKey;
use super::lease::Lease;
use super::prelude::*;
use super::refusal::{Code, Refusal};
use super::rights;
use super::rules::Transition;
use super::state::{Board, REQUESTS_KEPT, Request};
use super::verb::{AnyOutcome, AnyVerb, Needs};

/// The result of a transition.
pub enum Applied {
    /// The board has changed.
    Changed(Box<dyn AnyOutcome>),
    /// The same request was answered before; nothing has changed.
    Repeated(Value),
}

impl std::fmt::Debug for Applied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Changed(outcome) => write!(f, "changed: {}", outcome.to_json()),
            Self::Repeated(kept) => write!(f, "repeated: {kept}"),
        }
    }
}

impl Applied {
    /// The outcome with its own type. Fails only if an older liza stored the answer that this request repeats.
    pub fn typed<O: DeserializeOwned + 'static>(self) -> Result<O, Refusal> {
        match self {
            Self::Changed(outcome) => {
                let outcome: Box<dyn Any> = outcome;
                Ok(*outcome.downcast().unwrap_or_else(|_| unreachable!("a verb has one type of outcome")))
            }
            Self::Repeated(kept) => serde_json::from_value(kept).map_err(|error| {
                refusal!(Code::RequestReused, "liza cannot read the stored answer to this request: {error}")
                    .hint("`liza status` shows whether the command was done; then use a new --request-id")
            }),
        }
    }
}

/// Changes `board`, or refuses and leaves it unchanged. The caller checks the invariants before it publishes the board.
pub fn apply(
    board: &mut Board,
    what: &Transition,
    call: &Call,
    request: Option<&RequestKey>,
) -> Result<Applied, Refusal> {
    let verb = what.verb();
    let key = request.or(verb.begins_request());
    if let Some(outcome) = key.and_then(|key| answered(board, &call.by.id(), key).transpose()) {
        return Ok(Applied::Repeated(outcome?));
    }
    permitted(board, verb, call)?;
    let outcome = verb.change(board, call);
    // A rule breach is counted and changes no task, not even the lease of the agent that tried it.
    if !matches!(what, Transition::RecordViolation(_)) {
        note_presence(board, call);
    }
    if let Some(key) = request {
        remember(board, call.by.id(), key, &*outcome);
    }
    // An image that any process can write may have the highest number; the record behind it has another one.
    board.revision = board.revision.saturating_add(1);
    Ok(Applied::Changed(outcome))
}

/// Whether the rule and the actor's role permit the transition. A rule breach (Tier 0) is reported whatever the registry
/// says; a missing permission is reported before the remaining refusals of the rule.
pub fn permitted(board: &Board, verb: &dyn AnyVerb, call: &Call) -> Result<(), Refusal> {
    match verb.check(board, call) {
        Err(refusal) if refusal.code.is_tier0() => Err(refusal),
        checked => rights::check(board, verb, call).and(checked),
    }
}

/// The bodies that applying `what` asks for: those of the rule, and of the tasks the caller holds.
///
/// Commit and replay must load exactly these: which leases are renewed may not depend on anything else.
pub fn bodies_needed(board: &Board, what: &Transition, by: &Actor) -> Needs {
    let needs = what.verb().needs(board);
    let Actor::Agent { id, .. } = by else { return needs };
    let held = board
        .tasks
        .iter()
        .filter(|task| {
            [&task.lease, &task.review_lease].into_iter().flatten().any(|lease| &lease.agent == id)
        })
        .map(|task| task.id.clone());
    match needs {
        Needs::Everything => Needs::Everything,
        Needs::Nothing => Needs::Tasks(held.collect()),
        Needs::Tasks(ids) => Needs::Tasks(ids.into_iter().chain(held).collect()),
    }
}

/// The acting agent is alive: records its heartbeat and renews every lease it holds.
fn note_presence(board: &mut Board, call: &Call) {
    let Actor::Agent { id, incarnation } = &call.by else { return };
    let lease_seconds = board.config().lease_seconds;
    if let Some(agent) = board.rest.agents.get_mut(id)
        && agent.incarnation == *incarnation
    {
        agent.heartbeat = call.now.wall;
    }
    for task in &mut board.tasks {
        let held = |lease: &Lease| &lease.agent == id && lease.incarnation == *incarnation;
        let holds = task.lease.as_ref().is_some_and(held) || task.review_lease.as_ref().is_some_and(held);
        if !holds {
            continue;
        }
        let (head, _) = task.parts_mut();
        for lease in [&mut head.lease, &mut head.review_lease].into_iter().flatten() {
            if held(lease) {
                lease.expires = Deadline::after(call.now, lease_seconds);
            }
        }
    }
}

/// The first answer to the same request, if there was one.
pub fn answered(board: &Board, actor: &AgentId, key: &RequestKey) -> Result<Option<Value>, Refusal> {
    let Some(known) = board.rest.requests.iter().find(|known| &known.actor == actor && known.id == key.id)
    else {
        return Ok(None);
    };
    if known.digest != key.digest {
        return Err(Refusal::new(
            Code::RequestReused,
            format!("request id `{}` was used before with other arguments", key.id),
        )
        .hint("use a new --request-id for a new command"));
    }
    Ok(Some(serde_json::from_str(&known.outcome).unwrap_or(Value::Null)))
}

/// Stores the answer, and forgets the actor's oldest answer if there are too many.
pub fn remember(board: &mut Board, actor: AgentId, key: &RequestKey, outcome: &dyn AnyOutcome) {
    let requests = &mut board.rest.requests;
    if requests.iter().filter(|known| known.actor == actor).count() >= REQUESTS_KEPT
        && let Some(oldest) = requests.iter().position(|known| known.actor == actor)
    {
        requests.remove(oldest);
    }
    requests.push(Request {
        actor,
        id: key.id.clone(),
        digest: key.digest.clone(),
        outcome: outcome.to_json().to_string(),
    });
}
