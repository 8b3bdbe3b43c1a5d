use clap::{Args, Subcommand};
use serde_json::json;

use crate::board::checklist::{self, GivenAnswer, ItemName};
use crate::board::disagreement::Positions;
use crate::board::review::{Feedback, Finding, IssueStatus, PriorStatus, Severity, Verdict};
use crate::board::rules::{ReleaseReview, RenewReview};
use crate::board::{CommitId, Needs, TaskId};
use crate::flow::init::parse_task;
use crate::flow::review::{VerdictKind, verdict};
use crate::flow::{Failure, alignment, review};
use crate::wire::{Limits, read_foreign};

use super::super::ui::Answer;
use super::super::{Session, view};
use super::task::commit;

/// Review what somebody else submitted
///
/// Example: liza review claim t1
#[derive(Subcommand)]
pub enum ReviewCommand {
    /// Take a review: makes a sealed checkout of exactly the submitted commit
    ///
    /// An agent of the role red_team, or a person, takes the red team's turn on an approved task the same way.
    ///
    /// Example: liza review claim t1
    Claim(TaskArgs),
    /// Extend your lease on a review
    ///
    /// Example: liza review renew t1
    Renew(TaskArgs),
    /// Give a review back, so that somebody else can take it
    ///
    /// Example: liza review release t1
    Release(TaskArgs),
    Show(ShowArgs),
    Approve(ApproveArgs),
    Reject(RejectArgs),
    Discuss(DiscussArgs),
}

#[derive(Args)]
pub struct TaskArgs {
    /// The task
    pub id: String,
}

/// Show everything a verdict rests on: diff, checkpoint alignment, tests, validation, earlier issues
///
/// Example: liza review show t1
#[derive(Args)]
pub struct ShowArgs {
    /// The task
    pub id: String,
    /// Leave the diff out
    #[arg(long)]
    pub no_diff: bool,
}

/// Approve exactly this commit
///
/// Example: liza review approve t1 --commit "$(git rev-parse task/t1)" --summary "does what the spec says"
#[derive(Args)]
pub struct ApproveArgs {
    /// The task
    pub id: String,
    /// The commit that was reviewed, in full
    #[arg(long, required_unless_present = "from")]
    pub commit: Option<String>,
    /// In a sentence
    #[arg(long, default_value = "")]
    pub summary: String,
    /// What became of an earlier issue; repeat
    #[arg(long, value_name = "ISSUE=resolved|partial|open")]
    pub prior: Vec<String>,
    /// An answer to an item of the checklist, by its number in `review show`; n/a needs a note; repeat for each
    #[arg(long, value_name = "N=yes|no|n/a[: NOTE]")]
    pub answer: Vec<String>,
    /// Changes to agent or tool configuration were read and are wanted
    #[arg(long)]
    pub allow_protected: bool,
    /// The whole feedback as YAML or JSON: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub from: Option<String>,
}

/// Send the work back with issues to fix
///
/// An issue that was raised before keeps its name, whatever words it is raised with. If only minor issues are left for the second time
/// and everything is green, the work is accepted with notes (`review.accept_minor` in liza.yaml). A limit, or rounds that go in circles,
/// block the task.
///
/// Example: liza review reject t1 --commit "$(git rev-parse task/t1)" --reason "empty names crash" --issue "major:greet.sh:3:no default"
#[derive(Args)]
pub struct RejectArgs {
    /// The task
    pub id: String,
    /// The commit that was reviewed, in full
    #[arg(long, required_unless_present = "from")]
    pub commit: Option<String>,
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
    /// An issue: severity is critical, major, minor or nitpick; repeat
    #[arg(long, value_name = "SEVERITY:FILE:LINE:TEXT")]
    pub issue: Vec<String>,
    /// What became of an earlier issue; repeat
    #[arg(long, value_name = "ISSUE=resolved|partial|open")]
    pub prior: Vec<String>,
    /// An answer to an item of the checklist, by its number in `review show`; n/a needs a note; repeat for each
    #[arg(long, value_name = "N=yes|no|n/a[: NOTE]")]
    pub answer: Vec<String>,
    /// The whole feedback as YAML or JSON: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub from: Option<String>,
}

