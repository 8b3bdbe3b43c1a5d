//! What an agent may do, as the role registry said when it was registered: on the board, so that the rules hold it to
//! that, and whoever reads the log sees what was allowed at the time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Actor, Call};
use super::ids::{AgentId, Role, TaskId};
use super::paths::{PathPattern, RepoPath, inside};
use super::refusal::{Code, Refusal};
use super::state::Board;
use super::task::Task;
use super::transition::Transition;

macro_rules! operations {
    ($($(#[doc = $doc:literal])* $variant:ident $name:literal $words:literal),* $(,)?) => {
        /// A kind of thing that can be done to a board. Every transition that somebody may be denied belongs to one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Operation { $($(#[doc = $doc])* $variant),* }

        impl Operation {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// What is done, as it stands after "may".
            pub fn words(self) -> &'static str {
                match self { $(Self::$variant => $words),* }
            }

            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == name)
            }
        }
    };
}

operations! {
    /// Add, finalize, rescope, abandon, unblock and archive tasks; deal with notes, anomalies and changed specs.
    Plan "plan" "plan tasks",
    /// Claim, announce, sync and hand in work.
    Work "work" "work on tasks",
    /// Block or take back what others hold, and set switches for others or for everybody. To block or give back what it
    /// holds or reviews itself is never denied to anybody: its runner does that for it when a session ends.
    Stop "stop" "stop tasks",
    /// Take up reviews and give verdicts.
    Review "review" "review",
    /// The red team's turn.
    Attack "attack" "take the red team's turn",
    Merge "merge" "merge",
    Bundle "bundle" "make or apply bundles",
    /// Record the hash that a gate is to find.
    Bless "bless" "bless gates",
    /// Notes, anomalies, discoveries, bugs.
    Report "report" "report anything",
    Message "message" "send messages",
    /// Nudge, halt, escalate.
    Oversee "oversee" "oversee agents",
}

/// The operation a transition belongs to. None for what only people may do, and for what liza and the runners see to
/// while others work: presence, outcomes of what was begun, records of what happened.
pub fn operation_of(what: &Transition, board: &Board, by: &Actor) -> Option<Operation> {
    use Transition as T;
    let own = |task: &TaskId| board.task(task).is_none_or(|task| has_in_hand(task, by));
    match what {
        T::AddTasks(_)
        | T::Finalize(_)
        | T::Unblock(_)
        | T::Rescope(_)
        | T::Abandon(_)
        | T::ChangeSpec(_)
        | T::MarkProcessed(_)
        | T::ArchiveTasks(_) => Some(Operation::Plan),
        T::BeginClaim(_) | T::WriteCheckpoint(_) | T::Submit(_) | T::RecordSync(_) => Some(Operation::Work),
        T::Block(block) => (!own(&block.task)).then_some(Operation::Stop),
        T::Release(release) => (!own(&release.task)).then_some(Operation::Stop),
        T::HandOff(handoff) => (!own(&handoff.task)).then_some(Operation::Stop),
        T::StartReview(start) if board.task(&start.task).is_some_and(|task| task.awaits_red_team()) => {
            Some(Operation::Attack)
        }
        T::StartReview(_) | T::Approve(_) | T::Reject(_) | T::Discuss(_) | T::ReviewBundle(_) => {
            Some(Operation::Review)
        }
        T::ClearByRedTeam(_) | T::RejectByRedTeam(_) => Some(Operation::Attack),
        T::BeginMerge(_) | T::VoidApproval(_) => Some(Operation::Merge),
        T::RecordBundle(_) | T::BeginApply(_) => Some(Operation::Bundle),
        T::BlessGate(_) => Some(Operation::Bless),
        T::AddNote(_) | T::LogAnomaly(_) | T::Discover(_) | T::ReportBug(_) => Some(Operation::Report),
        T::SendMessage(_) => Some(Operation::Message),
        T::Intervene(_) => Some(Operation::Oversee),
        T::Init(_)
        | T::Migrate(_)
        | T::RefoundLog(_)
        | T::FinishClaim(_)
        | T::CancelClaim(_)
        | T::Renew(_)
        | T::FinishApply(_)
        | T::CancelApply(_)
        | T::ReleaseLock(_)
        | T::RenewReview(_)
        | T::ReleaseReview(_)
        | T::RecordGates(_)
        | T::RecordMove(_)
        | T::FinishMerge(_)
        | T::FailMerge(_)
        | T::CancelMerge(_)
        | T::BeginMove(_)
        | T::FinishMove(_)
        | T::CancelMove(_)
        | T::JudgeIntegration(_)
        | T::RetireGate(_)
        | T::TakeOver(_)
        | T::RegisterAgent(_)
        | T::RetireAgent(_)
        | T::Heartbeat(_)
        | T::RecordCrash(_)
        | T::SeeMessages(_)
        | T::TripBreaker(_)
        | T::AnswerTrip(_)
        | T::ResolveBreaker(_)
        | T::RecordUsage(_)
        | T::BeginRun(_)
        | T::StartSprint(_)
        | T::CloseSprint(_)
        | T::SetSprintScope(_)
        | T::PassDeadline(_)
        | T::ExtendLeases(_)
        | T::AdoptEdit(_)
        | T::RestoreRevision(_)
        | T::RecordViolation(_)
        | T::CompleteGoal(_) => None,
    }
}

