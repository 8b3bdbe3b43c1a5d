//! `cargo test` and `cargo nextest`.

use super::{AdapterResult, FinishedCommand, counts::Counts, lines::lines, lines::number};

pub fn cargo_test(ran: &FinishedCommand<'_>) -> AdapterResult {
    let mut counts = Counts { incomplete: ran.cut, ..Counts::default() };
    let mut listing = false;
    let mut lines = lines(ran.output).into_iter().peekable();
    while let Some(line) = lines.next() {
        // The list at the end of a binary's output; the captured output of tests has the same heading.
        if listing {
            match line.strip_prefix("    ") {
                Some(name) => counts.name(name),
                None => listing = false,
            }
        }
        if line == "failures:" {
            listing = lines.peek().is_some_and(|next| next.starts_with("    "));
        } else if let Some((passed, failed)) = cargo_result(&line) {
            counts.add(passed, failed);
        } else if let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
            && (outcome == "FAILED" || outcome.starts_with("FAILED "))
        {
            counts.name(name.trim_end_matches(" - should panic"));
        }
    }
    counts.result(ran)
}

/// The counts in `test result: ok. 3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s`.
fn cargo_result(line: &str) -> Option<(u64, u64)> {
    let (word, counted) = line.strip_prefix("test result: ")?.split_once(". ")?;
    if !matches!(word, "ok" | "FAILED") {
        return None;
    }
    let mut parts = counted.split("; ");
    let passed = number(parts.next()?.strip_suffix(" passed")?)?;
    let failed = number(parts.next()?.strip_suffix(" failed")?)?;
    number(parts.next()?.strip_suffix(" ignored")?)?;
    // A line with FAILED and no failed test is still no pass.
    Some((passed, if word == "FAILED" { failed.max(1) } else { failed }))
}

pub fn nextest(ran: &FinishedCommand<'_>) -> AdapterResult {
    let mut counts = Counts::default();
    let lines = lines(ran.output);
    let mut last_summary = None;
    for (at, line) in lines.iter().enumerate() {
        if let Some((passed, failed)) = nextest_summary(line) {
            counts.add(passed, failed);
            last_summary = Some(at);
        }
    }
    // Final failures are listed again below the summary; above it are also repeated tries.
    let below = last_summary.map_or(&[][..], |at| &lines[at..]);
    below.iter().filter_map(|line| nextest_failure(line)).for_each(|name| counts.name(name));
    if counts.failing.is_empty() && counts.failed > 0 {
        lines.iter().filter_map(|line| nextest_failure(line)).for_each(|name| counts.name(name));
    }
    counts.result(ran)
}

/// Of `Summary [   0.521s] 179 tests run: 177 passed (1 flaky), 2 failed, 3 skipped`. Whatever was to be run and did not
/// pass failed: in time, by a signal, because it could not be started, or because the run was given up (`5/9 tests run`).
fn nextest_summary(line: &str) -> Option<(u64, u64)> {
    let (_, rest) = line.trim_start().strip_prefix("Summary [")?.split_once(']')?;
    let (run, counted) = rest.split_once(" run: ")?;
    let run = run.trim_start().strip_suffix(" tests").or_else(|| run.trim_start().strip_suffix(" test"))?;
    let (begun, all) = run.split_once('/').unwrap_or((run, run));
    let run = number(begun)?.max(number(all)?);
    let (mut passed, mut failed) = (0_u64, 0_u64);
    // Brackets qualify the count before them: `176 passed (1 flaky, 2 slow)`.
    for part in without_brackets(counted).split(", ") {
        let mut words = part.split_whitespace();
        let Some(count) = words.next().and_then(number) else { continue };
        match words.next() {
            Some("passed") => passed = count,
            Some("failed" | "timed" | "exec" | "errored" | "aborted") => {
                failed = failed.saturating_add(count)
            }
            _ => {}
        }
    }
    let passed = passed.min(run.saturating_sub(failed));
    Some((passed, failed.max(run - passed)))
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    let outside = |c: &char| {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                return false;
            }
            _ => {}
        }
        depth == 0
    };
    text.chars().filter(outside).collect()
}

/// The test in `        FAIL [   0.003s] (2/3) my-crate::suite module::name`.
fn nextest_failure(line: &str) -> Option<&str> {
    let (status, rest) = line.trim_start().split_once(" [")?;
    let last = status.rsplit(' ').next()?;
    let failed = matches!(last, "FAIL" | "TIMEOUT" | "ABORT" | "XFAIL" | "LEAK-FAIL" | "FAIL-LEAK")
        || (last.starts_with("SIG")
            && last.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()));
    let (seconds, name) = rest.split_once(']')?;
    if !failed || !seconds.trim_end().ends_with('s') {
        return None;
    }
    let name = name.trim();
    match name.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((place, name)) if place.contains('/') => Some(name.trim_start()),
        _ => Some(name),
    }
}

