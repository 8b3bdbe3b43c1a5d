//! Checks the gates of `liza.yaml` before any of them runs.

use super::{AdapterKind, Gate, GateCommand, Gating};
use crate::board::expectation::plain_hash;
use crate::policy::prelude::*;

const LONGEST_NAME: usize = 64;
const LONGEST_TIMEOUT: u64 = 24 * 60 * 60;
const MOST_RETRIES: u32 = 3;
/// The directories of liza and git.
const OURS: [&str; 3] = [".git", ".liza", ".worktrees"];

/// The first problem, with the name of the gate.
pub fn check(gates: &[Gate], gating: &Gating) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for gate in gates {
        if !is_name(&gate.name) {
            let name = &gate.name;
            return Err(format!(
                "gate `{name}`: a name is up to {LONGEST_NAME} letters, digits, `_` and `-`, starting with a letter or digit"
            ));
        }
        // Results are files, and some file systems do not distinguish `Test` and `test`.
        if !names.insert(gate.name.to_ascii_lowercase()) {
            return Err(format!("gate `{}`: another gate has the same name", gate.name));
        }
        check_one(gate).map_err(|why| format!("gate `{}`: {why}", gate.name))?;
    }
    gating
        .keep
        .iter()
        .try_for_each(|dir| check_kept(dir).map_err(|why| format!("gating: keep `{dir}`: {why}")))
}

fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

fn check_one(gate: &Gate) -> Result<(), String> {
    let words: Vec<&str> = match &gate.command {
        GateCommand::Shell(text) => vec![text],
        GateCommand::Argv(words) => words.iter().map(String::as_str).collect(),
    };
    if words.first().is_none_or(|first| first.trim().is_empty()) {
        return Err("its `command` is empty".to_owned());
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err("its `command` holds a NUL character".to_owned());
    }
    if gate.timeout.is_some_and(|seconds| !(1..=LONGEST_TIMEOUT).contains(&seconds)) {
        return Err(format!("its `timeout` is 1 to {LONGEST_TIMEOUT} seconds"));
    }
    if gate.flaky_retries > MOST_RETRIES {
        return Err(format!("`flaky_retries` is at most {MOST_RETRIES}"));
    }
    for name in gate.environment.keys().chain(&gate.pass_environment) {
        check_variable(name)?;
    }
    if let Some((name, _)) = gate.environment.iter().find(|(_, value)| value.contains('\0')) {
        return Err(format!("the variable `{name}` holds a NUL character"));
    }
    check_fields(gate)
}

fn check_variable(name: &str) -> Result<(), String> {
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !plain {
        return Err(format!("`{name}` cannot be the name of a variable"));
    }
    if name.starts_with("LIZA_") || name.starts_with("GIT_") {
        return Err(format!("`{name}`: variables of LIZA_* and GIT_* are never given to a gate"));
    }
    Ok(())
}

/// Refuses a field that the adapter does not read: it would have no effect.
fn check_fields(gate: &Gate) -> Result<(), String> {
    use AdapterKind::{Coverage, Diag, Junit, TraceHash};
    let adapter = gate.adapter;
    let only_for = |given: bool, field: &str, kinds: &[AdapterKind]| {
        if given && !kinds.contains(&adapter) {
            let names = list_words(kinds.iter().map(|kind| kind.as_str()));
            return Err(format!("`{field}` is for {names}; the adapter `{adapter}` does not use it"));
        }
        Ok(())
    };
    only_for(gate.report.is_some(), "report", &[Junit, Coverage, Diag])?;
    only_for(gate.expect.is_some(), "expect", &[TraceHash])?;
    only_for(gate.at_most.is_some(), "at_most", &[Diag])?;
    only_for(gate.at_least.is_some(), "at_least", &[Coverage])?;
    only_for(gate.of.is_some(), "of", &[Coverage])?;
    match &gate.report {
        Some(report) => check_inside(report).map_err(|why| format!("report `{report}`: {why}"))?,
        None if matches!(adapter, Junit | Coverage) => {
            return Err(format!("the adapter `{adapter}` needs `report`, the file that it reads"));
        }
        None => {}
    }
    if let Some(expect) = gate.expect.as_deref().filter(|expect| plain_hash(expect).is_none()) {
        return Err(format!("expect `{expect}`: a hash has 8 to 256 hexadecimal digits"));
    }
    if gate.at_least.is_some_and(|percent| !(0.0..=100.0).contains(&percent)) {
        return Err("`at_least` is 0 to 100 per cent".to_owned());
    }
    Ok(())
}

/// Refuses a path outside the tree under test.
fn check_inside(path: &str) -> Result<(), String> {
    let known = RepoPath::new(path).map_err(|why| why.to_string())?;
    let first = known.as_str().split('/').next().unwrap_or_default();
    match OURS.iter().find(|name| first.eq_ignore_ascii_case(name)) {
        Some(name) => Err(format!("`{name}` is no part of the tree")),
        None => Ok(()),
    }
}

