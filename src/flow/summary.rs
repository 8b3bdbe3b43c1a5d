//! The summary that the CHECKPOINT switch writes: the state of all tasks, and what waits for a person.

use super::page::{heading, line, waits_for};
use super::prelude::*;
use crate::board::records::Anomaly;
use crate::policy::view::Scene;

/// Writes the report and returns its path.
pub fn write(ctx: &Context, reason: &str) -> Result<PathBuf> {
    let snapshot = ctx.read(&Needs::Everything)?;
    let text = render(ctx, &snapshot.board, reason)?;
    let stamp = ctx.now.wall.to_string().replace(':', "");
    Ok(ctx.store.write_report(&format!("checkpoint-{stamp}-r{}.md", snapshot.board.revision), &text)?)
}

/// Writes the report of the team-wide CHECKPOINT switch, once per setting, by the first process that notices it: a
/// command, the watcher or a runner. Returns the path if this caller wrote it.
pub fn write_once(ctx: &Context) -> Result<Option<PathBuf>> {
    Ok(of_checkpoint(ctx, None)?.and_then(|(report, new)| new.then_some(report)))
}

/// If a person set the CHECKPOINT switch with `touch`, the next command writes its summary, unless a run or watcher
/// does. This does not affect the command's own result.
pub fn after_command(ctx: &Context) {
    if !ctx.store.has_seen_checkpoint() || ctx.credentials.is_of_gate() || ctx.machine.is_overseen() {
        return;
    }
    match write_once(ctx) {
        Ok(Some(report)) => ctx.narrate(format!("CHECKPOINT is set; summary: {}", report.display())),
        Ok(None) => {}
        Err(failure) => ctx.narrate(format!("the summary of CHECKPOINT could not be written: {failure}")),
    }
}

/// The report of a CHECKPOINT switch that is set, and whether it was written just now. None if none is set.
pub fn of_checkpoint(ctx: &Context, subject: Option<&str>) -> Result<Option<(PathBuf, bool)>> {
    let Some((identity, since)) = ctx.store.switch_identity(SwitchKind::Checkpoint, subject) else {
        return Ok(None);
    };
    let stamp = since.to_string().replace(':', "");
    let name = format!("checkpoint-{stamp}-{identity}.md");
    let path = ctx.store.report_file(&name);
    if path.symlink_metadata().is_ok() {
        return Ok(Some((path, false)));
    }
    let switches = ctx.store.switches()?;
    let mut set = switches.set.iter().filter(|switch| switch.kind == SwitchKind::Checkpoint);
    let found = set.find(|switch| switch.subject.as_deref() == subject);
    let reason = found.map(|switch| switch.reason.as_str()).unwrap_or_default();
    let text = render(ctx, &ctx.read(&Needs::Everything)?.board, reason)?;
    Ok(Some(ctx.store.publish_report(&name, &text)?))
}

fn render(ctx: &Context, board: &Board, reason: &str) -> Result<String> {
    let world = ctx.store.surroundings(board)?;
    let scene = Scene::new(board, &world, &ctx.now);
    let mut text = String::new();
    line!(text, "# Checkpoint {}", ctx.now.wall);
    line!(text);
    line!(text, "Goal: {}", md_inline(&board.rest.goal.description));
    line!(text, "Revision: {}", board.revision);
    if !reason.is_empty() {
        line!(text, "Reason: {}", md_inline(reason));
    }
    heading!(text, "Counts");
    for status in Status::ALL {
        let count = board.tasks.iter().filter(|task| task.status == status).count();
        if count > 0 {
            line!(text, "- {status}: {count}");
        }
    }
    line!(text, "- Tier 0 violations refused: {}", board.rest.circuit_breaker.tier0_violations);
    heading!(text, "Tasks");
    line!(text, "| task | title | status | node | agent | iteration | cycles | base drift | waits for |");
    line!(text, "|---|---|---|---|---|---|---|---|---|");
    let head = integration_head(ctx, board).ok();
    let query = ctx.query()?;
    for task in &board.tasks {
        let body = task.body();
        // How many commits integration has gained since this task's base.
        let drift = match (&head, body.attempt()) {
            (Some(head), Some(attempt)) if !task.status.is_terminal() => query
                .commits_between(&attempt.base_commit, head)
                .map_or("?".to_owned(), |commits| commits.len().to_string()),
            _ => "-".to_owned(),
        };
        line!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {drift} | {} |",
            task.id,
            md_inline(&body.title),
            task.status,
            scene.node_state(task).as_str(),
            task.assigned_to.as_ref().map_or("-", |agent| agent.as_str()),
            task.iteration,
            task.review_cycles_total,
            waits_for(&scene, task),
        );
    }
    anomalies(&mut text, board);
    for_a_person(&mut text, board);
    Ok(text)
}

fn anomalies(text: &mut String, board: &Board) {
    let open: Vec<_> = board.rest.anomalies.iter().filter(|anomaly| anomaly.processed_by.is_none()).collect();
    heading!(text, "Anomalies ({} unprocessed)", open.len());
    for Anomaly { id, kind, task_id, logged_by, details, .. } in open {
        let details: Vec<String> =
            details.iter().map(|(key, value)| format!("{key}: {}", md_inline(value))).collect();
        line!(text, "- {id} {} on {task_id} by {logged_by}: {}", kind.as_str(), details.join("; "));
    }
}

fn for_a_person(text: &mut String, board: &Board) {
    let blocked: Vec<_> = board.tasks.iter().filter(|task| task.status == Status::Blocked).collect();
    heading!(text, "What waits for a person: {}", plural(blocked.len(), "task"));
    for task in blocked {
        let body = task.body();
        line!(text, "- {}: {}", task.id, md_inline(body.blocked_reason.as_deref().unwrap_or_default()));
        for question in &body.blocked_questions {
            line!(text, "  - {}", md_inline(question));
        }
        if task.hypothesis_exhausted() {
            line!(text, "  - split or replan it: `liza task rescope {} --into FILE --reason …`", task.id);
        } else {
            line!(text, "  - answer: `liza task unblock {} --answer …`", task.id);
        }
    }
    line!(text);
    line!(text, "Continue with `liza resume`.");
}
