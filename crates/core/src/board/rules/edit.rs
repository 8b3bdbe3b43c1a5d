//! A planner or a person rewrites what a task asks for.

use super::add_tasks::{
    NewTask, check_complete, check_fields, check_parent, check_slice, dependency_missing, no_cycle,
};
use super::claim::check_paths_free;
use super::prelude::*;
use super::streams::{check_members, check_route};

logged! {
    /// The text as the editor found it and as it shall be: a change that another editor made in between is not overwritten.
    pub struct EditTask {
        pub before: Box<NewTask>,
        pub after: Box<NewTask>,
        /// The new `spec_ref` names a file that is there.
        pub spec_found: bool,
        /// The text of the new spec.
        pub pin: Option<PinnedSpec>,
        /// As of new tasks.
        pub strict: bool,
        /// As of new tasks.
        pub slices: bool,
    }
}

outcome!(Edited {
    task: TaskId,
    status: Status,
    changes: Vec<Change>,
    /// Earlier submissions, approvals and red team turns no longer count.
    judged_anew: bool,
});

impl EditTask {
    /// The edit changes what the task asks for or how it is judged, so earlier verdicts no longer apply.
    fn asks_for_more(&self) -> bool {
        let asked = |task: &NewTask| {
            let NewTask { description, done_when, checklist, scope, spec_ref, .. } = task.clone();
            (description, done_when, checklist, scope, spec_ref)
        };
        let judged = |task: &NewTask| (task.kind, task.risk, task.role.clone(), task.depends_on.clone());
        asked(&self.before) != asked(&self.after) || judged(&self.before) != judged(&self.after)
    }

    fn check_dependencies(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let (id, wanted) = (&self.after.id, &self.after.depends_on);
        let known = |on: &TaskId| board.task(on).is_some() || call.world.archived.contains_key(on);
        if let Some(missing) = wanted.iter().find(|on| !known(on)) {
            return Err(dependency_missing(id, missing));
        }
        no_cycle(&Graph::of(&board.tasks).with([(id, wanted.as_slice())]).below([id]))
    }

    /// A code task that was worked on cannot become a report, nor a report a code task.
    fn check_kind_stays(&self, task: &Task) -> Result<(), Refusal> {
        let report = |task: &NewTask| task.kind == Kind::Report;
        if report(&self.before) == report(&self.after) || task.implementers.is_empty() {
            return Ok(());
        }
        Err(refusal!(
            Code::Slice,
            "task `{}` was worked on, so it neither becomes a report nor stops being one",
            task.id
        )
        .hint(format!("replace it: `liza task rescope {} --into FILE --reason …`", task.id))
        .detail("field", "kind"))
    }

    /// A task that holds paths cannot grow into those of another.
    fn check_paths(&self, board: &Board, call: &Call, task: &Task) -> Result<(), Refusal> {
        if !task.is_live(call.now) {
            return Ok(());
        }
        let mut grown = task.clone();
        grown.parts_mut().0.owns = self.after.owned();
        check_paths_free(board, call, &grown)
    }
}

impl Verb for EditTask {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = Edited;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let id = &self.after.id;
        plans(board, call, "edit tasks")?;
        let task = find(board, id)?;
        no_intent(board, id)?;
        if !matches!(task.status, Status::Draft | Status::Idle | Status::Blocked) {
            let hint = format!(
                "only DRAFT, IDLE and BLOCKED tasks are edited: `liza task block {id} --reason … --question …` first"
            );
            return Err(wrong_state(task, "edited", hint));
        }
        if task.hypothesis_exhausted() {
            return Err(refusal!(
                Code::HypothesisExhausted,
                "two agents failed at task `{id}`; other words for it do not help"
            )
            .hint(format!("split or replan it: `liza task rescope {id} --into FILE --reason …`"))
            .detail("task", id.as_str()));
        }
        if *self.before != NewTask::of(task) {
            return Err(refusal!(
                Code::Edited,
                "task `{id}` was edited by another agent or person meanwhile"
            )
            .hint(format!("look at it with `liza task show {id}`, then edit it again"))
            .detail("task", id.as_str()));
        }
        if self.before == self.after {
            return Err(refusal!(Code::Value, "task `{id}` says all of this already")
                .hint("`liza task edit --help` lists what can be changed"));
        }
        check_fields(&self.after, self.strict)?;
        if self.slices {
            check_slice(&self.after)?;
            self.check_kind_stays(task)?;
            check_members(board, call, std::slice::from_ref(&*self.after), &[], None)?;
            let moves =
                self.before.workstream != self.after.workstream || self.before.kind != self.after.kind;
            if moves && board.is_planned_for_goal(task) {
                check_route(board, call, std::slice::from_ref(&*self.after), &[])?;
            }
        }
        if self.strict && self.before.parent != self.after.parent {
            check_parent(board, call, &self.after, &[])?;
        }
        if self.before.role != self.after.role {
            check_spawn(board, call, [&self.after.role])?;
        }
        if task.status != Status::Draft && task.body().blocked_from != Some(Status::Draft) {
            let after = &self.after;
            check_complete(
                id,
                &after.done_when,
                after.spec_ref.as_deref(),
                self.spec_found,
                &after.scope,
                after.kind,
            )?;
            self.check_dependencies(board, call)?;
        }
        self.check_paths(board, call, task)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let changes = self.before.changed_to(&self.after);
        let (head, body) = parts(board, &self.after.id);
        let judged_anew = !body.attempts.is_empty() && self.asks_for_more();
        self.after.write_into(head, body);
        if self.before.spec_ref != self.after.spec_ref {
            body.spec.clone_from(&self.pin);
        }
        if judged_anew {
            forget_judgements(head, body);
        }
        let mut line = entry(call, Event::Edited);
        line.changes.clone_from(&changes);
        body.history.push(line);
        Edited { task: self.after.id.clone(), status: head.status, changes, judged_anew }
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.after.id)
    }

    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        self.after.depends_on.iter().chain(&self.after.parent).cloned().collect()
    }
}

