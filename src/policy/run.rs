//! What a run of the whole team does next: keep the window full, finish before beginning, and know when nothing can go
//! on any more, and why.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::board::call::World;
use crate::board::grants::Operation;
use crate::board::graph::Graph;
use crate::board::quorum::approvers;
use crate::board::rules::{check_claimable, check_reviewable, lease_over};
use crate::board::{Actor, AgentId, Board, Call, Role, Stamp, Status, Task, TaskId, any_overlap};

use super::overseer::Question;
use super::schedule::merge_order;
use super::spend::SpendConfig;
use super::view::Scene;
use super::wake::wakes;

/// A place in the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub agent: AgentId,
    pub role: Role,
}

/// What is known of the team at this moment.
#[derive(Debug, Clone, Default)]
pub struct Team {
    pub seats: Vec<Seat>,
    /// Who works, and on what.
    pub busy: BTreeMap<AgentId, Option<TaskId>>,
    /// Who is not started any more, and why.
    pub out: BTreeMap<AgentId, String>,
    /// Where the last words of those are.
    pub logs: BTreeMap<AgentId, String>,
    /// Who is run by another process.
    pub elsewhere: BTreeSet<AgentId>,
    /// Who is not started for a moment: it failed just now.
    pub resting: BTreeSet<AgentId>,
    /// Occasions the planner was woken for already.
    pub handled: BTreeSet<String>,
    /// Tasks for which somebody was started again and again and nothing came of it, and what was said last.
    pub futile: BTreeMap<TaskId, String>,
    pub window: usize,
    /// What a person was asked and has not answered.
    pub questions: Vec<Question>,
    /// What may be spent.
    pub caps: SpendConfig,
    /// Only this task matters.
    pub only: Option<TaskId>,
}

/// Somebody to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub agent: AgentId,
    pub role: Role,
    pub task: Option<TaskId>,
    /// The occasions a planner is woken for.
    pub woken: Vec<String>,
}

/// One reason why something does not go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub kind: CauseKind,
    pub why: String,
    /// The next thing to type.
    pub hint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// A person has to answer or decide.
    Person,
    Cycle,
    /// Paths are held by a task that does not move.
    OwnershipDeadlock,
    MissingRole,
    Dependency,
    /// A cap is used up; only a person may raise it.
    Spend,
    /// Somebody outside of this team is at it.
    Elsewhere,
    /// It goes on by itself when a time has passed.
    Later,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Running,
    Complete,
    /// Nothing moves now, but something will by itself: another's lease, a reservation.
    Waiting(Vec<Cause>),
    /// Nothing will move unless somebody does something.
    Stuck(Vec<Cause>),
}

#[derive(Debug)]
pub struct Next {
    pub starts: Vec<Start>,
    pub state: State,
}

