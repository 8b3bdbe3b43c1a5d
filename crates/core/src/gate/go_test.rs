//! `go test`: plain, `-v`, and `-json`.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{AdapterResult, FinishedCommand, counts::Counts, lines::lines};
use crate::wire::{Limits, read_foreign};

pub fn judge(ran: &FinishedCommand<'_>) -> AdapterResult {
    let lines = lines(ran.output);
    let events: Vec<Event> = lines.iter().filter_map(|line| event(line)).collect();
    let mut counts = if events.is_empty() { of_text(&lines) } else { of_events(&events) };
    counts.incomplete = ran.cut;
    counts.result(ran)
}

/// One line of `-json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: Option<String>,
}

const LONGEST_EVENT: usize = 64 * 1024;

fn event(line: &str) -> Option<Event> {
    // Output of tests is most of the lines, and is not needed.
    if !line.starts_with('{') || line.contains("\"Action\":\"output\"") {
        return None;
    }
    read_foreign(line.as_bytes(), Limits::of_bytes(LONGEST_EVENT)).ok()
}

fn of_events(events: &[Event]) -> Counts {
    let mut counts = Counts { found: true, ..Counts::default() };
    let mut blamed: BTreeSet<&str> = BTreeSet::new();
    for event in events {
        match (event.action.as_str(), &event.test) {
            ("pass", Some(_)) => counts.add(1, 0),
            ("fail", Some(test)) => {
                counts.add(0, 1);
                blamed.insert(&event.package);
                counts.name(&format!("{} {test}", event.package));
            }
            // The tests of the package did not build or did not finish.
            ("fail", None) if !blamed.contains(event.package.as_str()) => {
                counts.add(0, 1);
                counts.name(&event.package);
            }
            _ => {}
        }
    }
    counts
}

/// The meaning of one line of text.
enum Line<'l> {
    Passed,
    Failed(&'l str),
    Package { name: &'l str, passed: bool },
    WithoutTests,
}

fn of_text(lines: &[String]) -> Counts {
    let said: Vec<Line<'_>> = lines.iter().filter_map(|line| read(line)).collect();
    let mut counts = Counts { found: !said.is_empty(), ..Counts::default() };
    // Without `-v` only failed tests are named: then packages are counted.
    let verbose = said.iter().any(|line| matches!(line, Line::Passed));
    let mut blame = false;
    for line in &said {
        match line {
            Line::Passed => counts.add(1, 0),
            Line::Failed(name) => {
                counts.name(name);
                blame = true;
                if verbose {
                    counts.add(0, 1);
                }
            }
            Line::Package { name, passed } => {
                if !verbose {
                    counts.add(u64::from(*passed), u64::from(!*passed));
                }
                if !passed && !blame {
                    counts.name(name);
                    if verbose {
                        counts.add(0, 1);
                    }
                }
                blame = false;
            }
            Line::WithoutTests => {}
        }
    }
    counts
}

fn read(line: &str) -> Option<Line<'_>> {
    let trimmed = line.trim_start();
    if let Some(name) = trimmed.strip_prefix("--- PASS: ") {
        return test_name(name).map(|_| Line::Passed);
    }
    if let Some(name) = trimmed.strip_prefix("--- FAIL: ") {
        return test_name(name).map(Line::Failed);
    }
    let mut columns = line.split('\t');
    let word = columns.next()?.trim_end();
    let rest: Vec<&str> = columns.collect();
    let name = rest.first()?.split(' ').next()?;
    let package = |passed| (!name.is_empty()).then_some(Line::Package { name, passed });
    match word {
        "ok" if rest.iter().any(|part| part.contains("[no tests to run]")) => Some(Line::WithoutTests),
        "ok" => package(true),
        "FAIL" => package(false),
        "?" => Some(Line::WithoutTests),
        _ => None,
    }
}

/// The name in `TestOne/with_a_name (0.01s)`.
fn test_name(text: &str) -> Option<&str> {
    let (name, time) = text.rsplit_once(" (")?;
    time.ends_with("s)").then_some(name)
}

#[cfg(test)]
mod tests {
    use crate::board::gates::GateStatus::{self, Fail, Pass};
    use crate::gate::testing::{Scene, judged};
    use crate::policy::gate::AdapterKind::GoTest;

