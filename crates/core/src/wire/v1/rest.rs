//! Goal, sprint and limits of an old board.

use super::OldTask;
use super::fields::{Extras, Fields, as_texts, new_id};
use crate::wire::prelude::*;

pub fn rest(
    top: &mut Fields,
    goal_fields: Option<Fields>,
    tasks: &[OldTask],
    now: &Stamp,
    extras: &mut Extras,
    remarks: &mut Vec<String>,
) -> Rest {
    let mut rest = Board::nothing().rest;
    rest.goal = goal(goal_fields.unwrap_or_default(), now, extras);
    rest.sprint = sprint(top.map("sprint").unwrap_or_default(), tasks, now, extras);
    rest.config = config(top.map("config").unwrap_or_default(), extras, remarks);
    rest
}

fn goal(mut fields: Fields, now: &Stamp, extras: &mut Extras) -> Goal {
    let status = fields.fit("status", |value| match value.as_str()? {
        "IN_PROGRESS" => Some(GoalStatus::InProgress),
        "COMPLETE" | "COMPLETED" | "DONE" => Some(GoalStatus::Complete),
        "ABANDONED" | "ABORTED" => Some(GoalStatus::Abandoned),
        _ => None,
    });
    let mut alignment_history = Vec::new();
    for (at, value) in fields.list("alignment_history").into_iter().enumerate() {
        let place = format!("goal.alignment_history[{at}]");
        let Value::Object(map) = value else {
            extras.keep(&place, value);
            continue;
        };
        let mut entry = Fields::new(map);
        alignment_history.push(Alignment {
            time: entry.time_of(&["time", "timestamp"]).unwrap_or(now.wall),
            event: entry.text("event").unwrap_or_default(),
            summary: entry.text("summary").unwrap_or_default(),
        });
        extras.leave(&place, entry);
    }
    let id = fields.text("id").unwrap_or_else(|| "goal-1".to_owned());
    let description = fields.text("description").unwrap_or_default();
    let spec_ref = fields.text("spec_ref").unwrap_or_else(|| "specs/vision.md".to_owned());
    let status = status.unwrap_or(GoalStatus::InProgress);
    let goal = Goal { status, alignment_history, ..Goal::new(&id, &description, &spec_ref) };
    extras.leave("goal", fields);
    goal
}

fn sprint(mut fields: Fields, tasks: &[OldTask], now: &Stamp, extras: &mut Extras) -> Sprint {
    let status = fields.fit("status", |value| match value.as_str()? {
        "IN_PROGRESS" => Some(SprintStatus::InProgress),
        "COMPLETE" | "COMPLETED" | "ABORTED" | "CLOSED" => Some(SprintStatus::Closed),
        _ => None,
    });
    let mut scope = Vec::new();
    // A list, or a map of planned and optional tasks: only the planned ones are the sprint's scope.
    let planned = match fields.map("scope") {
        None => fields.fit("scope", as_texts).unwrap_or_default(),
        Some(mut map) => {
            let planned = map.texts("planned");
            extras.leave("sprint.scope", map);
            planned
        }
    };
    for old in planned {
        match new_id(tasks, &old) {
            Some(id) if !scope.contains(id) => scope.push(id.clone()),
            Some(_) => {}
            None => extras.keep(&format!("sprint.scope.{old}"), old.into()),
        }
    }
    let mut timeline = fields.map("timeline").unwrap_or_default();
    let mut metrics = fields.map("metrics").unwrap_or_default();
    let deadline = timeline.time_of(&["deadline"]);
    let names =
        ["tasks_done", "tasks_in_progress", "tasks_blocked", "iterations_total", "review_cycles_total"];
    let sprint = Sprint {
        id: fields.text("id").unwrap_or_else(|| "sprint-1".to_owned()),
        status: status.unwrap_or(SprintStatus::InProgress),
        goal: None,
        scope,
        timeline: Timeline {
            started: timeline.time_of(&["started"]).unwrap_or(now.wall),
            deadline,
            // A deadline that passed before the migration does not halt the team now.
            halt: deadline.filter(|deadline| *deadline <= now.wall).map(|_| DeadlineHalt::Done),
            ended: timeline.time_of(&["ended"]),
        },
        metrics: names
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), metrics.fit(name, Value::as_f64)?)))
            .collect(),
        retrospective: fields.text("retrospective"),
        note: None,
        spent_before: Default::default(),
        planning_before: Default::default(),
        before: Default::default(),
    };
    extras.leave("sprint.timeline", timeline);
    extras.leave("sprint.metrics", metrics);
    extras.leave("sprint", fields);
    sprint
}

fn config(mut fields: Fields, extras: &mut Extras, remarks: &mut Vec<String>) -> Config {
    let branch = fields.text("integration_branch").filter(|branch| !branch.trim().is_empty());
    let mut config = Config::new(&branch.unwrap_or_else(|| "integration".to_owned()));
    let defaults = config.clone();
    let seconds =
        |fields: &mut Fields, keys: [&str; 2]| keys.iter().find_map(|key| fields.fit(key, Value::as_u64));
    let said = fields.clone();
    config.max_coder_iterations =
        fields.count("max_coder_iterations").unwrap_or(defaults.max_coder_iterations);
    config.max_review_cycles = fields.count("max_review_cycles").unwrap_or(defaults.max_review_cycles);
    config.lease_seconds =
        seconds(&mut fields, ["lease_duration", "lease_seconds"]).unwrap_or(defaults.lease_seconds);
    config.heartbeat_seconds = seconds(&mut fields, ["heartbeat_interval", "heartbeat_seconds"])
        .unwrap_or(defaults.heartbeat_seconds);
    if let Some((field, why)) = config.problems().into_iter().next() {
        remarks.push(format!(
            "{field} {why}; the board gets the default limits, the old ones are kept as extras"
        ));
        config = Config::new(&config.integration_branch);
        fields = said;
    }
    extras.leave("config", fields);
    config
}
