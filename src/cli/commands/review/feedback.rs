//! Arguments that the three verdicts share: feedback and commit.

use crate::board::assumptions::GivenAssumption;
use crate::board::checklist;
use crate::board::checklist::{GivenAnswer, ItemName};
use crate::board::review::PriorStatus;
use crate::cli::prelude::*;

fn full_commit(session: &Session, text: &CommitPrefix) -> Result<CommitId, Failure> {
    if let Ok(commit) = CommitId::new(text.as_str()) {
        return Ok(commit);
    }
    // A short id is accepted if it names one commit.
    session.ctx.query()?.resolve(text.as_str())?.ok_or_else(|| {
        Failure::usage(format!("`{text}` is not the id of a commit"))
            .hint("name the review_commit that `liza review show` prints")
    })
}

pub fn priors(given: &[String]) -> Result<Vec<PriorStatus>, Failure> {
    let prior = |text: &String| {
        let parsed = text
            .split_once('=')
            .and_then(|(id, status)| Some(PriorStatus { id: id.to_owned(), status: status.parse().ok()? }));
        parsed.ok_or_else(|| Failure::usage(format!("--prior `{text}` is not ISSUE=resolved|partial|open")))
    };
    given.iter().map(prior).collect()
}

/// `2=n/a: it has no inputs`
pub fn answers(session: &Session, given: &[String]) -> Result<Vec<GivenAnswer>, Failure> {
    let answer = |text: &String| {
        let parsed = text.split_once('=').and_then(|(number, answer)| {
            let (word, note) =
                answer.split_once(':').map_or((answer, None), |(word, note)| (word, Some(note)));
            let item = ItemName::Number(number.trim().parse().ok()?);
            Some((item, checklist::Answer::parse(word.trim())?, note))
        });
        let (item, answer, note) = parsed.ok_or_else(|| {
            Failure::usage(format!("--answer `{text}` is not N=yes|no|n/a[: NOTE]"))
                .hint("for example --answer 1=yes --answer \"2=n/a: it takes no input\"")
        })?;
        let note = note.map(|note| session.input.text(note.trim())).transpose()?;
        Ok(GivenAnswer { item, answer, note })
    };
    given.iter().map(answer).collect()
}

/// `2=not_checked: there is no network here`
pub fn assumptions(session: &Session, given: &[String]) -> Result<Vec<GivenAssumption>, Failure> {
    let answer = |text: &String| {
        let parsed = text.split_once('=').and_then(|(number, answer)| {
            let (word, note) =
                answer.split_once(':').map_or((answer, None), |(word, note)| (word, Some(note)));
            let answer = word.trim().replace([' ', '-'], "_").parse().ok()?;
            Some((ItemName::Number(number.trim().parse().ok()?), answer, note))
        });
        let (assumption, answer, note) = parsed.ok_or_else(|| {
            Failure::usage(format!("--assumption `{text}` is not N=held|violated|not_checked[: REASON]"))
                .hint("for example --assumption 1=held --assumption \"2=not_checked: it needs a network\"")
        })?;
        let note = note.map(|note| session.input.text(note.trim())).transpose()?;
        Ok(GivenAssumption { assumption, answer, note })
    };
    given.iter().map(answer).collect()
}

/// The feedback from the arguments or from a file, whose verdict must match the command.
pub fn feedback(
    session: &Session,
    words: &str,
    from: Option<&String>,
    wanted: Verdict,
) -> Result<Feedback, Failure> {
    let Some(file) = from else {
        return Ok(Feedback { summary: session.input.text(words)?, ..Feedback::default() });
    };
    let feedback: Feedback = session.input.value(file)?;
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

/// The commit from the flag or the feedback, else the commit of the caller's `review claim`. The rule checks that it is
/// still the submitted one.
pub fn named_commit(
    session: &Session,
    task: &TaskId,
    flag: Option<&CommitPrefix>,
    feedback: &Feedback,
) -> Result<CommitId, Failure> {
    match (flag, &feedback.commit) {
        (Some(text), _) => full_commit(session, text),
        (None, Some(commit)) => Ok(commit.clone()),
        (None, None) => pinned_commit(session, task),
    }
}

/// The commit under review. A later submission ends the review, so this is the commit that the caller has claimed, or the
/// rule refuses.
fn pinned_commit(session: &Session, id: &TaskId) -> Result<CommitId, Failure> {
    let board = session.ctx.read(&Needs::Nothing)?.board;
    let task = view::known_task(&board, id)?;
    task.review_commit.clone().ok_or_else(|| {
        Failure::new(Code::Transition, format!("task `{id}` is {}: nothing is under review", task.status))
            .hint("`liza review list` shows what can be reviewed")
    })
}
