//! The task, for the agent that implements or reviews it.

use super::{Desk, KIB};
use crate::board::task::Kind;
use crate::flow::prelude::*;
use crate::prompt::{Block, Bound, Outputs, Quoted};

const FILES_NAMED: usize = 30;
/// How much of another task's result is shown.
const LONGEST_RESULT: usize = 4000;

impl Desk<'_> {
    pub(super) fn implement(&mut self, id: &TaskId, epoch: u64) -> Result<()> {
        let task = self.task(id)?;
        let body = task.body();
        self.facts.optional("planned_role", body.planned_role.as_ref());
        self.worktree(task, epoch)?;
        self.facts.block("task", sheet(task));
        let remedy = "add the spec, or let the planner rescope the task";
        self.spec(&format!("task {id}"), body.spec_ref.as_deref(), body.spec.as_ref(), remedy);
        let outputs = self.outputs(task)?;
        self.facts.block("outputs", outputs);
        self.past(task, epoch)?;
        self.facts.block("tree", Block::none());
        self.facts.block("agents", Block::none());
        if task.kind == Kind::Report {
            self.report(task);
        }
        Ok(())
    }

    /// The required form of a result, for its author.
    fn report(&mut self, task: &Task) {
        let schema = crate::director::results::schema_of(&task.role).unwrap_or_default();
        let word = |text: &str| Quoted::bare(text);
        self.facts.plain("result_schema", &schema);
        self.facts.plain("schema_name", &word(&crate::director::schema::name_of(schema)));
        self.facts.plain("ssot_id", &word(&crate::flow::dispatch::scenario_of(task)));
        self.facts.optional("plans", task.is_stream_plan().then_some(&"yes"));
    }

    /// The worktree of the claim. A claim that has ended has none.
    fn worktree(&mut self, task: &Task, epoch: u64) -> Result<()> {
        let attempt = task.body().attempt().filter(|attempt| attempt.epoch == epoch && epoch > 0);
        if epoch > 0 && (attempt.is_none() || task.epoch != epoch || task.status != Status::Working) {
            return Err(failure!(Code::Epoch, "claim {epoch} on `{}` has ended", task.id)
                .hint("claim it again, or take other work"));
        }
        let Some(attempt) = attempt else {
            // The path that the claim will use.
            let claim = crate::flow::claim::foreseen(self.ctx, self.board, self.request.agent, &task.id)?;
            self.facts.plain("epoch", &claim.epoch);
            self.facts.plain("iteration", &u64::from(claim.iteration));
            self.facts.plain("worktree", &Quoted::new(&claim.worktree.display().to_string()));
            self.facts.plain("branch", &Quoted::new(&claim.branch));
            self.facts.plain("base_commit", &claim.base);
            return Ok(());
        };
        self.facts.plain("epoch", &epoch);
        self.facts.plain("iteration", &u64::from(task.iteration));
        let worktree = self.ctx.root().join(&attempt.worktree);
        let shown = Quoted::new(&worktree.display().to_string());
        if !worktree.join(".git").exists() {
            let of = format!("{} of {}", shown.as_str(), task.id);
            self.missing.push(format!("the worktree {of} is gone: `liza doctor` shows the rest of it"));
        }
        self.facts.plain("worktree", &shown);
        self.facts.plain("branch", &Quoted::new(&attempt.branch));
        self.facts.plain("base_commit", &attempt.base_commit);
        Ok(())
    }

    /// Merged outputs that this agent may know.
    pub(super) fn outputs(&self, task: &Task) -> Result<Block> {
        let mut lines = Vec::new();
        match self.row.outputs {
            Outputs::None => {}
            Outputs::Dependencies => {
                for id in &task.depends_on {
                    self.output_of(id, &mut lines)?;
                }
            }
            Outputs::Merged => return Ok(self.merged_outputs()),
        }
        Ok(merged_block(&lines))
    }

    /// The outputs of every merged task of the board.
    pub(super) fn merged_outputs(&self) -> Block {
        let merged = self.board.tasks.iter().filter(|other| other.status == Status::Merged);
        let lines: Vec<String> = merged.map(|other| self.output(other)).collect();
        merged_block(&lines)
    }

    fn output_of(&self, id: &TaskId, lines: &mut Vec<String>) -> Result<()> {
        let archived = self.ctx.store.archived_beside(self.board, id)?;
        match self.board.task(id).or(archived.as_ref()) {
            Some(task) if task.status == Status::Merged => lines.push(self.output(task)),
            Some(task) if task.status == Status::Superseded => {
                let into: Vec<&str> = task.superseded_by.iter().map(TaskId::as_str).collect();
                lines.push(format!("{id}: replaced by {}", into.join(", ")));
                for part in &task.superseded_by {
                    self.output_of(part, lines)?;
                }
            }
            Some(task) => lines.push(format!("{id}: {}", task.status)),
            None => lines.push(format!("{id}: not on the board")),
        }
        Ok(())
    }
}

