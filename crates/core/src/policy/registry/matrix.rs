//! The access matrix: each role's permissions and how they are enforced.

use super::{DeniedClass, Registry};
use crate::policy::{prelude::*, provider::ProviderEntry, provider::ToolClass};

words! {
    /// How a cell is enforced.
    pub enum Held {
        /// The rules depend on the role.
        Rule = "rule",
        /// The rules depend on the permissions of liza.yaml at the agent's registration.
        Registry = "registry",
        /// The provider's own options.
        Provider = "provider",
        /// Only the prompt asks for it; nothing enforces it.
        Prompt = "prompt",
        /// Nothing: it is allowed.
        Nothing = "nothing",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    pub role: Role,
    pub allowed: bool,
    pub by: Held,
    /// Details: which roles, which options, what they leave open.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// An operation, `tool NAME`, `switches`, `spawn`, `message to` or `paths`.
    pub what: String,
    pub cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Matrix {
    pub roles: Vec<Role>,
    pub rows: Vec<Row>,
}

/// The provider of a role: its name and its entry.
pub type Player<'p> = &'p dyn Fn(&Role) -> Option<(String, ProviderEntry)>;

pub fn matrix(registry: Registry<'_>, player: Player<'_>) -> Matrix {
    let roles = registry.roles();
    let row =
        |what: String, cell: &dyn Fn(&Role) -> Cell| Row { what, cells: roles.iter().map(cell).collect() };
    let mut rows: Vec<Row> = Operation::ALL
        .iter()
        .map(|operation| row(operation.as_str().to_owned(), &|role| on_board(registry, role, *operation)))
        .collect();
    for class in ToolClass::ALL.iter().copied() {
        rows.push(row(format!("tool {}", class.as_str()), &|role| of_tools(registry, player, role, class)));
    }
    rows.push(row("switches".to_owned(), &|role| switches(registry, role)));
    rows.push(row("tools by name".to_owned(), &|role| by_name(registry, player, role)));
    rows.push(row("spawn".to_owned(), &|role| spawn(registry, role)));
    rows.push(row("message to".to_owned(), &|role| message(registry, role)));
    rows.push(row("paths".to_owned(), &|role| paths(registry, role)));
    Matrix { roles, rows }
}

fn cell(role: &Role, allowed: bool, by: Held, note: impl Into<String>) -> Cell {
    Cell { role: role.clone(), allowed, by, note: note.into() }
}

fn on_board(registry: Registry<'_>, role: &Role, operation: Operation) -> Cell {
    // Operations that are denied to no role.
    let own = if operation == Operation::Stop { "only what it holds or reviews" } else { "" };
    if !allowed_by_rules(role, operation) {
        return cell(role, false, Held::Rule, own);
    }
    if registry.denies(role, operation) {
        return cell(role, false, Held::Registry, own);
    }
    let note = match operation {
        Operation::Work => "tasks that name its role",
        Operation::Stop => "any task",
        Operation::Bundle if role.as_str() == "planner" => "any task",
        Operation::Bundle => "tasks it worked on",
        _ => "",
    };
    cell(role, true, Held::Rule, note)
}

/// Setting switches for others belongs to the operation that stops others.
fn switches(registry: Registry<'_>, role: &Role) -> Cell {
    let found = on_board(registry, role, Operation::Stop);
    let own = "only for itself and what it holds or reviews";
    let note = if found.allowed { "any; cannot be denied" } else { own };
    Cell { note: note.to_owned(), ..found }
}

fn of_tools(registry: Registry<'_>, player: Player<'_>, role: &Role, class: ToolClass) -> Cell {
    let denied = registry.denied_classes(role).into_iter().find(|denied| denied.class == class);
    let Some(DeniedClass { express, .. }) = denied else { return cell(role, true, Held::Nothing, "") };
    let Some((name, entry)) = player(role) else {
        return cell(role, false, Held::Prompt, "no provider is named for it");
    };
    match entry.denial(class) {
        None => cell(role, false, Held::Prompt, format!("{name} has no option for it")),
        Some(how) if how.without_liza && !express => {
            cell(role, false, Held::Prompt, format!("{name} can deny it only together with `liza`"))
        }
        Some(how) => {
            let started = registry.started_without(role, &entry);
            let mut words: Vec<String> = Vec::new();
            if how.permissions.is_some() {
                let own = started.permissions(&entry).unwrap_or_default();
                words.extend(own.iter().flat_map(|words| words.as_slice()).cloned());
            }
            if !how.tools.is_empty() {
                words.extend(started.words(&entry));
            }
            let remark = how.remark.iter().cloned();
            let arguments = (!words.is_empty()).then(|| words.join(" "));
            let parts: Vec<String> = std::iter::once(name).chain(arguments).chain(remark).collect();
            cell(role, false, Held::Provider, parts.join(": "))
        }
    }
}

fn by_name(registry: Registry<'_>, player: Player<'_>, role: &Role) -> Cell {
    let tools = registry.denied_tools(role);
    if tools.is_empty() {
        return cell(role, true, Held::Nothing, "");
    }
    let listed = list_words(tools.iter().map(|tool| shown_line(tool)));
    match player(role) {
        Some((name, entry)) if !entry.denies_by_name().is_empty() => {
            cell(role, false, Held::Provider, format!("{name}: not {listed}"))
        }
        _ => cell(role, false, Held::Prompt, format!("not {listed}")),
    }
}

pub fn names(roles: &[Role]) -> String {
    roles.iter().map(Role::as_str).collect::<Vec<_>>().join(", ")
}

fn spawn(registry: Registry<'_>, role: &Role) -> Cell {
    if !allowed_by_rules(role, Operation::Plan) {
        return cell(role, false, Held::Rule, "");
    }
    let (may, plans) = (registry.spawns(role), !registry.denies(role, Operation::Plan));
    cell(role, plans && !may.is_empty(), Held::Registry, names(&may))
}

fn message(registry: Registry<'_>, role: &Role) -> Cell {
    let speaks = !registry.denies(role, Operation::Message);
    let whom = if speaks { names(&registry.recipients(role)) } else { String::new() };
    cell(role, speaks, Held::Registry, whom)
}

fn paths(registry: Registry<'_>, role: &Role) -> Cell {
    let only = registry.paths(role);
    if only.is_empty() {
        return cell(role, true, Held::Rule, "what its task allows");
    }
    let only: Vec<String> = only.iter().map(ToString::to_string).collect();
    cell(role, true, Held::Registry, only.join(", "))
}
