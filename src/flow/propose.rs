//! Gates that a project could have, judged by the files in its root. They are only proposed: nobody's commands are run
//! because of a file that lies there.

use std::fmt::Write;

use super::config_file::regular_file_inside;
use super::prelude::*;
use crate::wire::read_foreign_value;

const LARGEST_FILE: usize = 1024 * 1024;

/// Where the proposal goes in the template of `liza.yaml`.
pub const PLACE: &str = "# {{gates}}\n";

/// What was found in the root.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kind {
    /// Set before the names of its gates where there is more than one kind.
    word: &'static str,
    file: &'static str,
    gates: Vec<Proposed>,
    keep: &'static [&'static str],
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Proposed {
    name: &'static str,
    command: String,
    adapter: Option<&'static str>,
    at_submit: bool,
    optional: bool,
    environment: &'static [(&'static str, &'static str)],
}

impl Proposed {
    fn new(name: &'static str, command: impl Into<String>) -> Self {
        let command = command.into();
        Self { name, command, adapter: None, at_submit: false, optional: false, environment: &[] }
    }

    /// Quick enough for whoever hands in work to wait for it.
    fn at_submit(self) -> Self {
        Self { at_submit: true, ..self }
    }

    fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    fn read_by(self, adapter: &'static str) -> Self {
        Self { adapter: Some(adapter), ..self }
    }
}

/// Gates for the project in this directory, as lines of YAML; nothing of what its files say is in them.
pub struct Proposal {
    found: Vec<Kind>,
}

impl Proposal {
    pub fn for_project(root: &Path) -> Self {
        Self { found: found(&|name| text_of(root, name)) }
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// As they stand in a `liza.yaml`.
    pub fn yaml(&self) -> String {
        let mut text = String::from("gates:\n");
        let several = self.found.len() > 1;
        for kind in &self.found {
            for gate in &kind.gates {
                let name =
                    if several { format!("{}-{}", kind.word, gate.name) } else { gate.name.to_owned() };
                gate.write(&mut text, &name);
            }
        }
        if self.is_empty() {
            Proposed::new("test", "./scripts/test").write(&mut text, "test");
        }
        text.push_str(OTHERS);
        let keep: Vec<&str> = self.found.iter().flat_map(|kind| kind.keep).copied().collect();
        if !keep.is_empty() {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "gating:\n  keep: [{}]", keep.join(", "));
        }
        text
    }

    /// As comments that only want their hashes taken away.
    pub fn comments(&self) -> String {
        let files: Vec<&str> = self.found.iter().map(|kind| kind.file).collect();
        let mut text = match files.as_slice() {
            [] => "# Nothing was found here that says how this project is checked; an example:\n".to_owned(),
            files => format!("# Proposed because of {}:\n", list_words(files)),
        };
        for line in self.yaml().lines() {
            let _ = writeln!(text, "#   {line}");
        }
        text
    }
}

/// Kinds that no file tells of: comments among the gates, whose commands are to be filled in.
const OTHERS: &str = "  # - {name: replay, command: ./scripts/replay, adapter: trace-hash}
  # - {name: diagnostics, command: ./scripts/diagnostics --json, adapter: diag, at_most: 0}
  # - {name: coverage, command: ./scripts/coverage, adapter: coverage, report: coverage/lcov.info, at_least: 80}
";

impl Proposed {
    fn write(&self, text: &mut String, name: &str) {
        let _ = writeln!(text, "  - name: {name}\n    command: {}", self.command);
        if let Some(adapter) = self.adapter {
            let _ = writeln!(text, "    adapter: {adapter}");
        }
        if self.at_submit {
            text.push_str("    on: [submit, merge]\n");
        }
        if self.optional {
            text.push_str("    optional: true\n");
        }
        if !self.environment.is_empty() {
            let pairs: Vec<String> =
                self.environment.iter().map(|(name, value)| format!("{name}: \"{value}\"")).collect();
            let _ = writeln!(text, "    environment: {{{}}}", pairs.join(", "));
        }
    }
}

