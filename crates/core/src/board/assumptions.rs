//! The answers to the assumptions of a checkpoint: a reviewer answers each, so that none is overlooked.

use super::checklist::ItemName;
use super::history::Assumption;
use super::prelude::*;
use super::refusal::{Code, Refusal};

words! {
    pub enum Held {
        Held = "held",
        Violated = "violated",
        /// The reviewer could not check the assumption; a note says why.
        NotChecked = "not_checked",
    }
}

named_by!(Held);

record! {
    /// An answer as a reviewer gives it.
    #[derive(Eq)]
    pub struct GivenAssumption {
        /// The number of the assumption in `review show`, or its text.
        #[serde(alias = "item", alias = "n")]
        pub assumption: ItemName,
        #[serde(alias = "status")]
        pub answer: Held,
        #[serde(alias = "reason")]
        pub note: Option<String>,
    }

    /// An answer as the board stores it.
    #[derive(Eq)]
    pub struct AnsweredAssumption {
        pub assumption: String,
        pub critical: bool,
        pub answer: Held,
        pub note: Option<String>,
    }
}

/// The given answers in the order of the assumptions; refuses an answer that names no assumption, repeats one, or lacks
/// its reason.
pub fn matched(
    made: &[Assumption],
    given: &[GivenAssumption],
) -> Result<Vec<Option<AnsweredAssumption>>, Refusal> {
    let texts: Vec<String> = made.iter().map(|one| one.text.clone()).collect();
    let mut all: Vec<Option<AnsweredAssumption>> = vec![None; made.len()];
    for answer in given {
        let Some(at) = answer.assumption.position(&texts) else {
            let most = made.len();
            let there = if most == 0 { "it has none".to_owned() } else { format!("they are 1 to {most}") };
            return Err(refusal!(
                Code::UnknownRecord,
                "the checkpoint has no assumption `{}`: {there}",
                answer.assumption
            )
            .hint("`liza review show` lists them with their numbers"));
        };
        if all[at].is_some() {
            return Err(refusal!(Code::Value, "assumption {} is answered twice", at + 1)
                .hint("give one answer to each"));
        }
        let note = answer.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
        if answer.answer == Held::NotChecked && note.is_none() {
            return Err(refusal!(
                Code::FeedbackIncomplete,
                "assumption {} is answered not_checked without a reason: {}",
                at + 1,
                texts[at]
            )
            .hint(format!("--assumption \"{}=not_checked: why it could not be checked\"", at + 1)));
        }
        all[at] = Some(AnsweredAssumption {
            assumption: texts[at].clone(),
            critical: made[at].critical,
            answer: answer.answer,
            note: note.map(str::to_owned),
        });
    }
    Ok(all)
}

/// Refuses unless every assumption has an answer.
pub fn check_whole(
    made: &[Assumption],
    given: &[GivenAssumption],
) -> Result<Vec<AnsweredAssumption>, Refusal> {
    let found = matched(made, given)?;
    let open: Vec<usize> = (0..made.len()).filter(|at| found[*at].is_none()).collect();
    if open.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    let named: Vec<String> = open.iter().map(|at| format!("{}. {}", at + 1, made[*at].text)).collect();
    let flags: Vec<String> = open.iter().map(|at| format!("--assumption \"{}=held\"", at + 1)).collect();
    Err(refusal!(
        Code::FeedbackIncomplete,
        "the verdict says nothing about these assumptions of the coder: {}",
        named.join("; ")
    )
    .hint(format!(
        "check each and add your answers: {} (or =violated, or \"=not_checked: why\")",
        flags.join(" ")
    ))
    .detail("assumptions", open.iter().map(|at| at + 1).collect::<Vec<_>>()))
}

/// The critical assumptions that were violated: the work rests on them.
pub fn violated_critical(answers: &[AnsweredAssumption]) -> Vec<String> {
    let violated = |found: &&AnsweredAssumption| found.critical && found.answer == Held::Violated;
    answers.iter().filter(violated).map(|found| found.assumption.clone()).collect()
}
