use clap::Args;
use serde_json::{Value, json};

use crate::board::Role;
use crate::flow::init::parse_role;
use crate::flow::{Failure, roles};
use crate::policy::registry::{Cell, Held, Matrix, Registry};
use crate::policy::team::Limits;
use crate::text::pad_to;

use super::super::Session;
use super::super::ui::Answer;

/// Print what each role may do, and by what it is held to that
///
/// A row is an operation on the board, a kind of tools, or to whom it may write and for whom it may plan; `+` may, `-` may not. `rule`: the
/// rules of the board know the role. `registry`: the board holds its agents to what liza.yaml said when they were registered.
/// `provider`: its command is started with an option for it. `prompt`: it is only asked.
///
/// Example: liza roles coder
#[derive(Args)]
pub struct RolesArgs {
    /// One role, whole: limits, provider, template, paths, and where each value comes from
    pub role: Option<String>,
}

pub fn run(session: &mut Session, args: &RolesArgs) -> Result<Answer, Failure> {
    let found = roles::roles(&session.ctx)?;
    let mut answer = match &args.role {
        None => all(&found),
        Some(word) => {
            let role = parse_role(word)?;
            super::known_role(session, &role)?;
            one(&found, &role)
        }
    };
    let problems: Vec<String> = found
        .problems
        .iter()
        .map(|problem| format!("liza.yaml, {}: {}\n  {}", problem.at, problem.what, problem.remedy))
        .collect();
    if !problems.is_empty() {
        answer.text.push_str(&format!("\nproblems:\n{}\n", problems.join("\n")));
    }
    answer.data["problems"] = json!(found.problems);
    Ok(answer.at(found.revision))
}

fn short(cell: &Cell) -> String {
    let sign = if cell.allowed { "+" } else { "-" };
    match cell.by {
        Held::Nothing => sign.to_owned(),
        by => format!("{sign} {}", by.as_str()),
    }
}

fn all(found: &roles::Roles) -> Answer {
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
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    text.push_str(
        "\n+ may, - may not. rule: the rules of the board; registry: what liza.yaml said when the agent was registered;\n\
         provider: an option of its command; prompt: only asked. `liza roles ROLE` tells more of one.\n",
    );
    text.push_str(&outdated(found.registered_before.iter().map(|(id, _)| id.as_str())));
    let before: Vec<&str> = found.registered_before.iter().map(|(id, _)| id.as_str()).collect();
    Answer::new(json!({ "roles": roles, "rows": rows, "registered_before": before }), text)
}

/// Agents keep what they were registered with.
fn outdated<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return String::new();
    }
    format!("\nregistered before liza.yaml said this, and held to what it said then: {}\n", ids.join(", "))
}

/// A value and who says so.
struct Said {
    name: &'static str,
    value: Value,
    words: String,
    from: &'static str,
}

const BUILT_IN: &str = "built-in";
const CONFIG: &str = "liza.yaml";

fn one(found: &roles::Roles, role: &Role) -> Answer {
    let registry = Registry::new(&found.config);
    let said = registry.said(role);
    let from = |is_said: bool| if is_said { CONFIG } else { BUILT_IN };
    let plain = |name: &'static str, value: Option<String>, is_said: bool, none: &str| Said {
        name,
        words: value.clone().unwrap_or_else(|| none.to_owned()),
        value: json!(value),
        from: from(is_said),
    };
    let list = |name: &'static str, values: Vec<String>, is_said: bool, none: &str| Said {
        name,
        words: if values.is_empty() { none.to_owned() } else { values.join(", ") },
        value: json!(values),
        from: from(is_said),
    };
    let names = |roles: Vec<Role>| roles.iter().map(Role::to_string).collect::<Vec<_>>();
    let provider = registry.provider(role);
    let limits = Limits::of_role(role, said);
    let own = said.map(|said| said.limits).unwrap_or_default();
    let figure = |name: &'static str, holds: Option<u64>, own: Option<u64>| Said {
        name,
        words: holds.map_or("none".to_owned(), |figure| figure.to_string()),
        value: json!(holds),
        from: from(own.is_some()),
    };
    let template = said.and_then(|said| said.template.clone());
    let rows = [
        plain(
            "description",
            Some(registry.description(role).to_owned()),
            said.is_some_and(|said| said.description.is_some()),
            "",
        ),
        plain("provider", provider.map(|(name, _)| name.to_owned()), provider.is_some(), "none is named"),
        plain(
            "model",
            said.and_then(|said| said.model.clone()),
            said.is_some_and(|said| said.model.is_some()),
            "as the provider chooses",
        ),
        list(
            "args",
            said.map(|said| said.args.clone()).unwrap_or_default(),
            said.is_some_and(|said| !said.args.is_empty()),
            "none",
        ),
        plain(
            "template",
            template.clone(),
            template.is_some(),
            "the one that comes with liza, or .liza/templates",
        ),
        figure("wall_seconds", limits.wall_seconds, own.wall_seconds),
        figure("turns", limits.turns, own.turns),
        figure("tokens", limits.tokens, own.tokens),
        list(
            "may_spawn",
            names(registry.spawns(role)),
            said.is_some_and(|said| said.may_spawn.is_some()),
            "nobody",
        ),
        list(
            "may_message",
            names(registry.recipients(role)),
            said.is_some_and(|said| said.may_message.is_some()),
            "nobody but people",
        ),
        list(
            "paths",
            registry.paths(role).iter().map(ToString::to_string).collect(),
            !registry.paths(role).is_empty(),
            "what its task allows",
        ),
    ];
    let mut text = format!("{role}\n");
    for row in &rows {
        text.push_str(&format!("  {} {} ({})\n", pad_to(row.name, 13), row.words, row.from));
    }
    text.push_str("\nmay:\n");
    let cells: Vec<(&str, &Cell)> = found
        .matrix
        .rows
        .iter()
        .filter_map(|row| Some((row.what.as_str(), row.cells.iter().find(|cell| &cell.role == role)?)))
        .collect();
    for (what, cell) in &cells {
        let line = format!("  {} {} {}", pad_to(what, 14), pad_to(&short(cell), 11), cell.note);
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    let agents = found.registered_before.iter().filter(|(_, roles)| roles.contains(role));
    let agents: Vec<&str> = agents.map(|(id, _)| id.as_str()).collect();
    text.push_str(&outdated(agents.iter().copied()));
    let settings: serde_json::Map<String, Value> = rows
        .into_iter()
        .map(|row| (row.name.to_owned(), json!({ "value": row.value, "from": row.from })))
        .collect();
    let cells: serde_json::Map<String, Value> =
        cells.into_iter().map(|(what, cell)| (what.to_owned(), json!(cell))).collect();
    Answer::new(
        json!({ "role": role, "settings": settings, "cells": cells, "registered_before": agents }),
        text,
    )
}
