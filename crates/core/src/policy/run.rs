//! The next step of a run: keep all seats of the window busy, finish tasks before starting new ones, and say why no
//! task can proceed.

use super::overseer::Question;
use super::prelude::*;
use super::schedule::{is_claimable, merge_order};
use super::spend::SpendConfig;
use super::view::Scene;
use super::wake::wakes;

/// One agent id of the team, with its role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub agent: AgentId,
    pub role: Role,
}

/// The state of the team at this moment.
#[derive(Debug, Clone, Default)]
pub struct Team {
    pub seats: Vec<Seat>,
    /// Agents that work, and on which task.
    pub busy: BTreeMap<AgentId, Option<TaskId>>,
    /// Agents that are not started again, and why.
    pub out: BTreeMap<AgentId, String>,
    /// The command that shows the log of each of those agents.
    pub logs: BTreeMap<AgentId, String>,
    /// Agents that another process runs.
    pub elsewhere: BTreeSet<AgentId>,
    /// Agents that failed just now and are paused.
    pub resting: BTreeSet<AgentId>,
    /// Events for which the planner was already started.
    pub handled: BTreeSet<String>,
    /// Tasks for which agents were repeatedly started without a result, and the last message.
    pub futile: BTreeMap<TaskId, String>,
    pub window: usize,
    /// Roles that a person plays.
    pub people: BTreeSet<Role>,
    /// Seats that merge work approved by a person, and do nothing else.
    pub mergers: BTreeSet<AgentId>,
    /// Unanswered questions to a person.
    pub questions: Vec<Question>,
    /// The spending limits.
    pub caps: SpendConfig,
    /// Only this task counts.
    pub only: Option<TaskId>,
}

impl Team {
    fn playing<'t>(&'t self, role: &Role) -> impl Iterator<Item = &'t Seat> {
        self.seats.iter().filter(move |seat| &seat.role == role)
    }

    fn has(&self, agent: &AgentId) -> bool {
        self.seats.iter().any(|seat| &seat.agent == agent)
    }

    fn is_about(&self, task: &Task) -> bool {
        self.only.as_ref().is_none_or(|only| only == &task.id)
    }

    fn is_at(&self, task: &Task) -> bool {
        self.busy.values().any(|at| at.as_ref() == Some(&task.id))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub agent: AgentId,
    pub role: Role,
    pub task: Option<TaskId>,
    /// The events for which a planner is started.
    pub woken: Vec<String>,
}

/// One reason why a task does not proceed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub kind: CauseKind,
    pub why: String,
    /// The next thing to type.
    pub hint: String,
}

impl Cause {
    fn new(kind: CauseKind, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { task: None, kind, why: why.into(), hint: hint.into() }
    }

    fn person(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(CauseKind::Person, why, hint)
    }

    fn of(self, task: &TaskId) -> Self {
        Self { task: Some(task.to_string()), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// A person has to answer or decide.
    Person,
    Cycle,
    /// Paths are held by a task that does not proceed.
    OwnershipDeadlock,
    MissingRole,
    /// Agents were repeatedly started for it and could not claim it.
    DispatchError,
    Dependency,
    /// A cap is used up; only a person may raise it.
    Spend,
    /// An agent outside this team works on it.
    Elsewhere,
    /// It proceeds without a person after some time.
    Later,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Running,
    Complete,
    /// No task proceeds now, but one will without a person: a lease or a reservation of another agent expires.
    Waiting(Vec<Cause>),
    /// No task can proceed without a person.
    Stuck(Vec<Cause>),
}

#[derive(Debug)]
pub struct Next {
    pub starts: Vec<Start>,
    pub state: State,
}

/// Decides which agents to start. Bodies of approved tasks and of those ready for review must be loaded.
pub fn next(board: &Board, world: &World, now: &Stamp, team: &Team) -> Next {
    let mut round = Round { board, world, now, team, given: BTreeSet::new(), starts: Vec::new() };
    if world.switches.global().is_none() {
        round.wake_planner();
        round.finish_reviews();
        round.begin_tasks();
    }
    let works = !team.busy.is_empty() || !round.starts.is_empty();
    let state = if works { State::Running } else { round.standstill() };
    Next { starts: round.starts, state }
}

struct Round<'a> {
    board: &'a Board,
    world: &'a World,
    now: &'a Stamp,
    team: &'a Team,
    /// Agents started in this round.
    given: BTreeSet<AgentId>,
    starts: Vec<Start>,
}

impl<'a> Round<'a> {
    fn is_free(&self, seat: &Seat) -> bool {
        let (team, agent) = (self.team, &seat.agent);
        !team.busy.contains_key(agent)
            && !team.out.contains_key(agent)
            && ![&team.resting, &team.elsewhere, &self.given].iter().any(|those| those.contains(agent))
            && self.world.switches.stopping(agent, None).is_none()
    }

