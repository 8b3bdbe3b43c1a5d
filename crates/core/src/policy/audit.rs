//! The audit of a routed goal: when the auditor starts, what it has to judge, and when a person has to decide.

use super::prelude::*;
use crate::board::goals::GOAL_SPEC;
use crate::board::route::AuditVerdict;
use crate::board::slice::SliceKind;
use crate::board::task::Kind;
use crate::text::clipped;

/// More than this is never asked for.
pub const MOST_ROUNDS: u32 = 5;
/// Of one audit, so many probes are made.
const MOST_PROBES: usize = 8;
/// Minutes of an audit, and of a probe for one.
const AUDIT_MINUTES: u32 = 10;
const PROBE_MINUTES: u32 = 6;
const LONGEST_TITLE: usize = 120;
/// So much of what an auditor asks for is in the probe; the result has it whole.
const LONGEST_REQUEST: usize = 4000;

settings! {
    #[derive(Eq)]
    pub struct AuditConfig {
        /// How many rounds of audit a goal has at most, 1 to 5; then a person decides.
        pub max_rounds: u32 = MOST_ROUNDS,
    }
}

/// What an audit asks of the run, once nothing else is left to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it is complete.
    Nothing,
    /// An auditor looks at the whole.
    Ask { round: u32 },
    /// Every round was used, and there is no approval.
    Exhausted { rounds: u32, verdict: AuditVerdict },
}

/// What is left to do about the audit of the current goal.
pub fn next_step(board: &Board, config: &AuditConfig) -> Step {
    let Some(route) = board.route().filter(|route| route.is_audited()) else { return Step::Nothing };
    if route.is_approved_at(board.rest.integration.head.as_ref()) || route.is_waived() {
        return Step::Nothing;
    }
    let used = route.rounds_used();
    let most = config.max_rounds.clamp(1, MOST_ROUNDS);
    match route.last_verdict() {
        Some(verdict) if used >= most => Step::Exhausted { rounds: used, verdict },
        _ => Step::Ask { round: used + 1 },
    }
}

/// An audit that has ended, and is not on record with its goal.
pub fn unrecorded(board: &Board) -> Option<&Task> {
    let route = board.route()?;
    let known = |task: &Task| route.audits.iter().any(|audit| audit.task == task.id);
    let ended = |task: &&Task| {
        task.kind == Kind::Report
            && task.role == Role::auditor()
            && task.status == Status::Merged
            && board.is_planned_for_goal(task)
            && !known(task)
    };
    board.tasks.iter().find(ended)
}

/// The task of an auditor: to judge everything that was done for the goal.
pub fn audit_task(board: &Board, round: u32) -> NewTask {
    let goal = &board.rest.goal;
    let former = board.route().map(|route| route.audits.as_slice()).unwrap_or_default();
    let mut description = format!(
        "Review everything that was merged for this goal, as a whole: is it correct, is the evidence good, what is the risk? Goal: {}\n\
         Work for it: {}",
        goal.description,
        merged(board).join(", ")
    );
    for audit in former {
        description.push_str(&format!(
            "\nRound {}: {}. Findings: {}. Asked for: {}",
            audit.round,
            audit.verdict.as_str(),
            audit.findings.join("; "),
            audit.evidence_requests.join("; ")
        ));
    }
    let number = former.len() + 1;
    NewTask {
        title: format!("Audit of {}, round {round}", goal.id),
        description,
        spec_ref: Some(GOAL_SPEC.to_owned()),
        done_when: vec![
            "the verdict is APPROVE, BLOCK or NEEDS_EVIDENCE, and each finding names its evidence".to_owned(),
        ],
        kind: Kind::Report,
        role: Role::auditor(),
        slice_kind: Some(SliceKind::Review),
        depends_on: former.last().map(|audit| probes_of(board, &audit.task)).unwrap_or_default(),
        priority: 10,
        timebox_minutes: Some(AUDIT_MINUTES),
        ..NewTask::blank(free_id(board, &format!("audit-{}", goal.id), number))
    }
}

/// What was merged for the current goal.
fn merged(board: &Board) -> Vec<String> {
    let of_goal = board.tasks.iter().filter(|task| board.is_planned_for_goal(task));
    of_goal.filter(|task| task.status == Status::Merged).map(|task| task.id.to_string()).collect()
}

fn probes_of(board: &Board, audit: &TaskId) -> Vec<TaskId> {
    let begins = format!("{audit}-probe-");
    let probes = board.tasks.iter().filter(|task| task.id.as_str().starts_with(&begins));
    probes.filter(|task| task.status == Status::Merged).map(|task| task.id.clone()).collect()
}

/// One probe of an operator for each thing that the auditor asked for.
pub fn probes(board: &Board, audit: &TaskId, requests: &[String]) -> Vec<NewTask> {
    let short = |text: &String| clipped(text, LONGEST_REQUEST).into_owned();
    let requests: Vec<String> = requests.iter().take(MOST_PROBES).map(short).collect();
    let probe = |(number, request): (usize, &String)| NewTask {
        title: clipped(&format!("Evidence: {}", request.replace('\n', " ")), LONGEST_TITLE).into_owned(),
        description: format!("The auditor ({audit}) needs this before it decides: {request}"),
        spec_ref: Some(GOAL_SPEC.to_owned()),
        done_when: vec![format!("commands, exit codes and findings that answer: {request}")],
        kind: Kind::Report,
        role: Role::operator(),
        slice_kind: Some(SliceKind::Probe),
        priority: 10,
        timebox_minutes: Some(PROBE_MINUTES),
        ..NewTask::blank(free_id(board, &format!("{audit}-probe"), number + 1))
    };
    requests.iter().enumerate().map(probe).collect()
}

/// `STEM-NUMBER`, or with the next number that no task of the board has.
fn free_id(board: &Board, stem: &str, number: usize) -> TaskId {
    let ids = (number..).filter_map(|number| TaskId::new(&format!("{stem}-{number}")).ok());
    ids.into_iter()
        .find(|id| board.task_alike(id).is_none())
        .unwrap_or_else(|| unreachable!("numbers do not end"))
}
