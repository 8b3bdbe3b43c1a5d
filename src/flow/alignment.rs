//! The four questions that a reviewer asks of a checkpoint, answered by what liza itself recorded.

use super::prelude::*;
use crate::board::assumptions::Held;
use crate::board::history::Assumption;
use crate::board::inside;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    pub question: &'static str,
    pub holds: bool,
    pub answer: String,
}

/// Whether the work matches the announcement. A task without a submission gets no answers.
pub fn answers(body: &Body) -> Vec<Answer> {
    let (Some(submission), Some(checkpoint)) = (&body.submission, current_checkpoint(body)) else {
        return Vec::new();
    };
    let files = files(&checkpoint.files_to_modify, &submission.files);
    vec![before_work(body), files, validation(body), assumptions(body)]
}

fn before_work(body: &Body) -> Answer {
    let written =
        body.history.iter().rev().find(|line| line.event == Event::PreExecutionCheckpoint && !is_late(line));
    let late = this_iteration(body).iter().find(|line| is_late(line));
    let handout = body.attempt().and_then(|attempt| attempt.handout.as_ref());
    let (holds, answer) = match (written, handout) {
        (Some(line), Some(handout)) => {
            let (time, head) = (line.time, handout.head.short());
            let late = late.map_or(String::new(), |line| {
                format!(
                    "; test files were announced {}, after a submission without tests was refused",
                    line.time
                )
            });
            (true, format!("written {time} while the worktree was as handed out (head {head}){late}"))
        }
        _ => (false, "no checkpoint of this iteration is on record".to_owned()),
    };
    Answer { question: "Was the checkpoint written before the work?", holds, answer }
}

fn files(announced: &[String], touched: &[String]) -> Answer {
    let patterns: Vec<PathPattern> =
        announced.iter().filter_map(|file| PathPattern::new(file).ok()).collect();
    let matched = |pattern: &PathPattern| {
        touched.iter().any(|file| RepoPath::new(file).is_ok_and(|path| pattern.matches(&path)))
    };
    let extra: Vec<&str> = touched
        .iter()
        .filter(|file| !RepoPath::new(file).is_ok_and(|path| inside(&path, &patterns)))
        .map(String::as_str)
        .collect();
    let unused: Vec<String> =
        patterns.iter().filter(|pattern| !matched(pattern)).map(ToString::to_string).collect();
    let mut answer = format!("{} files touched", touched.len());
    if !extra.is_empty() {
        answer.push_str(&format!("; announced by an earlier checkpoint only: {}", extra.join(", ")));
    }
    if !unused.is_empty() {
        answer.push_str(&format!("; announced but not touched: {}", unused.join(", ")));
    }
    Answer {
        question: "Does the work match what was announced?",
        holds: extra.is_empty() && unused.is_empty(),
        answer,
    }
}

fn validation(body: &Body) -> Answer {
    let question = "Was the validation run as planned?";
    let Some(submission) = &body.submission else {
        return Answer { question, holds: false, answer: "nothing was submitted".to_owned() };
    };
    let Validation { command, expect, exit, output_matched, duration_ms, log, .. } = &submission.validation;
    let (at, expect) = (submission.commit.short(), expect.trim());
    let exit = exit.map_or("none".to_owned(), |code| code.to_string());
    let has = if *output_matched { "contains" } else { "lacks" };
    let answer = format!(
        "liza ran `{command}` at {at}: exit {exit}, output {has} `{expect}` ({duration_ms} ms, {log})"
    );
    Answer { question, holds: submission.validation.passed(), answer }
}

fn assumptions(body: &Body) -> Answer {
    let question = "Were the assumptions valid?";
    let made = assumptions_of_checkpoint(body);
    let judged = body.submission.as_ref().map(|submission| &submission.commit);
    let last = body.reviews.last().filter(|review| Some(&review.commit) == judged);
    if let Some(review) = last.filter(|review| !review.assumptions.is_empty()) {
        let answers_given =
            review.assumptions.iter().map(|one| format!("{}: {}", one.answer.as_str(), one.assumption));
        let answer =
            format!("{} answered: {}", review.reviewer, answers_given.collect::<Vec<_>>().join("; "));
        let holds = review.assumptions.iter().all(|one| one.answer != Held::Violated);
        return Answer { question, holds, answer };
    }
    let critical = made.iter().filter(|assumption| assumption.critical).count();
    let answer = if made.is_empty() {
        "none were made".to_owned()
    } else {
        let describe = |made: &Assumption| match made.critical {
            true => format!("[critical] {}", made.text),
            false => made.text.clone(),
        };
        format!("judge each: {}", made.iter().map(describe).collect::<Vec<_>>().join("; "))
    };
    Answer { question, holds: critical == 0, answer }
}
