//! What the auditor said of a goal, on record with its route, and what a person delivers without it.

use super::AddTasks;
use super::prelude::*;

/// So much of one finding is on the board; the result has it whole.
const LONGEST_FINDING: usize = 1000;
/// So many findings are.
const MOST_FINDINGS: usize = 20;

logged! {
    pub struct RecordAudit {
        /// The auditor's task, which has ended.
        pub task: TaskId,
        pub verdict: AuditVerdict,
        pub findings: Vec<String>,
        pub evidence_requests: Vec<String>,
        /// The head of integration that the auditor saw; without one, the present head.
        pub head: Option<CommitId>,
        /// Probes that bring the evidence the auditor asks for, added in the same commit.
        pub probes: Option<AddTasks>,
    }
}

outcome!(Audited { goal: String, task: TaskId, round: u32, verdict: AuditVerdict, probes: Vec<TaskId> });

impl Verb for RecordAudit {
    const OPERATION: Option<Operation> = None;
    type Outcome = Audited;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        if !call.by.is_liza() {
            human_only(call, "record an audit")?;
        }
        let task = find(board, &self.task)?;
        if task.role != Role::auditor() || task.kind != Kind::Report || task.status != Status::Merged {
            return Err(wrong_state(task, "recorded as an audit", next_step(task)));
        }
        let goal = board.goal_of(task);
        let Some(route) = board.route_of_goal(goal) else {
            return Err(refusal!(Code::Transition, "{goal} was not routed, so it has no audit"));
        };
        if route.audits.iter().any(|audit| audit.task == self.task) {
            return Err(refusal!(Code::Transition, "the audit `{}` is on record already", self.task));
        }
        self.probes.as_ref().map_or(Ok(()), |probes| Verb::check(probes, board, call))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let probes = self.probes.as_ref().map(|probes| probes.change(board, call).tasks).unwrap_or_default();
        let goal = board.task(&self.task).map(|task| board.goal_of(task).to_owned()).unwrap_or_default();
        let head = self.head.clone().or_else(|| board.rest.integration.head.clone());
        let kept = |texts: &[String]| -> Vec<String> {
            let short = |text: &String| crate::text::clipped(text, LONGEST_FINDING).into_owned();
            texts.iter().take(MOST_FINDINGS).map(short).collect()
        };
        let mut round = 1;
        let routes = &mut board.rest.routes;
        if let Some(route) = routes.iter_mut().rfind(|route| route.goal.as_deref() == Some(goal.as_str())) {
            round = route.rounds_used() + 1;
            route.audits.push(Audit {
                round,
                task: self.task.clone(),
                verdict: self.verdict,
                head,
                findings: kept(&self.findings),
                evidence_requests: kept(&self.evidence_requests),
                time: call.now.wall,
            });
        }
        Audited { goal, task: self.task.clone(), round, verdict: self.verdict, probes }
    }

    fn needs(&self, board: &Board) -> Needs {
        self.probes.as_ref().map_or(Needs::Nothing, |probes| Verb::needs(probes, board))
    }

    fn asks_archive(&self, board: &Board) -> Vec<TaskId> {
        self.probes.as_ref().map(|probes| Verb::asks_archive(probes, board)).unwrap_or_default()
    }
}

logged! {
    /// A person delivers what no auditor has approved.
    pub struct WaiveAudit {
        pub reason: String,
        /// It covers the audits there were, by their number; older records go by the time.
        pub counted: bool,
    }
}

outcome!(AuditWaived { goals: Vec<String>, reason: String });

impl Verb for WaiveAudit {
    const OPERATION: Option<Operation> = None;
    type Outcome = AuditWaived;

    fn check(&self, _: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "deliver what no auditor has approved")?;
        text_given("--unaudited", &self.reason)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let goals: Vec<String> = board.unaudited().iter().filter_map(|route| route.goal.clone()).collect();
        let (by, time) = (call.by.id(), call.now.wall);
        let waiver = Waiver { reason: self.reason.clone(), by, time, audits: None };
        for goal in &goals {
            let of_goal = |route: &&mut Route| route.goal.as_ref() == Some(goal);
            if let Some(route) = board.rest.routes.iter_mut().rfind(of_goal) {
                let audits = self.counted.then_some(route.audits.len() as u64);
                route.waived = Some(Waiver { audits, ..waiver.clone() });
            }
        }
        AuditWaived { goals, reason: self.reason.clone() }
    }
}

/// Whether everything that was routed may be delivered.
pub fn check_audited(board: &Board, call: &Call) -> Result<(), Refusal> {
    let open = board.unaudited();
    match open.first().filter(|_| call.guards.on(Guard::Audit)) {
        Some(route) => Err(unaudited(route, "may not be delivered yet")),
        None => Ok(()),
    }
}

/// Whether the current goal may be called complete: no auditor is needed, one has approved, or a person delivered it without.
pub fn check_goal_audited(board: &Board, call: &Call) -> Result<(), Refusal> {
    let open = board.route().filter(|route| !board.may_be_delivered(&board.rest.goal, route));
    match open.filter(|_| call.guards.on(Guard::Audit)) {
        Some(route) => Err(unaudited(route, "is not complete")),
        None => Ok(()),
    }
}

fn unaudited(route: &Route, may_not: &str) -> Refusal {
    let goal = route.goal.as_deref().unwrap_or_default();
    let what = match route.audits.last() {
        None => "no auditor has reviewed it".to_owned(),
        Some(audit) if audit.verdict == AuditVerdict::Approve => {
            format!("integration has changed since the auditor approved it ({})", audit.task)
        }
        Some(audit) => format!("the auditor said {} ({})", audit.verdict.as_str(), audit.task),
    };
    refusal!(Code::Unaudited, "{goal} {may_not}: {what}")
        .hint("`liza run` goes on with it; a person may deliver it all the same: `liza deliver --unaudited \"REASON\"`")
        .detail("goal", goal)
}
