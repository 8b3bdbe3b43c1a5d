//! What a person may change with an editor, taken over as a transition like any other.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::config::Config;
use crate::board::history::Event;
use crate::board::ids::TaskId;
use crate::board::paths::{PathPattern, any_overlap};
use crate::board::records::Note;
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::task::{Scope, Status, Task};
use crate::board::transition::{Needs, Rule};

use super::common::{LONGEST_TITLE, entry, find, human_only, parts, text_fits, text_given};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdoptEdit {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_spec_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Config>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_notes: Option<Vec<Note>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskEdit>,
}

/// The parts of a task nobody has begun that a person may rewrite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskEdit {
    pub id: TaskId,
    pub title: String,
    pub description: String,
    pub spec_ref: Option<String>,
    pub done_when: Vec<String>,
    pub scope: Scope,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checklist: Vec<String>,
    pub owns: Vec<PathPattern>,
    pub priority: i64,
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
        body.spec_ref = self.spec_ref.clone();
        body.done_when = self.done_when.clone();
        body.scope = self.scope.clone();
        body.checklist = self.checklist.clone();
        head.owns = self.owns.clone();
        head.priority = self.priority;
    }

    fn check(&self, task: &Task) -> Result<(), Refusal> {
        if !matches!(task.status, Status::Draft | Status::Idle) {
            return Refusal::new(
                Code::EditRefused,
                format!(
                    "task `{}` is {}; only DRAFT and IDLE tasks may be rewritten by hand",
                    self.id, task.status
                ),
            )
            .err();
        }
        text_given("title", &self.title)?;
        if self.title.chars().count() > LONGEST_TITLE {
            return Refusal::new(Code::Limit, format!("the title of `{}` is too long", self.id)).err();
        }
        text_fits("description", &self.description)?;
        self.done_when.iter().try_for_each(|text| text_given("done_when", text))?;
        self.checklist.iter().try_for_each(|text| text_given("checklist", text))?;
        if task.status == Status::Idle
            && (self.done_when.is_empty() || self.spec_ref.is_none() || self.scope.inside.is_empty())
        {
            return Refusal::new(
                Code::EditRefused,
                format!("task `{}` is claimable and must keep done_when, spec_ref and scope", self.id),
            )
            .err();
        }
        Ok(())
    }
}

impl AdoptEdit {
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// Writes the edit into a board; both the rule and the comparison of an edited file use it.
    pub fn write_into(&self, board: &mut Board) {
        if let Some(text) = &self.goal_description {
            board.rest.goal.description = text.clone();
        }
        if let Some(spec) = &self.goal_spec_ref {
            board.rest.goal.spec_ref = spec.clone();
        }
        if let Some(config) = &self.config {
            board.rest.config = config.clone();
        }
        if let Some(notes) = &self.human_notes {
            board.rest.human_notes = notes.clone();
        }
        for edit in &self.tasks {
            edit.write_into(board);
        }
    }

    /// In words, for the person who made it.
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

impl Rule for AdoptEdit {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "have an edit adopted")?;
        if let Some(config) = &self.config {
            if config.integration_branch != board.config().integration_branch {
                return Refusal::new(
                    Code::EditRefused,
                    "config.integration_branch is no limit and cannot be edited",
                )
                .err();
            }
            let problems: Vec<String> =
                config.problems().into_iter().map(|(field, why)| format!("{field} {why}")).collect();
            if !problems.is_empty() {
                return Refusal::new(Code::EditRefused, problems.join("; ")).err();
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
            // One that was let go still keeps its paths; it cannot grow into those of another.
            let others = board.tasks.iter().filter(|other| other.id != task.id && other.is_live(call.now));
            if let Some(other) = others
                .filter(|_| task.is_live(call.now))
                .find(|other| any_overlap(&edit.owns, &other.owns).is_some())
            {
                return Refusal::new(
                    Code::EditRefused,
                    format!("`{}` would own paths of task `{}`", edit.id, other.id),
                )
                .err();
            }
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        self.write_into(board);
        for edit in &self.tasks {
            let (_, body) = parts(board, &edit.id);
            body.history.push(entry(call, Event::Edited));
        }
        json!({ "adopted": self.summary() })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Tasks(self.tasks.iter().map(|edit| edit.id.clone()).collect())
    }
}
