//! Coverage of the new and changed lines, and functions that no test calls, by a coverage report.

use std::collections::BTreeMap;

use super::{AdapterResult, FinishedCommand, lines::number, remember, xml};
use crate::policy::gate::Gate;

/// The lines that are new or changed, as ranges, by the path of their file.
pub type ChangedLines = BTreeMap<String, Vec<(u64, u64)>>;

/// The report line by line, by its names of files.
#[derive(Debug, Default)]
pub struct Measured {
    files: BTreeMap<String, BTreeMap<u64, bool>>,
    /// Functions by name: the first line, and whether it was called.
    functions: BTreeMap<String, BTreeMap<String, (u64, bool)>>,
}

impl Measured {
    /// From a report that was already validated.
    pub fn of(bytes: &[u8]) -> Self {
        let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        if text.trim_ascii_start().starts_with(b"<") {
            Self::of_cobertura(bytes)
        } else {
            Self::of_lcov(bytes)
        }
    }

    fn of_lcov(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        let text = String::from_utf8_lossy(bytes);
        let mut file = String::new();
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("SF:") {
                name.clone_into(&mut file);
            } else if let Some((line, hits)) = line.strip_prefix("DA:").and_then(|data| data.split_once(','))
            {
                let hits = hits.split(',').next().and_then(|hits| hits.parse::<f64>().ok()).unwrap_or(0.0);
                if let Some(line) = number(line) {
                    *found.files.entry(file.clone()).or_default().entry(line).or_default() |= hits > 0.0;
                }
            } else if let Some((line, rest)) = line.strip_prefix("FN:").and_then(|data| data.split_once(','))
            {
                // `FN:LINE,NAME` or `FN:LINE,END,NAME`
                let name = rest
                    .split_once(',')
                    .filter(|(end, _)| number(end).is_some())
                    .map_or(rest, |(_, name)| name);
                if let Some(line) = number(line) {
                    found.function(&file, name).0 = line;
                }
            } else if let Some((hits, name)) =
                line.strip_prefix("FNDA:").and_then(|data| data.split_once(','))
            {
                found.function(&file, name).1 |= hits.parse::<f64>().is_ok_and(|hits| hits > 0.0);
            }
        }
        found
    }

    fn function(&mut self, file: &str, name: &str) -> &mut (u64, bool) {
        self.functions.entry(file.to_owned()).or_default().entry(name.to_owned()).or_default()
    }

    fn of_cobertura(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        let (mut file, mut method) = (String::new(), String::new());
        // Unreadable reports were reported before.
        let _ = xml::walk(bytes, |element, above| match element.name {
            "class" => file = element.attribute("filename").unwrap_or_default().to_owned(),
            "method" => method = element.attribute("name").unwrap_or_default().to_owned(),
            "line" => {
                let (Some(line), hit) =
                    (element.number("number"), element.number("hits").is_some_and(|hits| hits > 0))
                else {
                    return;
                };
                if above.ends_with(&["class", "lines"]) {
                    *found.files.entry(file.clone()).or_default().entry(line).or_default() |= hit;
                } else if above.ends_with(&["method", "lines"]) {
                    let known = found.function(&file, &method);
                    known.0 = if known.0 == 0 { line } else { known.0.min(line) };
                    known.1 |= hit;
                }
            }
            _ => {}
        });
        found
    }

    /// Functions that no test called, in the whole report or in these lines.
    pub fn untested(&self, of: Option<&ChangedLines>) -> Vec<String> {
        let mut names = Vec::new();
        for (file, functions) in &self.functions {
            let changed = of.map(|changed| changed.iter().find(|(path, _)| is_same_file(file, path)));
            for (name, (line, called)) in functions {
                let concerns = match &changed {
                    None => true,
                    Some(None) => false,
                    Some(Some((_, ranges))) => within(ranges, *line),
                };
                if concerns && !called {
                    let file = changed.flatten().map_or(file.as_str(), |(path, _)| path);
                    remember(&mut names, &format!("{file}:{line} {name}"));
                }
            }
        }
        names
    }
}

/// Reports name files relative to the root of the disk, of the repository or of a source directory.
fn is_same_file(reported: &str, path: &str) -> bool {
    let reported = reported.trim_start_matches("./");
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    !reported.is_empty() && (ends(reported, path) || ends(path, reported))
}

fn within(ranges: &[(u64, u64)], line: u64) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&line))
}

