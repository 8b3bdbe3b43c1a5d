//! A JUnit report, as most test runners can write one.

use super::xml::{self, Element};
use super::{AdapterResult, FinishedCommand, counts::Counts, report, unreadable};
use crate::policy::gate::Gate;

pub fn judge(gate: &Gate, ran: &FinishedCommand<'_>) -> Result<AdapterResult, AdapterResult> {
    let counts = read(report(gate, ran)?).map_err(|why| unreadable(gate, ran, &why))?;
    Ok(counts.result(ran))
}

/// A test case, as far as it was read.
struct Case {
    name: String,
    failed: bool,
    skipped: bool,
}

#[derive(Default)]
struct Reading {
    counts: Counts,
    case: Option<Case>,
    /// The declared failures of the outermost suites: a suite that crashed has no case for them.
    declared_failed: u64,
    /// The declared number of tests.
    declared_run: u64,
    declared_at: Option<usize>,
    skipped: u64,
}

fn read(bytes: &[u8]) -> Result<Counts, String> {
    let mut reading = Reading { counts: Counts { found: true, ..Counts::default() }, ..Reading::default() };
    let mut root = None;
    xml::walk(bytes, |element, above| {
        root.get_or_insert(element.name);
        reading.element(element, above);
    })?;
    reading.end_case();
    if !matches!(root, Some("testsuites" | "testsuite")) {
        return Err(format!("its root element is `{}`, not `testsuites`", root.unwrap_or_default()));
    }
    // The worse of declared and counted results counts: a test without a case is no pass.
    let missing = reading.declared_failed.saturating_sub(reading.counts.failed);
    reading.counts.add(0, missing);
    let counted = reading.counts.passed.saturating_add(reading.counts.failed).saturating_add(reading.skipped);
    reading.counts.add(0, reading.declared_run.saturating_sub(counted));
    Ok(reading.counts)
}

impl Reading {
    fn element(&mut self, element: &Element<'_>, above: &[&str]) {
        let depth = above.len();
        match element.name {
            "testcase" => {
                self.end_case();
                let name = element.attribute("name").unwrap_or_default();
                let class = element.attribute("classname").filter(|class| !class.is_empty());
                let name = class.map_or(name.clone(), |class| format!("{class}::{name}"));
                let mut case = Case { name, failed: false, skipped: false };
                // Some reports use an attribute instead of a child element.
                for word in ["status", "result"].iter().filter_map(|key| element.attribute(key)) {
                    let word = word.trim().to_ascii_lowercase();
                    case.failed |= matches!(
                        word.as_str(),
                        "failed" | "failure" | "fail" | "error" | "errored" | "broken"
                    );
                    case.skipped |= matches!(
                        word.as_str(),
                        "skipped" | "disabled" | "ignored" | "notrun" | "not-run" | "suppressed" | "pending"
                    );
                }
                self.case = Some(case);
            }
            "testsuites" | "testsuite" => {
                self.end_case();
                if self.declared_at.is_some_and(|at| depth <= at) {
                    self.declared_at = None;
                }
                let sum = |keys: &[&str]| {
                    let counts = keys.iter().filter_map(|key| element.number(key));
                    counts.fold(None, |sum: Option<u64>, count| Some(sum.unwrap_or(0).saturating_add(count)))
                };
                let (failed, tests) = (sum(&["failures", "errors"]), element.number("tests"));
                if self.declared_at.is_none() && (failed.is_some() || tests.is_some()) {
                    self.declared_at = Some(depth);
                    self.declared_failed = self.declared_failed.saturating_add(failed.unwrap_or(0));
                    let not_run = sum(&["skipped", "disabled"]).unwrap_or(0);
                    let run = tests.unwrap_or(0).saturating_sub(not_run);
                    self.declared_run = self.declared_run.saturating_add(run);
                }
            }
            word if above.last() == Some(&"testcase") => {
                if let Some(case) = &mut self.case {
                    case.failed |= matches!(word, "failure" | "error");
                    case.skipped |= matches!(word, "skipped" | "disabled");
                }
            }
            _ => {}
        }
    }