/// Neither approve nor reject: somebody has to decide first
///
/// Example: liza review discuss t1 --commit "$(git rev-parse task/t1)" --reason "the spec is silent" --question "Is an empty name allowed?"
#[derive(Args)]
pub struct DiscussArgs {
    /// The task
    pub id: String,
    /// The commit that was reviewed, in full
    #[arg(long, required_unless_present = "from")]
    pub commit: Option<String>,
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
    /// What has to be decided, one to three times
    #[arg(long)]
    pub question: Vec<String>,
    /// The whole feedback as YAML or JSON: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub from: Option<String>,
}

pub fn run(session: &mut Session, command: ReviewCommand) -> Result<Answer, Failure> {
    match command {
        ReviewCommand::Claim(args) => claim(session, &args),
        ReviewCommand::Renew(args) => {
            let task = parse_task(&args.id)?;
            commit(session, RenewReview { task }, |data| {
                format!("review lease extended to {}", data["lease_expires"].as_str().unwrap_or_default())
            })
        }
        ReviewCommand::Release(args) => {
            let task = parse_task(&args.id)?;
            let id = task.clone();
            commit(session, ReleaseReview { task }, move |_| format!("the review of {id} is free again"))
        }
        ReviewCommand::Show(args) => show(session, &args),
        ReviewCommand::Approve(args) => approve(session, &args),
        ReviewCommand::Reject(args) => reject(session, &args),
        ReviewCommand::Discuss(args) => discuss(session, &args),
    }
}

fn claim(session: &mut Session, args: &TaskArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    session.seal_request()?;
    let (data, revision) = review::claim(&session.ctx, &id)?;
    Ok(Answer::new(data.clone(), claimed_text(&data)).at(revision))
}

/// What somebody who just took a review has to know.
pub fn claimed_text(data: &serde_json::Value) -> String {
    let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
    format!(
        "reviewing {} (round {}) until {}\ncheckout: {}\ncommit:   {}\nnext: liza review show {}",
        text("task"),
        data["round"],
        text("lease_expires"),
        text("checkout"),
        text("review_commit"),
        text("task")
    )
}

fn show(session: &mut Session, args: &ShowArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    let snapshot = session.ctx.read(&Needs::task(&id))?;
    let Some(task) = snapshot.board.task(&id) else { return Err(view::unknown_task(&snapshot.board, &id)) };
    let body = task.body();
    let Some(submission) = &body.submission else {
        return Err(Failure::new(
            "refused.transition",
            format!("task `{id}` is {}: nothing was submitted", task.status),
        )
        .hint(format!("`liza task show {id}` shows what there is")));
    };
    let answers = alignment::answers(body);
    let diff = |color| {
        crate::git::query::diff_text(&session.ctx.repo, &submission.merge_base, &submission.commit, color)
            .map_err(Failure::from)
    };
    let plain = if args.no_diff { String::new() } else { diff(crate::git::Color::Never)? };
    let config = session.ctx.project_config()?;
    let asked = checklist::items(&body.checklist, config.checklists.of(task.risk));
    let mut head = view::review(task, submission, &answers, &asked);
    let quorum = config.review.quorum.of(task.risk);
    match &task.approvals {
        Some(approvals) => head.push_str(&format!("approvals: {}\n", approvals.words())),
        None if quorum > 1 && body.approval.is_none() => {
            head.push_str(&format!("approvals: 0 of {quorum}\n"))
        }
        None => {}
    }
    let data = json!({
        "task": id, "review_commit": submission.commit, "merge_base": submission.merge_base, "round": task.review_cycles_total + 1,
        "done_when": body.done_when, "checkpoint": crate::board::rules::current_checkpoint(body), "alignment": answers,
        "files": submission.files, "tests": submission.tests, "tests_present": !submission.tests.is_empty(),
        "protected": submission.protected, "validation": submission.validation, "gates": body.gates, "issues": body.issues,
        "checklist": asked.iter().enumerate().map(|(at, item)| json!({ "n": at + 1, "item": item })).collect::<Vec<_>>(),
        "red_team": task.red_team, "judged_by": task.judged_by(), "approvals": task.approvals, "quorum": quorum,
        "reviews": body.reviews, "review_result": body.review_result, "diff": plain,
    });
    let mut answer = Answer::new(data, format!("{head}\n{plain}")).at(snapshot.board.revision);
    if session.ui.color && !args.no_diff {
        // git escapes nothing inside the diff, so each line is made safe and only git's own colours are put back.
        answer.colored = Some(format!("{}\n{}", crate::text::shown(&head), view::colored_diff(&plain)));
    }
    Ok(answer)
}