/// Judges only the new and changed lines. Lines that the report does not count, such as comments, do not count.
pub fn judge(gate: &Gate, ran: &FinishedCommand<'_>, measured: &Measured) -> AdapterResult {
    let Some(changed) = ran.changed else {
        return AdapterResult::could_not_run("liza cannot determine which lines are new or changed here");
    };
    let (mut found, mut covered) = (0_u64, 0_u64);
    let mut failing = Vec::new();
    let mut unnamed = Vec::new();
    let ending = |path: &str| path.rsplit_once('.').map(|(_, ending)| ending.to_owned());
    for (path, ranges) in changed {
        let Some((_, lines)) = measured.files.iter().find(|(file, _)| is_same_file(file, path)) else {
            // A file of a kind that the report measures, but without a test that loads it.
            if measured.files.keys().any(|file| ending(file) == ending(path)) {
                remember(&mut unnamed, &format!("{path} (the report does not name it)"));
            }
            continue;
        };
        let counted: Vec<(u64, bool)> = lines
            .iter()
            .filter(|(line, _)| within(ranges, **line))
            .map(|(line, hit)| (*line, *hit))
            .collect();
        found += counted.len() as u64;
        covered += counted.iter().filter(|(_, hit)| *hit).count() as u64;
        for (first, last) in runs(counted.iter().filter(|(_, hit)| !hit).map(|(line, _)| *line)) {
            let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
            remember(&mut failing, &format!("{path}:{lines}"));
        }
    }
    let least = gate.least_coverage();
    let percent = (found > 0).then(|| covered as f64 * 100.0 / found as f64);
    let reason = match percent {
        _ if ran.exit != 0 => Some(format!("it exited with {}", ran.exit)),
        // Truncated, not rounded: a value below the limit must not look sufficient.
        Some(percent) if percent < least => Some(format!(
            "coverage of new and changed lines is {:.1} % ({covered} of {found}), at least {least} % is required",
            (percent * 10.0).floor() / 10.0
        )),
        _ => None,
    };
    let failing = if reason.is_none() { Vec::new() } else { failing };
    let mut untested = measured.untested(Some(changed));
    unnamed.iter().for_each(|name| remember(&mut untested, name));
    AdapterResult {
        total: Some(found),
        passed: Some(covered),
        failing,
        untested,
        ..AdapterResult::unless(reason)
    }
}

/// Consecutive lines as ranges.
fn runs(lines: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for line in lines {
        match all.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => all.push((line, line)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::gates::GateStatus::{CouldNotRun, Fail, Pass};
    use crate::gate::testing::{Scene, gate, judged_by};
    use crate::policy::gate::{AdapterKind, CoverageOf};

    /// Old lines are covered badly, new ones well; `login` is called, `logout` is not.
    const LCOV: &str = "SF:/tmp/w/src/auth.py\nFN:10,12,login\nFN:14,logout\nFNDA:3,login\nFNDA:0,logout\n\
        DA:1,0\nDA:2,0\nDA:3,0\nDA:10,1\nDA:11,1\nDA:12,1\nDA:13,1\nDA:14,1\nDA:15,0\nend_of_record\n";

    fn changed(files: &[(&str, u64, u64)]) -> ChangedLines {
        files.iter().map(|(path, first, last)| ((*path).to_owned(), vec![(*first, *last)])).collect()
    }

    fn said(report: &str, lines: Option<&ChangedLines>, at_least: Option<f64>) -> AdapterResult {
        let mut gate = gate(AdapterKind::Coverage);
        gate.of = Some(CoverageOf::Changed);
        gate.at_least = at_least;
        judged_by(&gate, Scene { report: Some(report), changed: lines, ..Scene::default() })
    }

    #[test]
    fn only_new_and_changed_lines_are_judged() {
        let new = changed(&[("src/auth.py", 10, 15), ("docs/auth.md", 1, 9)]);
        let judged = said(LCOV, Some(&new), None);
        assert_eq!((judged.status, judged.total, judged.passed), (Pass, Some(6), Some(5)));
        assert_eq!(judged.untested, ["src/auth.py:14 logout"]);
        let judged = said(LCOV, Some(&new), Some(90.0));
        assert_eq!(judged.status, Fail);
        let reason = "coverage of new and changed lines is 83.3 % (5 of 6), at least 90 % is required";
        assert_eq!(judged.reason.as_deref(), Some(reason));
        assert_eq!(judged.failing, ["src/auth.py:15"]);
        let old = changed(&[("src/auth.py", 1, 3)]);
        assert_eq!(said(LCOV, Some(&old), None).failing, ["src/auth.py:1-3"]);
    }

    #[test]
    fn docs_only_change_passes_coverage() {
        let docs = changed(&[("docs/auth.md", 1, 9)]);
        let judged = said(LCOV, Some(&docs), None);
        assert_eq!((judged.status, judged.total, judged.untested.len()), (Pass, Some(0), 0));
        let other = changed(&[("src/never_loaded.py", 1, 9)]);
        assert_eq!(
            said(LCOV, Some(&other), None).untested,
            ["src/never_loaded.py (the report does not name it)"]
        );
        assert_eq!(said(LCOV, None, None).status, CouldNotRun);
    }

    #[test]
    fn cobertura_is_read_line_by_line() {
        let report = "<coverage line-rate=\"0.5\"><packages><package><classes><class filename=\"src/a.py\"><methods><method name=\"f\"><lines>\
            <line number=\"2\" hits=\"0\"/></lines></method></methods><lines><line number=\"1\" hits=\"9\"/><line number=\"2\" hits=\"0\"/></lines>\
            </class></classes></package></packages></coverage>";
        let judged = said(report, Some(&changed(&[("py/src/a.py", 1, 1)])), None);
        assert_eq!((judged.status, judged.total, judged.passed), (Pass, Some(1), Some(1)));
        let judged = said(report, Some(&changed(&[("py/src/a.py", 1, 2)])), None);
        assert_eq!((judged.status, judged.untested), (Fail, vec!["py/src/a.py:2 f".to_owned()]));
    }

    #[test]
    fn path_variants_of_a_file_are_recognised() {
        assert!(is_same_file("/tmp/w/src/a.rs", "src/a.rs") && is_same_file("./a.rs", "a.rs"));
        assert!(is_same_file("a.rs", "src/a.rs"));
        assert!(!is_same_file("/tmp/xsrc/a.rs", "src/a.rs") && !is_same_file("", "a.rs"));
    }
}
