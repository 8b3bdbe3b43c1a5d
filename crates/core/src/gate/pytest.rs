//! `pytest`.

use super::{AdapterResult, FinishedCommand, counts::Counts, lines::lines, lines::number};

pub fn judge(ran: &FinishedCommand<'_>) -> AdapterResult {
    let mut counts = Counts::default();
    for line in lines(ran.output) {
        if let Some((passed, failed)) = summary(&line) {
            counts.add(passed, failed);
        } else if let Some(name) = failure(&line) {
            counts.name(name);
        }
    }
    counts.result(ran)
}

/// The counts in `=== 3 failed, 10 passed, 1 error in 0.12s ===`, with or without the bars. A test that fails as
/// expected (`xfailed`) counts as passed; skipped ones do not count.
fn summary(line: &str) -> Option<(u64, u64)> {
    let line = line.trim_matches(['=', ' ']);
    let (counted, time) = line.rsplit_once(" in ")?;
    let seconds = time.split(' ').next()?.strip_suffix('s')?;
    if seconds.is_empty() || !seconds.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    if matches!(counted, "no tests ran" | "no tests collected") {
        return Some((0, 0));
    }
    let (mut passed, mut failed) = (0, 0);
    for part in counted.split(", ") {
        let (count, word) = part.split_once(' ')?;
        let count = number(count)?;
        match word {
            "passed" | "xfailed" | "xpassed" => passed += count,
            "failed" | "error" | "errors" => failed += count,
            "skipped" | "deselected" | "warning" | "warnings" | "rerun" | "subtests passed" => {}
            "subtests failed" | "subtest failed" => {}
            _ if word.split(' ').count() > 2 => return None,
            // Counts of plugins are ignored.
            _ => {}
        }
    }
    Some((passed, failed))
}

/// The test in `FAILED tests/test_a.py::test_b - AssertionError: …` in the short summary.
fn failure(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
    let name = rest.split(" - ").next()?.trim_end();
    let is_test = name.contains("::") || name.ends_with(".py");
    (is_test && !name.starts_with(' ')).then_some(name)
}

#[cfg(test)]
mod tests {
    use crate::board::gates::GateStatus::{self, Fail, Pass};
    use crate::gate::testing::{Scene, judged};
    use crate::policy::gate::AdapterKind::Pytest;

    fn check(exit: i32, output: &str, status: GateStatus, counts: Option<(u64, u64)>, reason: &str) {
        let said = judged(Pytest, Scene { exit, output, ..Scene::default() });
        assert_eq!(said.status, status, "{output}");
        assert_eq!(said.total.zip(said.passed), counts, "{output}");
        assert_eq!(said.reason.as_deref().unwrap_or_default(), reason, "{output}");
    }

    const RED: &str = "\
============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-8.3.3, pluggy-1.5.0
collected 14 items

tests/test_a.py FFF..........E                                           [100%]

------------------------------ Captured log call -------------------------------
ERROR    root:test_a.py:3 it hurts
=========================== short test summary info ============================
FAILED tests/test_a.py::test_one - assert 1 == 2
FAILED tests/test_a.py::test_many[a-1] - ValueError: bad - worse
ERROR tests/test_b.py - ModuleNotFoundError: No module named 'x'
=================== 3 failed, 10 passed, 1 error in 0.12s ====================
";

    #[test]
    fn the_summary_is_counted_and_names_are_read() {
        check(1, RED, Fail, Some((14, 10)), "4 of 14 tests failed");
        let said = judged(Pytest, Scene { exit: 1, output: RED, ..Scene::default() });
        assert_eq!(
            said.failing,
            ["tests/test_a.py::test_one", "tests/test_a.py::test_many[a-1]", "tests/test_b.py"]
        );
    }

    #[test]
    fn every_shape_of_the_summary() {
        for (line, counts) in [
            ("============================== 1 passed in 0.01s ===============================", (1, 1)),
            ("10 passed in 3.21s", (10, 10)),
            ("=== 5 passed, 2 skipped, 1 xfailed, 1 xpassed, 3 warnings in 61.20s (0:01:01) ===", (7, 7)),
            ("2 passed, 1 deselected, 4 subtests passed in 0.50s", (2, 2)),
            (
                "\u{1b}[32m====== \u{1b}[32m\u{1b}[1m4 passed\u{1b}[0m\u{1b}[32m in 0.10s\u{1b}[0m\u{1b}[32m ======\u{1b}[0m",
                (4, 4),
            ),
        ] {
            check(0, line, Pass, Some(counts), "");
        }
    }

    #[test]
    fn colours_hide_nothing() {
        let output = "\u{1b}[1m\u{1b}[31mERROR   \u{1b}[0m root:test_a.py:3 hm\n\u{1b}[31mFAILED\u{1b}[0m test_a.py::\u{1b}[1mtest_bad\u{1b}[0m - AssertionError: no - really\n\u{1b}[31m=== \u{1b}[31m\u{1b}[1m1 failed\u{1b}[0m, \u{1b}[32m1 passed\u{1b}[0m, \u{1b}[31m\u{1b}[1m1 error\u{1b}[0m\u{1b}[31m in 0.12s\u{1b}[0m\u{1b}[31m ===\u{1b}[0m\n";
        check(1, output, Fail, Some((3, 1)), "2 of 3 tests failed");
        let said = judged(Pytest, Scene { exit: 1, output, ..Scene::default() });
        assert_eq!(said.failing, ["test_a.py::test_bad"]);
    }

    #[test]
    fn without_tests_it_is_no_pass() {
        check(
            5,
            "==== no tests ran in 0.00s ====",
            Fail,
            Some((0, 0)),
            "it exited with 5, and no test was run",
        );
        check(0, "==== 3 skipped in 0.00s ====", Fail, Some((0, 0)), "no test was run");
        check(0, "", Fail, None, "no test result was found in the output");
        check(
            2,
            "=== 5 passed in 1.0s ===",
            Fail,
            Some((5, 5)),
            "it exited with 2, although no test failed in its output",
        );
        check(
            0,
            "1 failed, 5 passed in 1.0s",
            Fail,
            Some((6, 5)),
            "1 of 6 tests failed, although it exited with 0",
        );
        for line in ["we passed in 3s", "5 passed", "5 passed in the end", "x passed in 1.0s", "= in 0.1s ="]
        {
            check(0, line, Fail, None, "no test result was found in the output");
        }
    }
}
