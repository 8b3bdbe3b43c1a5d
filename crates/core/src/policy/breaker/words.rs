//! The meaning of a trip for a person, and the possible decisions.

use crate::policy::prelude::*;

/// The meaning of the pattern, in one or two sentences.
pub fn meaning(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::RetryCluster => {
            "Agents on different tasks run into the same error again and again. It is probably not in their work but in what they share: a tool, the environment, the integration branch."
        }
        Pattern::DebtAccumulation => {
            "Agents record more debt than they merge tasks. Each trade-off may be right; all of them together slow down later work."
        }
        Pattern::AssumptionCascade => {
            "Several tasks rested on the same assumption, and it is wrong. Other tasks that were planned on it are wrong as well."
        }
        Pattern::WorkaroundPattern => {
            "The same cause is worked around on several tasks. Fixing it once is cheaper than living with it everywhere."
        }
        Pattern::SpecGapCluster => {
            "Several tasks need something that one specification does not say, or says in two ways. Agents that go on will guess, each in its own way."
        }
        Pattern::ExternalOutage => {
            "Several agents report that the same service does not work. Agents that go on fail for a reason that no task can fix."
        }
        Pattern::PlanningChurn => {
            "Tasks are split or replanned instead of done. The goal, or how it was split, is probably not clear enough to work on."
        }
        Pattern::BlockedReplacementChain => {
            "A task was blocked and replaced, and a replacement is blocked again. Replanning did not remove the obstacle."
        }
        Pattern::CrashLoop => {
            "The commands of several agents end badly one after the other, on different tasks. What they share is broken: the provider, its key, the network, the disk."
        }
        Pattern::SameFailure => {
            "Work on different tasks is rejected, or its gates are red, for the same reason, and it is not fixed yet. Liza saw this itself. The reason is probably not in any of the tasks."
        }
    }
}

/// The setting of `breaker:` in liza.yaml that defines the threshold.
pub fn threshold(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::RetryCluster => "retry_tasks",
        Pattern::DebtAccumulation => "debt_records",
        Pattern::AssumptionCascade => "assumption_tasks",
        Pattern::WorkaroundPattern => "workaround_tasks",
        Pattern::SpecGapCluster => "spec_gap_tasks",
        Pattern::ExternalOutage => "outage_agents",
        Pattern::PlanningChurn => "churn_superseded",
        Pattern::BlockedReplacementChain => "chain_depth",
        Pattern::CrashLoop => "crash_count",
        Pattern::SameFailure => "failure_tasks",
    }
}

/// The possible decisions of a person, each with its command. They quote no text of agents.
pub fn decisions(trip: &Trip, board: &Board) -> Vec<String> {
    let id = &trip.id;
    // Ended or archived tasks need no decision.
    let is_open = |task: &&TaskId| board.task(task).is_some_and(|task| !task.status.is_terminal());
    let open = trip.evidence.iter().filter_map(|record| record.task_id.as_ref()).find(is_open);
    let task = open.map_or("TASK".to_owned(), ToString::to_string);
    let about = open.map_or(String::new(), |task| format!(" --task {task}"));
    let over = if trip.response == Response::Warning { "" } else { ", then `liza resume`" };
    let mut all = vec![match trip.pattern {
        Pattern::ExternalOutage => "wait until the service is back".to_owned(),
        Pattern::CrashLoop => "fix what the agents share (`liza doctor` looks at the machine; `liza agent log AGENT` shows what one of them did)".to_owned(),
        Pattern::RetryCluster | Pattern::SameFailure | Pattern::WorkaroundPattern => {
            "fix the cause in a task of its own: `liza task add --title … --spec … --done … --in … --finalize`".to_owned()
        }
        Pattern::SpecGapCluster => {
            "fix the specification, then announce the change: `liza spec-change … --spec FILE`".to_owned()
        }
        Pattern::AssumptionCascade => {
            format!("tell the planner the correct assumption: `liza note …{about}`, and check other tasks that rest on it")
        }
        Pattern::DebtAccumulation => "plan tasks for the debts, or decide that they may stay: `liza inbox` lists them".to_owned(),
        Pattern::PlanningChurn => "make the goal clearer (`liza note …` reaches the planner) before any task is split again".to_owned(),
        Pattern::BlockedReplacementChain => {
            format!("answer its questions instead of splitting it again: `liza task unblock {task} --answer …`")
        }
    }];
    let may_be_cut =
        matches!(trip.pattern, Pattern::SameFailure | Pattern::RetryCluster | Pattern::AssumptionCascade);
    if may_be_cut && open.is_some() {
        all.push(format!("split or replan the work: `liza task rescope {task} --into FILE --reason …`"));
    }
    all.push(format!("it is fixed: `liza breaker resolve {id} --note …`{over}"));
    let when = format!("`breaker.{}` in liza.yaml says when it trips", threshold(trip.pattern));
    all.push(format!("it was no pattern: `liza breaker resolve {id} --note …`{over}; {when}"));
    all.push("stop everything: `liza abort --reason …`".to_owned());
    all
}

/// The text of the switch that a trip sets; it begins with the trip's id.
pub fn reason(trip: &Trip) -> String {
    // A part of it is text of agents, and people read the file on a terminal.
    let summary = shown_line(&trip.summary);
    let (id, pattern, summary) = (&trip.id, trip.pattern.as_str(), clipped(&summary, 200));
    format!(
        "breaker {id} ({pattern}): {summary}; `liza breaker status`, then `liza breaker resolve {id} --note …` and `liza resume`"
    )
}