    /// Planners do not count: the reserve is for them.
    fn has_room(&self) -> bool {
        let planner = Role::planner();
        let is_planner = |agent: &AgentId| self.team.playing(&planner).any(|seat| &seat.agent == agent);
        let busy = self.team.busy.keys().filter(|agent| !is_planner(agent)).count();
        let started = self.starts.iter().filter(|start| start.role != planner).count();
        busy + started < self.team.window
    }

    fn wanted(&self, task: &Task) -> bool {
        self.team.is_about(task)
            && !self.team.futile.contains_key(&task.id)
            && !self.team.is_at(task)
            && !self.starts.iter().any(|start| start.task.as_ref() == Some(&task.id))
    }

    fn call(&self, agent: &AgentId) -> Call<'a> {
        let incarnation = self.board.agent(agent).map_or(0, |agent| agent.incarnation);
        Call::new(Actor::Agent { id: agent.clone(), incarnation }, self.now, self.world)
    }

    fn start(&mut self, seat: &Seat, task: Option<&TaskId>, woken: Vec<String>) {
        let Seat { agent, role } = seat.clone();
        self.given.insert(agent.clone());
        self.starts.push(Start { agent, role, task: task.cloned(), woken });
    }

    fn wake_planner(&mut self) {
        if self.team.only.is_some() {
            return;
        }
        let woken: Vec<String> = wakes(self.board, self.now.wall)
            .iter()
            .flat_map(|wake| wake.keys(self.board))
            .filter(|key| !self.team.handled.contains(key))
            .collect();
        if woken.is_empty() {
            return;
        }
        let planner = Role::planner();
        let mut planners = self.team.playing(&planner);
        if let Some(seat) = planners.find(|seat| self.is_free(seat) && self.is_affordable(seat, None)) {
            self.start(seat, None, woken);
        }
    }

    /// Merges and reviews come first: finished work is worth more than started work.
    fn finish_reviews(&mut self) {
        // Merges happen one after the other, so one merger is enough.
        let queue = merge_order(self.board);
        let merging = queue.iter().any(|task| self.team.is_at(task));
        let merge = queue.into_iter().find(|task| !merging && self.wanted(task));
        // Tasks for the red team come first: they are nearer to their end.
        let attacks = sorted(self.board, |task| task.awaits_red_team() && task.judged_by().is_some());
        let reviews =
            sorted(self.board, |task| task.status == Status::ReadyForReview && task.judged_by().is_some());
        for task in merge.into_iter().chain(attacks).chain(reviews) {
            if !self.has_room() {
                return;
            }
            if !self.wanted(task) {
                continue;
            }
            let role = task.next_role();
            let fits = |seat: &&Seat| {
                let call = self.call(&seat.agent);
                self.is_free(seat)
                    && call.check_switches(Some(&task.id)).is_ok()
                    && (task.judged_by().is_none() && may_merge(self.board, &seat.agent)
                        || task.judged_by().is_some()
                            && !self.team.mergers.contains(&seat.agent)
                            && check_reviewable(self.board, &call, task).is_ok()
                            && self.is_affordable(seat, Some(task)))
            };
            // A reviewer that claimed a review and died gets the review back.
            let own =
                |seat: &&Seat| task.review_lease.as_ref().is_some_and(|lease| lease.agent == seat.agent);
            let judges = || self.team.playing(&role);
            let seat = judges().filter(own).find(fits).or_else(|| judges().find(fits));
            if let Some(seat) = seat {
                self.start(seat, Some(&task.id), Vec::new());
            }
        }
    }

