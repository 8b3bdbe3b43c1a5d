//! The four questions a reviewer asks of a checkpoint, answered by what liza itself saw.

use serde::Serialize;

use crate::board::history::Event;
use crate::board::rules::current_checkpoint;
use crate::board::task::Body;
use crate::board::{PathPattern, RepoPath, inside};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    pub question: &'static str,
    pub holds: bool,
    pub answer: String,
}

/// Whether the work matches what was announced. A task without a submission gives no answers.
pub fn answers(body: &Body) -> Vec<Answer> {
    let (Some(submission), Some(checkpoint)) = (&body.submission, current_checkpoint(body)) else {
        return Vec::new();
    };
    vec![
        before_work(body),
        files(&checkpoint.files_to_modify, &submission.files),
        validation(body),
        assumptions(body),
    ]
}

fn before_work(body: &Body) -> Answer {
    let written = body.history.iter().rev().find(|line| line.event == Event::PreExecutionCheckpoint);
    let handout = body.attempt().and_then(|attempt| attempt.handout.as_ref());
    let (holds, answer) = match (written, handout) {
        (Some(line), Some(handout)) => (
            true,
            format!(
                "written {} while the worktree was as handed out (head {})",
                line.time,
                handout.head.short()
            ),
        ),
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
    match &body.submission {
        Some(submission) => {
            let ran = &submission.validation;
            Answer {
                question,
                holds: ran.passed(),
                answer: format!(
                    "liza ran `{}` at {}: exit {}, output {} `{}` ({} ms, {})",
                    ran.command,
                    submission.commit.short(),
                    ran.exit.map_or("none".to_owned(), |code| code.to_string()),
                    if ran.output_matched { "contains" } else { "lacks" },
                    ran.expect.trim(),
                    ran.duration_ms,
                    ran.log
                ),
            }
        }
        None => Answer { question, holds: false, answer: "nothing was submitted".to_owned() },
    }
}

fn assumptions(body: &Body) -> Answer {
    let made =
        current_checkpoint(body).map(|checkpoint| checkpoint.assumptions.as_slice()).unwrap_or_default();
    let critical = made.iter().filter(|assumption| assumption.critical).count();
    let answer = if made.is_empty() {
        "none were made".to_owned()
    } else {
        let list: Vec<String> = made
            .iter()
            .map(|assumption| {
                if assumption.critical {
                    format!("[critical] {}", assumption.text)
                } else {
                    assumption.text.clone()
                }
            })
            .collect();
        format!("judge each: {}", list.join("; "))
    };
    Answer { question: "Were the assumptions valid?", holds: critical == 0, answer }
}