impl Desk<'_> {
    /// The output of a merged task: the files of its commit, or its result.
    fn output(&self, task: &Task) -> String {
        let Some(result) = task.result.as_ref().filter(|_| task.stands_on_result()) else {
            return output(&task.id, task.body());
        };
        let title = shown_line(task.title().trim()).into_owned();
        let content = match self.ctx.store.result_bytes(&task.id, result) {
            Some(bytes) => {
                clipped(&shown_line(&String::from_utf8_lossy(&bytes)), LONGEST_RESULT).into_owned()
            }
            None => "its file is gone".to_owned(),
        };
        format!("{}: result ({}) of: {title}; {content}", task.id, result.status.as_str())
    }
}

fn merged_block(lines: &[String]) -> Block {
    let bound = Bound::new(16 * KIB, "`liza status`");
    Block::new("the board, about merged tasks", &lines.join("\n"), &bound)
}

fn output(id: &TaskId, body: &Body) -> String {
    let commit = body.merge.as_ref().and_then(|merge| merge.commit.as_ref()).map_or("?", CommitId::as_str);
    let title = shown_line(body.title.trim()).into_owned();
    // Expected outputs that are not files: names of artifacts, values.
    let named: Vec<String> = body
        .expected_outputs
        .iter()
        .filter(|output| !body.actual_outputs.contains(output))
        .cloned()
        .collect();
    let promised =
        if named.is_empty() { String::new() } else { format!("; expected outputs: {}", files(&named)) };
    format!("{id}: merged as {commit}; files: {}{promised}; task: {title}", files(&body.actual_outputs))
}

/// The first of many file names, on one line.
pub(super) fn files(files: &[String]) -> String {
    let mut words: Vec<String> =
        files.iter().take(FILES_NAMED).map(|file| shown_line(file).into_owned()).collect();
    if files.len() > FILES_NAMED {
        words.push(format!("and {} more", plural(files.len() - FILES_NAMED, "file")));
    }
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// The task as planned.
pub(super) fn sheet(task: &Task) -> Block {
    let body = task.body();
    let id = &task.id;
    let whole = format!("`liza task show {id}`");
    let patterns = |patterns: &[PathPattern]| -> String {
        let shown = patterns.iter().map(|pattern| shown_line(pattern.as_str()).into_owned());
        shown.collect::<Vec<_>>().join(", ")
    };
    let listed = |names: &[String]| if names.is_empty() { String::new() } else { files(names) };
    let fields = [
        ("title", shown_line(&body.title).into_owned()),
        ("may change (scope IN)", patterns(&body.scope.inside)),
        ("must not change (scope OUT)", patterns(&body.scope.outside)),
        ("owns (no other task may change these)", patterns(&task.owns)),
        ("waited for", task.depends_on.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")),
        ("inputs", listed(&body.inputs)),
        ("expected outputs", listed(&body.expected_outputs)),
        ("timebox", body.timebox_minutes.map_or(String::new(), |minutes| format!("{minutes} minutes"))),
    ];
    let fields = fields.iter().filter(|(_, value)| !value.is_empty());
    let fields: Vec<String> = fields.map(|(name, value)| format!("{name}: {value}")).collect();
    let bound = Bound::new(32 * KIB, &whole);
    let field = |name: &str, text: &str| Block::new(&format!("task {id}, field {name}"), text, &bound);
    Block::new(&format!("task {id}"), &fields.join("\n"), &Bound::new(16 * KIB, &whole))
        .and(field("description", &body.description))
        .and(field("done_when", &numbered(&body.done_when)))
}

/// Numbered items; further lines of an item cannot look like another item.
pub(super) fn numbered(items: &[String]) -> String {
    items
        .iter()
        .enumerate()
        .map(|(at, item)| format!("{}. {}", at + 1, indent(item.trim(), 3).trim_start()))
        .collect::<Vec<_>>()
        .join("\n")
}
