//! The figures of the board, of a sprint or of a task, archived tasks included.

use super::prelude::*;
use crate::board::SprintId;
use crate::board::marks::TaskMark;
use crate::policy::metrics::{Asked, in_sprint, metrics};

/// The board with every task it ever had, at one revision.
pub struct Everything {
    pub board: Board,
    archived: Vec<Task>,
}

impl Everything {
    /// Files of the archive that cannot be read are reported and left out.
    pub fn read(ctx: &Context) -> Result<Self> {
        let board = ctx.read(&Needs::Everything)?.board;
        let (archived, left_out) = ctx.store.archived_for_views(&board)?;
        left_out.iter().for_each(|trouble| ctx.narrate(format!("left out of the figures: {trouble}")));
        Ok(Self { board, archived })
    }

    /// In the order they were added, archived ones first.
    pub fn tasks(&self) -> Vec<&Task> {
        self.archived.iter().chain(&self.board.tasks).collect()
    }

    /// Those of the current goal.
    pub fn tasks_of_goal(&self) -> Vec<&Task> {
        let of_goal = |task: &&Task| self.board.is_of_current_goal(task);
        self.tasks().into_iter().filter(of_goal).collect()
    }

    /// A question about the whole board.
    fn whole<'a>(&'a self, all: &'a [&'a Task]) -> Asked<'a> {
        const NOTHING: &BTreeMap<TaskId, TaskMark> = &BTreeMap::new();
        Asked {
            board: &self.board,
            tasks: all.to_vec(),
            all,
            planning: self.board.rest.spent_planning,
            everything: self.board.rest.spent,
            before: NOTHING,
            from: None,
            until: None,
            only_tasks: false,
        }
    }

    pub fn of_board(&self) -> Metrics {
        metrics(&self.whole(&self.tasks()))
    }

    /// The figures of the current goal.
    pub fn of_goal(&self) -> Metrics {
        let (all, goal) = (self.tasks(), &self.board.rest.goal);
        metrics(&Asked {
            tasks: self.tasks_of_goal(),
            planning: self.board.rest.spent_planning.since(&goal.planning_before),
            everything: self.board.rest.spent.since(&goal.spent_before),
            from: goal.started,
            ..self.whole(&all)
        })
    }

    /// The present figures of a sprint; a closed sprint keeps its own.
    pub fn of_sprint(&self, sprint: &Sprint) -> Metrics {
        let all = self.tasks();
        metrics(&Asked {
            tasks: in_sprint(sprint, &all),
            planning: self.board.rest.spent_planning.since(&sprint.planning_before),
            everything: if sprint.scope.is_empty() {
                self.board.rest.spent.since(&sprint.spent_before)
            } else {
                Spent::default()
            },
            before: &sprint.before,
            from: Some(sprint.timeline.started),
            until: sprint.timeline.ended,
            ..self.whole(&all)
        })
    }

    fn of_task(&self, id: &TaskId) -> Option<Metrics> {
        let all = self.tasks();
        let task = *all.iter().find(|task| &task.id == id)?;
        let (planning, everything) = (Spent::default(), Spent::default());
        let question =
            Asked { tasks: vec![task], planning, everything, only_tasks: true, ..self.whole(&all) };
        Some(metrics(&question))
    }

    pub fn sprint(&self, id: &SprintId) -> Result<&Sprint> {
        sprint(&self.board, id)
    }
}

/// The sprint of this name, present or past.
pub fn sprint<'b>(board: &'b Board, id: &SprintId) -> Result<&'b Sprint> {
    let known = || std::iter::once(&board.rest.sprint).chain(board.rest.former_sprints.iter().rev());
    known().find(|sprint| sprint.id.eq_ignore_ascii_case(id.as_str())).ok_or_else(|| {
        let ids: Vec<&str> = known().map(|sprint| sprint.id.as_str()).collect();
        failure!(Code::UnknownRecord, "there is no sprint `{id}` on this board")
            .hint(format!("known: {}", ids.join(", ")))
    })
}

/// What is measured.
pub enum Scope {
    Goal,
    Board,
    Sprint(SprintId),
    Task(TaskId),
}

/// Figures, and of what.
pub struct Measured {
    pub scope: Value,
    pub title: String,
    /// By name, in a fixed order.
    pub figures: Vec<(String, f64)>,
    /// The same with their structure; of a closed sprint only the figures were kept.
    pub metrics: Option<Metrics>,
    pub revision: u64,
}

pub fn measure(ctx: &Context, scope: &Scope) -> Result<Measured> {
    let everything = Everything::read(ctx)?;
    let revision = everything.board.revision;
    let (scope, title, found) = match scope {
        Scope::Goal if everything.board.has_former_goals() => {
            let id = &everything.board.rest.goal.id;
            (json!({ "of": "goal", "id": id }), format!("goal {id}"), everything.of_goal())
        }
        Scope::Goal | Scope::Board => (json!({ "of": "board" }), "board".to_owned(), everything.of_board()),
        Scope::Task(id) => {
            let found = everything.of_task(id).ok_or_else(|| {
                failure!(Code::UnknownTask, "there is no task `{id}`, archived or not")
                    .hint(everything.board.hint_for_task(id))
            })?;
            (json!({ "of": "task", "id": id }), format!("task {id}"), found)
        }
        Scope::Sprint(id) => {
            let sprint = everything.sprint(id)?;
            let scope = json!({ "of": "sprint", "id": sprint.id, "status": sprint.status });
            let title =
                format!("sprint {} (events of the sprint; lead times count from before it)", sprint.id);
            if !sprint.is_open() {
                let figures = sprint.metrics.iter().map(|(name, value)| (name.clone(), *value)).collect();
                let title = format!("sprint {}, as it was closed", sprint.id);
                return Ok(Measured { scope, title, figures, metrics: None, revision });
            }
            (scope, title, everything.of_sprint(sprint))
        }
    };
    Ok(Measured { scope, title, figures: found.figures(), metrics: Some(found), revision })
}