/// Decides. Bodies of tasks ready for review and of approved ones must be loaded.
pub fn next(board: &Board, world: &World, now: &Stamp, team: &Team) -> Next {
    let mut round = Round { board, world, now, team, given: BTreeSet::new(), starts: Vec::new() };
    if world.switches.global().is_none() {
        round.wake_planner();
        round.finish_reviews();
        round.begin_tasks();
    }
    let starts = round.starts;
    let state = if !team.busy.is_empty() || !starts.is_empty() {
        State::Running
    } else {
        standstill(board, world, now, team)
    };
    Next { starts, state }
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
        !self.team.busy.contains_key(&seat.agent)
            && !self.team.out.contains_key(&seat.agent)
            && !self.team.resting.contains(&seat.agent)
            && !self.team.elsewhere.contains(&seat.agent)
            && !self.given.contains(&seat.agent)
            && self.world.switches.stopping(&seat.agent, None).is_none()
    }

    /// Planners do not count: what is kept in reserve is kept for them.
    fn has_room(&self) -> bool {
        let planner = Role::planner();
        let is_planner =
            |agent: &AgentId| self.team.seats.iter().any(|seat| &seat.agent == agent && seat.role == planner);
        let busy = self.team.busy.keys().filter(|agent| !is_planner(agent)).count();
        let started = self.starts.iter().filter(|start| start.role != planner).count();
        busy + started < self.team.window
    }

    fn wanted(&self, task: &Task) -> bool {
        self.team.only.as_ref().is_none_or(|only| only == &task.id)
            && !self.team.futile.contains_key(&task.id)
            && !self.team.busy.values().any(|at| at.as_ref() == Some(&task.id))
            && !self.starts.iter().any(|start| start.task.as_ref() == Some(&task.id))
    }

    fn call(&self, agent: &AgentId) -> Call<'a> {
        let incarnation = self.board.agent(agent).map_or(0, |agent| agent.incarnation);
        Call::new(Actor::Agent { id: agent.clone(), incarnation }, self.now, self.world)
    }

    fn start(&mut self, seat: &Seat, task: Option<&TaskId>, woken: Vec<String>) {
        self.given.insert(seat.agent.clone());
        self.starts.push(Start {
            agent: seat.agent.clone(),
            role: seat.role.clone(),
            task: task.cloned(),
            woken,
        });
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
        let free = self.team.seats.iter().find(|seat| {
            seat.role == Role::planner() && self.is_free(seat) && self.is_affordable(seat, None)
        });
        if let Some(seat) = free {
            self.start(seat, None, woken);
        }
    }

    /// Merges and reviews first: what is finished is worth more than what is begun.
    fn finish_reviews(&mut self) {
        // Merges happen one after the other, so one merger is enough.
        let at_it = |task: &Task| self.team.busy.values().any(|at| at.as_ref() == Some(&task.id));
        let queue = merge_order(self.board);
        let merging = queue.iter().any(|task| at_it(task));
        let merge = queue.into_iter().find(|task| !merging && self.wanted(task));
        // What the red team is to look at is nearer to its end than what no reviewer has seen.
        let attacks = sorted(self.board, |task| task.awaits_red_team() && task.judged_by().is_some());
        let reviews = sorted(self.board, |task| task.status == Status::ReadyForReview);
        for task in merge.into_iter().chain(attacks).chain(reviews) {
            if !self.has_room() {
                return;
            }
            if !self.wanted(task) {
                continue;
            }
            let role = task.next_role();
            let judges: Vec<&Seat> = self.team.seats.iter().filter(|seat| seat.role == role).collect();
            let fits = |seat: &&&Seat| {
                let call = self.call(&seat.agent);
                self.is_free(seat)
                    && call.check_switches(Some(&task.id)).is_ok()
                    && (task.judged_by().is_none() && may_merge(self.board, &seat.agent)
                        || task.judged_by().is_some()
                            && check_reviewable(self.board, &call, task).is_ok()
                            && self.is_affordable(seat, Some(task)))
            };
            // Whoever took a review and died with it gets it back.
            let own =
                |seat: &&&Seat| task.review_lease.as_ref().is_some_and(|lease| lease.agent == seat.agent);
            let seat = judges
                .iter()
                .find(|seat| own(seat) && fits(seat))
                .or_else(|| judges.iter().find(|seat| fits(seat)));
            if let Some(seat) = seat.copied() {
                self.start(seat, Some(&task.id), Vec::new());
            }
        }
    }

    fn begin_tasks(&mut self) {
        let candidates = sorted(self.board, |task| {
            matches!(
                task.status,
                Status::Idle | Status::Rejected | Status::IntegrationFailed | Status::Working
            )
        });
        // First what somebody of the team has begun, then the rest.
        let of_team = |task: &Task| {
            task.assigned_to
                .as_ref()
                .is_some_and(|agent| self.team.seats.iter().any(|seat| &seat.agent == agent))
        };
        let (begun, fresh): (Vec<&Task>, Vec<&Task>) = candidates.into_iter().partition(|task| of_team(task));
        for task in begun.into_iter().chain(fresh) {
            if !self.has_room() {
                return;
            }
            if !self.wanted(task) || self.overlaps_what_is_given(task) {
                continue;
            }
            let seats = &self.team.seats;
            let fits =
                |seat: &&Seat| seat.role == task.role && self.is_free(seat) && self.may_take(seat, task);
            let own = |seat: &&Seat| task.assigned_to.as_ref() == Some(&seat.agent);
            let seat = seats
                .iter()
                .find(|seat| own(seat) && fits(seat))
                .or_else(|| seats.iter().find(|seat| !self.has_own_work(seat) && fits(seat)));
            if let Some(seat) = seat.cloned() {
                self.start(&seat, Some(&task.id), Vec::new());
            }
        }
    }

    fn is_affordable(&self, seat: &Seat, task: Option<&Task>) -> bool {
        self.team.caps.reached(self.board, task, Some(&seat.agent)).is_none()
    }

    /// A free seat that has work of its own to go on with takes nothing else.
    fn has_own_work(&self, seat: &Seat) -> bool {
        self.board.tasks.iter().any(|task| {
            task.status == Status::Working
                && task.lease.as_ref().is_some_and(|lease| lease.agent == seat.agent)
        })
    }

    fn may_take(&self, seat: &Seat, task: &Task) -> bool {
        let call = self.call(&seat.agent);
        if call.check_switches(Some(&task.id)).is_err() || !self.is_affordable(seat, Some(task)) {
            return false;
        }
        // Nobody runs this seat: what it holds on record, it holds no more once it is started anew.
        if task.status == Status::Working
            && task.lease.as_ref().is_some_and(|lease| lease.agent == seat.agent)
        {
            return true;
        }
        check_claimable(self.board, &call, task).is_ok()
    }

    /// Two that were not claimed yet can still be in each other's way.
    fn overlaps_what_is_given(&self, task: &Task) -> bool {
        let given = self.starts.iter().filter_map(|start| start.task.as_ref());
        let taken = self.team.busy.values().flatten().chain(given);
        taken
            .filter_map(|id| self.board.task(id))
            .any(|other| other.id != task.id && any_overlap(&task.owns, &other.owns).is_some())
    }
}

