use crate::board::breaker::CrashClass;
use crate::board::result::acceptance_hint;
use crate::cli::prelude::*;
use crate::flow::moved::{self, Evidence};
use crate::policy::restart::failing;
use crate::policy::wake::Wake;

/// Show tasks, agents and what each task waits for
///
/// Example: liza status --json
#[derive(Args)]
pub struct StatusArgs {
    /// Include finished tasks
    #[arg(long)]
    pub all: bool,
    /// Release the paths of this task instead, as `liza lock release` does (people only)
    #[arg(long, value_name = "TASK", add = Completer::Tasks(super::lock::release::holds_paths))]
    pub force_unlock: Option<TaskId>,
    /// Reason for releasing the paths
    #[arg(long, requires = "force_unlock", default_value = "no reason given")]
    pub reason: String,
}

impl OnBoard for StatusArgs {
    const ACCESS: Access = Access::ReadsAnyVersion;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        if let Some(task) = &self.force_unlock {
            let reason = session.input.text(&self.reason)?;
            return super::lock::release::release(session, task, &reason);
        }
        // Does not read the bodies of finished tasks: there may be thousands.
        let snapshot = session.ctx.read_with(|board| {
            view::needed_for_rows(board.tasks.iter().filter(|task| !task.status.is_terminal()))
        })?;
        let board = &snapshot.board;
        let frame = view::Frame::new(&session.ctx, board)?;
        let picture = view::Picture::new(&frame, board);
        let mut counts = Map::new();
        for status in Status::ALL {
            let count = board.tasks.iter().filter(|task| task.status == status).count();
            counts.insert(status.as_str().to_owned(), count.into());
        }
        // Reported, not refused: the caller may be the person who decides about it.
        let moved = moved::shown(&session.ctx, board);
        let wakes = wakes(board, session.ctx.now.wall);
        // Every command reports unseen messages to agents; only `status` reports them to people.
        let unread = board.unseen_by(&AgentId::human()).len();
        if unread > 0 && board.identify(&session.ctx.credentials).is_ok_and(|actor| actor.is_human()) {
            session.ctx.narrate(format!("{} for you: `liza message inbox`", plural(unread, "message")));
        }
        let data = || {
            json!({
                "goal": board.rest.goal.description, "goal_status": board.rest.goal.status,
                "integration_branch": board.config().integration_branch, "integration": board.rest.integration,
                "integration_moved": moved,
                "routes": board.rest.routes, "workstreams": board.rest.workstreams,
                "switch": picture.switch(), "switches": picture.switches(), "counts": counts,
                "tasks": board.tasks.iter().map(|task| picture.row(task)).collect::<Vec<_>>(),
                "archived": board.rest.archived, "planner": wakes, "tier0_violations": board.rest.circuit_breaker.tier0_violations,
                "intents": board.rest.intents.iter().map(|intent| json!({
                    "id": intent.id, "verb": intent.work.verb(), "task": intent.task, "by": intent.by, "pid": intent.owner.pid,
                    "since": intent.time, "alive": session.ctx.machine.works_on_intents(&intent.owner),
                })).collect::<Vec<_>>(),
                "breaker": board.rest.circuit_breaker.open().map(|trip| json!({
                    "id": trip.id, "pattern": trip.pattern, "response": trip.response, "summary": trip.summary,
                })).collect::<Vec<_>>(),
                "failing": failing(board, session.ctx.now.wall).into_iter().map(|crash| json!({
                    "agent": crash.agent, "class": crash.class, "provider": crash.provider, "until": crash.until,
                    "time": crash.time, "task": crash.task_id, "text": crash.text,
                })).collect::<Vec<_>>(),
                "spent": board.rest.spent,
                "sprint": { "id": board.rest.sprint.id, "status": board.rest.sprint.status, "timeline": board.rest.sprint.timeline },
                "trust": if cfg!(target_os = "linux") { "descent" } else { "tokens" },
            })
        };
        let now = session.ctx.now.wall;
        let columns = session.ui.columns();
        let text = || self.text(board, &picture, (&counts, columns), &wakes, moved.as_ref(), now);
        Ok(session.answer(data, text).at(board.revision))
    }
}