    fn end_case(&mut self) {
        let Some(case) = self.case.take() else { return };
        if case.failed {
            self.counts.add(0, 1);
            self.counts.name(&case.name);
        } else if case.skipped {
            self.skipped += 1;
        } else {
            self.counts.add(1, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::board::gates::GateStatus::{self, CouldNotRun, Fail, Pass};
    use crate::gate::testing::{Scene, judged};
    use crate::policy::gate::AdapterKind::Junit;

    fn check(exit: i32, report: &str, status: GateStatus, counts: Option<(u64, u64)>, reason: &str) {
        let said = judged(Junit, Scene { exit, report: Some(report), ..Scene::default() });
        assert_eq!(said.status, status, "{report}: {said:?}");
        assert_eq!(said.total.zip(said.passed), counts, "{report}");
        assert_eq!(said.reason.as_deref().unwrap_or_default(), reason, "{report}");
    }

    const RED: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="6" failures="1" errors="1" skipped="1">
  <testsuite name="outer" tests="6" failures="1" errors="1">
    <properties><property name="a" value="b"/></properties>
    <testsuite name="inner" failures="1">
      <testcase classname="a.B" name="one" time="0.1"><failure message="1 &lt; 2">trace &amp; text</failure></testcase>
      <testcase classname="a.B" name="two"><system-out><![CDATA[<failure/>]]></system-out></testcase>
    </testsuite>
    <testcase name="three"><error/></testcase>
    <testcase name="four"/>
    <testcase name="five"><skipped message="later"/></testcase>
    <testcase name="six"><rerunFailure/></testcase>
  </testsuite>
</testsuites>
"#;

    #[test]
    fn nested_suites_are_counted_once() {
        check(1, RED, Fail, Some((5, 3)), "2 of 5 tests failed");
        let said = judged(Junit, Scene { exit: 1, report: Some(RED), ..Scene::default() });
        assert_eq!(said.failing, ["a.B::one", "three"]);
        check(0, RED, Fail, Some((5, 3)), "2 of 5 tests failed, although it exited with 0");
    }

    #[test]
    fn suite_error_without_case_counts_as_failure() {
        let report = r#"<testsuites><testsuite errors="1"><testcase name="a"/></testsuite><testsuite failures="0"><testcase name="b"/></testsuite><testsuite errors="2"/></testsuites>"#;
        check(0, report, Fail, Some((5, 2)), "3 of 5 tests failed, although it exited with 0");
    }

    #[test]
    fn worse_of_declared_and_counted_result_holds() {
        let one =
            |head: &str, case: &str| format!("<testsuite {head}><testcase name=\"a\" {case}/></testsuite>");
        check(
            0,
            &one("tests=\"5\"", ""),
            Fail,
            Some((5, 1)),
            "4 of 5 tests failed, although it exited with 0",
        );
        check(0, &one("tests=\"5\" skipped=\"3\" disabled=\"1\"", ""), Pass, Some((1, 1)), "");
        check(
            0,
            &one("tests=\"1\"", "status=\"failed\""),
            Fail,
            Some((1, 0)),
            "1 of 1 test failed, although it exited with 0",
        );
        check(
            0,
            &one("", "result=\"Error\""),
            Fail,
            Some((1, 0)),
            "1 of 1 test failed, although it exited with 0",
        );
        check(0, &one("", "status=\"run\" result=\"completed\""), Pass, Some((1, 1)), "");
        check(0, &one("tests=\"1\"", "status=\"notrun\""), Fail, Some((0, 0)), "no test was run");
    }

    #[test]
    fn green_report_passes_and_empty_one_fails() {
        check(0, r#"<testsuite><testcase name="a"/></testsuite>"#, Pass, Some((1, 1)), "");
        check(0, r#"<testsuite tests="0"/>"#, Fail, Some((0, 0)), "no test was run");
        check(
            0,
            r#"<testsuite><testcase><skipped/></testcase></testsuite>"#,
            Fail,
            Some((0, 0)),
            "no test was run",
        );
        check(
            3,
            r#"<testsuite><testcase/></testsuite>"#,
            Fail,
            Some((1, 1)),
            "it exited with 3, although no test failed in its output",
        );
    }

    #[test]
    fn missing_or_broken_report_gives_no_result() {
        let said = judged(Junit, Scene::default());
        assert_eq!(
            (said.status, said.reason.as_deref()),
            (CouldNotRun, Some("it wrote no report `report.out`"))
        );
        let said = judged(Junit, Scene { exit: 2, ..Scene::default() });
        assert_eq!(
            (said.status, said.reason.as_deref()),
            (Fail, Some("it exited with 2, and it wrote no report `report.out`"))
        );
        for (report, why) in [
            ("", "it has no element"),
            ("<testsuites><testsuite>", "it ends inside `testsuite`"),
            ("<html></html>", "its root element is `html`, not `testsuites`"),
            ("<!DOCTYPE x [ ]><testsuites/>", "it declares its own document type"),
        ] {
            check(0, report, CouldNotRun, None, &format!("its report `report.out` cannot be read: {why}"));
        }
    }
}
