//! How a project is tested, by the files in its root: the gates that `liza init` writes.
//!
//! No text of these files gets into a command. When a person runs `liza init`, the gates are tried once on the
//! present head; a red gate is written as inactive.

use std::fmt::Write;

use super::config_file::regular_file_inside;
use super::prelude::*;
use crate::wire::read_foreign_value;

const LARGEST_FILE: usize = 1024 * 1024;

/// One detected kind of project, and ways to test it: the first way that passes is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// The prefix of its gates' names if there is more than one kind.
    word: &'static str,
    pub file: &'static str,
    pub ways: Vec<Way>,
}

impl Kind {
    pub fn new(word: &'static str, file: &'static str, ways: Vec<Way>) -> Self {
        Self { word, file, ways }
    }
}

/// Gates that belong together: one that installs, and one that tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Way {
    pub gates: Vec<Proposed>,
    pub keep: Vec<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    pub name: String,
    pub command: String,
    adapter: Option<&'static str>,
    environment: &'static [(&'static str, &'static str)],
    /// Why it is written inactive.
    pub inactive: Option<String>,
}

impl Proposed {
    pub fn new(name: &str, command: impl Into<String>) -> Self {
        let (name, command) = (name.to_owned(), command.into());
        Self { name, command, adapter: None, environment: &[], inactive: None }
    }

    fn read_by(self, adapter: &'static str) -> Self {
        Self { adapter: Some(adapter), ..self }
    }

    fn with(self, environment: &'static [(&'static str, &'static str)]) -> Self {
        Self { environment, ..self }
    }

    fn write(&self, text: &mut String) {
        let command = crate::wire::yaml_edit::flow(&Value::from(self.command.as_str()));
        // Writing into a String cannot fail.
        let _ = writeln!(text, "  - name: {}\n    command: {command}", self.name);
        if let Some(adapter) = self.adapter {
            let _ = writeln!(text, "    adapter: {adapter}");
        }
        if !self.environment.is_empty() {
            let pairs: Vec<String> =
                self.environment.iter().map(|(name, value)| format!("{name}: \"{value}\"")).collect();
            let _ = writeln!(text, "    environment: {{{}}}", pairs.join(", "));
        }
        if let Some(why) = &self.inactive {
            let _ =
                writeln!(text, "    inactive: {}", crate::wire::yaml_edit::flow(&Value::from(why.as_str())));
        }
    }
}

