//! Texts of nudges to agents and questions to people: the observation, the advice, and the command.

use super::detection::Detection;
use crate::policy::prelude::*;

/// The agent's task for a command; an agent may have none.
fn task(detection: &Detection) -> &str {
    detection.task.as_ref().map_or("TASK", |task| task.as_str())
}

/// How the agent asks for help: a reviewer by its verdict, the holder of a task by blocking it, others by a note.
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

/// How the agent hands over its work, so that another agent can continue it.
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
        Behaviour::Stagnation => "You have used many tokens without progress",
        Behaviour::TokenExhaustion => "Your tokens are nearly used up",
        Behaviour::Timeout => "Your time is nearly over",
        Behaviour::Oscillation => "You go back and forth between the same states",
        Behaviour::ScopeCreep => "You change more and more files that your task does not name",
        Behaviour::Reported => "Another agent or a person reports that you are on the wrong track",
    }
}

fn advice(detection: &Detection) -> String {
    let lines: &[&str] = match detection.behaviour {
        Behaviour::InfiniteLoop => &[
            "Do not make that call once more: its answer will be the same.",
            "Write down what you expected of the call and what you got, and choose another way.",
            "If there is no other way, ask: {ask}",
        ],
        Behaviour::RepeatedFailures => &[
            "Read the first of the errors to its end before you change anything.",
            "Check your assumptions; go back to the last state that worked (`git log`, `git diff`).",
            "If the cause is outside your task, ask: {ask}",
        ],
        Behaviour::Stagnation if detection.role.judges() => &[
            "Write down what you found so far, also if it is little.",
            "Give your verdict (`liza review approve {task} …`, `liza review reject {task} …`), or ask: {ask}",
        ],
        Behaviour::Stagnation => &[
            "Take the smallest step that changes something, and commit it.",
            "If you are still reading up, say what you are looking for, and stop reading when you have it.",
            "If you lack something, ask: {ask}",
        ],
        Behaviour::TokenExhaustion | Behaviour::Timeout => &[
            "Start nothing new. Commit your work.",
            "Finish work that is nearly finished, else hand it over: {hand_over}",
        ],
        Behaviour::Oscillation => &[
            "You had both states before and kept neither: write down what each of them lacks.",
            "Look for a third state that lacks neither, or choose one and say why.",
            "If two demands contradict each other, ask which one applies: {ask}",
        ],
        Behaviour::ScopeCreep => &[
            "Undo changes that the task does not need; submit refuses them anyway.",
            "If it is needed, announce it: `liza task checkpoint {task} … --file PATH`; if it is other work, leave it: \
             `liza discover \"…\" --task {task} --severity minor --urgency deferred`",
            "If the scope is wrong, ask: {ask}",
        ],
        Behaviour::Reported => &["If you disagree, ask: {ask}"],
    };
    let list: String = lines.iter().map(|line| format!("- {line}\n")).collect();
    let list = list.replace("{ask}", &ask(detection)).replace("{hand_over}", &hand_over(detection));
    list.replace("{task}", task(detection))
}

/// The caller adds the evidence that is recorded.
pub fn nudge(detection: &Detection) -> String {
    format!("{}. What helps:\n{}", name(detection.behaviour), advice(detection))
}

pub fn halt(detection: &Detection) -> String {
    let after = if detection.behaviour.is_exhaustion() {
        "Your work is kept, and another agent continues it."
    } else {
        "Your work is kept. Liza informs the planner, which decides how the task continues."
    };
    format!("You are stopped. {}. {after}", name(detection.behaviour))
}