/// The most urgent first, then the oldest.
fn sorted(board: &Board, wanted: impl Fn(&Task) -> bool) -> Vec<&Task> {
    let mut found: Vec<&Task> = board.tasks.iter().filter(|task| wanted(task)).collect();
    found.sort_by_key(|task| std::cmp::Reverse(task.priority));
    found
}

fn standstill(board: &Board, world: &World, now: &Stamp, team: &Team) -> State {
    if let Some(switch) = world.switches.global() {
        return State::Waiting(vec![Cause {
            task: None,
            kind: CauseKind::Person,
            why: format!("{} is set", switch.kind.as_str()),
            hint: "`liza resume` ends it".to_owned(),
        }]);
    }
    let open: Vec<&Task> = board
        .tasks
        .iter()
        .filter(|task| !task.status.is_terminal())
        .filter(|task| team.only.as_ref().is_none_or(|only| only == &task.id))
        .collect();
    // A planner could still plan more; nobody else is waited for when there is nothing to do.
    let planner_rests =
        team.seats.iter().any(|seat| seat.role == Role::planner() && team.resting.contains(&seat.agent));
    if open.is_empty() && !planner_rests {
        return nothing_open(board, team);
    }
    if !team.resting.is_empty() {
        return State::Waiting(Vec::new());
    }
    let scene = Scene::new(board, world, now);
    let mut causes = Vec::new();
    if let Some(cycle) = Graph::of(&board.tasks).cycle() {
        let names: Vec<&str> = cycle.iter().map(TaskId::as_str).collect();
        causes.push(Cause {
            task: None,
            kind: CauseKind::Cycle,
            why: format!("these tasks wait for each other: {}", names.join(" → ")),
            hint: "cut one of them anew: `liza task rescope ID --into FILE --reason …`".to_owned(),
        });
    }
    causes.extend(open.iter().map(|task| cause(board, world, now, team, &scene, task)));
    let moves_by_itself =
        causes.iter().any(|cause| matches!(cause.kind, CauseKind::Elsewhere | CauseKind::Later));
    if moves_by_itself { State::Waiting(causes) } else { State::Stuck(causes) }
}