impl Way {
    pub fn of(gates: Vec<Proposed>, keep: &[&'static str]) -> Self {
        Self { gates, keep: keep.to_vec() }
    }
}

/// The gates of several ways as `liza.yaml` text.
pub fn yaml(ways: &[&Way]) -> String {
    let mut text = String::from("gates:\n");
    ways.iter().flat_map(|way| &way.gates).for_each(|gate| gate.write(&mut text));
    let keep: Vec<&str> = ways.iter().flat_map(|way| &way.keep).copied().collect();
    if !keep.is_empty() {
        let _ = writeln!(text, "gating:\n  keep: [{}]", keep.join(", "));
    }
    text
}

/// The kinds found in this directory. A makefile counts only if nothing else shows how to test, and tests without a project
/// only if there is no makefile either.
pub fn kinds_in(root: &Path) -> Vec<Kind> {
    detect_kinds(&|name| text_of(root, name))
}

/// A file below the root, if it is regular and readable; links, pipes and the like are skipped. With a `*` in its name
/// it is the text of all such files.
fn text_of(root: &Path, name: &str) -> Option<String> {
    if let Some((start, end)) = name.split_once('*') {
        let (dir, start) = start.split_at(start.rfind('/').map_or(0, |at| at + 1));
        let mut names: Vec<String> = fs::read_dir(root.join(dir))
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with(start) && name.ends_with(end))
            .collect();
        names.sort();
        let texts: Vec<String> = names
            .into_iter()
            .take(MOST_TESTS)
            .filter_map(|name| text_of(root, &format!("{dir}{name}")))
            .collect();
        return (!texts.is_empty()).then(|| texts.join("\n"));
    }
    let path = regular_file_inside(root, Path::new(name)).ok().flatten()?;
    let (bytes, _) = read_whole(&path, LARGEST_FILE as u64).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

type Files<'f> = &'f dyn Fn(&str) -> Option<String>;

fn detect_kinds(file: Files<'_>) -> Vec<Kind> {
    let kinds = [rust(file), node(file), python(file, &PYTHON_FILES), go(file), maven(file), gradle(file)];
    let mut kinds: Vec<Kind> = kinds.into_iter().flatten().collect();
    if kinds.is_empty() {
        kinds.extend(make(file).or_else(|| python(file, &PYTHON_TESTS)));
    }
    if kinds.len() > 1 {
        for kind in &mut kinds {
            let gates = kind.ways.iter_mut().flat_map(|way| &mut way.gates);
            gates.for_each(|gate| gate.name = format!("{}-{}", kind.word, gate.name));
        }
    }
    kinds
}

fn one_way(
    word: &'static str,
    file: &'static str,
    gates: Vec<Proposed>,
    keep: &[&'static str],
) -> Option<Kind> {
    Some(Kind { word, file, ways: vec![Way::of(gates, keep)] })
}

fn rust(file: Files<'_>) -> Option<Kind> {
    file("Cargo.toml")?;
    let test = Proposed::new("test", "cargo test --workspace").read_by("cargo-test");
    one_way("rust", "Cargo.toml", vec![test], &["target/"])
}

/// The lock file, its package manager, and how that installs exactly what the lock file lists.
const MANAGERS: [(&str, &str, &str); 6] = [
    ("pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile"),
    ("yarn.lock", "yarn", "yarn install --frozen-lockfile"),
    ("bun.lock", "bun", "bun install --frozen-lockfile"),
    ("bun.lockb", "bun", "bun install --frozen-lockfile"),
    ("package-lock.json", "npm", "npm ci"),
    ("npm-shrinkwrap.json", "npm", "npm ci"),
];

fn node(file: Files<'_>) -> Option<Kind> {
    let package =
        read_foreign_value(file("package.json")?.as_bytes(), Limits::of_bytes(LARGEST_FILE)).ok()?;
    let test = package.get("scripts")?.get("test")?.as_str()?;
    // The script that `npm init` writes fails by design.
    if test.contains("no test specified") {
        return None;
    }
    let (lock, manager, install) = MANAGERS
        .into_iter()
        .find(|(lock, _, _)| file(lock).is_some())
        // A gate must not change the tree: without a lock file it must not write one.
        .unwrap_or(("", "npm", "npm install --no-package-lock"));
    let test = Proposed::new("test", format!("{manager} run test"));
    let needs = |kind: &str| package.get(kind).and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    if lock.is_empty() && !needs("dependencies") && !needs("devDependencies") {
        return one_way("node", "package.json", vec![test], &[]);
    }
    one_way("node", "package.json", vec![Proposed::new("install", install), test], &["node_modules/"])
}

const NO_BYTECODE: &[(&str, &str)] = &[("PYTHONDONTWRITEBYTECODE", "1")];
const PYTHON_FILES: [&str; 6] =
    ["pyproject.toml", "setup.py", "pytest.ini", "conftest.py", "tox.ini", "requirements.txt"];
/// So many files of tests are looked at.
const MOST_TESTS: usize = 100;
const PYTHON_TESTS: [&str; 3] = ["test_*.py", "tests/test_*.py", "test/test_*.py"];

fn python(file: Files<'_>, signs: &[&'static str]) -> Option<Kind> {
    let name = *signs.iter().find(|name| file(name).is_some())?;
    // Caches that are not ignored would change the tree.
    let pytest = |command: &str| {
        let command = format!("{command} -p no:cacheprovider");
        Proposed::new("test", command).read_by("pytest").with(NO_BYTECODE)
    };
    let installed = |install: &str, test: &str| {
        Way::of(vec![Proposed::new("install", install), pytest(test)], &[".venv/"])
    };
    let mut ways = vec![Way::of(vec![pytest("python3 -m pytest")], &[])];
    if file("uv.lock").is_some() {
        ways.insert(0, installed("uv sync --frozen", "uv run --frozen python -m pytest"));
    } else if file("poetry.lock").is_some() {
        let install = "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install --no-interaction";
        ways.insert(0, installed(install, "poetry run python -m pytest"));
    } else {
        let what = ["requirements-dev.txt", "requirements.txt"].into_iter().find(|name| file(name).is_some());
        let what = what.map(|name| format!("-r {name}"));
        let what =
            what.or_else(|| (name == "pyproject.toml" || name == "setup.py").then(|| "-e .".to_owned()));
        if let Some(what) = what {
            let install =
                format!("python3 -m venv .venv && .venv/bin/python -m pip install --quiet {what} pytest");
            ways.push(installed(&install, ".venv/bin/python -m pytest"));
        }
    }
    let tests = PYTHON_TESTS.into_iter().find_map(|name| Some((name, file(name)?)));
    let (name_of_tests, text) = tests.unwrap_or_default();
    // Without a place to begin, unittest looks into packages only.
    let begin = match name_of_tests.split_once('/') {
        Some((dir, _)) if file(&format!("{dir}/__init__.py")).is_none() => format!(" -s {dir}"),
        _ => String::new(),
    };
    let unittest = Proposed::new("test", format!("python3 -m unittest discover{begin}")).with(NO_BYTECODE);
    // Where unittest finds no test, some versions of it pass.
    let asks_for_pytest = (!name_of_tests.is_empty() && !text.contains("TestCase"))
        || PYTHON_FILES.iter().any(|name| file(name).is_some_and(|text| text.contains("pytest")));
    if !asks_for_pytest {
        // Ways without an installation come first.
        ways.insert(ways.len().min(1), Way::of(vec![unittest], &[]));
    }
    Some(Kind { word: "python", file: name, ways })
}

fn go(file: Files<'_>) -> Option<Kind> {
    file("go.mod")?;
    one_way("go", "go.mod", vec![Proposed::new("test", "go test -v ./...").read_by("go-test")], &[])
}

fn maven(file: Files<'_>) -> Option<Kind> {
    file("pom.xml")?;
    let program = if file("mvnw").is_some() { "./mvnw" } else { "mvn" };
    one_way("maven", "pom.xml", vec![Proposed::new("test", format!("{program} -q -B test"))], &["target/"])
}

fn gradle(file: Files<'_>) -> Option<Kind> {
    let names = ["build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"];
    let name = names.into_iter().find(|name| file(name).is_some())?;
    let program = if file("gradlew").is_some() { "./gradlew" } else { "gradle" };
    one_way("gradle", name, vec![Proposed::new("test", format!("{program} test"))], &["build/", ".gradle/"])
}

fn make(file: Files<'_>) -> Option<Kind> {
    let (name, text) =
        ["GNUmakefile", "makefile", "Makefile"].into_iter().find_map(|name| Some((name, file(name)?)))?;
    let target =
        ["test", "check"].into_iter().find(|target| text.lines().any(|line| is_rule(line, target)))?;
    one_way("make", name, vec![Proposed::new("test", format!("make {target}"))], &[])
}

/// Whether a line of a makefile starts the rule of this target, and is no assignment.
fn is_rule(line: &str, target: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else { return false };
    !line.starts_with(['\t', '#', ' '])
        && !rest.starts_with('=')
        && !rest.starts_with(":=")
        && targets.split_whitespace().any(|name| name == target)
}

#[cfg(test)]
mod tests {
    use super::super::config_file::read_config;
    use super::*;
    use crate::policy::gate::AdapterKind;

