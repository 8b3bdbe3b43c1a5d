//! What somebody changed in the file by hand: the part that may be adopted, or the places that may not.

use super::rules::{AdoptEdit, TaskEdit};
use super::state::Board;
use super::task::Status;

/// What a person may change with an editor, for whoever has to be told.
pub const EDITABLE: &str = "human_notes, the limits in config, the goal's description and spec_ref, and title, description, spec_ref, done_when, scope, owns and priority of DRAFT and IDLE tasks";

/// What somebody changed.
pub struct Compared {
    /// The part in places where a person may change something.
    pub edit: AdoptEdit,
    /// The places where only liza does.
    pub beyond: Vec<String>,
}

/// Compares the last good board with an edited one. Both must have all bodies loaded.
///
/// Everything that is not expressly allowed is beyond it, found by making the allowed change and comparing what is left.
pub fn edit_between(good: &Board, edited: &Board) -> Compared {
    let mut edit = AdoptEdit::default();
    if edited.rest.goal.description != good.rest.goal.description {
        edit.goal_description = Some(edited.rest.goal.description.clone());
    }
    if edited.rest.goal.spec_ref != good.rest.goal.spec_ref {
        edit.goal_spec_ref = Some(edited.rest.goal.spec_ref.clone());
    }
    if edited.rest.config != good.rest.config
        && edited.config().integration_branch == good.config().integration_branch
    {
        edit.config = Some(edited.rest.config.clone());
    }
    if edited.rest.human_notes != good.rest.human_notes {
        edit.human_notes = Some(edited.rest.human_notes.clone());
    }
    for task in &good.tasks {
        if !matches!(task.status, Status::Draft | Status::Idle) {
            continue;
        }
        if let Some(changed) = edited.task(&task.id)
            && TaskEdit::of(changed) != TaskEdit::of(task)
        {
            edit.tasks.push(TaskEdit::of(changed));
        }
    }
    let mut reached = good.clone();
    edit.write_into(&mut reached);
    let beyond = differences(&reached, edited);
    Compared { edit, beyond }
}

/// Names the places in which two boards differ.
fn differences(good: &Board, edited: &Board) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |place: &str, same: bool| {
        if !same {
            found.push(place.to_owned());
        }
    };
    differ("revision", good.revision == edited.revision);
    differ("journal", good.journal == edited.journal);
    let (a, b) = (&good.rest, &edited.rest);
    differ("goal", a.goal == b.goal);
    differ("sprint", a.sprint == b.sprint);
    differ("config.integration_branch", a.config == b.config);
    differ("agents", a.agents == b.agents);
    differ("intents", a.intents == b.intents);
    differ("requests", a.requests == b.requests);
    differ("discovered", a.discovered == b.discovered);
    differ("handoff", a.handoff == b.handoff);
    differ("human_notes", a.human_notes == b.human_notes);
    differ("messages", a.messages == b.messages);
    differ("anomalies", a.anomalies == b.anomalies);
    differ("spec_changes", a.spec_changes == b.spec_changes);
    differ("circuit_breaker", a.circuit_breaker == b.circuit_breaker);
    differ("integration", a.integration == b.integration);
    differ("expectations", a.expectations == b.expectations);
    differ("interventions", a.interventions == b.interventions);
    differ("spent", a.spent == b.spent && a.spent_planning == b.spent_planning);
    differ("run", a.run == b.run);
    differ("former_sprints", a.former_sprints == b.former_sprints);
    differ("archived", a.archived == b.archived);
    differ("extra", a.extra == b.extra);
    let ids = |board: &Board| board.tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>();
    if ids(good) != ids(edited) {
        found.push("tasks (added, removed or reordered)".to_owned());
        return found;
    }
    for (a, b) in good.tasks.iter().zip(&edited.tasks) {
        if a != b {
            found.push(task_differences(a, b));
        }
    }
    found
}

fn task_differences(a: &super::task::Task, b: &super::task::Task) -> String {
    let mut fields: Vec<String> = Vec::new();
    for (left, right) in [
        (serde_json::to_value(a.head()), serde_json::to_value(b.head())),
        (serde_json::to_value(a.body()), serde_json::to_value(b.body())),
    ] {
        if let (Ok(serde_json::Value::Object(left)), Ok(serde_json::Value::Object(right))) = (left, right) {
            fields.extend(
                left.keys().chain(right.keys()).filter(|key| left.get(*key) != right.get(*key)).cloned(),
            );
        }
    }
    fields.sort();
    fields.dedup();
    format!("task {}: {}", a.id, fields.join(", "))
}
