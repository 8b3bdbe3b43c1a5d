//! What agents are told and people are asked: what was seen, what to do now, and the command for it.

use crate::board::oversight::Behaviour;

use super::detection::Detection;
use super::question::Question;

/// What an agent calls its task in a command; it may have none.
fn task(detection: &Detection) -> &str {
    detection.task.as_ref().map_or("TASK", |task| task.as_str())
}

/// How it asks for help: a reviewer by its verdict, whoever holds work by blocking it, others by a note.
fn ask(detection: &Detection) -> String {
    let task = task(detection);
    if detection.task.is_none() {
        "`liza note \"what you need to know\"`".to_owned()
    } else if detection.role.judges() {
        format!("`liza review discuss {task} --commit SHA --reason \"…\" --question \"…\"`")
    } else {
        format!("`liza task block {task} --reason \"what you tried\" --question \"what you need to know\"`")
    }
}

/// How it puts down what it has, so that somebody else can go on.
fn hand_over(detection: &Detection) -> String {
    let task = task(detection);
    if detection.task.is_none() {
        "`liza note \"how far you came\"`".to_owned()
    } else if detection.role.judges() {
        format!("your verdict now, or `liza review release {task}`")
    } else {
        format!("`liza task handoff {task} --summary \"how far it is\" --next \"what comes next\"`")
    }
}

fn name(behaviour: Behaviour) -> &'static str {
    match behaviour {
        Behaviour::InfiniteLoop => "You do the same thing again and again",
        Behaviour::RepeatedFailures => "What you try keeps failing",
        Behaviour::Stagnation => "You have used much and nothing has come of it yet",
        Behaviour::TokenExhaustion => "Your tokens are nearly used up",
        Behaviour::Timeout => "Your time is nearly over",
        Behaviour::Oscillation => "You go back and forth between the same states",
        Behaviour::ScopeCreep => "You change more and more files that your task does not name",
        Behaviour::Reported => "Somebody says that you are on the wrong way",
    }
}

fn advice(detection: &Detection) -> Vec<String> {
    let (task, ask, hand_over) = (task(detection), ask(detection), hand_over(detection));
    match detection.behaviour {
        Behaviour::InfiniteLoop => vec![
            "Do not make that call once more: its answer will be the same.".to_owned(),
            "Write down what you expected of it, what came instead, and choose another way.".to_owned(),
            format!("If there is no other way, ask: {ask}"),
        ],
        Behaviour::RepeatedFailures => vec![
            "Read the first of the errors to its end before you change anything.".to_owned(),
            "Check what you took for granted; go back to the last state that worked (`git log`, `git diff`)."
                .to_owned(),
            format!("If the cause is outside your task, ask: {ask}"),
        ],
        Behaviour::Stagnation if detection.role.judges() => vec![
            "Write down what you found so far, also if it is little.".to_owned(),
            format!(
                "Give your verdict (`liza review approve {task} …`, `liza review reject {task} …`), or ask: {ask}"
            ),
        ],
        Behaviour::Stagnation => vec![
            "Take the smallest step that changes something, and commit it.".to_owned(),
            "If you are still reading up, say what you are looking for, and stop reading when you have it."
                .to_owned(),
            format!("If you lack something, ask: {ask}"),
        ],
        Behaviour::TokenExhaustion | Behaviour::Timeout => vec![
            "Begin nothing new. Commit what you have.".to_owned(),
            format!("Finish what is nearly finished, else leave it in order: {hand_over}"),
        ],
        Behaviour::Oscillation => vec![
            "Both states were there before and neither satisfied you: write down what each of them lacks."
                .to_owned(),
            "Look for a third one that has both, or decide for one and say why.".to_owned(),
            format!("If two demands contradict each other, ask which one holds: {ask}"),
        ],
        Behaviour::ScopeCreep => vec![
            "Undo what the task does not need; submit refuses it anyway.".to_owned(),
            format!(
                "If it is needed, announce it: `liza task checkpoint {task} … --file PATH`; if it is other work, leave it: \
                 `liza discover \"…\" --task {task} --severity minor --urgency deferred`"
            ),
            format!("If the scope is wrong, ask: {ask}"),
        ],
        Behaviour::Reported => vec![format!("If you see it otherwise, ask: {ask}")],
    }
}

fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

/// What was seen is told beside it, from the same evidence that is put on record.
pub fn nudge(detection: &Detection) -> String {
    format!("{}. What helps:\n{}", name(detection.behaviour), listed(&advice(detection)))
}

pub fn halt(detection: &Detection) -> String {
    let after = if detection.behaviour.is_exhaustion() {
        "Your work is kept, and somebody goes on with it."
    } else {
        "Your work is kept. The planner is told and decides what becomes of it."
    };
    format!("You are stopped. {}. {after}", name(detection.behaviour))
}

/// One question that is answered with yes or no, the command for both, and what follows without an answer.
pub fn question(question: &Question, nudges: Option<usize>) -> String {
    let agent = &question.agent;
    let behaviour = question.behaviour.as_str();
    let what = match &question.task {
        Some(task) => format!("Shall `{agent}` be halted and `{task}` taken from it?"),
        None => format!("Shall `{agent}` be halted?"),
    };
    let nudged = match nudges {
        None => "",
        Some(0) => " and was not nudged",
        Some(1) => " and was nudged once",
        Some(times) => &format!(" and was nudged {times} times"),
    };
    format!(
        "{what} It shows {behaviour} ({}){nudged}. Yes: `{}`. No: `{}`, or `liza resume`. {}.",
        question.seen,
        question.yes,
        question.no,
        otherwise(question)
    )
}

/// What happens without an answer.
pub fn otherwise(question: &Question) -> String {
    let (agent, due) = (&question.agent, question.due);
    if question.halts {
        format!("Without an answer `{agent}` is halted at {due} if it still does so")
    } else {
        format!(
            "Without an answer the question is asked again at {due}: `overseer.halt_on_critical` is false"
        )
    }
}
