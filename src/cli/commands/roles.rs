use crate::cli::prelude::*;
use crate::flow::roles;
use crate::policy::registry::{Cell, Held, Matrix, Registry};
use crate::policy::team::Limits;

/// Show each role's permissions and how they are enforced
///
/// Rows are operations on the board, kinds of tools, the roles that it may write to and the roles that it may plan
/// for; `+` means allowed, `-` refused. `rule`: a rule of the board decides. `registry`: the board enforces the
/// permissions that liza.yaml gave when the agent was registered. `provider`: liza starts the agent's command with an
/// option that enforces it. `prompt`: only the prompt asks for it.
///
/// Example: liza roles coder
#[derive(Args)]
pub struct RolesArgs {
    /// Role to show in full: limits, provider, template, paths and the source of each value
    pub role: Option<Role>,
}

impl OnBoard for RolesArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let found = roles::roles(&session.ctx)?;
        let mut answer = match &self.role {
            None => all_roles(&found),
            Some(role) => {
                session.known_role(role)?;
                one_role(&found, role)
            }
        };
        if !found.problems.is_empty() {
            answer.text.line("\nproblems:");
        }
        for problem in &found.problems {
            answer.text.line(format!("liza.yaml, {}: {}\n  {}", problem.at, problem.what, problem.remedy));
        }
        answer.data["problems"] = json!(found.problems);
        Ok(answer.at(found.revision))
    }
}

fn short(cell: &Cell) -> String {
    let sign = if cell.allowed { "+" } else { "-" };
    match cell.by {
        Held::Nothing => sign.to_owned(),
        by => format!("{sign} {}", by.as_str()),
    }
}

fn all_roles(found: &roles::Roles) -> Answer {
    let Matrix { roles, rows } = &found.matrix;
    let first = rows.iter().map(|row| row.what.len()).max().unwrap_or_default() + 2;
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.cells.get(at)).map(|cell| short(cell).len());
        cells.chain(roles.get(at).map(|role| role.as_str().len())).max().unwrap_or_default() + 2
    };
    let mut text = pad_to("", first);
    for (at, role) in roles.iter().enumerate() {
        text.push_str(&pad_to(role.as_str(), width(at)));
    }
    text = format!("{}\n", text.trim_end());
    for row in rows {
        let mut line = pad_to(&row.what, first);
        for (at, cell) in row.cells.iter().enumerate() {
            line.push_str(&pad_to(&short(cell), width(at)));
        }
        text.line(line.trim_end());
    }
    text.push_str(
        "\n+ allowed, - refused. rule: the rules of the board; registry: liza.yaml when the agent was registered;\n\
         provider: an option of the agent's command; prompt: only asked for. `liza roles ROLE` shows one role in full.\n",
    );
    let before: Vec<&String> = found.registered_before.iter().map(|(id, _)| id).collect();
    text.push_str(&outdated(&before));
    Answer::new(json!({ "roles": roles, "rows": rows, "registered_before": before }), text)
}

/// Agents keep the permissions they were registered with.
fn outdated(ids: &[&String]) -> String {
    if ids.is_empty() {
        return String::new();
    }
    format!("\nregistered before liza.yaml changed, with the permissions of that time: {}\n", commas(ids))
}

/// A value and its source.
struct SettingRow {
    name: &'static str,
    value: Value,
    words: String,
    from: &'static str,
}

const BUILT_IN: &str = "built-in";

const CONFIG: &str = "liza.yaml";

fn one_role(found: &roles::Roles, role: &Role) -> Answer {
    let registry = Registry::new(&found.config);
    let settings = registry.settings_of(role);
    let from = |is_said: bool| if is_said { CONFIG } else { BUILT_IN };
    let plain = |name: &'static str, value: Option<String>, is_said: bool, none: &str| SettingRow {
        name,
        words: value.clone().unwrap_or_else(|| none.to_owned()),
        value: json!(value),
        from: from(is_said),
    };
    let list = |name: &'static str, values: Vec<String>, is_said: bool, none: &str| SettingRow {
        name,
        words: if values.is_empty() { none.to_owned() } else { values.join(", ") },
        value: json!(values),
        from: from(is_said),
    };
    let names = |roles: Vec<Role>| roles.iter().map(Role::to_string).collect::<Vec<_>>();
    let provider = registry.provider(role);
    let limits = Limits::of_role(role, settings);
    let own = settings.cloned().unwrap_or_default();
    let figure = |name: &'static str, holds: Option<u64>, own: Option<u64>| SettingRow {
        name,
        words: holds.map_or("none".to_owned(), |figure| figure.to_string()),
        value: json!(holds),
        from: from(own.is_some()),
    };
    let description = registry.description(role).to_owned();
    let template = "built into liza, or from .liza/templates";
    let paths = own.paths.iter().map(ToString::to_string).collect();
    let rows = [
        plain("description", Some(description), own.description.is_some(), ""),
        plain("provider", provider.map(|(name, _)| name.to_owned()), provider.is_some(), "none"),
        plain("model", own.model.clone(), own.model.is_some(), "the provider's default"),
        list("args", own.args.clone(), !own.args.is_empty(), "none"),
        plain("template", own.template.clone(), own.template.is_some(), template),
        figure("wall_seconds", limits.wall_seconds, own.limits.wall_seconds),
        figure("turns", limits.turns, own.limits.turns),
        figure("tokens", limits.tokens, own.limits.tokens),
        list("may_spawn", names(registry.spawns(role)), own.may_spawn.is_some(), "no role"),
        list("may_message", names(registry.recipients(role)), own.may_message.is_some(), "people only"),
        list("paths", paths, !own.paths.is_empty(), "the scope of its task"),
    ];
    let mut text = format!("{role}\n");
    for row in &rows {
        text.line(format!("  {} {} ({})", pad_to(row.name, 13), row.words, row.from));
    }
    text.line("\nmay:");
    let cells = found.matrix.rows.iter();
    let cells = cells.filter_map(|row| Some((&row.what, row.cells.iter().find(|cell| &cell.role == role)?)));
    let cells: Vec<(&String, &Cell)> = cells.collect();
    for (what, cell) in &cells {
        let line = format!("  {} {} {}", pad_to(what, 14), pad_to(&short(cell), 11), cell.note);
        text.line(line.trim_end());
    }
    let agents = found.registered_before.iter().filter(|(_, roles)| roles.contains(role));
    let agents: Vec<&String> = agents.map(|(id, _)| id).collect();
    text.push_str(&outdated(&agents));
    let setting = |row: SettingRow| (row.name.to_owned(), json!({ "value": row.value, "from": row.from }));
    let settings: Map<String, Value> = rows.into_iter().map(setting).collect();
    let cells: Map<String, Value> =
        cells.into_iter().map(|(what, cell)| (what.clone(), json!(cell))).collect();
    let data = json!({ "role": role, "settings": settings, "cells": cells, "registered_before": agents });
    Answer::new(data, text)
}