fn full_commit(session: &Session, text: &str) -> Result<CommitId, Failure> {
    if let Ok(commit) = CommitId::new(text) {
        return Ok(commit);
    }
    // A short id is fine as long as it names one commit.
    let looks_short = text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match looks_short.then(|| session.ctx.query()?.resolve(text).map_err(Failure::from)) {
        Some(Ok(Some(commit))) => Ok(commit),
        Some(Err(failure)) => Err(failure),
        _ => Err(Failure::usage(format!("`{text}` is not the id of a commit"))
            .hint("name the review_commit that `liza review show` prints")),
    }
}

fn priors(given: &[String]) -> Result<Vec<PriorStatus>, Failure> {
    given
        .iter()
        .map(|text| {
            let parsed = text.split_once('=').and_then(|(id, status)| {
                Some(PriorStatus { id: id.to_owned(), status: IssueStatus::parse(status)? })
            });
            parsed
                .ok_or_else(|| Failure::usage(format!("--prior `{text}` is not ISSUE=resolved|partial|open")))
        })
        .collect()
}

fn issue(session: &Session, text: &str) -> Result<Finding, Failure> {
    let text = session.input.text(text)?;
    let mut parts = text.splitn(4, ':');
    let parsed = (|| {
        let severity = Severity::parse(parts.next()?.trim())?;
        let file = parts.next()?.trim().to_owned();
        let line = parts.next()?.trim().parse().ok()?;
        let issue = parts.next()?.trim().to_owned();
        Some(Finding {
            severity,
            file,
            line,
            line_end: None,
            issue,
            suggestion: None,
            code_before: None,
            code_after: None,
        })
    })();
    parsed.ok_or_else(|| {
        Failure::usage(format!("--issue `{text}` is not SEVERITY:FILE:LINE:TEXT"))
            .hint("for example --issue \"major:src/main.rs:12:the error is swallowed\"")
    })
}

/// `2=n/a: it has no inputs`
fn answers(session: &Session, given: &[String]) -> Result<Vec<GivenAnswer>, Failure> {
    given
        .iter()
        .map(|text| {
            let parsed = text.split_once('=').and_then(|(number, said)| {
                let (word, note) = match said.split_once(':') {
                    Some((word, note)) => (word, Some(note.trim().to_owned())),
                    None => (said, None),
                };
                let number = number.trim().parse().ok()?;
                Some(GivenAnswer {
                    item: ItemName::Number(number),
                    answer: checklist::Answer::parse(word.trim())?,
                    note,
                })
            });
            let mut answer = parsed.ok_or_else(|| {
                Failure::usage(format!("--answer `{text}` is not N=yes|no|n/a[: NOTE]"))
                    .hint("for example --answer 1=yes --answer \"2=n/a: it takes no input\"")
            })?;
            answer.note = answer.note.map(|note| session.input.text(&note)).transpose()?;
            Ok(answer)
        })
        .collect()
}

/// The feedback from a file, checked to be of the verdict that was asked for.
fn whole(session: &Session, file: &str, wanted: Verdict) -> Result<Feedback, Failure> {
    let feedback: Feedback = read_foreign(&session.input.document(file)?, Limits::default())?;
    match feedback.verdict {
        Some(verdict) if verdict != wanted => Err(Failure::usage(format!(
            "the feedback says {}, the command says {}",
            serde_json::to_value(verdict).unwrap_or_default(),
            serde_json::to_value(wanted).unwrap_or_default()
        ))
        .hint("use the command that fits the verdict: approve, reject or discuss")),
        _ => Ok(feedback),
    }
}

fn named_commit(session: &Session, flag: Option<&String>, feedback: &Feedback) -> Result<CommitId, Failure> {
    match (flag, &feedback.commit) {
        (Some(text), _) => full_commit(session, text),
        (None, Some(commit)) => Ok(commit.clone()),
        (None, None) => {
            Err(Failure::usage("the verdict names no commit").hint("--commit, or `commit:` in the feedback"))
        }
    }
}