    fn begin_tasks(&mut self) {
        let candidates = sorted(self.board, is_claimable);
        // Tasks that an agent of the team has started come first.
        let of_team = |task: &&Task| task.assigned_to.as_ref().is_some_and(|agent| self.team.has(agent));
        let (begun, fresh): (Vec<&Task>, Vec<&Task>) = candidates.into_iter().partition(of_team);
        for task in begun.into_iter().chain(fresh) {
            if !self.has_room() {
                return;
            }
            if !self.wanted(task) || self.overlaps_what_is_given(task) {
                continue;
            }
            let seats = || self.team.playing(&task.role);
            let fits = |seat: &&Seat| self.is_free(seat) && self.may_take(seat, task);
            let own = |seat: &&Seat| task.assigned_to.as_ref() == Some(&seat.agent);
            let others = || seats().filter(|seat| !self.has_own_work(seat));
            let seat = seats().filter(own).find(fits).or_else(|| others().find(fits));
            if let Some(seat) = seat {
                self.start(seat, Some(&task.id), Vec::new());
            }
        }
    }

    fn is_affordable(&self, seat: &Seat, task: Option<&Task>) -> bool {
        self.team.caps.reached(self.board, task, Some(&seat.agent)).is_none()
    }

    /// Whether a free seat has its own work to continue; then it takes no other.
    fn has_own_work(&self, seat: &Seat) -> bool {
        self.board.tasks.iter().any(|task| is_own_work(seat, task))
    }

    fn may_take(&self, seat: &Seat, task: &Task) -> bool {
        let call = self.call(&seat.agent);
        if call.check_switches(Some(&task.id)).is_err() || !self.is_affordable(seat, Some(task)) {
            return false;
        }
        // No agent runs in this seat: the recorded lease ends when the agent is started again.
        is_own_work(seat, task) || check_claimable(self.board, &call, task).is_ok()
    }

    /// Two tasks that are not claimed yet may own overlapping paths.
    fn overlaps_what_is_given(&self, task: &Task) -> bool {
        let given = self.starts.iter().filter_map(|start| start.task.as_ref());
        let taken = self.team.busy.values().flatten().chain(given);
        taken
            .filter_map(|id| self.board.task(id))
            .any(|other| other.id != task.id && any_overlap(&task.owns, &other.owns).is_some())
    }
}

fn is_own_work(seat: &Seat, task: &Task) -> bool {
    task.status == Status::Working && task.lease.as_ref().is_some_and(|lease| lease.agent == seat.agent)
}

/// The most urgent first, then the oldest.
fn sorted(board: &Board, wanted: impl Fn(&Task) -> bool) -> Vec<&Task> {
    let mut found: Vec<&Task> = board.tasks.iter().filter(|task| wanted(task)).collect();
    found.sort_by_key(|task| std::cmp::Reverse(task.priority));
    found
}

