//! Findings as JSON: their number, and whether it is allowed.

use serde_json::Value;

use super::{AdapterResult, FinishedCommand, LARGEST_REPORT, remember, report, without_report};
use crate::policy::gate::Gate;
use crate::text::{clipped, shown_line};
use crate::wire::{Limits, read_foreign_value};

pub fn judge(gate: &Gate, ran: &FinishedCommand<'_>) -> Result<AdapterResult, AdapterResult> {
    let bytes = match gate.report {
        Some(_) => report(gate, ran)?,
        None if ran.cut => {
            let why = "it prints more than liza keeps; let it write to a `report` instead";
            return Err(AdapterResult::could_not_run(why));
        }
        None => ran.stdout,
    };
    let found = findings(bytes).map_err(|why| {
        let what = if gate.report.is_some() { "its report" } else { "its standard output" };
        without_report(ran.exit, &format!("{what} lists no findings: {why}"))
    })?;
    let most = gate.at_most.unwrap_or(0);
    // Checkers exit with another code than 0 because of findings, so the code decides only without findings.
    let reason = if found.count > most {
        let findings = if found.count == 1 { "finding" } else { "findings" };
        Some(format!("{} {findings}, at most {most} allowed", found.count))
    } else if found.count == 0 && ran.exit != 0 {
        Some(format!("it exited with {}, although it lists no finding", ran.exit))
    } else {
        None
    };
    let failing = if reason.is_none() { Vec::new() } else { found.names };
    Ok(AdapterResult { total: Some(found.count), failing, ..AdapterResult::unless(reason) })
}

struct Findings {
    count: u64,
    names: Vec<String>,
}

fn findings(bytes: &[u8]) -> Result<Findings, String> {
    // Text that is not JSON would be read as YAML, in which almost anything is valid.
    if !bytes.trim_ascii_start().starts_with(b"{") && !bytes.trim_ascii_start().starts_with(b"[") {
        return Err("it is not JSON".to_owned());
    }
    let value = read_foreign_value(bytes, Limits::of_bytes(LARGEST_REPORT))
        .map_err(|error| clipped(&shown_line(&error.to_string()), 300).into_owned())?;
    let lists: Vec<&Vec<Value>> = match &value {
        Value::Array(list) => vec![list],
        value => ["diagnostics", "errors"].iter().filter_map(|key| value.get(key)?.as_array()).collect(),
    };
    let counted = ["count", "errors"].iter().filter_map(|key| value.get(key)?.as_u64());
    // If the count is given more than once, the greatest counts.
    let count = lists.iter().map(|list| list.len() as u64).chain(counted).max();
    let count = count.ok_or("it has none of `diagnostics`, `errors` and `count`")?;
    let mut names = Vec::new();
    for finding in lists.into_iter().flatten().take(1000) {
        remember(&mut names, &finding_line(finding));
    }
    Ok(Findings { count, names })
}

/// A finding in words: its position and message, as far as given.
fn finding_line(finding: &Value) -> String {
    if let Some(text) = finding.as_str() {
        return text.to_owned();
    }
    let word = |keys: &[&str]| {
        keys.iter().find_map(|key| match finding.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    let place: Vec<String> =
        [word(&["file", "path", "filename"]), word(&["line", "row"])].into_iter().flatten().collect();
    let what = word(&["message", "text", "title", "code", "rule", "id"]);
    [Some(place.join(":")).filter(|place| !place.is_empty()), what]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(": ")
}

#[cfg(test)]
mod tests {
    use crate::board::gates::GateStatus::{self, CouldNotRun, Fail, Pass};
    use crate::gate::testing::{Scene, gate, judged, judged_by};
    use crate::policy::gate::AdapterKind::Diag;

    fn check(
        exit: i32,
        at_most: Option<u64>,
        output: &str,
        status: GateStatus,
        total: Option<u64>,
    ) -> String {
        let mut gate = gate(Diag);
        gate.at_most = at_most;
        let said = judged_by(&gate, Scene { exit, output, ..Scene::default() });
        assert_eq!((said.status, said.total), (status, total), "{output}: {said:?}");
        said.reason.unwrap_or_default()
    }

    #[test]
    fn findings_are_counted_in_every_shape() {
        for (output, count) in [
            ("[]", 0),
            (" \n[1, {}, \"x\"]\n", 3),
            (r#"{"diagnostics": [{}, {}]}"#, 2),
            (r#"{"errors": [{}]}"#, 1),
            (r#"{"errors": 4}"#, 4),
            (r#"{"count": 0, "other": [1, 2]}"#, 0),
            (r#"{"diagnostics": [{}], "errors": 3, "count": 2}"#, 3),
        ] {
            let status = if count == 0 { Pass } else { Fail };
            check(0, None, output, status, Some(count));
            check(0, Some(4), output, Pass, Some(count));
        }
        assert_eq!(check(1, None, r#"{"count": 1}"#, Fail, Some(1)), "1 finding, at most 0 allowed");
        assert_eq!(check(1, Some(2), "[1,2,3]", Fail, Some(3)), "3 findings, at most 2 allowed");
        assert_eq!(check(1, Some(3), "[1,2,3]", Pass, Some(3)), "");
        assert_eq!(check(2, None, "[]", Fail, Some(0)), "it exited with 2, although it lists no finding");
    }

    #[test]
    fn diagnostics_are_listed_with_file_and_line() {
        let output = r#"{"diagnostics": [{"file": "a.rs", "line": 3, "message": "unused\u001b[2J"}, {"code": "E1"}, "plain", {}]}"#;
        let said = judged(Diag, Scene { output, ..Scene::default() });
        assert_eq!(said.failing, ["a.rs:3: unused\\u{1b}[2J", "E1", "plain"]);
    }

    #[test]
    fn output_without_json_gives_no_result() {
        let deep = "[".repeat(100_000);
        for output in [
            "",
            "all fine",
            "3",
            "\"text\"",
            "- a\n- b",
            "{\"a\": 1",
            "[1] [2]",
            "{\"a\":1,\"a\":2}",
            "{}",
            &deep,
        ] {
            check(0, None, output, CouldNotRun, None);
            check(101, None, output, Fail, None);
        }
        assert_eq!(
            check(0, None, "fine", CouldNotRun, None),
            "its standard output lists no findings: it is not JSON"
        );
        assert_eq!(judged(Diag, Scene { output: "[]", cut: true, ..Scene::default() }).status, CouldNotRun);
    }

    #[test]
    fn named_report_replaces_the_output() {
        let mut gate = gate(Diag);
        gate.report = Some("diag.json".to_owned());
        let scene = Scene { output: "words", cut: true, report: Some("[]"), ..Scene::default() };
        assert_eq!(judged_by(&gate, scene).status, Pass);
        let said = judged_by(&gate, Scene { report: None, ..scene });
        assert_eq!(
            (said.status, said.reason.as_deref()),
            (CouldNotRun, Some("it wrote no report `diag.json`"))
        );
    }
}
