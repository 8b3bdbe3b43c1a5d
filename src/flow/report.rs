//! What a run of the team leaves to read: one report for people, and the same for programs.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::board::quorum::approvers;
use crate::board::{Board, Needs, Status};
use crate::policy::view::Scene;
use crate::text::{md_inline, plural};

use super::context::Context;
use super::failure::Failure;

/// What the run itself knows and the board does not.
pub struct RunFacts {
    /// `complete`, `stuck`, `aborted`, `stopped`.
    pub outcome: &'static str,
    /// Why it ended so, if there is more to say.
    pub causes: Vec<Value>,
    pub seconds: f64,
    /// Sessions, tokens and cost of each agent.
    pub agents: Vec<AgentUse>,
    pub stopped: Vec<(String, String)>,
    /// Noteworthy events, as lines.
    pub events: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub struct AgentUse {
    pub agent: String,
    pub sessions: u64,
    pub crashes: u64,
    pub turns: u64,
    pub tool_calls: u64,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
}

/// Where the two files are.
pub struct Written {
    pub markdown: PathBuf,
    pub json: PathBuf,
    pub data: Value,
}

/// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr) => { let _ = writeln!($text); };
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

pub fn write(ctx: &Context, facts: &RunFacts) -> Result<Written, Failure> {
    let snapshot = ctx.read(&Needs::Everything)?;
    let board = &snapshot.board;
    let data = as_json(ctx, board, facts);
    let text = as_markdown(ctx, board, facts)?;
    let reports = ctx.store.layout().reports();
    crate::store::files::make_private_dir(&reports)?;
    let stem = format!("run-{}-r{}", ctx.now.wall.to_string().replace(':', ""), board.revision);
    let (markdown, json) = (reports.join(format!("{stem}.md")), reports.join(format!("{stem}.json")));
    crate::store::files::replace(&markdown, text.as_bytes())?;
    crate::store::files::replace(&json, format!("{}\n", crate::wire::to_json_pretty(&data)).as_bytes())?;
    super::views::refresh(ctx);
    Ok(Written { markdown, json, data })
}

fn as_json(ctx: &Context, board: &Board, facts: &RunFacts) -> Value {
    let mut counts = serde_json::Map::new();
    for status in Status::ALL {
        let count = board.tasks.iter().filter(|task| task.status == status).count();
        counts.insert(status.as_str().to_owned(), count.into());
    }
    json!({
        "time": ctx.now.wall, "goal": board.rest.goal.description, "outcome": facts.outcome, "causes": facts.causes,
        "seconds": (facts.seconds * 1000.0).round() / 1000.0, "revision": board.revision, "counts": counts,
        "tasks": board.tasks.iter().map(|task| {
            let body = task.body();
            json!({
                "id": task.id, "title": body.title, "status": task.status, "implementers": task.implementers,
                "approved_by": body.approval.as_ref().map(|approval| &approval.reviewer), "approvers": approvers(task), "merge_commit": body.merge.as_ref().map(|merge| &merge.commit), "iterations": task.iteration,
                "review_cycles": task.review_cycles_total, "blocked_reason": body.blocked_reason,
                "blocked_questions": body.blocked_questions,
            })
        }).collect::<Vec<_>>(),
        "agents": facts.agents.iter().map(|used| json!({
            "agent": used.agent, "sessions": used.sessions, "crashes": used.crashes, "turns": used.turns,
            "tool_calls": used.tool_calls, "tokens": used.tokens, "cost_usd": used.cost_usd,
        })).collect::<Vec<_>>(),
        "stopped": facts.stopped.iter().map(|(agent, why)| json!({ "agent": agent, "why": why })).collect::<Vec<_>>(),
        "tier0_violations": board.rest.circuit_breaker.tier0_violations,
    })
}

fn as_markdown(ctx: &Context, board: &Board, facts: &RunFacts) -> Result<String, Failure> {
    let world = ctx.store.surroundings(board)?;
    let scene = Scene::new(board, &world, &ctx.now);
    let mut text = String::new();
    line!(text, "# Run of {}", ctx.now.wall);
    line!(text);
    line!(text, "Goal: {}", md_inline(&board.rest.goal.description));
    line!(text, "Outcome: {}", facts.outcome);
    line!(text, "Took: {:.1} s, to revision {}", facts.seconds, board.revision);
    line!(text, "Tier 0 violations refused: {}", board.rest.circuit_breaker.tier0_violations);
    if !facts.causes.is_empty() {
        line!(text);
        line!(text, "## What it needs to go on");
        line!(text);
        for cause in &facts.causes {
            let part = |key: &str| md_inline(cause[key].as_str().unwrap_or_default()).to_string();
            let task = if cause["task"].is_string() { format!("{}: ", part("task")) } else { String::new() };
            line!(text, "- {task}{} — {}", part("why"), cause["hint"].as_str().unwrap_or_default());
        }
    }
    line!(text);
    line!(text, "## Tasks ({})", board.tasks.len());
    line!(text);
    line!(text, "| task | title | status | by | approved by | merged as | iterations | cycles | waits for |");
    line!(text, "|---|---|---|---|---|---|---|---|---|");
    for task in &board.tasks {
        let body = task.body();
        let by: Vec<&str> = task.implementers.iter().map(|agent| agent.as_str()).collect();
        let vouched: Vec<&str> = approvers(task).iter().map(|agent| agent.as_str()).collect();
        line!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            task.id,
            md_inline(&body.title),
            task.status,
            if by.is_empty() { "-".to_owned() } else { by.join(", ") },
            if vouched.is_empty() { "-".to_owned() } else { vouched.join(", ") },
            body.merge.as_ref().map_or("-", |merge| merge.commit.short()),
            task.iteration,
            task.review_cycles_total,
            scene.waiting(task).map_or("-".to_owned(), |waiting| md_inline(&waiting.why).to_string()),
        );
    }
    for task in board.tasks.iter().filter(|task| task.status == Status::Blocked) {
        let body = task.body();
        line!(text);
        line!(
            text,
            "### {} is blocked: {}",
            task.id,
            md_inline(body.blocked_reason.as_deref().unwrap_or_default())
        );
        line!(text);
        for question in &body.blocked_questions {
            line!(text, "- {}", md_inline(question));
        }
    }
    line!(text);
    line!(text, "## Agents ({})", plural(facts.agents.len(), "agent"));
    line!(text);
    line!(text, "| agent | sessions | crashes | turns | tool calls | tokens | cost |");
    line!(text, "|---|---|---|---|---|---|---|");
    for used in &facts.agents {
        let cost = used.cost_usd.map_or("-".to_owned(), |cost| format!("{cost:.4} USD"));
        line!(
            text,
            "| {} | {} | {} | {} | {} | {} | {cost} |",
            used.agent,
            used.sessions,
            used.crashes,
            used.turns,
            used.tool_calls,
            used.tokens
        );
    }
    for (agent, why) in &facts.stopped {
        line!(text);
        line!(text, "{agent} has stopped: {}", md_inline(why));
    }
    line!(text);
    line!(text, "## What happened");
    line!(text);
    for event in &facts.events {
        line!(text, "- {}", md_inline(event));
    }
    Ok(text)
}