/// Why no task proceeds.
impl<'a> Round<'a> {
    fn standstill(&self) -> State {
        let (board, team) = (self.board, self.team);
        if let Some(switch) = self.world.switches.global() {
            let why = format!("{} is set", switch.kind.as_str());
            return State::Waiting(vec![Cause::person(why, "`liza resume` ends it")]);
        }
        let is_open = |task: &&Task| !task.status.is_terminal() && team.is_about(task);
        let open: Vec<&Task> = board.tasks.iter().filter(is_open).collect();
        // A planner could still plan more; the run waits for no other agent when there is nothing to do.
        let planner_rests = team.playing(&Role::planner()).any(|seat| team.resting.contains(&seat.agent));
        if open.is_empty() && !planner_rests {
            return self.nothing_open();
        }
        if !team.resting.is_empty() {
            return State::Waiting(Vec::new());
        }
        let scene = Scene::new(board, self.world, self.now);
        let mut causes = Vec::new();
        if let Some(cycle) = Graph::of(&board.tasks).cycle() {
            let names: Vec<&str> = cycle.iter().map(TaskId::as_str).collect();
            let why = format!("these tasks depend on each other: {}", names.join(" → "));
            let hint = "split or replan one of them: `liza task rescope ID --into FILE --reason …`";
            causes.push(Cause::new(CauseKind::Cycle, why, hint));
        }
        causes.extend(open.iter().map(|task| self.cause(&scene, task).of(&task.id)));
        let moves_by_itself =
            causes.iter().any(|cause| matches!(cause.kind, CauseKind::Elsewhere | CauseKind::Later));
        if moves_by_itself { State::Waiting(causes) } else { State::Stuck(causes) }
    }

    /// Complete, if a task was merged.
    fn nothing_open(&self) -> State {
        let (board, team) = (self.board, self.team);
        if let Some(only) = &team.only {
            let Some(task) = board.task(only).filter(|task| task.status != Status::Merged) else {
                return State::Complete;
            };
            let why = format!("it is {}, so it was not merged", task.status);
            let hint = format!("`liza task show {only}` says why; start the job again if it is still wanted");
            return State::Stuck(vec![Cause::person(why, hint).of(only)]);
        }
        if board.has_merged_for_goal() {
            return State::Complete;
        }
        if board.is_planned() {
            let hint = "plan new tasks with `liza plan FILE` or `liza task add`, or end here";
            return State::Stuck(vec![Cause::person("everything was abandoned", hint)]);
        }
        let planner = Role::planner();
        if team.people.contains(&planner) {
            let hint = "`liza plan FILE` or `liza task add` adds tasks";
            return State::Waiting(vec![Cause::new(
                CauseKind::Elsewhere,
                "a person must plan the goal",
                hint,
            )]);
        }
        let planning = team.playing(&planner).find(|seat| team.elsewhere.contains(&seat.agent));
        let planning =
            planning.filter(|_| !team.handled.iter().any(|key| key.starts_with("initial_planning")));
        if let Some(seat) = planning {
            let why = format!("nothing is planned yet, and another process runs {}", seat.agent);
            let hint = "`liza agent list` shows that agent; or plan without it: `liza plan FILE`";
            return State::Waiting(vec![Cause::new(CauseKind::Elsewhere, why, hint)]);
        }
        State::Stuck(vec![self.used_up(&planner, None).unwrap_or_else(|| nothing_planned(team))])
    }