/// The work stays on its branch, but it answers the old text: its submission, approval and red team turn are void. Once
/// the task is unblocked, its agent goes on.
fn forget_judgements(head: &mut Head, body: &mut Body) {
    forget_approval(head, body);
    head.review_commit = None;
    head.integration_fix = false;
    body.submission = None;
    body.gates = None;
    body.integration_failure = None;
    if head.status == Status::Blocked {
        body.blocked_from = Some(Status::Working);
    }
}

macro_rules! changes {
    ($before:ident, $after:ident: $($field:ident),* $(,)?) => {{
        let mut changes = Vec::new();
        $(if $before.$field != $after.$field {
            changes.push(Change::of(stringify!($field), &$before.$field, &$after.$field));
        })*
        changes
    }};
}

impl NewTask {
    /// A task of the board in the form of a new task.
    pub fn of(task: &Task) -> Self {
        let body = task.body();
        let owns = if task.owns == body.scope.inside || task.kind == Kind::Report {
            Vec::new()
        } else {
            task.owns.clone()
        };
        Self {
            id: task.id.clone(),
            title: body.title.clone(),
            description: body.description.clone(),
            spec_ref: body.spec_ref.clone(),
            done_when: body.done_when.clone(),
            scope: body.scope.clone(),
            checklist: body.checklist.clone(),
            owns,
            depends_on: task.depends_on.clone(),
            priority: task.priority,
            kind: task.kind,
            risk: task.risk,
            role: task.role.clone(),
            parent: body.parent.clone(),
            tags: body.tags.clone(),
            inputs: body.inputs.clone(),
            expected_outputs: body.expected_outputs.clone(),
            max_coder_iterations: body.max_coder_iterations,
            max_review_cycles: body.max_review_cycles,
            expected_files: body.expected_files,
            expected_lines: body.expected_lines,
            timebox_minutes: body.timebox_minutes,
            slice_kind: task.slice_kind,
            workstream: task.workstream.clone(),
        }
    }

    fn changed_to(&self, after: &Self) -> Vec<Change> {
        changes!(self, after: title, description, spec_ref, done_when, scope, checklist, owns, depends_on, priority, kind,
            risk, role, parent, tags, inputs, expected_outputs, max_coder_iterations, max_review_cycles, expected_files,
            expected_lines, timebox_minutes, slice_kind, workstream)
    }

    pub(super) fn write_into(&self, head: &mut Head, body: &mut Body) {
        if head.role != self.role {
            // The agent that the task was reserved for may not have the new role.
            head.reserved_until = None;
            body.planned_role = None;
        }
        let new = self.clone();
        head.owns = self.owned();
        head.depends_on = new.depends_on;
        head.priority = new.priority;
        head.kind = new.kind;
        head.risk = new.risk;
        head.role = new.role;
        body.title = new.title;
        body.description = new.description;
        body.spec_ref = new.spec_ref;
        body.done_when = new.done_when;
        body.scope = new.scope;
        body.checklist = new.checklist;
        body.parent = new.parent;
        body.tags = new.tags;
        body.inputs = new.inputs;
        body.expected_outputs = new.expected_outputs;
        body.max_coder_iterations = new.max_coder_iterations;
        body.max_review_cycles = new.max_review_cycles;
        body.expected_files = new.expected_files;
        body.expected_lines = new.expected_lines;
        body.timebox_minutes = new.timebox_minutes;
        head.slice_kind = new.slice_kind;
        head.workstream = new.workstream;
    }
}