#[cfg(test)]
mod tests {
    use crate::board::gates::GateStatus::{self, Fail, Pass};
    use crate::gate::testing::{Scene, judged};
    use crate::policy::gate::AdapterKind::{self, CargoTest, Nextest};

    const TWO_CRATES: &str = "\
   Compiling a v0.1.0 (/x/a)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.50s
     Running unittests src/lib.rs (target/debug/deps/a-123)

running 3 tests
test tests::one ... ok
test tests::two ... ok
test tests::slow ... ignored

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running unittests src/lib.rs (target/debug/deps/b-456)

running 2 tests
test tests::bad ... FAILED
test tests::good ... ok

failures:

---- tests::bad stdout ----
    indented words of the test

thread 'tests::bad' panicked at src/lib.rs:9:9:
assertion `left == right` failed


failures:
    tests::bad

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

error: test failed, to rerun pass `-p b --lib`
";

    fn check(
        kind: AdapterKind,
        exit: i32,
        output: &str,
        status: GateStatus,
        counts: Option<(u64, u64)>,
        reason: &str,
    ) {
        let said = judged(kind, Scene { exit, output, ..Scene::default() });
        assert_eq!(said.status, status, "{output}");
        assert_eq!(said.total.zip(said.passed), counts, "{output}");
        assert_eq!(said.reason.as_deref().unwrap_or_default(), reason, "{output}");
    }

    #[test]
    fn cargo_results_of_all_crates_are_summed() {
        check(CargoTest, 101, TWO_CRATES, Fail, Some((4, 3)), "1 of 4 tests failed");
        let said = judged(CargoTest, Scene { exit: 101, output: TWO_CRATES, ..Scene::default() });
        assert_eq!(said.failing, ["tests::bad"]);
    }

    #[test]
    fn cargo_counts_and_exit_code_must_agree_on_a_pass() {
        let ok =
            "test result: ok. 3 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let none =
            "test result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 7 filtered out; finished in 0.00s";
        let red = "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        let odd = "test result: FAILED. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let coloured = "test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\r\n";
        let broken = "error[E0425]: cannot find value `x` in this scope";
        check(CargoTest, 0, ok, Pass, Some((3, 3)), "");
        check(CargoTest, 0, &format!("{none}\n{ok}\n{ok}"), Pass, Some((6, 6)), "");
        check(CargoTest, 0, coloured, Pass, Some((3, 3)), "");
        check(
            CargoTest,
            1,
            ok,
            Fail,
            Some((3, 3)),
            "it exited with 1, although no test failed in its output",
        );
        check(CargoTest, 0, red, Fail, Some((4, 3)), "1 of 4 tests failed, although it exited with 0");
        check(CargoTest, 0, odd, Fail, Some((4, 3)), "1 of 4 tests failed, although it exited with 0");
        check(CargoTest, 0, none, Fail, Some((0, 0)), "no test was run");
        check(CargoTest, 0, "", Fail, None, "no test result was found in the output");
        check(
            CargoTest,
            101,
            broken,
            Fail,
            None,
            "it exited with 101, and no test result was found in the output",
        );
    }

    #[test]
    fn cargo_lines_that_only_look_like_results_are_none() {
        for line in [
            "the test result: ok. 3 passed; 0 failed; 0 ignored",
            "test result: fine. 3 passed; 0 failed; 0 ignored",
            "test result: ok. three passed; 0 failed; 0 ignored",
            "test result: ok. 3 passed; 0 failed",
            "test result: ok. 3 pas",
            "test result: ok. 99999999999999999999999 passed; 0 failed; 0 ignored",
        ] {
            check(CargoTest, 0, line, Fail, None, "no test result was found in the output");
        }
    }

    #[test]
    fn cargo_output_that_was_cut_gives_no_counts() {
        let output = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n[cut]\nssed; 9 failed;\n";
        let said = judged(CargoTest, Scene { output, cut: true, ..Scene::default() });
        assert_eq!((said.status, said.total, said.passed), (Pass, None, None));
        let output = output.replace("ok. 3 passed; 0", "FAILED. 3 passed; 2");
        let said = judged(CargoTest, Scene { exit: 101, output: &output, cut: true, ..Scene::default() });
        assert_eq!((said.status, said.total, said.reason.as_deref()), (Fail, None, Some("2 tests failed")));
    }