    fn cause(&self, scene: &Scene<'_>, task: &Task) -> Cause {
        let (board, team, now) = (self.board, self.team, self.now);
        let (id, role) = (&task.id, task.next_role());
        if task.status == Status::Blocked {
            let hint = if task.hypothesis_exhausted() {
                format!("`liza task rescope {id} --into FILE --reason …`")
            } else {
                format!("`liza task show {id}`, then `liza task unblock {id} --answer …`")
            };
            return Cause::person("it is blocked; its questions wait for an answer", hint);
        }
        if task.status == Status::Draft {
            let hint = format!("`liza task finalize {id}`");
            return Cause::person("it is a draft that is not finalized yet", hint);
        }
        let is_for_it = |subject: &String| subject.eq_ignore_ascii_case(id.as_str());
        let mut switches = self.world.switches.set.iter();
        if let Some(switch) = switches.find(|switch| switch.subject.as_ref().is_some_and(is_for_it)) {
            let why = format!("{} is set for it", switch.kind.as_str());
            return Cause::person(why, format!("`liza resume --task {id}`"));
        }
        let mut mergers = team.playing(&role).peekable();
        let waits_for_merge = task.status == Status::Approved && task.judged_by().is_none();
        if waits_for_merge && mergers.peek().is_some() && mergers.all(|seat| !may_merge(board, &seat.agent)) {
            let why = format!(
                "it is approved, and the role registry (liza.yaml, roles.{role}.deny/allow) lets no agent of the team merge"
            );
            return Cause::person(why, format!("`liza merge {id}`, or change the registry and run again"));
        }
        if let Some(why) = team.futile.get(id) {
            let hint = format!("fix that, then run again; `liza task show {id}` shows more");
            return Cause::new(CauseKind::DispatchError, format!("agents could not claim it: {why}"), hint);
        }
        let lease = if task.judged_by().is_some() { &task.review_lease } else { &task.lease };
        if let Some(lease) = lease
            && !lease_over(board, lease, now)
        {
            if let Some(question) = team.questions.iter().find(|one| one.agent == lease.agent) {
                let hint = format!("yes: `{}`; no: `{}`", question.yes, question.no);
                return Cause::new(CauseKind::Elsewhere, unanswered(question), hint);
            }
            if !team.has(&lease.agent) || team.elsewhere.contains(&lease.agent) {
                let why = format!("{} has it until {}", lease.agent, lease.expires.at);
                return Cause::new(CauseKind::Elsewhere, why, format!("`liza task show {id}`"));
            }
            if let Some(stopped) = team.out.get(&lease.agent) {
                let why = format!("{} holds it and has stopped ({stopped})", lease.agent);
                let hint = if task.judged_by().is_some() {
                    format!("its lease ends at {}; then run again", lease.expires.at)
                } else {
                    format!("`liza task release {id}` frees it; then run again")
                };
                return Cause::person(why, hint);
            }
        }
        let used_up = self.used_up(&role, Some(task));
        if let Some(until) = &task.reserved_until
            && !until.passed(now)
            && let Some(agent) = &task.assigned_to
            && (!team.has(agent)
                || team.out.contains_key(agent)
                || team.caps.reached(board, None, Some(agent)).is_some())
            && board.agent(agent).is_some_and(|agent| agent.is_active())
            // Where the cap of the task is used up, waiting does not help.
            && used_up.is_none()
        {
            let why = format!("it is reserved for {agent} until {}", until.at);
            return Cause::new(CauseKind::Later, why, format!("`liza task release {id}` frees it now"));
        }
        let waiting = scene.waiting(task);
        let why =
            waiting.as_ref().map_or_else(|| format!("it is {}", task.status), |waiting| waiting.why.clone());
        let on: Vec<&Task> = waiting
            .iter()
            .flat_map(|waiting| &waiting.on)
            .filter_map(|id| TaskId::new(id).ok())
            .filter_map(|id| board.task(&id))
            .collect();
        if let Some(dead) = on.iter().find(|other| other.status == Status::Abandoned) {
            let why = format!("it waits for {}, which was abandoned", dead.id);
            let hint = format!(
                "`liza task rescope {id} --into FILE --reason …`, or `liza task abandon {id} --reason …`"
            );
            return Cause::new(CauseKind::Dependency, why, hint);
        }
        if !on.is_empty() {
            let rival = on.iter().any(|other| !task.depends_on.contains(&other.id));
            let kind = if rival { CauseKind::OwnershipDeadlock } else { CauseKind::Dependency };
            let names: Vec<&str> = on.iter().map(|other| other.id.as_str()).collect();
            return Cause::new(kind, why, format!("look at {} first", names.join(", ")));
        }
        if self.is_for_a_person(task) {
            return Cause::new(CauseKind::Elsewhere, for_a_person(task), person_types(task));
        }
        if let Some(used) = used_up.filter(|_| !waits_for_merge) {
            return used;
        }
        if let Some(agent) = self.taker_elsewhere(task, &role) {
            let why = format!("{agent}, which another process runs, may claim it");
            return Cause::new(CauseKind::Elsewhere, why, "`liza agent list` shows what it does");
        }
        if let Some(missing) = missing_role(team, &role) {
            let hint = last_words(team, &role).unwrap_or_else(|| {
                format!("add one to `team` in liza.yaml, or `liza agent run --role {role}`")
            });
            return Cause::new(CauseKind::MissingRole, format!("{why}; {missing}"), hint);
        }
        if let Some(role) = task.judged_by() {
            let why = format!("no {role} of the team may judge it: {}", why_not_reviewers(task));
            let hint = format!(
                "add another {role} to `team` in liza.yaml, or judge it yourself: `liza review claim {id}`"
            );
            return Cause::new(CauseKind::MissingRole, why, hint);
        }
        let refusal = team
            .playing(&task.role)
            .find_map(|seat| check_claimable(board, &self.call(&seat.agent), task).err());
        Cause::person(refusal.map_or(why, |refusal| refusal.message), format!("`liza task show {id}`"))
    }

