use clap::Args;
use serde_json::{Map, Value, json};

use crate::board::{Needs, Status};
use crate::flow::Failure;
use crate::policy::wake::wakes;
use crate::text::{plural, shown_line};

use super::super::ui::Answer;
use super::super::{Session, view};

/// Show the board at a glance: counts, who does what, and why what waits waits
///
/// Example: liza status --json
#[derive(Args)]
pub struct StatusArgs {
    /// Finished tasks too
    #[arg(long)]
    pub all: bool,
    /// Take the paths of this task back instead; the same as `liza lock release` (people only)
    #[arg(long, value_name = "TASK")]
    pub force_unlock: Option<String>,
    /// Why they are taken back
    #[arg(long, requires = "force_unlock", default_value = "no reason given")]
    pub reason: String,
}

pub fn run(session: &mut Session, args: &StatusArgs) -> Result<Answer, Failure> {
    if let Some(task) = &args.force_unlock {
        let reason = session.input.text(&args.reason)?;
        return super::lock::release(session, task, &reason);
    }
    // Titles and times are read for what is not finished; thousands of finished tasks stay unread.
    let snapshot = session.ctx.read_with(|board| {
        Needs::Tasks(
            board
                .tasks
                .iter()
                .filter(|task| !task.status.is_terminal())
                .map(|task| task.id.clone())
                .collect(),
        )
    })?;
    let board = &snapshot.board;
    let frame = view::Frame::new(&session.ctx, board)?;
    let picture = view::Picture::new(&frame, board);
    let mut counts = Map::new();
    for status in Status::ALL {
        let count = board.tasks.iter().filter(|task| task.status == status).count();
        counts.insert(status.as_str().to_owned(), count.into());
    }
    let wakes = wakes(board, session.ctx.now.wall);
    // Agents are told at every call; a person is told where he looks.
    let unread = board.unseen_by(&crate::board::AgentId::human()).len();
    if unread > 0 && board.identify(&session.ctx.credentials).is_ok_and(|actor| actor.is_human()) {
        session.ctx.narrate(format!("{} for you: `liza message inbox`", plural(unread, "message")));
    }
    let data = json!({
        "goal": board.rest.goal.description, "goal_status": board.rest.goal.status,
        "integration_branch": board.config().integration_branch, "integration": board.rest.integration,
        "switch": picture.switch(), "switches": picture.switches(), "counts": counts,
        "tasks": board.tasks.iter().map(|task| picture.row(task)).collect::<Vec<_>>(),
        "archived": board.rest.archived, "planner": wakes, "tier0_violations": board.rest.circuit_breaker.tier0_violations,
        "intents": board.rest.intents.iter().map(|intent| json!({
            "id": intent.id, "verb": intent.work.verb(), "task": intent.task, "by": intent.by, "pid": intent.owner.pid,
            "since": intent.time, "alive": crate::host::lives(&intent.owner),
        })).collect::<Vec<_>>(),
        "breaker": board.rest.circuit_breaker.open().map(|trip| json!({
            "id": trip.id, "pattern": trip.pattern, "response": trip.response, "summary": trip.summary,
        })).collect::<Vec<_>>(),
        "spent": board.rest.spent,
        "sprint": { "id": board.rest.sprint.id, "status": board.rest.sprint.status, "timeline": board.rest.sprint.timeline },
        "trust": if cfg!(target_os = "linux") { "descent" } else { "tokens" },
    });
    let mut text = format!("{}\n", board.rest.goal.description);
    let shown: Vec<String> = counts
        .iter()
        .filter(|(_, count)| count.as_u64() != Some(0))
        .map(|(status, count)| format!("{status} {count}"))
        .collect();
    text.push_str(&format!(
        "revision {}, {}{}\n",
        board.revision,
        plural(board.tasks.len(), "task"),
        if shown.is_empty() { String::new() } else { format!(": {}", shown.join(", ")) }
    ));
    let sprint = &board.rest.sprint;
    if !sprint.is_undeclared() && sprint.is_open() {
        let until =
            sprint.timeline.deadline.map_or(String::new(), |deadline| format!(", deadline {deadline}"));
        text.push_str(&format!("{}{until}\n", sprint.id));
    }
    if !board.rest.spent.is_nothing() {
        text.push_str(&format!("spent: {} (`liza metrics` says on what)\n", board.rest.spent.words()));
    }
    for switch in picture.switches() {
        text.push_str(&format!("!! {switch} (`liza resume` ends it)\n"));
    }
    if let Some(red) = &board.rest.integration.red {
        text.push_str(&format!(
            "!! `{}` is red, so nothing is merged: {red} (`liza integration advance REV --reason …` brings what mends it)\n",
            board.config().integration_branch
        ));
    }
    for trip in board.rest.circuit_breaker.open() {
        text.push_str(&format!(
            "!! breaker {} ({}): {} (`liza breaker` shows it)\n",
            trip.id,
            trip.pattern.as_str(),
            trip.summary
        ));
    }
    let tasks: Vec<_> = board.tasks.iter().filter(|task| args.all || !task.status.is_terminal()).collect();
    if !tasks.is_empty() {
        text.push('\n');
        text.push_str(&picture.table(&tasks));
    }
    let finished = board.tasks.len() - tasks.len();
    if finished > 0 {
        text.push_str(&format!("({} finished; `liza status --all` shows them)\n", plural(finished, "task")));
    }
    if board.rest.archived > 0 {
        let count = usize::try_from(board.rest.archived).unwrap_or(usize::MAX);
        text.push_str(&format!("({} archived; `liza task show` finds each)\n", plural(count, "task")));
    }
    for task in tasks.iter().filter(|task| task.status == Status::Blocked && !task.is_light()) {
        let body = task.body();
        let Some(both) = body.review_result.as_ref().and_then(|result| result.positions.as_ref()) else {
            continue;
        };
        let reason = body.blocked_reason.as_deref().unwrap_or_default();
        text.push_str(&format!("\n{} waits for a decision: {}\n", task.id, shown_line(reason)));
        text.push_str(&format!("{}\n", view::positions(both)));
        text.push_str(&format!("`liza task unblock {} --answer …` decides it\n", task.id));
    }
    if !wakes.is_empty() {
        text.push_str("\nfor the planner:\n");
        for wake in &wakes {
            text.push_str(&format!(
                "  {}: {} — {}\n",
                view::trigger_words(wake.trigger),
                wake.about.join(", "),
                wake.hint
            ));
        }
    }
    if board.rest.circuit_breaker.tier0_violations > 0 {
        text.push_str(&format!(
            "\nTier 0 violations refused: {}\n",
            board.rest.circuit_breaker.tier0_violations
        ));
    }
    Ok(Answer::new(Value::clone(&data), text).at(board.revision))
}