    fn check(
        exit: i32,
        output: &str,
        status: GateStatus,
        counts: Option<(u64, u64)>,
        reason: &str,
        failing: &[&str],
    ) {
        let said = judged(GoTest, Scene { exit, output, ..Scene::default() });
        assert_eq!(said.status, status, "{output}");
        assert_eq!(said.total.zip(said.passed), counts, "{output}");
        assert_eq!(said.reason.as_deref().unwrap_or_default(), reason, "{output}");
        assert_eq!(said.failing, failing, "{output}");
    }

    #[test]
    fn plain_output_counts_packages() {
        let green = "ok  \texample.com/a\t0.004s\nok  \texample.com/b\t(cached)\tcoverage: 80.0% of statements\n?   \texample.com/c\t[no test files]\n";
        check(0, green, Pass, Some((2, 2)), "", &[]);
        let red = "--- FAIL: TestAdd (0.00s)\n    add_test.go:9: 3, wanted 4\n    --- FAIL: TestAdd/zero (0.00s)\nFAIL\nFAIL\texample.com/a\t0.004s\nok  \texample.com/b\t0.1s\nFAIL\n";
        check(1, red, Fail, Some((2, 1)), "1 of 2 tests failed", &["TestAdd", "TestAdd/zero"]);
        let broken = "# example.com/a\n./a.go:3:2: undefined: x\nFAIL\texample.com/a [build failed]\nFAIL\n";
        check(1, broken, Fail, Some((1, 0)), "1 of 1 test failed", &["example.com/a"]);
    }

    #[test]
    fn verbose_output_counts_tests() {
        let output = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/sub\n--- FAIL: TestB (0.00s)\n    --- FAIL: TestB/sub (0.00s)\n--- SKIP: TestC (0.00s)\nFAIL\nFAIL\texample.com/a\t0.002s\nok  \texample.com/b\t0.002s [no tests to run]\nFAIL\texample.com/c [setup failed]\nFAIL\n";
        check(1, output, Fail, Some((4, 1)), "3 of 4 tests failed", &["TestB", "TestB/sub", "example.com/c"]);
        check(0, "--- PASS: TestA (0.00s)\nPASS\nok  \ta\t0.1s\n", Pass, Some((1, 1)), "", &[]);
    }

    #[test]
    fn go_json_events_are_counted() {
        let green = r#"{"Time":"2026-02-20T10:30:00Z","Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Test":"TestA","Output":"{\"Action\":\"fail\",\"Test\":\"X\"}\n"}
{"Action":"pass","Package":"a","Test":"TestA","Elapsed":0.1}
{"Action":"skip","Package":"a","Test":"TestB","Elapsed":0}
{"Action":"pass","Package":"a","Elapsed":0.2}
"#;
        check(0, green, Pass, Some((1, 1)), "", &[]);
        let red = r#"not an event
{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"fail","Package":"a","Test":"TestB"}
{"Action":"fail","Package":"a"}
{"ImportPath":"b","Action":"build-fail"}
{"Action":"fail","Package":"b","FailedBuild":"b"}
{"Action":"fail",
"#;
        check(1, red, Fail, Some((3, 1)), "2 of 3 tests failed", &["a TestB", "b"]);
    }

    #[test]
    fn without_tests_it_is_no_pass() {
        check(0, "?   \texample.com/c\t[no test files]\n", Fail, Some((0, 0)), "no test was run", &[]);
        check(0, "ok  \ta\t0.0s [no tests to run]\n", Fail, Some((0, 0)), "no test was run", &[]);
        check(0, "{\"Action\":\"skip\",\"Package\":\"a\"}\n", Fail, Some((0, 0)), "no test was run", &[]);
        check(0, "", Fail, None, "no test result was found in the output", &[]);
        check(
            0,
            "ok then, FAIL not\n--- PASS: nothing\n",
            Fail,
            None,
            "no test result was found in the output",
            &[],
        );
        let said = "it exited with 2, although no test failed in its output";
        check(2, "ok  \ta\t0.1s\n", Fail, Some((1, 1)), said, &[]);
        check(
            0,
            "--- PASS: A (0.0s)\n--- FAIL: B (0.0s)\n",
            Fail,
            Some((2, 1)),
            "1 of 2 tests failed, although it exited with 0",
            &["B"],
        );
    }
}