    /// Whether a person of the team may take the task now and no agent of the team will.
    fn is_for_a_person(&self, task: &Task) -> bool {
        let role = task.judged_by().unwrap_or_else(|| task.role.clone());
        if !self.team.people.contains(&role) || !self.team.is_about(task) {
            return false;
        }
        let person = Call::new(Actor::Human, self.now, self.world);
        if person.check_switches(Some(&task.id)).is_err() {
            return false;
        }
        if task.judged_by().is_none() {
            return check_claimable(self.board, &person, task).is_ok();
        }
        let may = |seat: &Seat| {
            !self.team.mergers.contains(&seat.agent)
                && !self.team.out.contains_key(&seat.agent)
                && check_reviewable(self.board, &self.call(&seat.agent), task).is_ok()
        };
        check_reviewable(self.board, &person, task).is_ok()
            && task.review_lease.as_ref().is_none_or(|lease| lease_over(self.board, lease, self.now))
            && !self.team.playing(&role).any(may)
    }

    /// The used-up cap that forbids all agents of the role to spend on this task.
    fn used_up(&self, role: &Role, task: Option<&Task>) -> Option<Cause> {
        let reached = |seat: &Seat| self.team.caps.reached(self.board, task, Some(&seat.agent));
        let reached = self.team.playing(role).map(reached).collect::<Option<Vec<_>>>()?.into_iter().next()?;
        let why = format!("liza starts no more work: {}", reached.describe());
        let hint = format!("raise `{}` in liza.yaml, then run again", reached.setting);
        Some(Cause::new(CauseKind::Spend, why, hint))
    }

    /// An agent of another process that could claim this task now.
    fn taker_elsewhere(&self, task: &Task, role: &Role) -> Option<&'a AgentId> {
        let could = |seat: &&Seat| {
            let call = self.call(&seat.agent);
            self.team.elsewhere.contains(&seat.agent)
                && call.check_switches(Some(&task.id)).is_ok()
                && match task.status {
                    _ if task.judged_by().is_some() => check_reviewable(self.board, &call, task).is_ok(),
                    Status::Approved => true,
                    _ => check_claimable(self.board, &call, task).is_ok(),
                }
        };
        self.team.playing(role).find(could).map(|seat| &seat.agent)
    }
}

/// A task that only a person of the team can continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForPerson {
    pub task: TaskId,
    /// Identifies this event: the next submission of the same task is another one.
    pub key: String,
    pub why: String,
    /// The next thing to type.
    pub hint: String,
}

/// The tasks that wait for a person of the team now.
pub fn for_people(board: &Board, world: &World, now: &Stamp, team: &Team) -> Vec<ForPerson> {
    if team.people.is_empty() || world.switches.global().is_some() {
        return Vec::new();
    }
    let round = Round { board, world, now, team, given: BTreeSet::new(), starts: Vec::new() };
    let waiting = board.tasks.iter().filter(|task| round.is_for_a_person(task));
    waiting
        .map(|task| {
            let commit = task.review_commit.as_ref().filter(|_| task.judged_by().is_some());
            let of = commit.map_or_else(|| task.epoch.to_string(), |commit| commit.to_string());
            let key = format!("{}:{}:{of}", task.id, task.status);
            ForPerson { task: task.id.clone(), key, why: for_a_person(task), hint: person_types(task) }
        })
        .collect()
}

fn for_a_person(task: &Task) -> String {
    match task.judged_by() {
        Some(role) => format!("a person must review it as {role}"),
        None => format!("a person must work on it as {}", task.role),
    }
}

