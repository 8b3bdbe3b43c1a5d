//! Work that could go on and does not, and why: reported once for all tasks that wait for the same cause, at its root only.
//!
//! What waits for something that moves, or in a queue of busy agents, is not stalled.

use super::{alert::*, limits::*, situation::*};
use crate::board::{Agent, Code};
use crate::policy::prelude::*;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// No active agent has the role.
    Unstaffed(Role),
    /// Every agent that could claim it is refused.
    Refused(TaskId),
    /// The paths are held by a task on which no agent works.
    HeldByTask(TaskId),
    /// The task is reserved for an agent that does not claim it.
    HeldByAgent(AgentId),
    /// The task depends on one that will never be merged.
    WaitingForTask(TaskId),
    /// Agents could claim the task and do not.
    WaitingForRole(Role),
}

/// The cause, since when, and the text for it.
type Judged = (Cause, Wall, String);

/// The tasks with one common cause.
struct Group {
    tasks: Vec<String>,
    since: Wall,
    detail: String,
}

pub fn stalled(s: &Situation, report: &mut Report) {
    if s.world.switches.global().is_some() {
        return;
    }
    let (view, mut groups) = (View::new(s), BTreeMap::<Cause, Group>::new());
    let mut found: Vec<_> = view.planning(report).into_iter().collect();
    for task in &s.board.tasks {
        found.extend(view.judge(task, report).map(|judged| (task.id.to_string(), judged)));
    }
    for (name, (cause, since, detail)) in found {
        let group =
            groups.entry(cause).or_insert_with(|| Group { tasks: Vec::new(), since, detail: detail.clone() });
        group.tasks.push(name);
        if since < group.since {
            (group.since, group.detail) = (since, detail);
        }
    }
    for (cause, group) in groups {
        report.tell(alert_of(s, &cause, &group));
    }
}

fn alert_of(s: &Situation, cause: &Cause, group: &Group) -> Alert {
    let names = named(&group.tasks);
    let age = ago(s.now.wall.since(group.since));
    let detail = &group.detail;
    let (subject, why, text, hint) = match cause {
        Cause::Unstaffed(role) => (
            role.to_string(),
            "unstaffed",
            format!("no active agent has the role {role}; waiting for one: {names}"),
            format!("`liza agent register --role {role}`, and start it; or do it yourself"),
        ),
        Cause::Refused(task) => (
            task.to_string(),
            "refused",
            format!("every agent that could take {names} is refused: {detail}"),
            format!("`liza task show {task}`; register an agent that may, or split or replan the task"),
        ),
        Cause::HeldByTask(rival) => (
            rival.to_string(),
            "held",
            format!("{rival}, on which no agent works, keeps others from starting: {names} ({detail})"),
            format!("look at {rival} first: `liza task show {rival}`"),
        ),
        Cause::HeldByAgent(agent) => (
            agent.to_string(),
            "held",
            format!("reserved for {agent}, which does not claim it: {names}"),
            format!("start {agent} again, or `liza agent retire {agent}` ends the reservation"),
        ),
        Cause::WaitingForTask(task) => (
            task.to_string(),
            "waiting",
            format!("{task} will never be merged ({detail}); waiting for it: {names}"),
            "split or replan it: `liza task rescope TASK --into FILE --reason …`".to_owned(),
        ),
        Cause::WaitingForRole(role) => (
            role.to_string(),
            "waiting",
            format!("ready for a {role}, but no agent claims it: {names}; {detail}"),
            format!("check whether agents run (`liza agent list`); `liza next --role {role}` claims it"),
        ),
    };
    Alert::new(Kind::Stalled, &subject, why, format!("{why}: {text} (no progress for {age})"), hint)
}

/// The board with indexes, so that each task is checked without scanning all others.
struct View<'s, 'a> {
    s: &'s Situation<'a>,
    by_id: HashMap<&'a TaskId, &'a Task>,
    live: Vec<&'a Task>,
    /// The last action of each agent on a task.
    last_act: HashMap<&'a AgentId, Wall>,
}

impl<'s, 'a> View<'s, 'a> {
    fn new(s: &'s Situation<'a>) -> Self {
        let mut last_act: HashMap<&AgentId, Wall> =
            s.board.rest.agents.iter().map(|(id, agent)| (id, agent.registered_at)).collect();
        for entry in s.board.tasks.iter().flat_map(|task| &task.body().history) {
            let last = last_act.entry(&entry.agent).or_insert(entry.time);
            *last = (*last).max(entry.time);
        }
        Self {
            s,
            by_id: s.board.tasks.iter().map(|task| (&task.id, task)).collect(),
            live: s.board.tasks.iter().filter(|task| task.is_live(s.now)).collect(),
            last_act,
        }
    }

    /// Whether the time is long enough to report; otherwise asks for another check then.
    fn is_long(&self, since: Wall, report: &mut Report) -> bool {
        report.once_reached(self.s.age(since.max(self.s.awake_since)), STALLED_SECONDS).is_some()
    }