/// Complete, if something came of it.
fn nothing_open(board: &Board, team: &Team) -> State {
    if let Some(only) = &team.only {
        let Some(task) = board.task(only).filter(|task| task.status != Status::Merged) else {
            return State::Complete;
        };
        return State::Stuck(vec![Cause {
            task: Some(only.to_string()),
            kind: CauseKind::Person,
            why: format!("it is {}, so nothing of it was merged", task.status),
            hint: format!("`liza task show {only}` tells why; give the job anew if it is still wanted"),
        }]);
    }
    if board.rest.archived > 0 || board.tasks.iter().any(|task| task.status == Status::Merged) {
        return State::Complete;
    }
    if !board.tasks.is_empty() {
        return State::Stuck(vec![Cause {
            task: None,
            kind: CauseKind::Person,
            why: "everything was abandoned".to_owned(),
            hint: "plan anew with `liza plan FILE` or `liza task add`, or leave it at that".to_owned(),
        }]);
    }
    let planning = team
        .seats
        .iter()
        .find(|seat| seat.role == Role::planner() && team.elsewhere.contains(&seat.agent))
        .filter(|_| !team.handled.iter().any(|key| key.starts_with("initial_planning")));
    match planning {
        Some(seat) => State::Waiting(vec![Cause {
            task: None,
            kind: CauseKind::Elsewhere,
            why: format!("nothing is planned yet, and another process runs {}", seat.agent),
            hint: "`liza agent list` shows it; `liza plan FILE` does without it".to_owned(),
        }]),
        None => State::Stuck(vec![
            used_up(board, team, &Role::planner(), None).unwrap_or_else(|| nothing_planned(team)),
        ]),
    }
}

fn nothing_planned(team: &Team) -> Cause {
    let planner = Role::planner();
    match missing_role(team, &planner) {
        Some(why) => Cause {
            task: None,
            kind: CauseKind::MissingRole,
            why: format!("there are no tasks, and {why}"),
            hint: last_words(team, &planner).unwrap_or_else(|| {
                "add tasks with `liza plan FILE` or `liza task add`, or a planner to the team in liza.yaml"
                    .to_owned()
            }),
        },
        None => Cause {
            task: None,
            kind: CauseKind::Person,
            why: "the planner was woken and made no tasks".to_owned(),
            hint: "its output is under .liza/runs; add tasks with `liza plan FILE` or `liza task add`"
                .to_owned(),
        },
    }
}

/// Whether the role registry lets it; whoever is not registered yet is told then.
fn may_merge(board: &Board, agent: &AgentId) -> bool {
    board.agent(agent).is_none_or(|agent| !agent.grants.denied.contains(&Operation::Merge))
}

/// Why nobody of the team can play a role; nothing if somebody can.
fn missing_role(team: &Team, role: &Role) -> Option<String> {
    let mut seats = team.seats.iter().filter(|seat| &seat.role == role).peekable();
    if seats.peek().is_none() {
        return Some(format!("the team has no {role}"));
    }
    let mut stopped = Vec::new();
    for seat in seats {
        match team.out.get(&seat.agent) {
            Some(why) => stopped.push(format!("{} has stopped ({why})", seat.agent)),
            None => return None,
        }
    }
    Some(stopped.join("; "))
}

/// Where to read why everybody of a role has stopped.
fn last_words(team: &Team, role: &Role) -> Option<String> {
    let seats = team.seats.iter().filter(|seat| &seat.role == role);
    let logs: Vec<&str> = seats.filter_map(|seat| team.logs.get(&seat.agent)).map(String::as_str).collect();
    (!logs.is_empty()).then(|| format!("read {}, mend that, then run again", logs.join(", ")))
}

/// Causes in words, each said once with all the tasks that have it.
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