fn person_types(task: &Task) -> String {
    let id = &task.id;
    match task.judged_by() {
        Some(_) => format!("`liza review claim {id}`, then `liza review show {id}`, then approve or reject"),
        None => format!("`liza task claim {id}`"),
    }
}

fn nothing_planned(team: &Team) -> Cause {
    let planner = Role::planner();
    let Some(why) = missing_role(team, &planner) else {
        let hint = "`liza agent log planner-1` shows what it did; add tasks with `liza plan FILE` or `liza task add`";
        return Cause::person("the planner was started and added no tasks", hint);
    };
    let add = "add tasks with `liza plan FILE` or `liza task add`, or a planner to the team in liza.yaml";
    let hint = last_words(team, &planner).unwrap_or_else(|| add.to_owned());
    Cause::new(CauseKind::MissingRole, format!("there are no tasks, and {why}"), hint)
}

/// Whether the role registry lets the agent merge; an unregistered agent gets its grants when it registers.
fn may_merge(board: &Board, agent: &AgentId) -> bool {
    board.agent(agent).is_none_or(|agent| !agent.grants.denied.contains(&Operation::Merge))
}

/// Why no agent of the team has a role; none if one has.
fn missing_role(team: &Team, role: &Role) -> Option<String> {
    let stopped = |Seat { agent, .. }: &Seat| Some(format!("{agent} has stopped ({})", team.out.get(agent)?));
    let stopped = team.playing(role).map(stopped).collect::<Option<Vec<_>>>()?;
    Some(if stopped.is_empty() { format!("the team has no {role}") } else { stopped.join("; ") })
}

/// Where to read why all agents of a role have stopped.
fn last_words(team: &Team, role: &Role) -> Option<String> {
    let logs = team.playing(role).filter_map(|seat| team.logs.get(&seat.agent));
    let logs: Vec<&str> = logs.map(String::as_str).collect();
    (!logs.is_empty()).then(|| format!("{}; fix that, then run again", logs.join(", ")))
}

/// Causes in words, each once with all its tasks.
pub fn in_words(causes: &[Cause]) -> Vec<String> {
    let mut said: Vec<(&Cause, Vec<&str>)> = Vec::new();
    for cause in causes {
        let known = said.iter_mut().find(|(known, _)| {
            (known.kind, &known.why, &known.hint) == (cause.kind, &cause.why, &cause.hint)
        });
        match known {
            Some((_, tasks)) => tasks.extend(cause.task.as_deref()),
            None => said.push((cause, cause.task.as_deref().into_iter().collect())),
        }
    }
    said.iter()
        .map(|(cause, tasks)| {
            let tasks = if tasks.is_empty() { String::new() } else { format!("{}: ", tasks.join(", ")) };
            let hint = if cause.hint.is_empty() { String::new() } else { format!(" ({})", cause.hint) };
            format!("{tasks}{}{hint}", cause.why)
        })
        .collect()
}

/// The question about an agent, and what happens without an answer.
fn unanswered(question: &Question) -> String {
    let Question { asked, agent, seen, .. } = question;
    let (behaviour, otherwise) = (question.behaviour.as_str(), question.otherwise());
    format!("a person was asked at {asked} about {agent}, which shows {behaviour} ({seen}). {otherwise}")
}

/// Which agents may not review the task any more, and why.
fn why_not_reviewers(task: &Task) -> String {
    let names: Vec<&str> = task.implementers.iter().map(AgentId::as_str).collect();
    let approved: Vec<&str> = task.approvers().iter().map(|approver| approver.as_str()).collect();
    let approved =
        if approved.is_empty() { String::new() } else { format!(", {} approved it", approved.join(" and ")) };
    let asked = task.approvals.as_ref().filter(|approvals| !approvals.is_enough());
    let asked = asked.map_or(String::new(), |approvals| {
        format!("; {} different reviewers have to (review.quorum)", approvals.needed)
    });
    format!("{} worked on it{approved}{asked}", names.join(", "))
}
