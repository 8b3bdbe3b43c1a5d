//! The board as text: `liza status` and `liza task list`.

use crate::board::lease::Lease;
use crate::board::{Switch, World};
use crate::cli::paint::bar;
use crate::cli::prelude::*;
use crate::policy::view::{Scene, Waiting};
use crate::policy::wake::Trigger;
use crate::text::{display_width, fitted};

/// Task states in the order of their urgency for a person.
const BY_NEED: [Status; 11] = [
    Status::Blocked,
    Status::IntegrationFailed,
    Status::Rejected,
    Status::ReadyForReview,
    Status::Approved,
    Status::Working,
    Status::Idle,
    Status::Draft,
    Status::Merged,
    Status::Superseded,
    Status::Abandoned,
];
/// The maximum number of tasks shown per status.
const MOST_IN_GROUP: usize = 15;
/// Titles are left out in fewer columns.
const LEAST_TITLE: usize = 12;

/// A bar of how much of the goal is merged, without abandoned tasks.
pub fn goal_bar(board: &Board, columns: Option<usize>) -> String {
    let given_up = |task: &&Task| matches!(task.status, Status::Abandoned | Status::Superseded);
    let archived = usize::try_from(board.archived_of_goal()).unwrap_or(usize::MAX);
    let of_goal = || board.tasks.iter().filter(|task| board.is_of_current_goal(task));
    let merged = of_goal().filter(|task| task.status == Status::Merged).count().saturating_add(archived);
    let all = of_goal().filter(|task| !given_up(task)).count().saturating_add(archived);
    if all == 0 {
        return String::new();
    }
    let words = format!("{merged} of {} merged", plural(all, "task"));
    let room = columns.unwrap_or(80).saturating_sub(display_width(&words) + 2).min(40);
    format!("{}  {words}\n", bar(merged, all, room))
}

/// A board with the time and its surroundings.
pub struct Picture<'b> {
    scene: Scene<'b>,
    frame: &'b Frame,
}

/// What is not on the board itself: switches, archived tasks that others depend on, and the time.
pub struct Frame {
    world: World,
    now: crate::board::Stamp,
}

impl Frame {
    pub fn new(ctx: &Context, board: &Board) -> Result<Self, Failure> {
        Ok(Self { world: ctx.store.surroundings(board)?, now: ctx.now.clone() })
    }

    /// The status of an archived task that a task on the board depends on.
    pub fn archived(&self, id: &TaskId) -> Option<Status> {
        self.world.archived.get(id).map(|known| known.status)
    }
}

/// The bodies that rows and tables read: those of tasks that were ever claimed. Titles need no body.
pub fn needed_for_rows<'b>(tasks: impl Iterator<Item = &'b Task>) -> Needs {
    Needs::Tasks(tasks.filter(|task| task.epoch > 0).map(|task| task.id.clone()).collect())
}

impl<'b> Picture<'b> {
    pub fn new(frame: &'b Frame, board: &'b Board) -> Self {
        Self { scene: Scene::new(board, &frame.world, &frame.now), frame }
    }

    pub fn node(&self, task: &'b Task) -> NodeState {
        self.scene.node_state(task)
    }

    pub fn waiting(&self, task: &'b Task) -> Option<Waiting> {
        self.scene.waiting(task)
    }

    /// A task in the JSON of `status` and `task list`.
    pub fn row(&self, task: &'b Task) -> Value {
        let waiting = self.waiting(task);
        let mut row = json!({
            "id": task.id, "status": task.status, "node_state": self.node(task), "assigned_to": task.assigned_to,
            "waiting_on": waiting.as_ref().map(|waiting| waiting.on.clone()).unwrap_or_default(),
            "why": waiting.map(|waiting| waiting.why),
            "priority": task.priority, "depends_on": task.depends_on, "iteration": task.iteration,
            "lease_expires": task.lease.as_ref().map(|lease| lease.expires.at),
            "reviewer": task.review_lease.as_ref().map(|lease| lease.agent.clone()),
        });
        if let Some(approvals) = &task.approvals {
            row["approvals"] = json!(approvals);
        }
        row["title"] = json!(task.title());
        if !task.is_light()
            && let Some(result) = &task.body().review_result
        {
            row["review_result"] = json!(result);
        }
        row
    }

