use super::feedback::{answers, assumptions, feedback, named_commit, priors};
use crate::cli::prelude::*;
use crate::flow::review::{Judged, VerdictKind, verdict};

/// Approve the commit you have claimed for review
///
/// Without --commit, this is the commit of your `review claim`. If the branch has moved since, liza refuses the
/// verdict.
///
/// Example: liza review approve t1 --commit "$(git rev-parse task/t1)" --summary "does what the spec says"
#[derive(Args)]
pub struct ApproveArgs {
    /// Id of the task (optional inside its review checkout)
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: Option<TaskId>,
    /// Commit to judge (default: the commit of your `review claim`)
    #[arg(long)]
    pub commit: Option<CommitPrefix>,
    /// Summary in one sentence
    #[arg(long, default_value = "")]
    pub summary: String,
    /// State of an issue from an earlier round; repeat
    #[arg(long, value_name = "ISSUE=resolved|partial|open")]
    pub prior: Vec<String>,
    /// Answer to checklist item N of `review show`; n/a needs a note; repeat
    #[arg(long, visible_alias = "checklist", value_name = "N=yes|no|n/a[: NOTE]")]
    pub answer: Vec<String>,
    /// Result for assumption N of the coder's checkpoint, as `review show` numbers it; not_checked needs a reason; repeat
    #[arg(long, value_name = "N=held|violated|not_checked[: REASON]")]
    pub assumption: Vec<String>,
    /// Confirm that you have read and want the changes to agent or tool configuration
    #[arg(long)]
    pub allow_protected: bool,
    /// Take the whole feedback from a YAML or JSON file, or - for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub from: Option<String>,
}

impl OnBoard for ApproveArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.id.as_ref())?;
        let mut feedback = feedback(session, &self.summary, self.from.as_ref(), Verdict::Approve)?;
        feedback.prior.extend(priors(&self.prior)?);
        feedback.checklist.extend(answers(session, &self.answer)?);
        feedback.assumptions.extend(assumptions(session, &self.assumption)?);
        let commit = named_commit(session, id, self.commit.as_ref(), &feedback)?;
        session.seal_request()?;
        let (data, revision) =
            verdict(&session.ctx, VerdictKind::Approve, id, commit, feedback, self.allow_protected)?;
        let text = match &data {
            Judged::Approved(Approved { status: Status::ReadyForReview, approvals, .. }) => {
                let (given, needed) =
                    approvals.as_ref().map_or((0, 0), |approvals| (approvals.by.len(), approvals.needed));
                format!(
                    "{id} has {given} of {needed} approvals; another reviewer must approve it before it is APPROVED"
                )
            }
            Judged::Approved(Approved { red_team: Some(_), .. }) => format!(
                "{id} is APPROVED; the red team reviews it before the merge: `liza review claim {id}`"
            ),
            Judged::Cleared(_) => format!("{id} has passed the red team's turn; `liza merge {id}` merges it"),
            _ => format!("{id} is APPROVED; `liza merge {id}` merges it"),
        };
        Ok(Answer::new(data, text).at(revision))
    }
}
