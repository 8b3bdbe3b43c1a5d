use super::feedback::{answers, assumptions, feedback, named_commit, priors};
use crate::board::review::Finding;
use crate::cli::prelude::*;
use crate::flow::review::{Judged, VerdictKind, verdict};

/// Send the work back with issues to fix
///
/// An issue from an earlier round keeps its name, even if it is worded differently. If only minor issues are left for
/// the second time and all checks pass, the work is accepted with notes (`review.accept_minor` in liza.yaml).
/// Reaching a limit, or repeating rounds without progress, blocks the task.
///
/// Example: liza review reject t1 --commit "$(git rev-parse task/t1)" --reason "empty names crash" --issue "major:greet.sh:3:no default"
#[derive(Args)]
pub struct RejectArgs {
    /// Id of the task (optional inside its review checkout)
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: Option<TaskId>,
    /// Commit to judge (default: the commit of your `review claim`)
    #[arg(long)]
    pub commit: Option<CommitPrefix>,
    /// Reason
    #[arg(long, default_value = "")]
    pub reason: String,
    /// Issue to fix; severity is critical, major, minor or nitpick; repeat
    #[arg(long, value_name = "SEVERITY:FILE:LINE[-END]:TEXT")]
    pub issue: Vec<String>,
    /// State of an issue from an earlier round; repeat
    #[arg(long, value_name = "ISSUE=resolved|partial|open")]
    pub prior: Vec<String>,
    /// Answer to checklist item N of `review show`; n/a needs a note; repeat
    #[arg(long, visible_alias = "checklist", value_name = "N=yes|no|n/a[: NOTE]")]
    pub answer: Vec<String>,
    /// Result for assumption N of the coder's checkpoint, as `review show` numbers it; not_checked needs a reason; repeat
    #[arg(long, value_name = "N=held|violated|not_checked[: REASON]")]
    pub assumption: Vec<String>,
    /// Take the whole feedback from a YAML or JSON file, or - for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub from: Option<String>,
}

impl OnBoard for RejectArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.id.as_ref())?;
        let mut feedback = feedback(session, &self.reason, self.from.as_ref(), Verdict::RequestChanges)?;
        for text in &self.issue {
            feedback.issues.push(issue(session, text)?);
        }
        feedback.prior.extend(priors(&self.prior)?);
        feedback.checklist.extend(answers(session, &self.answer)?);
        feedback.assumptions.extend(assumptions(session, &self.assumption)?);
        let commit = named_commit(session, id, self.commit.as_ref(), &feedback)?;
        let reject = |ctx: &Context| verdict(ctx, VerdictKind::Reject, id, commit, feedback, false);
        session.carry_out(reject, |data| rejected_text(id, data))
    }
}

fn issue(session: &Session, text: &str) -> Result<Finding, Failure> {
    let text = session.input.text(text)?;
    let mut parts = text.splitn(4, ':');
    let parsed = (|| {
        let severity = parts.next()?.trim().parse().ok()?;
        let file = parts.next()?.trim().to_owned();
        let lines = parts.next()?.trim();
        let (first, last) = lines.split_once('-').map_or((lines, None), |(first, last)| (first, Some(last)));
        let line: u32 = first.trim().parse().ok()?;
        let line_end = last.map(|last| last.trim().parse::<u32>().ok().filter(|last| *last >= line));
        let line_end = match line_end {
            Some(None) => return None,
            other => other.flatten(),
        };
        let issue = parts.next()?.trim().to_owned();
        let (suggestion, code_before, code_after) = (None, None, None);
        Some(Finding { severity, file, line, line_end, issue, suggestion, code_before, code_after })
    })();
    parsed.ok_or_else(|| {
        Failure::usage(format!(
            "--issue `{text}` is not SEVERITY:FILE:LINE:TEXT or SEVERITY:FILE:LINE-END:TEXT"
        ))
        .hint("for example --issue \"major:src/main.rs:12:the error is swallowed\"")
    })
}

/// The outcome of a rejection, and the findings that match earlier issues.
fn rejected_text(id: &TaskId, judged: &Judged) -> String {
    let sent_back = match judged {
        Judged::Rejected(Rejected::Accepted(accepted)) => return accepted_text(id, accepted),
        Judged::Rejected(Rejected::SentBack(sent_back)) => sent_back,
        _ => return format!("{id} is REJECTED and goes back to its coder"),
    };
    let mut lines: Vec<String> = sent_back
        .same_as
        .iter()
        .flatten()
        .map(|same| format!("finding {} is {}: {}", same.finding, same.issue, same.told))
        .collect();
    match &sent_back.blocked_reason {
        Some(reason) => lines.push(format!("{id} is BLOCKED: {reason}")),
        None => lines.push(format!("{id} is REJECTED and goes back to its coder")),
    }
    if let Some(SaidOf::Sides(positions)) = &sent_back.positions {
        lines.push(view::positions(positions));
    }
    lines.join("\n")
}

fn accepted_text(id: &TaskId, accepted: &Accepted) -> String {
    let Accepted { approved, accepted_with_notes, why } = accepted;
    let next = match approved.red_team {
        Some(_) => format!("the red team reviews it before the merge: `liza review claim {id}`"),
        None => {
            format!(
                "`review: {{accept_minor: false}}` in liza.yaml turns this off; `liza merge {id}` merges it"
            )
        }
    };
    let notes = accepted_with_notes.join(", ");
    format!("{id} is {}, accepted with notes ({notes}): {why}\n{next}", approved.status)
}