fn approve(session: &mut Session, args: &ApproveArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    let mut feedback = match &args.from {
        Some(file) => whole(session, file, Verdict::Approve)?,
        None => Feedback { summary: session.input.text(&args.summary)?, ..Feedback::default() },
    };
    feedback.prior.extend(priors(&args.prior)?);
    feedback.checklist.extend(answers(session, &args.answer)?);
    let commit = named_commit(session, args.commit.as_ref(), &feedback)?;
    session.seal_request()?;
    let (data, revision) =
        verdict(&session.ctx, VerdictKind::Approve, &id, commit, feedback, args.allow_protected)?;
    let counted = || data["approvals"]["by"].as_array().map_or(0, Vec::len);
    let text = match data["red_team"]["status"].as_str() {
        _ if data["status"] == "READY_FOR_REVIEW" => format!(
            "{id} has {} of {} approvals; another reviewer has to judge it before it is APPROVED",
            counted(),
            data["approvals"]["needed"]
        ),
        Some("pending") => format!(
            "{id} is APPROVED; before it can be merged the red team has its turn: `liza review claim {id}`"
        ),
        Some(_) => format!("{id} is through the red team's turn; `liza merge {id}` lands it"),
        None => format!("{id} is APPROVED; `liza merge {id}` lands it"),
    };
    Ok(Answer::new(data, text).at(revision))
}

fn reject(session: &mut Session, args: &RejectArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    let mut feedback = match &args.from {
        Some(file) => whole(session, file, Verdict::RequestChanges)?,
        None => Feedback { summary: session.input.text(&args.reason)?, ..Feedback::default() },
    };
    for text in &args.issue {
        feedback.issues.push(issue(session, text)?);
    }
    feedback.prior.extend(priors(&args.prior)?);
    feedback.checklist.extend(answers(session, &args.answer)?);
    let commit = named_commit(session, args.commit.as_ref(), &feedback)?;
    session.seal_request()?;
    let (data, revision) = verdict(&session.ctx, VerdictKind::Reject, &id, commit, feedback, false)?;
    let text = rejected_text(&id, &data);
    Ok(Answer::new(data, text).at(revision))
}

/// What came of a rejection, and which of its findings were no new ones.
fn rejected_text(id: &TaskId, data: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    for same in data["same_as"].as_array().into_iter().flatten() {
        lines.push(format!(
            "finding {} is {}: {}",
            same["finding"],
            text(&same["issue"]),
            text(&same["told"])
        ));
    }
    if let Some(notes) = data["accepted_with_notes"].as_array() {
        let notes: Vec<String> = notes.iter().map(text).collect();
        lines.push(format!(
            "{id} is {}, accepted with notes ({}): {}",
            text(&data["status"]),
            notes.join(", "),
            text(&data["why"])
        ));
        lines.push(match data["red_team"]["status"].as_str() {
            Some(_) => format!("before it can be merged the red team has its turn: `liza review claim {id}`"),
            None => format!(
                "`review: {{accept_minor: false}}` in liza.yaml ends this; `liza merge {id}` lands it"
            ),
        });
        return lines.join("\n");
    }
    match data["blocked_reason"].as_str() {
        Some(reason) => {
            lines.push(format!("{id} is BLOCKED: {reason}"));
            if let Ok(positions) = serde_json::from_value::<Positions>(data["positions"].clone()) {
                lines.push(view::positions(&positions));
            }
        }
        None => lines.push(format!("{id} is REJECTED and goes back to its coder")),
    }
    lines.join("\n")
}

fn discuss(session: &mut Session, args: &DiscussArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    let mut feedback = match &args.from {
        Some(file) => whole(session, file, Verdict::NeedsDiscussion)?,
        None => Feedback { summary: session.input.text(&args.reason)?, ..Feedback::default() },
    };
    feedback.questions.extend(session.input.texts(&args.question)?);
    let commit = named_commit(session, args.commit.as_ref(), &feedback)?;
    session.seal_request()?;
    let (data, revision) = verdict(&session.ctx, VerdictKind::Discuss, &id, commit, feedback, false)?;
    Ok(Answer::new(data, format!("{id} is BLOCKED until its questions are answered")).at(revision))
}
