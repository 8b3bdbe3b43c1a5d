use crate::cli::prelude::*;

/// Start a sprint (people only)
///
/// Without --scope, the sprint covers every unfinished task while it is open. The sprint that every board begins with
/// is closed, unless a person has given it a scope, a goal or a deadline.
///
/// Example: liza sprint start --deadline 8h --goal "greetings in two languages"
#[derive(Args)]
pub struct StartArgs {
    /// Id of the sprint (default: sprint- and the next number)
    #[arg(value_hint = ValueHint::Other)]
    pub id: Option<SprintId>,
    /// Task in the sprint; repeat
    #[arg(long, value_name = "TASK", conflicts_with = "all")]
    pub scope: Vec<TaskId>,
    /// All unfinished tasks, as without --scope
    #[arg(long)]
    pub all: bool,
    /// When the team halts: a time such as 2026-01-20T18:00:00Z, or a duration such as 90m, 8h or 2d
    #[arg(long, value_name = "TIME|DURATION")]
    pub deadline: Option<String>,
    /// Goal of the sprint
    #[arg(long, value_name = "TEXT")]
    pub goal: Option<String>,
}

impl OnBoard for StartArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let until = self.deadline.as_deref().map(|text| deadline(text, session.ctx.now.wall));
        let begin = sprint::Begin {
            id: self.id.as_ref().map(ToString::to_string),
            goal: self.goal.as_ref().map(|text| session.input.text(text)).transpose()?,
            scope: self.scope.clone(),
            deadline: until.transpose()?,
        };
        session.seal_request()?;
        let (data, revision) = sprint::start(&session.ctx, begin)?;
        let until = data.deadline.map_or(String::new(), |until| format!(", until {until}"));
        let about = match data.scope.len() {
            0 => "all unfinished tasks".to_owned(),
            count => plural(count, "task"),
        };
        let text = format!("{} has started: {about}{until}", data.id);
        Ok(Answer::new(data, text).at(revision))
    }
}

/// A time, or a duration from now.
fn deadline(text: &str, now: Wall) -> Result<Wall, Failure> {
    if let Some(at) = Wall::parse(text) {
        return Ok(at);
    }
    match crate::text::span(text) {
        Some(seconds) => Ok(now.plus_seconds(seconds)),
        None => Err(Failure::usage(format!(
            "`{text}` is neither a time such as 2026-01-20T18:00:00Z nor a duration such as 90m, 8h or 2d"
        ))
        .hint("give a duration from now, such as --deadline 8h")),
    }
}