    #[test]
    fn cargo_names_come_from_both_places() {
        let output = "test src/lib.rs - add (line 3) ... FAILED\ntest a::b - should panic ... FAILED\n\nfailures:\n    c::d\n    a::b\n\n    not a name\n";
        let said = judged(CargoTest, Scene { exit: 101, output, ..Scene::default() });
        assert_eq!(said.failing, ["src/lib.rs - add (line 3)", "a::b", "c::d"]);
    }

    const NEXTEST: &str = "\
    Starting 179 tests across 3 binaries (3 tests skipped)
        PASS [   0.005s] (  1/179) liza text::shown
  TRY 1 FAIL [   0.010s] liza::cli flaky::one
   TRY 2 PASS [   0.010s] liza::cli flaky::one
        FAIL [   0.003s] (  2/179) liza::cli merging::red
────────────
     Summary [   0.521s] 179 tests run: 176 passed (1 flaky), 2 failed, 1 timed out, 3 skipped
        FAIL [   0.003s] (  2/179) liza::cli merging::red
     SIGABRT [   0.004s] (  9/179) liza board::deep
     TIMEOUT [  60.004s] liza board::slow
error: test run failed
";

    #[test]
    fn nextest_is_read_by_its_summary() {
        check(Nextest, 100, NEXTEST, Fail, Some((179, 176)), "3 of 179 tests failed");
        let said = judged(Nextest, Scene { exit: 100, output: NEXTEST, ..Scene::default() });
        assert_eq!(said.failing, ["liza::cli merging::red", "liza board::deep", "liza board::slow"]);
        let one = "     Summary [   0.004s] 1 test run: 1 passed, 0 skipped";
        check(Nextest, 0, one, Pass, Some((1, 1)), "");
        let coloured = "\u{1b}[32;1m     Summary\u{1b}[0m [   0.004s] \u{1b}[1m2\u{1b}[0m tests run: \u{1b}[1m2\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m \u{1b}[33;1mskipped\u{1b}[0m";
        check(Nextest, 0, coloured, Pass, Some((2, 2)), "");
        let killed = "\u{1b}[31;1m     Summary\u{1b}[0m [   0.602s] \u{1b}[1m4\u{1b}[0m tests run: \u{1b}[1m3\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m1\u{1b}[0m \u{1b}[31;1mfailed\u{1b}[0m\n\u{1b}[31;1m     SIGABRT\u{1b}[0m [   0.056s] (1/4) \u{1b}[35;1mreal\u{1b}[0m \u{1b}[36mtests\u{1b}[0m\u{1b}[36m::\u{1b}[0m\u{1b}[34;1maborts\u{1b}[0m\n";
        let said = judged(Nextest, Scene { exit: 100, output: killed, ..Scene::default() });
        assert_eq!((said.total, said.failing), (Some(4), vec!["real tests::aborts".to_owned()]));
        let stopped = "     Summary [   0.004s] 5/9 tests run: 4 passed, 1 failed, 0 skipped\n        FAIL [   0.004s] a b";
        check(Nextest, 100, stopped, Fail, Some((9, 4)), "5 of 9 tests failed");
        let given_up = "     Summary [   0.004s] 2/5 tests run: 2 passed, 0 skipped";
        check(Nextest, 0, given_up, Fail, Some((5, 2)), "3 of 5 tests failed, although it exited with 0");
        let late = "     Summary [   0.004s] 2 tests run: 2 passed (1 slow, 1 leaky), 1 timed out, 0 skipped";
        check(Nextest, 0, late, Fail, Some((2, 1)), "1 of 2 tests failed, although it exited with 0");
        let slow = "     Summary [   0.004s] 2 tests run: 2 passed (1 slow, 1 flaky), 0 skipped";
        check(Nextest, 0, slow, Pass, Some((2, 2)), "");
    }

    #[test]
    fn nextest_without_tests_is_no_pass() {
        let none = "     Summary [   0.000s] 0 tests run: 0 passed, 12 skipped";
        check(Nextest, 0, none, Fail, Some((0, 0)), "no test was run");
        check(Nextest, 4, none, Fail, Some((0, 0)), "it exited with 4, and no test was run");
        check(Nextest, 0, "Summary [", Fail, None, "no test result was found in the output");
        check(
            Nextest,
            0,
            "Summary [1s] x tests run: 1 passed",
            Fail,
            None,
            "no test result was found in the output",
        );
        // More passed tests than tests run is nonsense and no pass.
        check(Nextest, 0, "Summary [1s] 0 tests run: 7 passed", Fail, Some((0, 0)), "no test was run");
    }
}