    /// None while the task progresses.
    fn judge(&self, task: &'a Task, report: &mut Report) -> Option<Judged> {
        let told_otherwise = matches!(task.status, Status::Draft | Status::Blocked);
        if task.status.is_terminal()
            || told_otherwise
            || task.hypothesis_exhausted()
            || self.s.is_in_flight(task)
            || self.s.is_halted(task, task.assigned_to.as_ref())
        {
            return None;
        }
        let dependencies = task.depends_on.iter().filter_map(|id| self.by_id.get(id));
        // An expired lease has its own alert; the task is stalled only if no agent claims it after that.
        let leases = [&task.lease, &task.review_lease].into_iter().flatten().map(|lease| lease.expires.at);
        let since =
            dependencies.map(|other| last_moved(other)).chain(leases).fold(last_moved(task), Wall::max);
        if !self.is_long(since, report) {
            return None;
        }
        let starts = matches!(task.status, Status::Idle | Status::Rejected | Status::IntegrationFailed);
        if starts {
            let find = |id: &TaskId| self.by_id.get(id).copied();
            let mut unmet =
                task.depends_on.iter().filter(|id| !dependency_met_by(&find, self.s.world, id)).peekable();
            if unmet.peek().is_some() {
                return unmet
                    .find_map(|id| Some((Cause::WaitingForTask(id.clone()), since, self.never(id)?)));
            }
            if let Some((rival, mine, theirs)) = path_rival(self.live.iter().copied(), task, self.s.now) {
                let since = since.max(last_moved(rival));
                let rests = !self.s.is_in_flight(rival) && self.is_long(since, report);
                let detail = format!("its path {mine} overlaps {theirs} of {} ({})", rival.id, rival.status);
                return rests.then(|| (Cause::HeldByTask(rival.id.clone()), since, detail));
            }
            if let Some(owner) = self.reserved_for(task) {
                let busy = self.works(owner);
                return (!busy).then(|| (Cause::HeldByAgent(owner.clone()), since, String::new()));
            }
        }
        self.no_agent_comes(task, since, report)
    }

    /// Why a dependency will never be met; none if it can be.
    fn never(&self, id: &TaskId) -> Option<String> {
        let status = match (self.by_id.get(id), self.s.world.archived.get(id)) {
            (Some(task), _) => task.status,
            (None, Some(archived)) => archived.status,
            (None, None) => return Some("it is not on the board".to_owned()),
        };
        (status == Status::Abandoned).then(|| status.to_string())
    }

    fn reserved_for(&self, task: &'a Task) -> Option<&'a AgentId> {
        let (owner, until) = (task.assigned_to.as_ref()?, task.reserved_until.as_ref()?);
        let there = owner.is_human() || self.s.board.agent(owner).is_some_and(|agent| agent.is_active());
        (there && !until.passed(self.s.now)).then_some(owner)
    }

    fn works(&self, agent: &AgentId) -> bool {
        self.s.board.tasks.iter().any(|task| {
            let mut leases = [&task.lease, &task.review_lease].into_iter().flatten();
            leases.any(|lease| &lease.agent == agent) && self.s.is_in_flight(task)
        })
    }

    fn active(&self, role: &Role) -> Vec<(&'a AgentId, &'a Agent)> {
        self.s.board.rest.agents.iter().filter(|(_, agent)| agent.is_active() && agent.has(role)).collect()
    }

    fn no_agent_comes(&self, task: &'a Task, since: Wall, report: &mut Report) -> Option<Judged> {
        let role = task.next_role();
        let able = self.active(&role);
        if able.is_empty() {
            return Some((Cause::Unstaffed(role), since, String::new()));
        }
        let mut refusal = None;
        let mut free: Option<(Wall, &AgentId, Wall)> = None;
        for (id, agent) in able {
            if self.works(id) || self.s.is_halted(task, Some(id)) {
                // The paths become free when that work ends.
                return None;
            }
            let by = Actor::Agent { id: id.clone(), incarnation: agent.incarnation };
            let call = Call::new(by, self.s.now, self.s.world);
            let allowed = match task.status {
                _ if task.judged_by().is_some() => check_reviewable(self.s.board, &call, task),
                Status::Approved => Ok(()),
                _ => check_claimable(self.s.board, &call, task),
            };
            match allowed {
                Ok(()) => {
                    let idle = self.last_act.get(id).copied().unwrap_or(since).max(since);
                    if free.is_none_or(|(former, ..)| idle < former) {
                        free = Some((idle, id, agent.heartbeat));
                    }
                }
                Err(refused) if refused.code == Code::HoldsAnother => return None,
                Err(refused) => refusal = refusal.or(Some(refused)),
            }
        }
        if let Some((idle, id, heard)) = free {
            let detail = format!("{id} could claim it (last active at {heard})");
            return self.is_long(idle, report).then_some((Cause::WaitingForRole(role), idle, detail));
        }
        let refused = refusal.map(|refused| clipped_line(&refused.message)).unwrap_or_default();
        Some((Cause::Refused(task.id.clone()), since, refused))
    }

    /// A goal that no planner has split into tasks.
    fn planning(&self, report: &mut Report) -> Option<(String, Judged)> {
        let (board, role) = (self.s.board, Role::planner());
        let goal = &board.rest.goal;
        let began = goal.started.unwrap_or(board.rest.sprint.timeline.started);
        if !goal.is_open() || board.is_planned() || !self.is_long(began, report) {
            return None;
        }
        let planners = self.active(&role);
        let name = "the goal".to_owned();
        let Some((id, agent)) = planners.first() else {
            return Some((name, (Cause::Unstaffed(role), began, String::new())));
        };
        let since = planners.iter().map(|(_, agent)| agent.registered_at).fold(began, Wall::max);
        let detail = format!("{id} could claim it (last active at {})", agent.heartbeat);
        self.is_long(since, report).then_some((name, (Cause::WaitingForRole(role), since, detail)))
    }
}
