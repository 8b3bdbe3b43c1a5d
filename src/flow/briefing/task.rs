//! What whoever works on a task, or judges it, knows of it.

use crate::board::task::Body;
use crate::board::{PathPattern, Status, Task, TaskId};
use crate::flow::failure::Failure;
use crate::prompt::{Block, Bound, Outputs, Quoted};
use crate::text::{indent, plural, shown_line};

use super::{Desk, KIB};

const FILES_NAMED: usize = 30;

impl Desk<'_> {
    pub(super) fn implement(&mut self, id: &TaskId, epoch: u64) -> Result<(), Failure> {
        let task = self.task(id)?;
        let body = task.body();
        self.facts.plain("epoch", &epoch);
        self.facts.plain("iteration", &u64::from(task.iteration));
        self.facts.optional("planned_role", body.planned_role.as_ref());
        self.place(task, epoch)?;
        self.sheet(task);
        self.spec(
            &format!("task {id}"),
            body.spec_ref.as_deref(),
            "put it there, or let the planner rescope the task",
        );
        let outputs = self.outputs(task)?;
        self.facts.block("outputs", outputs);
        self.past(task, epoch)?;
        self.facts.block("tree", Block::none());
        self.facts.block("agents", Block::none());
        Ok(())
    }

    /// Where the work is done. A claim that is over has no such place.
    fn place(&mut self, task: &Task, epoch: u64) -> Result<(), Failure> {
        let attempt = task.body().attempt().filter(|attempt| attempt.epoch == epoch && epoch > 0);
        if epoch > 0 && (attempt.is_none() || task.epoch != epoch || task.status != Status::Working) {
            return Err(Failure::new("stale.epoch", format!("claim {epoch} on `{}` is over", task.id))
                .hint("claim it again, or take other work"));
        }
        let Some(attempt) = attempt else {
            self.facts.optional("worktree", None::<&Quoted>);
            self.facts.optional("branch", None::<&Quoted>);
            self.facts.optional("base_commit", None::<&Quoted>);
            return Ok(());
        };
        let worktree = self.ctx.root().join(&attempt.worktree);
        let shown = Quoted::new(&worktree.display().to_string());
        if !worktree.join(".git").exists() {
            self.missing.push(format!(
                "the worktree {} of {} is gone: `liza doctor` says what is left of it",
                shown.as_str(),
                task.id
            ));
        }
        self.facts.plain("worktree", &shown);
        self.facts.plain("branch", &Quoted::new(&attempt.branch));
        self.facts.plain("base_commit", &attempt.base_commit);
        Ok(())
    }

    /// The task as it was planned.
    pub(super) fn sheet(&mut self, task: &Task) {
        self.facts.block("task", sheet(task));
    }

    /// What is merged already and this agent may know of.
    pub(super) fn outputs(&self, task: &Task) -> Result<Block, Failure> {
        let mut lines = Vec::new();
        match self.row.outputs {
            Outputs::None => {}
            Outputs::Dependencies => {
                for id in &task.depends_on {
                    self.output_of(id, &mut lines)?;
                }
            }
            Outputs::Merged => {
                let merged = self.board.tasks.iter().filter(|other| other.status == Status::Merged);
                lines.extend(merged.map(|other| output(&other.id, other.body())));
            }
        }
        Ok(Block::new(
            "the board, about merged tasks",
            &lines.join("\n"),
            &Bound::new(16 * KIB, "`liza status`"),
        ))
    }

    fn output_of(&self, id: &TaskId, lines: &mut Vec<String>) -> Result<(), Failure> {
        let archived = self.ctx.store.archived_beside(self.board, id)?;
        match self.board.task(id).or(archived.as_ref()) {
            Some(task) if task.status == Status::Merged => lines.push(output(id, task.body())),
            Some(task) if task.status == Status::Superseded => {
                let into: Vec<&str> = task.superseded_by.iter().map(TaskId::as_str).collect();
                lines.push(format!("{id}: replaced by {}", into.join(", ")));
            }
            Some(task) => lines.push(format!("{id}: {}", task.status)),
            None => lines.push(format!("{id}: not on the board")),
        }
        Ok(())
    }
}

fn output(id: &TaskId, body: &Body) -> String {
    let commit = body.merge.as_ref().map_or("?", |merge| merge.commit.as_str());
    format!("{id}: merged as {commit}; files: {}", files(&body.actual_outputs))
}

/// File names on one line, the first of many.
pub(super) fn files(files: &[String]) -> String {
    let mut words: Vec<String> =
        files.iter().take(FILES_NAMED).map(|file| shown_line(file).into_owned()).collect();
    if files.len() > FILES_NAMED {
        words.push(format!("and {} more", plural(files.len() - FILES_NAMED, "file")));
    }
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

fn sheet(task: &Task) -> Block {
    let body = task.body();
    let id = &task.id;
    let whole = format!("`liza task show {id}`");
    let patterns = |patterns: &[PathPattern]| -> String {
        patterns
            .iter()
            .map(|pattern| shown_line(pattern.as_str()).into_owned())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut fields = vec![("title", shown_line(&body.title).into_owned())];
    fields.push(("may change (scope IN)", patterns(&body.scope.inside)));
    fields.push(("must not change (scope OUT)", patterns(&body.scope.outside)));
    fields.push(("owns, nobody else may change", patterns(&task.owns)));
    fields.push(("waited for", task.depends_on.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")));
    fields.push(("inputs", files(&body.inputs).replace("none", "")));
    fields.push(("expected outputs", files(&body.expected_outputs).replace("none", "")));
    fields.push((
        "timebox",
        body.timebox_minutes.map_or(String::new(), |minutes| format!("{minutes} minutes")),
    ));
    let fields: Vec<String> = fields
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    Block::new(&format!("task {id}"), &fields.join("\n"), &Bound::new(16 * KIB, &whole))
        .and(Block::new(
            &format!("task {id}, field description"),
            &body.description,
            &Bound::new(32 * KIB, &whole),
        ))
        .and(Block::new(
            &format!("task {id}, field done_when"),
            &numbered(&body.done_when),
            &Bound::new(32 * KIB, &whole),
        ))
}

/// One item per number; the further lines of an item cannot pass for another item.
pub(super) fn numbered(items: &[String]) -> String {
    items
        .iter()
        .enumerate()
        .map(|(at, item)| format!("{}. {}", at + 1, indent(item.trim(), 3).trim_start()))
        .collect::<Vec<_>>()
        .join("\n")
}
