use super::feedback::{feedback, named_commit};
use crate::cli::prelude::*;
use crate::flow::review::{VerdictKind, verdict};

/// Neither approve nor reject: somebody has to decide first
///
/// Example: liza review discuss t1 --commit "$(git rev-parse task/t1)" --reason "the spec is silent" --question "Is an empty name allowed?"
#[derive(Args)]
pub struct DiscussArgs {
    /// The task; in its review checkout it may be left out
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: Option<TaskId>,
    /// The commit the verdict is about (default: the one of your `review claim`)
    #[arg(long)]
    pub commit: Option<CommitPrefix>,
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
    /// What has to be decided, one to three times
    #[arg(long)]
    pub question: Vec<String>,
    /// The whole feedback as YAML or JSON: a file, or - for standard input
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
