//! Adopting the changes that a person made with an editor, as a transition.

use super::prelude::*;
use super::set_aside_edit::{no_longer_pending, pending};

logged! {
    #[derive(Default)]
    pub struct AdoptEdit {
        pub goal_description: Option<String>,
        pub goal_spec_ref: Option<String>,
        pub config: Option<Config>,
        pub human_notes: Option<Vec<Note>>,
        pub tasks: Vec<TaskEdit>,
        /// The name of the edit, if it was set aside first.
        pub edit: Option<String>,
    }

    /// The parts of a DRAFT or IDLE task that a person may rewrite.
    pub struct TaskEdit {
        pub id: TaskId,
        pub title: String,
        pub description: String,
        always pub spec_ref: Option<String>,
        always pub done_when: Vec<String>,
        pub scope: Scope,
        pub checklist: Vec<String>,
        always pub owns: Vec<PathPattern>,
        pub priority: i64,
    }
}

impl TaskEdit {
    pub fn of(task: &Task) -> Self {
        let body = task.body();
        Self {
            id: task.id.clone(),
            title: body.title.clone(),
            description: body.description.clone(),
            spec_ref: body.spec_ref.clone(),
            done_when: body.done_when.clone(),
            scope: body.scope.clone(),
            checklist: body.checklist.clone(),
            owns: task.owns.clone(),
            priority: task.priority,
        }
    }

    pub fn write_into(&self, board: &mut Board) {
        let (head, body) = parts(board, &self.id);
        body.title = self.title.clone();
        body.description = self.description.clone();
        if body.spec_ref != self.spec_ref {
            body.spec = None;
        }
        body.spec_ref = self.spec_ref.clone();
        body.done_when = self.done_when.clone();
        body.scope = self.scope.clone();
        body.checklist = self.checklist.clone();
        head.owns = self.owns.clone();
        head.priority = self.priority;
    }

    fn check(&self, task: &Task) -> Result<(), Refusal> {
        if !matches!(task.status, Status::Draft | Status::Idle) {
            return Err(refusal!(
                Code::EditRefused,
                "task `{}` is {}; only DRAFT and IDLE tasks may be edited in the file",
                self.id,
                task.status
            ));
        }
        text_given("title", &self.title)?;
        if self.title.chars().count() > LONGEST_TITLE {
            return Err(refusal!(Code::Limit, "the title of `{}` is too long", self.id));
        }
        text_fits("description", &self.description)?;
        self.done_when.iter().try_for_each(|text| text_given("done_when", text))?;
        self.checklist.iter().try_for_each(|text| text_given("checklist", text))?;
        if task.status == Status::Idle
            && (self.done_when.is_empty() || self.spec_ref.is_none() || self.scope.inside.is_empty())
        {
            return Err(Refusal::new(
                Code::EditRefused,
                format!("task `{}` is claimable and must keep done_when, spec_ref and scope", self.id),
            ));
        }
        Ok(())
    }
}

/// Replaces a value if a new one is given.
pub(super) fn replace<T: Clone>(old: &mut T, new: Option<&T>) {
    if let Some(new) = new {
        old.clone_from(new);
    }
}

impl AdoptEdit {
    /// Whether the edit changes nothing on the board.
    pub fn is_empty(&self) -> bool {
        self == &Self { edit: self.edit.clone(), ..Self::default() }
    }

    /// Writes the edit into a board; both the rule and the comparison of an edited file use it.
    pub fn write_into(&self, board: &mut Board) {
        replace(&mut board.rest.goal.description, self.goal_description.as_ref());
        replace(&mut board.rest.goal.spec_ref, self.goal_spec_ref.as_ref());
        replace(&mut board.rest.config, self.config.as_ref());
        replace(&mut board.rest.human_notes, self.human_notes.as_ref());
        for edit in &self.tasks {
            edit.write_into(board);
        }
    }

    /// The edit in words, for the person who made it.
    pub fn summary(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.goal_description.is_some() || self.goal_spec_ref.is_some() {
            parts.push("goal".to_owned());
        }
        if self.config.is_some() {
            parts.push("config".to_owned());
        }
        if self.human_notes.is_some() {
            parts.push("human_notes".to_owned());
        }
        parts.extend(self.tasks.iter().map(|edit| format!("task {}", edit.id)));
        parts
    }
}

outcome!(Adopted { adopted: Vec<String> });

impl Verb for AdoptEdit {
    const OPERATION: Option<Operation> = None;
    type Outcome = Adopted;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "have an edit adopted")?;
        self.edit.as_ref().map_or(Ok(()), |file| pending(board, file))?;
        if let Some(config) = &self.config {
            if config.integration_branch != board.config().integration_branch {
                return Err(refusal!(
                    Code::EditRefused,
                    "config.integration_branch is no limit and cannot be edited"
                ));
            }
            let problems: Vec<String> =
                config.problems().into_iter().map(|(field, why)| format!("{field} {why}")).collect();
            if !problems.is_empty() {
                return Err(Refusal::new(Code::EditRefused, problems.join("; ")));
            }
        }
        if let Some(text) = &self.goal_description {
            text_given("goal.description", text)?;
        }
        for note in self.human_notes.iter().flatten() {
            text_given("human_notes", &note.text)?;
        }
        for edit in &self.tasks {
            let task = find(board, &edit.id)?;
            edit.check(task)?;
            // A released task still holds its paths; an edit cannot add paths of another task.
            let others = board.tasks.iter().filter(|other| other.id != task.id && other.is_live(call.now));
            if let Some(other) = others
                .filter(|_| task.is_live(call.now))
                .find(|other| any_overlap(&edit.owns, &other.owns).is_some())
            {
                return Err(Refusal::new(
                    Code::EditRefused,
                    format!("`{}` would own paths of task `{}`", edit.id, other.id),
                ));
            }
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        self.write_into(board);
        if let Some(file) = &self.edit {
            no_longer_pending(board, file);
        }
        for edit in &self.tasks {
            let (_, body) = parts(board, &edit.id);
            body.history.push(entry(call, Event::Edited));
        }
        Adopted { adopted: self.summary() }
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Tasks(self.tasks.iter().map(|edit| edit.id.clone()).collect())
    }
}
