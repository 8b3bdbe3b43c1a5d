//! The report of a run of the team: one for people, and the same for programs.

use super::page::{heading, line, waits_for};
use super::prelude::*;
use crate::board::route::Route;
use crate::board::workstream::Workstream;
use crate::policy::run::Cause;
use crate::policy::view::Scene;

/// What the run itself knows and the board does not.
pub struct RunFacts {
    /// `complete`, `stuck`, `aborted`, `stopped`.
    pub outcome: &'static str,
    /// Why it ended that way, if there is more to say.
    pub causes: Vec<Cause>,
    pub seconds: f64,
    /// Sessions, tokens and cost of each agent.
    pub agents: Vec<AgentUse>,
    pub stopped: Vec<StoppedAgent>,
    /// Noteworthy events, as lines.
    pub events: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct StoppedAgent {
    pub agent: AgentId,
    pub why: String,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct AgentUse {
    pub agent: String,
    pub sessions: u64,
    pub crashes: u64,
    pub turns: u64,
    pub tool_calls: u64,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
}

/// The paths of the two files, and what they add to the run's own facts.
pub struct Written {
    pub markdown: PathBuf,
    pub json: PathBuf,
    pub revision: u64,
    pub seconds: f64,
    /// How many tasks are in each state.
    pub counts: Map<String, Value>,
    pub merged: usize,
}

pub fn write(ctx: &Context, facts: &RunFacts) -> Result<Written> {
    let snapshot = ctx.read(&Needs::Everything)?;
    let board = &snapshot.board;
    let in_state = |status: Status| of_goal(board).filter(|task| task.status == status).count();
    let counts: Map<String, Value> =
        Status::ALL.into_iter().map(|status| (status.as_str().to_owned(), in_state(status).into())).collect();
    let seconds = (facts.seconds * 1000.0).round() / 1000.0;
    let text = as_markdown(ctx, board, facts)?;
    let stem = format!("run-{}-r{}", ctx.now.wall.to_string().replace(':', ""), board.revision);
    let markdown = ctx.store.write_report(&format!("{stem}.md"), &text)?;
    let json = format!("{}\n", to_json_pretty(&as_json(ctx, board, facts, seconds, &counts)));
    let json = ctx.store.write_report(&format!("{stem}.json"), &json)?;
    super::views::refresh(ctx);
    let (revision, merged) = (board.revision, in_state(Status::Merged));
    Ok(Written { markdown, json, revision, seconds, counts, merged })
}

/// The tasks of the current goal, and all other open ones.
fn of_goal(board: &Board) -> impl Iterator<Item = &Task> {
    board.tasks.iter().filter(|task| !task.status.is_terminal() || board.is_of_current_goal(task))
}

/// How the current goal was routed, and the single jobs that are still on the board.
fn routes(board: &Board) -> impl Iterator<Item = &Route> {
    let goal = board.rest.goal.id.as_str();
    let on_board = |route: &Route| route.task.as_ref().is_some_and(|task| board.task(task).is_some());
    board.rest.routes.iter().filter(move |route| match route.goal.as_deref() {
        Some(of) => of == goal,
        None => on_board(route),
    })
}

fn streams(board: &Board) -> impl Iterator<Item = &Workstream> {
    board.rest.workstreams.iter().filter(|stream| stream.of_goal == board.rest.goal.id)
}

fn as_json(
    ctx: &Context,
    board: &Board,
    facts: &RunFacts,
    seconds: f64,
    counts: &Map<String, Value>,
) -> Value {
    json!({
        "time": ctx.now.wall, "goal": board.rest.goal.description, "goal_id": board.rest.goal.id, "outcome": facts.outcome, "causes": facts.causes,
        "seconds": seconds, "revision": board.revision, "counts": counts,
        "tasks": of_goal(board).map(|task| {
            let body = task.body();
            json!({
                "id": task.id, "title": body.title, "status": task.status, "implementers": task.implementers,
                "approved_by": body.approval.as_ref().map(|approval| &approval.reviewer), "approvers": task.approvers(), "merge_commit": body.merge.as_ref().and_then(|merge| merge.commit.as_ref()), "kind": task.kind, "result": task.result, "accepted_by": accepted_by(task), "iterations": task.iteration,
                "review_cycles": task.review_cycles_total, "blocked_reason": body.blocked_reason,
                "blocked_questions": body.blocked_questions,
            })
        }).collect::<Vec<_>>(),
        "routes": routes(board).collect::<Vec<_>>(), "workstreams": streams(board).collect::<Vec<_>>(),
        "agents": facts.agents, "stopped": facts.stopped, "tier0_violations": board.rest.circuit_breaker.tier0_violations,
    })
}

/// Who accepted the result of a plan or a merge slice. A probe ends with its own result.
fn accepted_by(task: &Task) -> Option<&AgentId> {
    let waits = task.stands_on_result() && (task.is_stream_plan() || task.is_merge_slice());
    task.body().merge.as_ref().filter(|_| waits).map(|merge| &merge.by)
}

/// The merge commit, or how the result of a report ended.
fn merged_as(task: &Task) -> &str {
    let merge = task.body().merge.as_ref();
    match (merge.and_then(|merge| merge.commit.as_ref()), &task.result) {
        (Some(commit), _) => commit.short(),
        (None, Some(result)) => result.status.as_str(),
        (None, None) => "-",
    }
}

fn as_markdown(ctx: &Context, board: &Board, facts: &RunFacts) -> Result<String> {
    let world = ctx.store.surroundings(board)?;
    let scene = Scene::new(board, &world, &ctx.now);
    let mut text = String::new();
    line!(text, "# Run of {}", ctx.now.wall);
    line!(text);
    line!(text, "Goal: {}", md_inline(&board.rest.goal.description));
    for route in routes(board) {
        line!(text, "Route: {} — {}", route.ssot_id, md_inline(&route.words()));
    }
    line!(text, "Outcome: {}", facts.outcome);
    line!(text, "Took: {:.1} s, to revision {}", facts.seconds, board.revision);
    line!(text, "Tier 0 violations refused: {}", board.rest.circuit_breaker.tier0_violations);
    if !facts.causes.is_empty() {
        heading!(text, "What it needs to continue");
        for cause in &facts.causes {
            let task = cause.task.as_ref().map_or(String::new(), |task| format!("{}: ", md_inline(task)));
            line!(text, "- {task}{} — {}", md_inline(&cause.why), cause.hint);
        }
    }
    heading!(text, "Tasks ({})", of_goal(board).count());
    line!(text, "| task | title | status | by | approved by | merged as | iterations | cycles | waits for |");
    line!(text, "|---|---|---|---|---|---|---|---|---|");
    for task in of_goal(board) {
        let body = task.body();
        let by: Vec<&str> = task.implementers.iter().map(|agent| agent.as_str()).collect();
        let vouched = task.approvers().into_iter().chain(accepted_by(task));
        let vouched: Vec<String> = vouched.map(ToString::to_string).collect();
        line!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            task.id,
            md_inline(&body.title),
            task.status,
            if by.is_empty() { "-".to_owned() } else { by.join(", ") },
            if vouched.is_empty() { "-".to_owned() } else { vouched.join(", ") },
            merged_as(task),
            task.iteration,
            task.review_cycles_total,
            waits_for(&scene, task),
        );
    }
    for task in board.tasks.iter().filter(|task| task.status == Status::Blocked) {
        let body = task.body();
        let why = body.blocked_reason.as_deref().unwrap_or_default();
        line!(text, "\n### {} is blocked: {}\n", task.id, md_inline(why));
        for question in &body.blocked_questions {
            line!(text, "- {}", md_inline(question));
        }
    }
    heading!(text, "Agents ({})", plural(facts.agents.len(), "agent"));
    line!(text, "| agent | sessions | crashes | turns | tool calls | tokens | cost |");
    line!(text, "|---|---|---|---|---|---|---|");
    for AgentUse { agent, sessions, crashes, turns, tool_calls, tokens, cost_usd } in &facts.agents {
        let cost = cost_usd.map_or("-".to_owned(), |cost| format!("{cost:.4} USD"));
        line!(text, "| {agent} | {sessions} | {crashes} | {turns} | {tool_calls} | {tokens} | {cost} |");
    }
    for stopped in &facts.stopped {
        line!(text);
        line!(text, "{} has stopped: {}", stopped.agent, md_inline(&stopped.why));
    }
    heading!(text, "What happened");
    for event in &facts.events {
        line!(text, "- {}", md_inline(event));
    }
    Ok(text)
}
