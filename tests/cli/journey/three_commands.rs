//! `liza init`, `liza run`, `liza deliver`: three commands and no file edited.

use super::{Newcomer, agent};
use crate::support::process::Bounded as _;

/// The files of a person's project, apart from what `liza init` writes.
fn files_of(person: &Newcomer) -> String {
    person.world.git(&["status", "--porcelain", "--", ":!liza.yaml", ":!specs"])
}

/// Types the three commands, and nothing else.
#[track_caller]
fn three_commands(mut person: Newcomer, gates: &[&str], delivered: &str) {
    let ran = person.types(&["init", "Add a file that says hello"]).ok();
    assert!(ran.stdout.contains("provider  claude"), "{}", ran.stdout);
    for gate in gates {
        assert!(ran.stdout.contains(gate) && !ran.stdout.contains("INACTIVE"), "{gate}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("Next:\n  liza run"), "{}", ran.stdout);
    let config = person.world.read("liza.yaml");
    assert!(config.lines().count() <= 40, "{config}");
    let ran = person.types(&["run"]).ok();
    assert!(ran.stdout.contains("complete: 1 merged"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.trim_end().ends_with("next: liza deliver"), "{}", ran.stdout);
    assert_eq!(files_of(&person), "", "nobody has edited a file");
    deliver(&mut person);
    let tree = person.world.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert!(tree.lines().any(|name| name == delivered), "{tree}");
    assert_eq!(person.typed.len(), 3, "{:?}", person.typed);
    assert_eq!(person.world.read("liza.yaml"), config, "nobody has edited liza.yaml");
    person.world.sound();
}

/// The third command moves the branch the person stands on.
#[track_caller]
fn deliver(person: &mut Newcomer) {
    let ran = person.types(&["deliver"]);
    if ran.exit != 0 && ran.stderr.contains("git merge --ff-only") {
        // A liza that leaves a checked-out branch to git says so; what it says is typed as it stands.
        person.world.git(&["merge", "-q", "--ff-only", "integration"]);
        return;
    }
    ran.ok();
}

fn has(program: &str) -> bool {
    let found = std::process::Command::new(program).arg("--version").finish();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

#[test]
fn rust_project_with_a_dependency() {
    let files = [
        (
            "Cargo.toml",
            "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\ngreet = { path = \"vendor/greet\" }\n[workspace]\n",
        ),
        (
            "Cargo.lock",
            "version = 3\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"greet\",\n]\n\n[[package]]\nname = \"greet\"\nversion = \"0.1.0\"\n",
        ),
        (
            "src/lib.rs",
            "pub use greet::hello;\n#[test]\nfn says_hello() { assert_eq!(hello(), \"hello\"); }\n",
        ),
        ("vendor/greet/Cargo.toml", "[package]\nname = \"greet\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("vendor/greet/src/lib.rs", "pub fn hello() -> &'static str { \"hello\" }\n"),
        (".gitignore", "target/\n"),
    ];
    let script = agent(
        "HELLO.txt",
        "hello",
        "tests/hello.rs",
        "#[test]\nfn file_says_hello() { assert!(include_str!(\"../HELLO.txt\").contains(app::hello())); }",
    );
    three_commands(
        Newcomer::new(&files, &script),
        &["gate      test: cargo test --workspace (passes"],
        "tests/hello.rs",
    );
}

#[test]
fn python_project_with_a_dependency() {
    if !has("python3") {
        return;
    }
    let files = [
        ("pyproject.toml", "[project]\nname = \"app\"\nversion = \"0.1.0\"\n"),
        ("vendored/__init__.py", ""),
        ("vendored/greet.py", "def hello():\n    return 'hello'\n"),
        ("tests/__init__.py", ""),
        (
            "tests/test_greet.py",
            "import unittest\nfrom vendored.greet import hello\n\nclass Test(unittest.TestCase):\n    def test_hello(self):\n        self.assertEqual(hello(), 'hello')\n",
        ),
        ("pytest/__init__.py", ""),
        ("pytest/__main__.py", "raise SystemExit('this project has no pytest')\n"),
    ];
    let script = agent(
        "hello.txt",
        "hello",
        "tests/test_file.py",
        "import unittest\n\nclass Test(unittest.TestCase):\n    def test_file(self):\n        self.assertIn('hello', open('hello.txt').read())",
    );
    let gate = "gate      test: python3 -m unittest discover (passes";
    three_commands(Newcomer::new(&files, &script), &[gate], "tests/test_file.py");
}

#[test]
fn javascript_project_with_a_dependency() {
    if !has("npm") {
        return;
    }
    let lock = r#"{
  "name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
  "packages": {
    "": {"name": "app", "version": "1.0.0", "dependencies": {"greet": "file:vendor/greet"}},
    "node_modules/greet": {"resolved": "vendor/greet", "link": true},
    "vendor/greet": {"name": "greet", "version": "1.0.0"}
  }
}
"#;
    let files = [
        (
            "package.json",
            r#"{"name": "app", "version": "1.0.0", "scripts": {"test": "node tests/run.js"}, "dependencies": {"greet": "file:vendor/greet"}}"#,
        ),
        ("package-lock.json", lock),
        ("vendor/greet/package.json", r#"{"name": "greet", "version": "1.0.0", "main": "index.js"}"#),
        ("vendor/greet/index.js", "module.exports = () => 'hello';\n"),
        (
            "tests/run.js",
            "const fs = require('fs');\nfor (const name of fs.readdirSync(__dirname)) if (name.endsWith('.test.js')) require('./' + name);\n",
        ),
        ("tests/greet.test.js", "require('assert').strictEqual(require('greet')(), 'hello');\n"),
        (".npmrc", "offline=true\naudit=false\nfund=false\nupdate-notifier=false\n"),
        (".gitignore", "node_modules/\n"),
    ];
    let script = agent(
        "hello.txt",
        "hello",
        "tests/file.test.js",
        "require('assert').ok(require('fs').readFileSync('hello.txt', 'utf8').includes(require('greet')()));",
    );
    let gates = ["gate      install: npm ci (passes", "gate      test: npm run test (passes"];
    three_commands(Newcomer::new(&files, &script), &gates, "tests/file.test.js");
}