/// A file of the root, if it is a regular one that can be read; links, pipes and the like are passed over.
fn text_of(root: &Path, name: &str) -> Option<String> {
    let path = regular_file_inside(root, Path::new(name)).ok().flatten()?;
    let (bytes, _) = read_whole(&path, LARGEST_FILE as u64).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn found(file: &dyn Fn(&str) -> Option<String>) -> Vec<Kind> {
    let kinds = [rust(file), node(file), python(file), go(file), make(file)];
    kinds.into_iter().flatten().filter(|kind| !kind.gates.is_empty()).collect()
}

fn rust(file: &dyn Fn(&str) -> Option<String>) -> Option<Kind> {
    file("Cargo.toml")?;
    Some(Kind {
        word: "rust",
        file: "Cargo.toml",
        gates: vec![
            Proposed::new("compile", "cargo build --workspace").at_submit(),
            Proposed::new("test", "cargo test --workspace").read_by("cargo-test"),
            Proposed::new("lint", "cargo clippy --workspace").optional(),
        ],
        keep: &["target/"],
    })
}

/// The lock file, its package manager, and how that installs exactly what the lock file says.
const MANAGERS: [(&str, &str, &str); 6] = [
    ("pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile"),
    ("yarn.lock", "yarn", "yarn install --frozen-lockfile"),
    ("bun.lock", "bun", "bun install --frozen-lockfile"),
    ("bun.lockb", "bun", "bun install --frozen-lockfile"),
    ("package-lock.json", "npm", "npm ci"),
    ("npm-shrinkwrap.json", "npm", "npm ci"),
];

fn node(file: &dyn Fn(&str) -> Option<String>) -> Option<Kind> {
    let package =
        read_foreign_value(file("package.json")?.as_bytes(), Limits::of_bytes(LARGEST_FILE)).ok()?;
    let script = |name: &str| package.get("scripts")?.get(name)?.as_str();
    let (_, manager, install) = MANAGERS
        .into_iter()
        .find(|(lock, _, _)| file(lock).is_some())
        // A gate must not change the tree: without a lock file none is to be written.
        .unwrap_or(("", "npm", "npm install --no-package-lock"));
    let mut gates = Vec::new();
    if script("build").is_some() {
        gates.push(Proposed::new("build", format!("{manager} run build")).at_submit());
    }
    // What `npm init` writes fails by design.
    if script("test").is_some_and(|script| !script.contains("no test specified")) {
        gates.push(Proposed::new("test", format!("{manager} run test")));
    }
    if script("lint").is_some() {
        gates.push(Proposed::new("lint", format!("{manager} run lint")).optional());
    }
    if !gates.is_empty() {
        gates.insert(0, Proposed::new("install", install).at_submit());
    }
    Some(Kind { word: "node", file: "package.json", gates, keep: &["node_modules/"] })
}

fn python(file: &dyn Fn(&str) -> Option<String>) -> Option<Kind> {
    let name = ["pyproject.toml", "setup.py", "pytest.ini"].into_iter().find(|name| file(name).is_some())?;
    let test = Proposed {
        // Caches would be changes to the tree where they are not ignored.
        environment: &[("PYTHONDONTWRITEBYTECODE", "1")],
        ..Proposed::new("test", "python3 -m pytest -p no:cacheprovider").read_by("pytest")
    };
    Some(Kind { word: "python", file: name, gates: vec![test], keep: &[] })
}

fn go(file: &dyn Fn(&str) -> Option<String>) -> Option<Kind> {
    file("go.mod")?;
    Some(Kind {
        word: "go",
        file: "go.mod",
        gates: vec![
            // Where there is but one program, it would be left in the tree.
            Proposed::new("compile", "go build -o /dev/null ./...").at_submit(),
            Proposed::new("vet", "go vet ./...").at_submit(),
            Proposed::new("test", "go test -v ./...").read_by("go-test"),
        ],
        keep: &[],
    })
}

fn make(file: &dyn Fn(&str) -> Option<String>) -> Option<Kind> {
    let (name, text) =
        ["GNUmakefile", "makefile", "Makefile"].into_iter().find_map(|name| Some((name, file(name)?)))?;
    let has = |target: &str| text.lines().any(|line| is_rule(line, target));
    let mut gates = Vec::new();
    if has("test") {
        gates.push(Proposed::new("test", "make test"));
    }
    if has("check") {
        gates.push(Proposed::new("check", "make check"));
    }
    if has("lint") {
        gates.push(Proposed::new("lint", "make lint").optional());
    }
    Some(Kind { word: "make", file: name, gates, keep: &[] })
}

/// Whether a line of a makefile begins the rule of this target, and is no assignment.
fn is_rule(line: &str, target: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else { return false };
    !line.starts_with(['\t', '#', ' '])
        && !rest.starts_with('=')
        && !rest.starts_with(":=")
        && targets.split_whitespace().any(|name| name == target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ProjectConfig;
    use crate::policy::gate::check;
    use crate::wire::read_foreign;

    const TEMPLATE: &str = include_str!("../../templates/liza.yaml");

    fn proposed(files: &[(&str, &str)]) -> Proposal {
        let file =
            |name: &str| files.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        Proposal { found: found(&file) }
    }

    fn read(text: &str) -> ProjectConfig {
        let config: ProjectConfig = read_foreign(text.as_bytes(), Limits::default())
            .unwrap_or_else(|error| panic!("{error}:\n{text}"));
        check(&config.gates, &config.gating).unwrap_or_else(|why| panic!("{why}:\n{text}"));
        config
    }

    /// The file that `init` writes, with the hashes of the proposal taken away.
    fn enabled(proposal: &Proposal) -> ProjectConfig {
        assert_eq!(TEMPLATE.matches(PLACE).count(), 1);
        let comments = proposal.comments();
        let written = TEMPLATE.replace(PLACE, &comments);
        assert!(read(&written).gates.is_empty(), "nothing is enabled");
        let lines: String =
            comments.lines().map(|line| format!("{}\n", line.strip_prefix("#   ").unwrap_or(line))).collect();
        read(&TEMPLATE.replace(PLACE, &lines))
    }

    fn commands(config: &ProjectConfig) -> Vec<String> {
        let command = |gate: &crate::policy::gate::Gate| match &gate.command {
            crate::policy::gate::GateCommand::Shell(text) => format!("{}: {text}", gate.name),
            crate::policy::gate::GateCommand::Argv(words) => format!("{}: {words:?}", gate.name),
        };
        config.gates.iter().map(command).collect()
    }

    const PACKAGE: &str =
        r#"{"name": "x", "scripts": {"test": "vitest", "build": "tsc", "lint": "eslint .", "evil": "`rm`"}}"#;

    #[test]
    fn every_kind_of_project_gets_gates_that_only_want_their_hashes_taken_away() {
        let node = |lock: &'static str| vec![("package.json", PACKAGE), (lock, "")];
        for (files, wanted) in [
            (
                vec![("Cargo.toml", "[workspace]")],
                vec![
                    "compile: cargo build --workspace",
                    "test: cargo test --workspace",
                    "lint: cargo clippy --workspace",
                ],
            ),
            (
                node("pnpm-lock.yaml"),
                vec![
                    "install: pnpm install --frozen-lockfile",
                    "build: pnpm run build",
                    "test: pnpm run test",
                    "lint: pnpm run lint",
                ],
            ),
            (
                node("yarn.lock"),
                vec![
                    "install: yarn install --frozen-lockfile",
                    "build: yarn run build",
                    "test: yarn run test",
                    "lint: yarn run lint",
                ],
            ),
            (
                node("bun.lockb"),
                vec![
                    "install: bun install --frozen-lockfile",
                    "build: bun run build",
                    "test: bun run test",
                    "lint: bun run lint",
                ],
            ),
            (
                node("package-lock.json"),
                vec!["install: npm ci", "build: npm run build", "test: npm run test", "lint: npm run lint"],
            ),
            (
                vec![(
                    "package.json",
                    r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1", "build": "x"}}"#,
                )],
                vec!["install: npm install --no-package-lock", "build: npm run build"],
            ),
            (vec![("pyproject.toml", "")], vec!["test: python3 -m pytest -p no:cacheprovider"]),
            (vec![("setup.py", "")], vec!["test: python3 -m pytest -p no:cacheprovider"]),
            (vec![("pytest.ini", "")], vec!["test: python3 -m pytest -p no:cacheprovider"]),
            (
                vec![("go.mod", "")],
                vec!["compile: go build -o /dev/null ./...", "vet: go vet ./...", "test: go test -v ./..."],
            ),
            (
                vec![("Makefile", ".PHONY: test\nall test: x\n\tcheck: no\nlint::\nCHECK := check\n")],
                vec!["test: make test", "lint: make lint"],
            ),
            (
                vec![("Cargo.toml", ""), ("Makefile", "check:\n"), ("setup.py", "")],
                vec![
                    "rust-compile: cargo build --workspace",
                    "rust-test: cargo test --workspace",
                    "rust-lint: cargo clippy --workspace",
                    "python-test: python3 -m pytest -p no:cacheprovider",
                    "make-check: make check",
                ],
            ),
            (vec![], vec!["test: ./scripts/test"]),
            (vec![("package.json", "{not json"), ("Makefile", "all:\n")], vec!["test: ./scripts/test"]),
            (vec![("package.json", r#"{"scripts": []}"#)], vec!["test: ./scripts/test"]),
        ] {
            let config = enabled(&proposed(&files));
            assert_eq!(commands(&config), wanted, "{files:?}");
        }
    }

    #[test]
    fn the_settings_of_a_proposal_fit() {
        let config = enabled(&proposed(&[("Cargo.toml", ""), ("package.json", PACKAGE)]));
        assert_eq!(config.gating.keep, ["target/", "node_modules/"]);
        let optional: Vec<&str> =
            config.gates.iter().filter(|gate| gate.optional).map(|gate| gate.name.as_str()).collect();
        assert_eq!(optional, ["rust-lint", "node-lint"]);
        assert_eq!(config.gates[1].adapter, crate::policy::gate::AdapterKind::CargoTest);
    }

    #[test]
    fn the_examples_among_them_are_gates_too() {
        let text: String =
            OTHERS.lines().map(|line| format!("{}\n", line.replacen("# - ", "- ", 1))).collect();
        let config = read(&format!("gates:\n{text}"));
        assert_eq!(
            config.gates.iter().map(|gate| gate.name.as_str()).collect::<Vec<_>>(),
            ["replay", "diagnostics", "coverage"]
        );
    }
}