impl StatusArgs {
    fn text(
        &self,
        board: &Board,
        picture: &view::Picture<'_>,
        (counts, columns): (&Map<String, Value>, Option<usize>),
        wakes: &[Wake],
        moved: Option<&Evidence>,
        now: Wall,
    ) -> String {
        let mut text = format!("{}\n", board.rest.goal.description);
        text.push_str(&view::goal_bar(board, columns));
        if let Some(route) = board.route() {
            text.line(format!("route: {}", route.words()));
        }
        let some = counts.iter().filter(|(_, count)| count.as_u64() != Some(0));
        let shown = commas(some.map(|(status, count)| format!("{status} {count}")));
        let shown = if shown.is_empty() { shown } else { format!(": {shown}") };
        text.line(format!("revision {}, {}{shown}", board.revision, plural(board.tasks.len(), "task")));
        let sprint = &board.rest.sprint;
        if !sprint.is_undeclared() && sprint.is_open() {
            let until =
                sprint.timeline.deadline.map_or(String::new(), |deadline| format!(", deadline {deadline}"));
            text.line(format!("{}{until}", sprint.id));
        }
        if !board.rest.spent.is_nothing() {
            text.line(format!("spent: {} (`liza metrics` shows on what)", board.rest.spent.words()));
        }
        for switch in picture.switches() {
            let aborted = switch.starts_with("ABORT");
            let then = if aborted { ", then `liza run` continues" } else { "" };
            text.line(format!("!! {switch} (`liza resume` removes it{then})"));
        }
        if let Some(red) = &board.rest.integration.red {
            text.line(format!("!! `{}` fails its gates, so nothing is merged: {red} (`liza integration advance REV --reason …` brings a fix)",
            board.config().integration_branch
        ));
        }
        if let Some(moved) = moved {
            text.line(format!("!! {}", shown_line(&moved.message())));
            text.line(format!("   {}", shown_line(&moved.remedy())));
        }
        for trip in board.rest.circuit_breaker.open() {
            let (id, pattern, summary) = (&trip.id, trip.pattern.as_str(), &trip.summary);
            text.line(format!("!! breaker {id} ({pattern}): {summary} (`liza breaker` shows it)"));
        }
        for crash in failing(board, now) {
            let class = crash.class.map_or("crash", CrashClass::as_str);
            let (agent, said) = (&crash.agent, shown_line(&crash.text));
            text.line(format!(
                "!! {agent} ({class}): {said} (`liza agent log {agent}` shows its last session)"
            ));
        }
        let tasks: Vec<_> =
            board.tasks.iter().filter(|task| self.all || !task.status.is_terminal()).collect();
        text.push_str(&picture.groups(&tasks, columns));
        let finished = board.tasks.len() - tasks.len();
        if finished > 0 {
            text.line(format!("({} finished; `liza status --all` shows them)", plural(finished, "task")));
        }
        if board.rest.archived > 0 {
            let count = usize::try_from(board.rest.archived).unwrap_or(usize::MAX);
            text.line(format!("({} archived; `liza task show` finds each)", plural(count, "task")));
        }
        for task in tasks.iter().filter(|task| task.status == Status::Blocked && !task.is_light()) {
            let body = task.body();
            let Some(both) = body.review_result.as_ref().and_then(|result| result.positions.as_ref()) else {
                continue;
            };
            let reason = body.blocked_reason.as_deref().unwrap_or_default();
            text.line(format!("\n{} waits for a decision: {}", task.id, shown_line(reason)));
            text.line(view::positions(both));
            text.line(format!("answer with `liza task unblock {} --answer …`", task.id));
        }
        for task in tasks.iter().filter(|task| task.awaits_acceptance()) {
            let by = task.result.as_ref().map_or_else(String::new, |result| format!(" of {}", result.by));
            text.line(format!("\nplan {}{by} waits for acceptance: {}", task.id, acceptance_hint(&task.id)));
        }
        if !wakes.is_empty() {
            text.line("\nfor the planner:");
            for wake in wakes {
                let (why, about) = (view::trigger_words(wake.trigger), wake.about.join(", "));
                text.line(format!("  {why}: {about} — {}", wake.hint));
            }
        }
        if board.rest.circuit_breaker.tier0_violations > 0 {
            let count = board.rest.circuit_breaker.tier0_violations;
            text.line(format!("\nrule breaches refused: {count} (Tier 0: attempts to break a rule that no setting can change, such as approving own work)"));
        }
        text
    }
}
