//! Integration stays green: it only moves to trees on which all required gates passed.

mod acceptance;
mod crashes;
mod queue;
mod when_gates_run;

use serde_json::Value;

use crate::merging::Team;
use crate::support::{HUMAN, Who};

/// A team whose project has these gates.
pub fn team(gates: &str) -> Team {
    let team = Team::new();
    gate_with(&team, gates);
    team
}

pub fn gate_with(team: &Team, gates: &str) {
    team.world.write("liza.yaml", &format!("version: 1\ngates:\n{gates}"));
    team.world.human(&["gate", "accept"]).ok();
}

/// A gate that writes each tree it runs on to a file outside of all trees.
pub fn tree_recording_gate(team: &Team, name: &str, more: &str, command: &str) -> String {
    let asked = team.world.home().join(format!("asked-{name}"));
    format!(
        "  - name: {name}\n    command: |\n      git rev-parse 'HEAD^{{tree}}' >> '{}'\n      {command}\n{more}",
        asked.display()
    )
}

pub fn asked(team: &Team, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(team.world.home().join(format!("asked-{name}"))).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub fn status(team: &Team, id: &str) -> String {
    team.world.status_of(id)
}

/// The integration part of `status`.
pub fn integration(team: &Team) -> Value {
    team.world.json(&HUMAN, &["status"]).ok().data()["integration"].clone()
}

/// The command ends with this exit code. It may have recorded and undone an intent, so the revision may have grown.
#[track_caller]
pub fn ends(team: &Team, who: &Who, args: &[&str], exit: i32, code: &str) -> Value {
    let ran = team.world.json(who, args).exits(exit);
    assert_eq!(ran.code(), code, "{}", ran.stdout);
    ran.json()["error"].clone()
}
