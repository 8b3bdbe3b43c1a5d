use crate::board::state::Sprint;
use crate::cli::prelude::*;
use crate::flow::metrics::Everything;
use crate::flow::roll_up::{amount_rows, took};
use crate::policy::metrics::in_sprint;

/// Show the scope and progress of a sprint
///
/// Example: liza sprint show
#[derive(Args)]
pub struct ShowArgs {
    /// Id of the sprint (default: the open one)
    pub id: Option<SprintId>,
}

impl OnBoard for ShowArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let everything = Everything::read(&session.ctx)?;
        let found = match &self.id {
            Some(id) => everything.sprint(id)?,
            None => &everything.board.rest.sprint,
        };
        let all = everything.tasks();
        let tasks = in_sprint(found, &all);
        let mut data = serde_json::to_value(found).unwrap_or_default();
        data["tasks"] = json!(
            tasks.iter().map(|task| json!({ "id": task.id, "status": task.status })).collect::<Vec<_>>()
        );
        data["spent"] = json!(everything.board.rest.spent.since(&found.spent_before));
        let former = &everything.board.rest.former_sprints;
        data["former"] = former.iter().map(|sprint| json!(sprint.id)).collect();
        let mut text = String::new();
        heading(&mut text, found, session.ctx.now.wall);
        if found.is_open() {
            let metrics = everything.of_sprint(found);
            text.line(format!(
                "{} of {} tasks done, {} in progress, {} blocked",
                metrics.tasks.done, metrics.tasks.total, metrics.tasks.in_progress, metrics.tasks.blocked
            ));
            amount_rows(&metrics).iter().for_each(|row| text.line(format!("  {row}")));
            let figures = metrics.figures().into_iter();
            data["metrics"] = figures
                .map(|(name, value)| (name.clone(), crate::cli::commands::metrics::figure(&name, value)))
                .collect();
        } else if let Some(retrospective) = &found.retrospective {
            text.line(format!("retrospective: {retrospective}"));
        }
        for task in tasks {
            let (id, status) = (pad_to(task.id.as_str(), 12), pad_to(task.status.as_str(), 18));
            text.line(format!("{id}  {status}  {}", clipped(&task.body().title, 60)));
        }
        Ok(Answer::new(data, text).at(everything.board.revision))
    }
}

fn heading(text: &mut String, sprint: &Sprint, now: Wall) {
    let state = match sprint.timeline.ended {
        Some(ended) if !sprint.is_open() => format!("closed at {ended}"),
        _ if !sprint.is_open() => "closed".to_owned(),
        _ => "open".to_owned(),
    };
    text.line(format!("{}: {state}, begun at {}", sprint.id, sprint.timeline.started));
    if let Some(goal) = &sprint.goal {
        text.line(format!("goal: {goal}"));
    }
    if let Some(deadline) = sprint.timeline.deadline {
        let left = deadline.since(now);
        let when = match u64::try_from(left) {
            Ok(left) if left > 0 => format!("in {}", took(left)),
            _ => format!("{} ago", took(left.unsigned_abs())),
        };
        text.line(format!("deadline: {deadline} ({when})"));
    }
    if let Some(note) = &sprint.note {
        text.line(format!("note: {note}"));
    }
}
