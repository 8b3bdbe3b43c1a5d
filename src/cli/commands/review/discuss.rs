use super::feedback::{feedback, named_commit};
use crate::cli::prelude::*;
use crate::flow::review::{VerdictKind, verdict};

/// Ask for a decision before the verdict
///
/// The task becomes BLOCKED until the planner or a person answers the questions with `liza task unblock`.
///
/// Example: liza review discuss t1 --commit "$(git rev-parse task/t1)" --reason "the spec is silent" --question "Is an empty name allowed?"
#[derive(Args)]
pub struct DiscussArgs {
    /// Id of the task (optional inside its review checkout)
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: Option<TaskId>,
    /// Commit to judge (default: the commit of your `review claim`)
    #[arg(long)]
    pub commit: Option<CommitPrefix>,
    /// Reason
    #[arg(long, default_value = "")]
    pub reason: String,
    /// Question to decide; one to three times
    #[arg(long)]
    pub question: Vec<String>,
    /// Take the whole feedback from a YAML or JSON file, or - for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub from: Option<String>,
}

impl OnBoard for DiscussArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.id.as_ref())?;
        let mut feedback = feedback(session, &self.reason, self.from.as_ref(), Verdict::NeedsDiscussion)?;
        feedback.questions.extend(session.input.texts(&self.question)?);
        let commit = named_commit(session, id, self.commit.as_ref(), &feedback)?;
        session.carry_out(
            |ctx| verdict(ctx, VerdictKind::Discuss, id, commit, feedback, false),
            |_| format!("{id} is BLOCKED until its questions are answered"),
        )
    }
}