    /// Tasks under their statuses, those that need a person first; long groups are cut and the rest is counted.
    pub fn groups(&self, tasks: &[&'b Task], columns: Option<usize>) -> String {
        let mut text = String::new();
        for status in BY_NEED {
            let group: Vec<&&Task> = tasks.iter().filter(|task| task.status == status).collect();
            if group.is_empty() {
                continue;
            }
            text.line(format!("\n{status} {}", group.len()));
            let some = &group[..group.len().min(MOST_IN_GROUP)];
            let width = some.iter().map(|task| display_width(task.id.as_str())).max().unwrap_or(0);
            for task in some {
                text.line(self.group_row(task, width, columns));
            }
            if let more @ 1.. = group.len() - some.len() {
                text.line(format!("  and {more} more: `liza task list --status {status}`"));
            }
        }
        text
    }

    /// A task under the heading of its status. On a terminal the title takes the remaining room.
    fn group_row(&self, task: &'b Task, width: usize, columns: Option<usize>) -> String {
        let row = format!("  {}  {}", pad_to(task.id.as_str(), width), self.who(task));
        let title = shown_line(task.title());
        match columns {
            None => format!("{}  ({})", row.trim_end(), fitted(&title, 50)),
            Some(columns) => {
                let row = row.trim_end();
                let room = columns.saturating_sub(display_width(row) + 2);
                if room < LEAST_TITLE { row.to_owned() } else { format!("{row}  {}", fitted(&title, room)) }
            }
        }
    }

    /// One line per task: id, state, agent, and what the task waits for.
    pub fn table(&self, tasks: &[&'b Task]) -> String {
        let width = tasks.iter().map(|task| task.id.as_str().len()).max().unwrap_or(0).max(4);
        let mut text = String::new();
        for task in tasks {
            let doing = self.doing(task);
            let (id, status) = (pad_to(task.id.as_str(), width), pad_to(task.status.as_str(), 18));
            text.line(format!("{id}  {status}  {doing}").trim_end());
        }
        text
    }

    fn doing(&self, task: &'b Task) -> String {
        let title = format!("  ({})", fitted(&shown_line(task.title()), 50));
        format!("{}{title}", self.who(task)).trim_start().to_owned()
    }

    /// The agent at work on the task and since when, or what the task waits for.
    fn who(&self, task: &'b Task) -> String {
        if let Some(waiting) = self.waiting(task) {
            return waiting.why;
        }
        let since = |time: crate::board::Wall| ago(self.frame.now.wall.since(time));
        match task.status {
            Status::Working => {
                let holder = task.lease.as_ref().map(|lease| &lease.agent).or(task.assigned_to.as_ref());
                let agent = holder.map_or("no agent", |agent| agent.as_str());
                let started = (!task.is_light())
                    .then(|| task.body().history.iter().rev().find(|line| line.to == Some(Status::Working)))
                    .flatten()
                    .map_or(String::new(), |line| format!(" since {}", since(line.time)));
                format!("{agent}{started}")
            }
            Status::ReadyForReview if task.judged_by().is_none() => {
                "its result waits for acceptance".to_owned()
            }
            Status::ReadyForReview | Status::Approved => {
                let red_team = if task.awaits_red_team() { " for the red team" } else { "" };
                let reviewed = |lease: &Lease| format!("reviewed by {}{red_team}", lease.agent);
                task.review_lease.as_ref().map_or("no reviewer yet".to_owned(), reviewed)
            }
            _ => String::new(),
        }
    }

    pub fn switch(&self) -> Option<&'static str> {
        self.frame.world.switches.global().map(|switch| switch.kind.as_str())
    }

    pub fn switches(&self) -> Vec<String> {
        let words = |switch: &Switch| {
            let of = switch.subject.as_ref().map_or(String::new(), |subject| format!(" for {subject}"));
            let why = if switch.reason.is_empty() { String::new() } else { format!(": {}", switch.reason) };
            format!("{}{of}{why}", switch.kind.as_str())
        };
        self.frame.world.switches.set.iter().map(words).collect()
    }
}

pub fn unknown_task(board: &Board, id: &TaskId) -> Failure {
    Failure::new(Code::UnknownTask, format!("there is no task `{id}` on this board"))
        .hint(board.hint_for_task(id))
}

/// The task, or a refusal if it is not on this board.
pub fn known_task<'b>(board: &'b Board, id: &TaskId) -> Result<&'b Task, Failure> {
    board.task(id).ok_or_else(|| unknown_task(board, id))
}

pub fn unknown_agent(board: &Board, id: &AgentId) -> Failure {
    Failure::new(Code::UnknownAgent, format!("there is no agent `{id}` on this board"))
        .hint(board.hint_for_agent(id))
}

pub fn trigger_words(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::InitialPlanning => "nothing is planned yet",
        Trigger::HypothesisExhausted => "two agents failed at",
        Trigger::AnsweredNote => "a person left a note",
        Trigger::TypedNote => "typed into state.yaml, not confirmed by a person",
        Trigger::SingleFailed => "a single job failed",
        Trigger::AuditBlock => "the auditor did not approve",
        Trigger::Blocked => "blocked",
        Trigger::IntegrationFailed => "could not be integrated",
        Trigger::ImmediateDiscovery => "urgent discovery",
        Trigger::Message => "the planner got a message",
        Trigger::AnswerOverdue => "an answer is overdue",
        Trigger::Unprocessed => "not yet processed",
    }
}