fn cause(board: &Board, world: &World, now: &Stamp, team: &Team, scene: &Scene<'_>, task: &Task) -> Cause {
    let id = &task.id;
    let made =
        |kind: CauseKind, why: String, hint: String| Cause { task: Some(id.to_string()), kind, why, hint };
    if task.status == Status::Blocked {
        let hint = if task.hypothesis_exhausted() {
            format!("`liza task rescope {id} --into FILE --reason …`")
        } else {
            format!("`liza task show {id}`, then `liza task unblock {id} --answer …`")
        };
        return made(CauseKind::Person, "it is blocked; its questions wait for an answer".to_owned(), hint);
    }
    if task.status == Status::Draft {
        let hint = format!("`liza task finalize {id}`");
        return made(CauseKind::Person, "it is a draft that nobody finalized".to_owned(), hint);
    }
    if let Some(switch) = world.switches.set.iter().find(|switch| {
        switch.subject.as_ref().is_some_and(|subject| subject.eq_ignore_ascii_case(id.as_str()))
    }) {
        let why = format!("{} is set for it", switch.kind.as_str());
        return made(CauseKind::Person, why, format!("`liza resume --task {id}`"));
    }
    let mut mergers = team.seats.iter().filter(|seat| seat.role == task.next_role()).peekable();
    let waits_for_merge = task.status == Status::Approved && task.judged_by().is_none();
    if waits_for_merge && mergers.peek().is_some() && mergers.all(|seat| !may_merge(board, &seat.agent)) {
        let why = format!(
            "it is approved, and the role registry (liza.yaml, roles.{}.deny/allow) lets nobody of the team merge",
            task.next_role()
        );
        return made(
            CauseKind::Person,
            why,
            format!("`liza merge {id}`, or change the registry and run again"),
        );
    }
    if let Some(why) = team.futile.get(id) {
        let hint = format!("mend that, then run again; `liza task show {id}` tells more");
        return made(CauseKind::Person, format!("it could not be taken up: {why}"), hint);
    }
    let lease = if task.judged_by().is_some() { &task.review_lease } else { &task.lease };
    if let Some(lease) = lease
        && !lease_over(board, lease, now)
    {
        let of_team = team.seats.iter().any(|seat| seat.agent == lease.agent);
        if let Some(question) = team.questions.iter().find(|one| one.agent == lease.agent) {
            return made(
                CauseKind::Elsewhere,
                unanswered(question),
                format!("yes: `{}`; no: `{}`", question.yes, question.no),
            );
        }
        if !of_team || team.elsewhere.contains(&lease.agent) {
            let why = format!("{} has it until {}", lease.agent, lease.expires.at);
            return made(CauseKind::Elsewhere, why, format!("`liza task show {id}`"));
        }
        if let Some(stopped) = team.out.get(&lease.agent) {
            let why = format!("{} holds it and has stopped ({stopped})", lease.agent);
            let hint = if task.judged_by().is_some() {
                format!("its lease ends at {}; then run again", lease.expires.at)
            } else {
                format!("`liza task release {id}` frees it; then run again")
            };
            return made(CauseKind::Person, why, hint);
        }
    }
    if let Some(until) = &task.reserved_until
        && !until.passed(now)
        && let Some(agent) = &task.assigned_to
        && !team.seats.iter().any(|seat| {
            &seat.agent == agent
                && !team.out.contains_key(agent)
                && team.caps.reached(board, None, Some(agent)).is_none()
        })
        && board.agent(agent).is_some_and(|agent| agent.is_active())
        // Where nobody may spend anything on it, time does not help.
        && used_up(board, team, &task.next_role(), Some(task)).is_none()
    {
        let why = format!("it is reserved for {agent} until {}", until.at);
        return made(CauseKind::Later, why, format!("`liza task release {id}` frees it now"));
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
    if !on.is_empty() {
        let dead = on.iter().find(|other| other.status == Status::Abandoned);
        if let Some(dead) = dead {
            let hint = format!(
                "`liza task rescope {id} --into FILE --reason …`, or `liza task abandon {id} --reason …`"
            );
            return made(
                CauseKind::Dependency,
                format!("it waits for {}, which was abandoned", dead.id),
                hint,
            );
        }
        let rival = on.iter().any(|other| !task.depends_on.contains(&other.id));
        let kind = if rival { CauseKind::OwnershipDeadlock } else { CauseKind::Dependency };
        let hint = format!(
            "see to {} first",
            on.iter().map(|other| other.id.as_str()).collect::<Vec<_>>().join(", ")
        );
        return made(kind, why, hint);
    }
    let role = task.next_role();
    let only_merged = task.status == Status::Approved && task.judged_by().is_none();
    if let Some(used) = used_up(board, team, &role, Some(task)).filter(|_| !only_merged) {
        return Cause { task: Some(id.to_string()), ..used };
    }
    if let Some(agent) = taker_elsewhere(board, world, now, team, task, &role) {
        let why = format!("{agent}, which another process runs, may take it");
        return made(CauseKind::Elsewhere, why, "`liza agent list` shows what it does".to_owned());
    }
    if let Some(missing) = missing_role(team, &role) {
        let hint = last_words(team, &role)
            .unwrap_or_else(|| format!("add one to `team` in liza.yaml, or `liza agent run --role {role}`"));
        return made(CauseKind::MissingRole, format!("{why}; {missing}"), hint);
    }
    if let Some(role) = task.judged_by() {
        let hint = format!(
            "add another {role} to `team` in liza.yaml, or judge it yourself: `liza review claim {id}`"
        );
        return made(
            CauseKind::MissingRole,
            format!("no {role} of the team may judge it: {}", hands(task)),
            hint,
        );
    }
    let limit = team
        .seats
        .iter()
        .filter(|seat| seat.role == task.role)
        .find_map(|seat| {
            let incarnation = board.agent(&seat.agent).map_or(0, |agent| agent.incarnation);
            let actor = Actor::Agent { id: seat.agent.clone(), incarnation };
            check_claimable(board, &Call::new(actor, now, world), task).err()
        })
        .map(|refusal| refusal.message);
    made(CauseKind::Person, limit.unwrap_or(why), format!("`liza task show {id}`"))
}

/// That a person was asked about an agent, and what happens without an answer.
fn unanswered(question: &Question) -> String {
    format!(
        "a person was asked at {} about {}, which shows {} ({}). {}",
        question.asked,
        question.agent,
        question.behaviour.as_str(),
        question.seen,
        question.otherwise()
    )
}

/// Nobody of the role may spend anything on this: the cap that is used up.
fn used_up(board: &Board, team: &Team, role: &Role, task: Option<&Task>) -> Option<Cause> {
    let seats = team.seats.iter().filter(|seat| &seat.role == role);
    let found: Option<Vec<_>> = seats.map(|seat| team.caps.reached(board, task, Some(&seat.agent))).collect();
    let reached = found?.into_iter().next()?;
    Some(Cause {
        task: None,
        kind: CauseKind::Spend,
        why: format!("nothing more is begun: {}", reached.told()),
        hint: format!("raise `{}` in liza.yaml, then run again", reached.setting),
    })
}

/// Whoever is run by another process and could take this now.
fn taker_elsewhere<'t>(
    board: &Board,
    world: &World,
    now: &Stamp,
    team: &'t Team,
    task: &Task,
    role: &Role,
) -> Option<&'t AgentId> {
    let could = |seat: &&Seat| {
        let incarnation = board.agent(&seat.agent).map_or(0, |agent| agent.incarnation);
        let call = Call::new(Actor::Agent { id: seat.agent.clone(), incarnation }, now, world);
        &seat.role == role
            && team.elsewhere.contains(&seat.agent)
            && call.check_switches(Some(&task.id)).is_ok()
            && match task.status {
                _ if task.judged_by().is_some() => check_reviewable(board, &call, task).is_ok(),
                Status::Approved => true,
                _ => check_claimable(board, &call, task).is_ok(),
            }
    };
    team.seats.iter().find(could).map(|seat| &seat.agent)
}

/// Who may not judge it any more, and why.
fn hands(task: &Task) -> String {
    let names: Vec<&str> = task.implementers.iter().map(AgentId::as_str).collect();
    let approved: Vec<&str> = approvers(task).iter().map(|approver| approver.as_str()).collect();
    let approved =
        if approved.is_empty() { String::new() } else { format!(", {} approved it", approved.join(" and ")) };
    let asked = task.approvals.as_ref().filter(|approvals| !approvals.is_enough());
    let asked = asked.map_or(String::new(), |approvals| {
        format!("; {} different reviewers have to (review.quorum)", approvals.needed)
    });
    format!("{} worked on it{approved}{asked}", names.join(", "))
}
