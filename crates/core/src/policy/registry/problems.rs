//! Settings in `roles` of liza.yaml that can be read but do not have the effect they suggest.

use similar::TextDiff;

use super::{DeniedClass, Registry, Right, matrix::Player, matrix::names};
use crate::policy::{prelude::*, provider::ToolClass};

/// How similar a name and a known word must be to count as a typing error.
const SLIP: f32 = 0.7;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The key in liza.yaml.
    pub at: String,
    pub what: String,
    pub remedy: String,
}

struct Found<'f> {
    role: &'f Role,
    all: &'f mut Vec<Problem>,
}

impl Found<'_> {
    fn note(&mut self, key: &str, what: impl Into<String>, remedy: impl Into<String>) {
        let at = format!("roles.{}.{key}", self.role);
        self.all.push(Problem { at, what: what.into(), remedy: remedy.into() });
    }
}

pub fn problems(registry: Registry<'_>, player: Player<'_>) -> Vec<Problem> {
    let mut all = Vec::new();
    for role in registry.roles().iter().filter(|role| registry.settings_of(role).is_some()) {
        let mut found = Found { role, all: &mut all };
        if role.as_str() == "runner" {
            found.all.push(Problem {
                at: "roles.runner".to_owned(),
                what: "`runner` cannot be a role: a runner supervises".to_owned(),
                remedy: "give the role another name".to_owned(),
            });
            continue;
        }
        contradictions(registry, &mut found);
        unknown_roles(registry, &mut found);
        tools(registry, player, &mut found);
    }
    all
}

fn contradictions(registry: Registry<'_>, found: &mut Found<'_>) {
    let role = found.role;
    let (allowed, denied) = (registry.allowed(role), registry.denied(role));
    for right in &allowed {
        let name = shown_line(name_of(right));
        if denied.contains(right) {
            let what = format!("`{name}` is allowed and denied");
            found.note("allow", what, "keep one of the two; it counts as denied");
        }
        match right {
            Right::Operation(operation) if !allowed_by_rules(role, *operation) => {
                let what =
                    format!("`{name}` is not allowed to a {role} by the rules; allowing it has no effect");
                found.note("allow", what, "remove it; liza.yaml cannot lift the rules about roles");
            }
            Right::Tool(_) => {
                let what = "is neither an operation nor a kind of tools; single tools can only be denied";
                found.note("allow", format!("`{name}` {what}"), words_known());
            }
            Right::Operation(_) | Right::Tools(_) => {}
        }
    }
    for right in &denied {
        if let Right::Tool(name) = right
            && let Some(meant) = known_words().find(|word| TextDiff::from_chars(*word, name).ratio() >= SLIP)
        {
            let name = shown_line(name);
            let what = format!("`{name}` is taken for the name of a tool, and looks like `{meant}`");
            found.note("deny", what, words_known());
        }
    }
}

fn unknown_roles(registry: Registry<'_>, found: &mut Found<'_>) {
    let Some(said) = registry.settings_of(found.role) else { return };
    for (key, roles) in [("may_message", &said.may_message), ("may_spawn", &said.may_spawn)] {
        for role in roles.iter().flatten().filter(|role| !registry.knows(role)) {
            let known = format!("roles: {}; more can be defined under `roles`", names(&registry.roles()));
            found.note(key, format!("there is no role `{role}`"), known);
        }
    }
    let plans = allowed_by_rules(found.role, Operation::Plan);
    if said.may_spawn.as_ref().is_some_and(|roles| !roles.is_empty()) && !plans {
        let what = format!("a {} plans no work, so the setting has no effect", found.role);
        found.note("may_spawn", what, "remove it; only a planner plans");
    }
}

fn tools(registry: Registry<'_>, player: Player<'_>, found: &mut Found<'_>) {
    let role = found.role;
    let express = registry.denied_classes(role).into_iter().filter(|denied| denied.express);
    let (express, names) = (express.collect::<Vec<_>>(), registry.denied_tools(role));
    if express.is_empty() && names.is_empty() {
        return;
    }
    let Some((provider, entry)) = player(role) else { return };
    let no_option =
        |what: &str| format!("{provider} has no option that denies {what}: the agent is only asked");
    for DeniedClass { class, .. } in express {
        match entry.denial(class) {
            None => found.note(
                "deny",
                no_option(&format!("`{class}`")),
                "choose another provider for the role, or describe the option under `deny` of the provider",
            ),
            Some(how) if how.without_liza => found.note(
                "deny",
                format!(
                    "without `{class}` an agent played by {provider} cannot answer: `liza` fails there, too"
                ),
                "remove it, or choose another provider for the role",
            ),
            Some(_) => {}
        }
    }
    if !names.is_empty() && entry.denies_by_name().is_empty() {
        let what = no_option(&list_words(names.iter().map(|name| shown_line(name))));
        found.note("deny", what, "choose another provider for the role, or deny a kind of tools");
    }
}

fn known_words() -> impl Iterator<Item = &'static str> {
    let operations = Operation::ALL.iter().map(|operation| operation.as_str());
    operations.chain(ToolClass::ALL.iter().map(|class| class.as_str()))
}

fn words_known() -> String {
    format!("operations and kinds of tools: {}", known_words().collect::<Vec<_>>().join(", "))
}

fn name_of(right: &Right) -> &str {
    match right {
        Right::Operation(operation) => operation.as_str(),
        Right::Tools(class) => class.as_str(),
        Right::Tool(name) => name,
    }
}