/// Whether a task is one's own to stop: it works on it, is to go on with it, or reviews it.
fn has_in_hand(task: &Task, by: &Actor) -> bool {
    let by = by.id();
    let leased = [&task.lease, &task.review_lease].into_iter().flatten().any(|lease| lease.agent == by);
    leased || task.assigned_to.as_ref() == Some(&by)
}

/// Whether the rules let an agent of this role do any of it, whatever the registry says. A test asks the rules.
pub fn allowed_by_rules(role: &Role, operation: Operation) -> bool {
    let role = role.as_str();
    match operation {
        Operation::Plan => role == "planner",
        // Of tasks that name its role; and of what it worked on.
        Operation::Work | Operation::Bundle => true,
        Operation::Stop => matches!(role, "planner" | "overseer"),
        Operation::Review | Operation::Merge | Operation::Bless => role == "code_reviewer",
        Operation::Attack => role == "red_team",
        Operation::Report | Operation::Message => true,
        Operation::Oversee => role == "overseer",
    }
}

/// What one agent may do beyond or short of what its role may by default. What is absent is as by default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Operation>,
    /// Roles it may send messages to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_message: Option<Vec<Role>>,
    /// Roles it may plan work for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_spawn: Option<Vec<Role>>,
    /// The only paths its commits may touch; none means all that its task allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathPattern>,
}

impl Grants {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether these paths are all it may touch, and this one is not among them.
    pub fn keeps_out_of(&self, path: &RepoPath) -> bool {
        !self.paths.is_empty() && !inside(path, &self.paths)
    }
}

/// What the registry gave whoever acts; people have no such bounds.
pub fn of_actor<'b>(board: &'b Board, by: &Actor) -> Option<&'b Grants> {
    let Actor::Agent { id, .. } = by else { return None };
    board.agent(id).map(|agent| &agent.grants)
}

/// Where in liza.yaml it says so, for a message: `roles.coder.deny`.
pub fn place(board: &Board, by: &AgentId, key: &str) -> String {
    let roles = board.agent(by).map(|agent| agent.roles.as_slice()).unwrap_or_default();
    let places: Vec<String> = roles.iter().map(|role| format!("roles.{role}.{key}")).collect();
    format!("liza.yaml, {}", places.join(", "))
}

/// What somebody who meets the registry can do, by a way that it leaves open.
fn ways_out(grants: &Grants) -> String {
    let ask = if !grants.denied.contains(&Operation::Report) {
        "ask for it with `liza note`"
    } else if !grants.denied.contains(&Operation::Message) {
        "ask for it with `liza message send --to human --type request_input`"
    } else {
        "block the task you hold with a question (`liza task block`), which nobody is denied"
    };
    format!(
        "leave it to another role, or {ask}; `liza roles ROLE` shows what a role may do, and what a person changes in \
         liza.yaml counts from the agent's next registration on"
    )
}

/// Refuses what the registry did not give whoever acts.
pub fn check(board: &Board, what: &Transition, call: &Call) -> Result<(), Refusal> {
    let Some(grants) = of_actor(board, &call.by) else { return Ok(()) };
    let Some(operation) = operation_of(what, board, &call.by) else { return Ok(()) };
    if !grants.denied.contains(&operation) {
        return Ok(());
    }
    denied(board, &call.by, grants, operation)
}