fn check_kept(dir: &str) -> Result<(), String> {
    if dir.contains(['*', '?', '[']) {
        return Err("it is the name of a directory, not a pattern".to_owned());
    }
    check_inside(dir.strip_suffix('/').unwrap_or(dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn checked(gates: Value) -> Result<(), String> {
        let gates: Vec<Gate> = serde_json::from_value(gates).expect("gates");
        check(&gates, &Gating::default())
    }

    fn with(field: &str, value: Value) -> Result<(), String> {
        let mut gate = json!({ "name": "g", "command": "true" });
        for (key, value) in [("adapter", json!("exit")), (field, value)] {
            gate[key] = value;
        }
        checked(json!([gate]))
    }

    fn read_by(adapter: &str, more: Value) -> Result<(), String> {
        let mut gate = json!({ "name": "g", "command": ["true"], "adapter": adapter });
        if let (Some(gate), Value::Object(more)) = (gate.as_object_mut(), more) {
            gate.extend(more);
        }
        checked(json!([gate]))
    }

    #[track_caller]
    fn wrong(result: Result<(), String>, why: &str) {
        let message = result.expect_err("a problem");
        assert!(message.contains(why), "{message}");
        assert!(message.starts_with("gate `") || message.starts_with("gating: "), "{message}");
    }

    #[test]
    fn gate_names_are_valid_and_unique() {
        for name in ["a", "compile", "Test-2_x", "0", &"x".repeat(64)] {
            with("name", json!(name)).expect(name);
        }
        for name in ["", "-a", "_a", "a b", "a/b", "..", "é", "a\n", &"x".repeat(65)] {
            wrong(with("name", json!(name)), "a name is");
        }
        let gate = |name| json!({ "name": name, "command": "true" });
        checked(json!([gate("a"), gate("b")])).expect("two gates");
        wrong(checked(json!([gate("test"), gate("Test")])), "gate `Test`: another gate has the same name");
    }

    #[test]
    fn commands_are_not_empty() {
        with("command", json!(["prog", ""])).expect("an empty argument is one");
        for command in [json!(""), json!(" \n"), json!([]), json!([""]), json!(["", "x"])] {
            wrong(with("command", command), "`command` is empty");
        }
        wrong(with("command", json!("a\0b")), "NUL");
    }

    #[test]
    fn limits_have_limits() {
        for (field, value) in [("timeout", 1), ("timeout", 86400), ("flaky_retries", 3)] {
            with(field, json!(value)).expect(field);
        }
        for (field, value) in [("timeout", 0), ("timeout", 86401), ("flaky_retries", 4)] {
            wrong(with(field, json!(value)), field);
        }
    }

    #[test]
    fn gate_environment_may_not_set_liza_or_git_variables() {
        with("environment", json!({ "RUST_LOG": "x", "_A1": "" })).expect("variables");
        with("pass_environment", json!(["HOME", "LIZAX", "GITHUB_TOKEN"])).expect("variables");
        for name in ["", "1A", "A-B", "A=B", "A B"] {
            wrong(with("environment", json!({ name: "x" })), "cannot be the name of a variable");
            wrong(with("pass_environment", json!([name])), "cannot be the name of a variable");
        }
        for name in ["LIZA_DIR", "GIT_DIR", "GIT_INDEX_FILE", "LIZA_AGENT_ID"] {
            wrong(with("environment", json!({ name: "x" })), "never given");
            wrong(with("pass_environment", json!([name])), "never given");
        }
        wrong(with("environment", json!({ "A": "x\0" })), "NUL");
    }

    #[test]
    fn gate_field_unused_by_its_adapter_is_refused() {
        let fields = [
            ("report", json!("out.xml"), vec!["junit", "coverage", "diag"]),
            ("expect", json!("a1b2c3d4"), vec!["trace-hash"]),
            ("at_most", json!(3), vec!["diag"]),
            ("at_least", json!(75.5), vec!["coverage"]),
            ("of", json!("changed"), vec!["coverage"]),
        ];
        for kind in AdapterKind::ALL.iter().copied() {
            for (field, value, used_by) in &fields {
                let mut more = json!({ *field: value });
                if matches!(kind, AdapterKind::Junit | AdapterKind::Coverage) {
                    more["report"] = json!("out.xml");
                }
                let result = read_by(kind.as_str(), more);
                if used_by.contains(&kind.as_str()) {
                    result.expect(field);
                } else {
                    wrong(result, &format!("the adapter `{}` does not use it", kind.as_str()));
                }
            }
        }
    }

    #[test]
    fn reports_are_files_of_the_tree() {
        for adapter in ["junit", "coverage"] {
            wrong(read_by(adapter, json!({})), "needs `report`");
            for report in
                ["", "/tmp/x", "../x", "a/../../x", "a/", ".git/x", ".GIT/x", ".liza/x", ".worktrees/t/x"]
            {
                wrong(read_by(adapter, json!({ "report": report })), &format!("report `{report}`"));
            }
            read_by(adapter, json!({ "report": "target/nextest/junit.xml" })).expect("a report");
        }
    }

    #[test]
    fn gate_hashes_and_percentages_are_validated() {
        wrong(read_by("trace-hash", json!({ "expect": "soon" })), "a hash has");
        for percent in [-0.1, 100.1] {
            wrong(read_by("coverage", json!({ "report": "a", "at_least": percent })), "`at_least`");
        }
    }

    #[test]
    fn kept_paths_are_directories_of_the_tree() {
        let kept = |dir: &str| check(&[], &Gating { keep: vec![dir.to_owned()] });
        for dir in ["target/", "target", "web/node_modules/", "./build"] {
            kept(dir).expect(dir);
        }
        for dir in
            ["", "/", "/tmp", "..", "../x", "a/..", "*", "target/*", "a?", "[ab]", ".git", ".git/", ".liza/x"]
        {
            wrong(kept(dir), &format!("gating: keep `{dir}`"));
        }
    }
}
