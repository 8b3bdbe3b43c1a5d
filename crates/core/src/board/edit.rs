//! Changes that a person made to state.yaml with an editor: the part that liza may adopt, and the fields that it may
//! not.

use super::records::Note;
use super::rules::{AdoptEdit, TaskEdit};
use super::state::{Board, Rest};
use super::task::Status;

/// The fields a person may change with an editor, as messages list them.
pub const EDITABLE: &str = "human_notes, the limits in config, the goal's description and spec_ref, and title, description, spec_ref, done_when, scope, owns and priority of DRAFT and IDLE tasks";

/// The result of comparing an edited board with the last good one.
pub struct Compared {
    /// The changes of fields that a person may edit.
    pub edit: AdoptEdit,
    /// The changed fields that only liza may change.
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
    let by_id = edited.by_id();
    for task in &good.tasks {
        if !matches!(task.status, Status::Draft | Status::Idle) {
            continue;
        }
        if let Some(changed) = by_id.get(&task.id).copied()
            && TaskEdit::of(changed) != TaskEdit::of(task)
        {
            edit.tasks.push(TaskEdit::of(changed));
        }
    }
    let mut reached = good.clone();
    edit.write_into(&mut reached);
    let mut beyond = differences(&reached, edited);
    beyond.extend(foreign_notes(&good.rest.human_notes, &edited.rest.human_notes));
    Compared { edit, beyond }
}

/// Notes that an edit may not add or change: those of another author than a person, and marks on existing notes.
fn foreign_notes(good: &[Note], edited: &[Note]) -> Vec<String> {
    let known = |note: &Note| good.iter().find(|known| known.id == note.id);
    let foreign = |note: &&Note| match known(note) {
        Some(known) => known.by != note.by || known.typed != note.typed,
        None => !note.by.is_human() || note.typed.is_some(),
    };
    edited.iter().filter(foreign).map(|note| format!("whose note {} is", note.id)).collect()
}

/// The fields in which two boards differ.
fn differences(good: &Board, edited: &Board) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |place: &str, same: bool| {
        if !same {
            found.push(place.to_owned());
        }
    };
    differ("revision", good.revision == edited.revision);
    differ("journal", good.journal == edited.journal);
    // Destructured, so that a new field does not compile until this function handles it.
    let Rest {
        goal,
        goals,
        sprint,
        config,
        agents,
        intents,
        requests,
        discovered,
        handoff,
        human_notes,
        messages,
        anomalies,
        spec_changes,
        circuit_breaker,
        integration,
        expectations,
        gate_ledger,
        interventions,
        spent,
        spent_planning,
        run,
        former_sprints,
        archived,
        graph_id,
        git_settings,
        pending_edits,
        made_below,
        routes,
        workstreams,
        extra,
    } = &good.rest;
    let now = &edited.rest;
    differ("goal", *goal == now.goal);
    differ("goals", *goals == now.goals);
    differ("sprint", *sprint == now.sprint);
    differ("config.integration_branch", *config == now.config);
    differ("agents", *agents == now.agents);
    differ("intents", *intents == now.intents);
    differ("requests", *requests == now.requests);
    differ("discovered", *discovered == now.discovered);
    differ("handoff", *handoff == now.handoff);
    differ("human_notes", *human_notes == now.human_notes);
    differ("messages", *messages == now.messages);
    differ("anomalies", *anomalies == now.anomalies);
    differ("spec_changes", *spec_changes == now.spec_changes);
    differ("circuit_breaker", *circuit_breaker == now.circuit_breaker);
    differ("integration", *integration == now.integration);
    differ("expectations", *expectations == now.expectations);
    differ("gate_ledger", *gate_ledger == now.gate_ledger);
    differ("interventions", *interventions == now.interventions);
    differ("spent", *spent == now.spent && *spent_planning == now.spent_planning);
    differ("run", *run == now.run);
    differ("former_sprints", *former_sprints == now.former_sprints);
    differ("archived", *archived == now.archived);
    differ("graph_id", *graph_id == now.graph_id);
    differ("git_settings", *git_settings == now.git_settings);
    differ("pending_edits", *pending_edits == now.pending_edits);
    differ("made_below", *made_below == now.made_below);
    differ("routes", *routes == now.routes);
    differ("workstreams", *workstreams == now.workstreams);
    differ("extra", *extra == now.extra);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::ids::GraphId;
    use crate::board::testing::Bench;

    #[test]
    fn a_changed_graph_id_is_beyond_a_person() {
        let good = Bench::new().board;
        let mut edited = good.clone();
        edited.rest.graph_id = Some(GraphId::new("another").expect("an id"));
        assert_eq!(edit_between(&good, &edited).beyond, ["graph_id"]);
        assert!(edit_between(&good, &good).beyond.is_empty());
    }
}