    /// The commands of every way, and what is kept.
    fn ways(files: &[(&str, &str)]) -> Vec<String> {
        let file =
            |name: &str| files.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        let kinds = detect_kinds(&file);
        for way in kinds.iter().flat_map(|kind| &kind.ways) {
            let text = yaml(&[way]);
            read_config(text.as_bytes()).unwrap_or_else(|failure| panic!("{}:\n{text}", failure.message));
        }
        let shown = |way: &Way| {
            let gates: Vec<String> =
                way.gates.iter().map(|gate| format!("{}: {}", gate.name, gate.command)).collect();
            format!("{} [{}]", gates.join("; "), way.keep.join(" "))
        };
        kinds.iter().flat_map(|kind| kind.ways.iter().map(shown)).collect()
    }

    const PACKAGE: &str =
        r#"{"scripts": {"test": "vitest", "evil": "`rm`"}, "devDependencies": {"vitest": "1"}}"#;

    #[test]
    fn every_project_kind_can_be_tested() {
        let pytest = "python3 -m pytest -p no:cacheprovider";
        let unittest = "test: python3 -m unittest discover []".to_owned();
        let venv = |what: &str| {
            format!(
                "install: python3 -m venv .venv && .venv/bin/python -m pip install --quiet {what} pytest; test: .venv/bin/python -m pytest -p no:cacheprovider [.venv/]"
            )
        };
        for (files, wanted) in [
            (vec![("Cargo.toml", "[workspace]")], vec!["test: cargo test --workspace [target/]".to_owned()]),
            (
                vec![("package.json", PACKAGE), ("pnpm-lock.yaml", "")],
                vec!["install: pnpm install --frozen-lockfile; test: pnpm run test [node_modules/]".to_owned()],
            ),
            (
                vec![("package.json", PACKAGE), ("yarn.lock", "")],
                vec!["install: yarn install --frozen-lockfile; test: yarn run test [node_modules/]".to_owned()],
            ),
            (
                vec![("package.json", PACKAGE), ("package-lock.json", "")],
                vec!["install: npm ci; test: npm run test [node_modules/]".to_owned()],
            ),
            (
                vec![("package.json", PACKAGE)],
                vec!["install: npm install --no-package-lock; test: npm run test [node_modules/]".to_owned()],
            ),
            (
                vec![("package.json", r#"{"scripts": {"test": "node --test"}}"#)],
                vec!["test: npm run test []".to_owned()],
            ),
            (vec![("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#)], vec![]),
            (
                vec![("pyproject.toml", "")],
                vec![format!("test: {pytest} []"), unittest.clone(), venv("-e .")],
            ),
            (vec![("pytest.ini", "[pytest]")], vec![format!("test: {pytest} []")]),
            (
                vec![("requirements.txt", "pytest")],
                vec![format!("test: {pytest} []"), venv("-r requirements.txt")],
            ),
            (
                vec![("pyproject.toml", "pytest"), ("uv.lock", "")],
                vec![
                    "install: uv sync --frozen; test: uv run --frozen python -m pytest -p no:cacheprovider [.venv/]".to_owned(),
                    format!("test: {pytest} []"),
                ],
            ),
            (
                vec![("tests/test_*.py", "class A(unittest.TestCase):")],
                vec![format!("test: {pytest} []"), "test: python3 -m unittest discover -s tests []".to_owned()],
            ),
            (
                vec![("tests/test_*.py", "class A(unittest.TestCase):"), ("tests/__init__.py", "")],
                vec![format!("test: {pytest} []"), unittest.clone()],
            ),
            (vec![("test_*.py", "from unittest.mock import patch")], vec![format!("test: {pytest} []")]),
            (vec![("pyproject.toml", ""), ("tests/test_*.py", "")], vec![format!("test: {pytest} []"), venv("-e .")]),
            (vec![("Makefile", "test:\n"), ("test_*.py", "")], vec!["test: make test []".to_owned()]),
            (vec![("go.mod", "")], vec!["test: go test -v ./... []".to_owned()]),
            (vec![("pom.xml", "")], vec!["test: mvn -q -B test [target/]".to_owned()]),
            (vec![("pom.xml", ""), ("mvnw", "")], vec!["test: ./mvnw -q -B test [target/]".to_owned()]),
            (vec![("build.gradle", ""), ("gradlew", "")], vec!["test: ./gradlew test [build/ .gradle/]".to_owned()]),
            (vec![("Makefile", ".PHONY: test\nall test: x\n")], vec!["test: make test []".to_owned()]),
            (vec![("Makefile", "check:\nCHECK := test\n")], vec!["test: make check []".to_owned()]),
            (
                vec![("Cargo.toml", ""), ("Makefile", "test:\n"), ("go.mod", "")],
                vec!["rust-test: cargo test --workspace [target/]".to_owned(), "go-test: go test -v ./... []".to_owned()],
            ),
            (vec![], vec![]),
            (vec![("package.json", "{not json"), ("Makefile", "all:\n")], vec![]),
            (vec![("package.json", r#"{"scripts": []}"#)], vec![]),
        ] {
            assert_eq!(ways(&files), wanted, "{files:?}");
        }
    }

    #[test]
    fn test_file_is_found_by_the_form_of_its_name() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join("tests/test_dir.py")).expect("made");
        for (name, text) in [("tests/test_b.py", "b"), ("tests/test_c.py", "c"), ("tests/data.py", "d")] {
            fs::write(root.path().join(name), text).expect("written");
        }
        assert_eq!(text_of(root.path(), "tests/test_*.py").as_deref(), Some("b\nc"));
        assert_eq!(text_of(root.path(), "test_*.py"), None);
        assert_eq!(text_of(root.path(), "te*"), None, "a directory");
        assert_eq!(kinds_in(root.path())[0].file, "tests/test_*.py");
    }

    #[test]
    fn inactive_gate_is_written_with_its_reason() {
        let mut way = rust(&|_| Some(String::new())).expect("a kind").ways.remove(0);
        way.gates[0].inactive = Some("red: \"2 tests\" failed # here".to_owned());
        let config = read_config(yaml(&[&way]).as_bytes()).unwrap_or_default();
        assert!(config.gates.is_empty());
        let gate = &config.inactive_gates[0];
        assert_eq!(
            (gate.adapter, gate.inactive.as_deref()),
            (AdapterKind::CargoTest, way.gates[0].inactive.as_deref())
        );
    }
}
