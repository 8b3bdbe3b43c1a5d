//! What a run does for a goal that was routed: it accepts the plans of workstreams, seats agents as work for their roles comes up, up to
//! the window, hands a single job that failed to the planner, and asks the auditor before it says that all is done.

use super::super::prelude::*;
use super::super::runner::said;
use super::{Outcome, TeamRun, seat_assignment};
use crate::board::route::{Estimate, Route, Way};
use crate::board::rules::{RecordRoute, dependency_met};
use crate::flow::streams::{self, Decided};
use crate::policy::audit::{self, Step};
use crate::policy::run::{Cause, CauseKind};
use crate::policy::schedule::is_claimable;

/// The roles that are seated on demand, beside those of the team.
const ON_DEMAND: [&str; 5] = ["supervisor", "operator", "auditor", "coder", "test_engineer"];

#[derive(Debug, Default)]
pub(super) struct Demand {
    provider: Option<String>,
    /// Roles for which no agent could be started.
    without: BTreeSet<Role>,
}

impl Demand {
    pub(super) fn new(provider: Option<String>) -> Self {
        Self { provider, without: BTreeSet::new() }
    }
}

impl TeamRun<'_> {
    /// Sees to what a route asks for beside work on tasks. Says whether the board has changed by it.
    pub(super) fn see_to_route(&mut self, board: &Board) -> bool {
        if self.team.only.is_some() || self.ctx.store.switches().is_ok_and(|all| all.global().is_some()) {
            return false;
        }
        let mut changed = false;
        for plan in streams::waiting_plans(board) {
            changed |= self.decide_plan(&plan);
        }
        if let Some(audit) = audit::unrecorded(board) {
            changed |= self.record_audit(&audit.id);
        }
        changed |= board.route().is_some_and(|route| self.reroute(board, route));
        let has_streams = board.rest.workstreams.iter().any(|stream| stream.of_goal == board.rest.goal.id);
        if !changed && (has_streams || board.route().is_some()) {
            // The rules know a new seat only by a board that has it.
            changed = self.seat_on_demand(board);
        }
        changed
    }

    /// A plan whose tasks are accepted starts work at once, whatever other supervisors are at.
    fn decide_plan(&mut self, plan: &TaskId) -> bool {
        match streams::decide(self.ctx, plan) {
            Ok(Decided::Accepted { task, tasks }) => {
                let text = format!("its plan is accepted: {}", names(&tasks));
                self.tell(Event::new(Kind::Approved, text).task(&task));
                true
            }
            Ok(Decided::SentBack { task, findings }) => {
                self.tell(Event::new(Kind::Rejected, findings.join("; ")).task(&task));
                true
            }
            Err(failure) => {
                self.remark(Event::notice(said(&failure)).task(plan));
                false
            }
        }
    }

    fn record_audit(&mut self, audit: &TaskId) -> bool {
        match streams::record_audit(self.ctx, audit) {
            Ok(done) => {
                let probes = match done.probes.is_empty() {
                    true => String::new(),
                    false => format!("; probes: {}", names(&done.probes)),
                };
                let text = format!("audit round {}: {}{probes}", done.round, done.verdict.as_str());
                self.tell(Event::notice(text).task(audit));
                true
            }
            Err(failure) => {
                self.remark(Event::notice(said(&failure)).task(audit));
                false
            }
        }
    }

    /// Nothing else is left to do: whether an auditor has to look first, or a person has to decide.
    pub(super) fn before_complete(&mut self, board: &Board) -> Option<Outcome> {
        if self.team.only.is_some() {
            return Some(Outcome::Complete);
        }
        let config = match self.ctx.project_config() {
            Ok(config) => config.audit,
            Err(failure) => {
                self.tell_once(Kind::Notice, said(&failure));
                return None;
            }
        };
        if let Some(audit) = audit::unrecorded(board) {
            // Another audit would not be recorded either: this one comes first.
            let recorded = streams::record_audit(self.ctx, &audit.id);
            return recorded.err().map(|failure| Outcome::Stuck(vec![super::for_a_person(&failure)]));
        }
        match audit::next_step(board, &config) {
            Step::Nothing => Some(Outcome::Complete),
            Step::Ask { round } => {
                if let Err(failure) = streams::ask_auditor(self.ctx, board, round) {
                    return Some(Outcome::Stuck(vec![super::for_a_person(&failure)]));
                }
                None
            }
            Step::Exhausted { rounds, verdict } => {
                let goal = &board.rest.goal.id;
                let last = board.route().and_then(|route| route.audits.last());
                let task = last.map(|audit| audit.task.to_string()).unwrap_or_default();
                Some(Outcome::Stuck(vec![Cause {
                    task: Some(task.clone()),
                    kind: CauseKind::Person,
                    why: format!(
                        "the auditor said {} in round {rounds} of {rounds} for {goal}",
                        verdict.as_str()
                    ),
                    hint: format!(
                        "`liza result show {task}` has the findings; `liza deliver --unaudited \"REASON\"` delivers it all the same, `liza goal abandon {goal} --reason …` gives it up"
                    ),
                }]))
            }
        }
    }

    /// A single job that failed is too large for one agent: the goal goes to the planner.
    fn reroute(&mut self, board: &Board, route: &Route) -> bool {
        let failed = |id: &TaskId| board.task(id).filter(|task| task.status == Status::Blocked).is_some();
        let Some(job) = route.task.as_ref().filter(|id| route.route == Way::Single && failed(id)) else {
            return false;
        };
        let record = RecordRoute {
            ssot_id: route.ssot_id.clone(),
            goal: route.goal.clone(),
            task: Some(job.clone()),
            job: None,
            estimate: route.t_max_s.map(|t_max_s| Estimate {
                t_max_s,
                t_why: route.t_why.clone(),
                tiny: true,
                clear: true,
                risk: route.risk,
            }),
            unknown: Some(route.t_why.clone()),
            mode: route.mode,
            risk: Some(route.risk),
            force: Some(Way::Multi),
            after: Some(format!("the single job {job} ended BLOCKED")),
            once: true,
        };
        match self.ctx.commit_as_liza(record) {
            Ok(_) => {
                self.tell(Event::notice(format!(
                    "{job} failed as a single job; the planner takes it from here"
                )));
                true
            }
            Err(error) => {
                self.remark(Event::notice(said(&error.into())));
                false
            }
        }
    }

    /// Every role has as many seats as there is work for it, within the window.
    fn seat_on_demand(&mut self, board: &Board) -> bool {
        let mut seated_more = false;
        let Ok(world) = self.ctx.store.surroundings(board) else { return false };
        let roles = ON_DEMAND.iter().filter_map(|name| Role::new(name).ok());
        for role in roles {
            if self.team.people.contains(&role) || self.demand.without.contains(&role) {
                continue;
            }
            let wanted = |task: &&Task| {
                let waits = || task.depends_on.iter().any(|id| !dependency_met(board, &world, id));
                task.role == role && is_claimable(task) && (task.status != Status::Idle || !waits())
            };
            let wanted = board.tasks.iter().filter(wanted).count().min(self.team.window);
            // One that has stopped is replaced once: what stops the next one, too, is not the agent.
            let seats = || self.team.seats.iter().filter(|seat| seat.role == role);
            let out = seats().filter(|seat| self.team.out.contains_key(&seat.agent)).count();
            let seated = seats().count() - out.min(1);
            if wanted <= seated {
                continue;
            }
            match self.seat(&role, wanted - seated) {
                Ok(()) => seated_more = true,
                Err(failure) => {
                    self.tell(Event::notice(format!("no {role} can be started: {}", said(&failure))));
                    self.demand.without.insert(role);
                }
            }
        }
        seated_more
    }

    fn seat(&mut self, role: &Role, count: usize) -> Result<(), Failure> {
        let member = TeamMember {
            role: role.clone(),
            count: u32::try_from(count).unwrap_or(u32::MAX),
            provider: None,
        };
        let provider = seat_assignment::provider_of(self.ctx, &member, self.demand.provider.as_deref())?;
        let taken = self.team.seats.iter().map(|seat| seat.agent.clone()).collect();
        for (seat, provider) in seat_assignment::seat_more(self.ctx, &member, provider, taken)? {
            self.providers.insert(seat.agent.clone(), provider);
            self.team.seats.push(seat);
        }
        Ok(())
    }
}

fn names(tasks: &[TaskId]) -> String {
    tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")
}
