//! The overview of all agents: which run, which make progress, and the interventions on them. Changes nothing.

use super::ring;
use crate::flow::prelude::*;
use crate::policy::overseer::{AgentSnapshot, Detection, Liveness, Ring, Signals, detect, liveness};
use crate::policy::progress::{self, Measure};

/// One agent at this moment.
#[derive(Debug, Serialize)]
pub struct AgentView {
    pub agent: AgentId,
    pub roles: Vec<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub liveness: Liveness,
    /// The runner's last observation; absent while no session runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<AgentSnapshot>,
    /// Since when its work has made no progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_since: Option<Wall>,
    pub detections: Vec<Detection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_intervention: Option<Intervention>,
}

/// The observations of a running session; none for a dead one.
pub fn live_observations(ctx: &Context, board: &Board, agent: &AgentId) -> Option<Ring> {
    let known = board.agent(agent).filter(|known| known.is_active())?;
    if !known.runner.as_ref().is_some_and(host::lives) {
        return None;
    }
    let ring = ring(ctx, agent)?;
    ring.session().last().is_some_and(|last| last.incarnation == known.incarnation).then_some(ring)
}

/// Every agent that is not retired.
pub fn overview(ctx: &Context, board: &Board, config: &OverseerConfig) -> Vec<AgentView> {
    let active = board.rest.agents.iter().filter(|(_, agent)| agent.is_active());
    active
        .map(|(agent, _)| {
            agent_view(ctx, board, config, agent, live_observations(ctx, board, agent).as_ref())
        })
        .collect()
}

/// The numbers behind one agent's line.
#[derive(Debug, Serialize)]
pub struct Explained {
    #[serde(flatten)]
    pub seen: AgentView,
    /// Every remembered observation, the oldest first.
    pub looks: Vec<AgentSnapshot>,
    pub measures: Vec<Measure>,
    pub interventions: Vec<Intervention>,
}

pub fn explain(ctx: &Context, board: &Board, config: &OverseerConfig, agent: &AgentId) -> Result<Explained> {
    if board.agent(agent).is_none() {
        return Err(failure!(Code::UnknownAgent, "there is no agent `{agent}` on this board")
            .hint(board.hint_for_agent(agent)));
    }
    let ring = live_observations(ctx, board, agent).unwrap_or_default();
    let looks = ring.session().to_vec();
    let past = board.rest.interventions.iter().filter(|one| &one.agent == agent);
    Ok(Explained {
        seen: agent_view(ctx, board, config, agent, Some(&ring)),
        measures: progress::measures(&looks, config),
        looks,
        interventions: past.cloned().collect(),
    })
}

fn agent_view(
    ctx: &Context,
    board: &Board,
    config: &OverseerConfig,
    agent: &AgentId,
    ring: Option<&Ring>,
) -> AgentView {
    let history = ring.map(Ring::session).unwrap_or_default();
    let known = board.agent(agent);
    let incarnation = known.map_or(0, |known| known.incarnation);
    let mine = |lease: &crate::board::lease::Lease| &lease.agent == agent && lease.incarnation == incarnation;
    let held = board.tasks.iter().find_map(|task| {
        let lease = [&task.lease, &task.review_lease].into_iter().flatten().find(|lease| mine(lease))?;
        Some((task.id.clone(), lease_over(board, lease, &ctx.now)))
    });
    let seconds_since = |then: Wall| u64::try_from(ctx.now.wall.since(then)).unwrap_or(0);
    let signals = Signals {
        runner_lives: known.and_then(|known| known.runner.as_ref()).map(host::lives),
        lease_expired: held.as_ref().is_some_and(|(_, over)| *over),
        seconds_since_heartbeat: known.map_or(0, |known| seconds_since(known.heartbeat)),
        seconds_since_snapshot: history.last().map(|last| seconds_since(last.time)),
        holds_work: held.is_some(),
    };
    let past = board.rest.interventions.iter().rev();
    AgentView {
        agent: agent.clone(),
        roles: known.map(|known| known.roles.clone()).unwrap_or_default(),
        task: held.map(|(task, _)| task).or_else(|| history.last()?.task.clone()),
        liveness: liveness(history, &signals, config),
        progress_since: progress::since(history),
        detections: detect(history, config),
        last: history.last().cloned(),
        last_intervention: past
            .into_iter()
            .find(|one| &one.agent == agent && one.incarnation == incarnation)
            .cloned(),
    }
}