fn denied(board: &Board, by: &Actor, grants: &Grants, operation: Operation) -> Result<(), Refusal> {
    Refusal::new(
        Code::Role,
        format!(
            "the role registry ({}) does not let `{}` {}",
            place(board, &by.id(), "deny/allow"),
            by.id(),
            operation.words()
        ),
    )
    .hint(ways_out(grants))
    .detail("operation", operation.as_str())
    .err()
}

/// Whom a switch is to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    Everybody,
    Task(TaskId),
    Agent(AgentId),
}

/// Refuses a switch that is not for whoever acts to set: anybody may stop itself and what it has in hand, planners and
/// overseers may stop others, and people everything.
pub fn check_switch(board: &Board, by: &Actor, whom: &Stopped) -> Result<(), Refusal> {
    let Some(grants) = of_actor(board, by) else { return Ok(()) };
    let own = match whom {
        Stopped::Everybody => false,
        Stopped::Task(id) => board.task(id).is_some_and(|task| has_in_hand(task, by)),
        Stopped::Agent(id) => *id == by.id(),
    };
    if own {
        return Ok(());
    }
    let roles = board.agent(&by.id()).map(|agent| agent.roles.as_slice()).unwrap_or_default();
    if !roles.iter().any(|role| allowed_by_rules(role, Operation::Stop)) {
        let whom = match whom {
            Stopped::Everybody => "everybody".to_owned(),
            Stopped::Task(id) => format!("task `{id}`, which it neither holds nor reviews"),
            Stopped::Agent(id) => format!("`{id}`"),
        };
        return Refusal::new(
            Code::Role,
            format!("`{}` neither plans nor oversees, so it cannot stop {whom}", by.id()),
        )
        .hint(format!(
            "--agent {} or --task with a task of your own stops that much; for others, {}",
            by.id(),
            ways_out(grants)
        ))
        .detail("operation", Operation::Stop.as_str())
        .err();
    }
    if grants.denied.contains(&Operation::Stop) {
        return denied(board, by, grants, Operation::Stop);
    }
    Ok(())
}

/// To whom a role may write if the registry says nothing else. A person may always be written to, and a question may
/// always be answered.
pub fn default_recipients(role: &str) -> &'static [&'static str] {
    match role {
        "planner" => &["coder", "test_engineer", "code_reviewer", "red_team", "overseer"],
        "coder" => &["planner", "test_engineer"],
        "test_engineer" => &["planner", "coder"],
        "code_reviewer" | "red_team" => &["planner", "coder", "test_engineer"],
        "overseer" => &["planner", "coder", "test_engineer", "code_reviewer", "red_team"],
        _ => &["planner"],
    }
}

/// Whether whoever acts may write to agents of this role. People may write to everybody.
pub fn may_message(board: &Board, by: &Actor, to: &Role) -> bool {
    let Actor::Agent { id, .. } = by else { return true };
    let Some(agent) = board.agent(id) else { return false };
    match &agent.grants.may_message {
        Some(roles) => roles.contains(to),
        None => agent.roles.iter().any(|role| default_recipients(role.as_str()).contains(&to.as_str())),
    }
}

/// For whom a role may plan work if the registry says nothing else.
pub fn default_spawns(role: &str) -> &'static [&'static str] {
    match role {
        "planner" => &["coder", "test_engineer"],
        _ => &[],
    }
}

/// Refuses tasks for a role that whoever acts may not plan work for. People may plan for everybody.
pub fn check_spawn<'r>(
    board: &Board,
    call: &Call,
    roles: impl IntoIterator<Item = &'r Role>,
) -> Result<(), Refusal> {
    let Actor::Agent { id, .. } = &call.by else { return Ok(()) };
    let Some(agent) = board.agent(id) else { return Ok(()) };
    let may = |wanted: &Role| match &agent.grants.may_spawn {
        Some(roles) => roles.contains(wanted),
        None => agent.roles.iter().any(|role| default_spawns(role.as_str()).contains(&wanted.as_str())),
    };
    match roles.into_iter().find(|role| !may(role)) {
        None => Ok(()),
        Some(role) => Refusal::new(
            Code::Role,
            format!(
                "the role registry ({}) does not let `{id}` plan work for the role {role}",
                place(board, id, "may_spawn")
            ),
        )
        .hint(ways_out(&agent.grants))
        .detail("role", role.as_str())
        .err(),
    }
}
