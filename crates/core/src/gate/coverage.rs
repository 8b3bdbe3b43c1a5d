//! Coverage of lines: lcov or Cobertura, distinguished by their content.

use std::collections::BTreeMap;

use super::{AdapterResult, FinishedCommand, changed, lines::number, report, unreadable, xml};
use crate::policy::gate::{CoverageOf, Gate};

pub fn judge(gate: &Gate, ran: &FinishedCommand<'_>) -> Result<AdapterResult, AdapterResult> {
    let bytes = report(gate, ran)?;
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let read = if text.trim_ascii_start().starts_with(b"<") { cobertura(bytes) } else { lcov(bytes) };
    let reached = read.map_err(|why| unreadable(gate, ran, &why))?;
    let measured = changed::Measured::of(bytes);
    if gate.of == Some(CoverageOf::Changed) {
        return Ok(changed::judge(gate, ran, &measured));
    }
    let least = gate.least_coverage();
    let (counts, percent) = match reached {
        Reached::Lines { found, covered } => {
            let percent = (found > 0).then(|| covered as f64 * 100.0 / found as f64);
            (Some((found, covered)), percent)
        }
        Reached::Rate(rate) => (None, Some(rate * 100.0)),
    };
    let reason = match percent {
        _ if ran.exit != 0 => Some(format!("it exited with {}", ran.exit)),
        None => Some("its report names no line of code".to_owned()),
        // Truncated, not rounded: a value below the limit must not look sufficient.
        Some(percent) if percent < least => Some(format!(
            "coverage is {:.1} %, at least {least} % is required",
            (percent * 10.0).floor() / 10.0
        )),
        Some(_) => None,
    };
    let (total, passed) = counts.unzip();
    Ok(AdapterResult { total, passed, untested: measured.untested(None), ..AdapterResult::unless(reason) })
}

#[derive(Debug, Clone, Copy)]
enum Reached {
    Lines {
        found: u64,
        covered: u64,
    },
    /// Only the rate is known.
    Rate(f64),
}

/// How much a rate may differ from its lines.
const ROUNDING: f64 = 0.01;

impl Reached {
    /// None without lines.
    fn share(&self) -> Option<f64> {
        match *self {
            Self::Lines { found, covered } => (found > 0).then(|| covered as f64 / found as f64),
            Self::Rate(rate) => Some(rate),
        }
    }
}

/// A file may have several records, one for each test run: a line is covered if any of them covers it.
fn lcov(bytes: &[u8]) -> Result<Reached, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines: BTreeMap<&str, BTreeMap<u64, bool>> = BTreeMap::new();
    // For records that count lines without listing them.
    let (mut found, mut covered) = (0_u64, 0_u64);
    let mut file: Option<&str> = None;
    let mut own: (Option<u64>, Option<u64>, BTreeMap<u64, bool>) = (None, None, BTreeMap::new());
    // How much worse records count than the lines they list.
    let (mut unnamed, mut disowned) = (0_u64, 0_u64);
    for (at, line) in text.lines().enumerate() {
        let wrong = |what: &str| format!("line {}: {what}", at + 1);
        let line = line.trim();
        if let Some(name) = line.strip_prefix("SF:") {
            if file.replace(name).is_some() {
                return Err(wrong("a record begins inside another"));
            }
            own = (None, None, BTreeMap::new());
        } else if line == "end_of_record" {
            let Some(_) = file.take() else { return Err(wrong("a record ends without a beginning")) };
            let named = own.2.len() as u64;
            let reached = own.2.values().filter(|hit| **hit).count() as u64;
            match (own.0, own.1) {
                (Some(lf), Some(lh)) if lh > lf => {
                    return Err(wrong("more lines are covered than there are"));
                }
                (Some(lf), Some(lh)) if own.2.is_empty() => {
                    found = found.saturating_add(lf);
                    covered = covered.saturating_add(lh);
                }
                (lf, lh) => {
                    unnamed = unnamed.saturating_add(lf.unwrap_or(0).saturating_sub(named));
                    disowned = disowned.saturating_add(reached.saturating_sub(lh.unwrap_or(reached)));
                }
            }
        } else if let (Some(data), Some(file)) = (line.strip_prefix("DA:"), file) {
            let mut parts = data.split(',');
            let line = parts.next().and_then(number);
            let hits = parts.next();
            // Some tools count below zero or in powers of ten; only whether a line was reached matters.
            let hit = hits.and_then(|hits| hits.parse::<f64>().ok()).filter(|hits| hits.is_finite());
            let (Some(line), Some(hit)) = (line, hit) else {
                return Err(wrong("a line is written as `DA:LINE,COUNT`"));
            };
            *lines.entry(file).or_default().entry(line).or_default() |= hit > 0.0;
            *own.2.entry(line).or_default() |= hit > 0.0;
        } else if let Some(count) = line.strip_prefix("LF:") {
            own.0 = Some(number(count).ok_or_else(|| wrong("`LF` is not a number"))?);
        } else if let Some(count) = line.strip_prefix("LH:") {
            own.1 = Some(number(count).ok_or_else(|| wrong("`LH` is not a number"))?);
        } else if !line.is_empty() && !line.starts_with('#') && !is_key(line) {
            return Err(wrong("this is neither lcov nor Cobertura"));
        }
    }
    if file.is_some() {
        return Err("it ends in the middle of a record".to_owned());
    }
    for lines in lines.values() {
        found = found.saturating_add(lines.len() as u64);
        covered = covered.saturating_add(lines.values().filter(|hit| **hit).count() as u64);
    }
    let (found, covered) = (found.saturating_add(unnamed), covered.saturating_sub(disowned));
    Ok(Reached::Lines { found, covered })
}

/// Whether a line has one of the keys that are not about covered lines.
fn is_key(line: &str) -> bool {
    let key = line.split(':').next().unwrap_or_default();
    line.contains(':') && (2..=6).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn cobertura(bytes: &[u8]) -> Result<Reached, String> {
    let mut root = None;
    let (mut valid, mut covered, mut rate) = (None, None, None);
    let (mut found, mut hit) = (0, 0);
    xml::walk(bytes, |element, above| {
        if above.is_empty() {
            root = Some(element.name);
            valid = element.number("lines-valid");
            covered = element.number("lines-covered");
            rate = element.attribute("line-rate").and_then(|rate| rate.trim().parse::<f64>().ok());
        }
        // Lines of a method are listed again among those of its class.
        if element.name == "line" && above.ends_with(&["class", "lines"]) {
            found += 1;
            hit += u64::from(element.number("hits").is_some_and(|hits| hits > 0));
        }
    })?;
    if root != Some("coverage") {
        return Err(format!("its root element is `{}`, not `coverage`", root.unwrap_or_default()));
    }
    let declared = match valid.zip(covered) {
        Some((valid, covered)) if covered > valid => {
            return Err("more lines are covered than there are".to_owned());
        }
        Some((found, covered)) => Some(Reached::Lines { found, covered }),
        None => None,
    };
    let counted = (found > 0).then_some(Reached::Lines { found, covered: hit });
    let rate = rate.filter(|rate| (0.0..=1.0).contains(rate));
    // Declared and counted values may differ; the worse one counts. A rate is rounded.
    let lines = match (declared, counted) {
        (Some(declared), Some(counted)) if counted.share() < declared.share() => Some(counted),
        (Some(declared), _) => Some(declared),
        (None, counted) => counted,
    };
    match (lines, rate) {
        (Some(lines), Some(rate)) if lines.share().is_some_and(|share| rate < share - ROUNDING) => {
            Ok(Reached::Rate(rate))
        }
        (Some(lines), _) => Ok(lines),
        (None, Some(rate)) => Ok(Reached::Rate(rate)),
        (None, None) => Err("it has no line counts".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use crate::board::gates::GateStatus::{self, CouldNotRun, Fail, Pass};
    use crate::gate::testing::{Scene, gate, judged, judged_by};
    use crate::policy::gate::AdapterKind::Coverage;

    fn check(
        at_least: Option<f64>,
        report: &str,
        status: GateStatus,
        counts: Option<(u64, u64)>,
        reason: &str,
    ) {
        let mut gate = gate(Coverage);
        gate.at_least = at_least;
        let said = judged_by(&gate, Scene { report: Some(report), ..Scene::default() });
        assert_eq!(said.status, status, "{report}: {said:?}");
        assert_eq!(said.total.zip(said.passed), counts, "{report}");
        assert_eq!(said.reason.as_deref().unwrap_or_default(), reason, "{report}");
    }

    #[test]
    fn lcov_is_summed_over_files() {
        let counted = "TN:\nSF:src/a.rs\nFN:1,a\nFNDA:1,a\nLF:600\nLH:428\nend_of_record\nSF:src/b.rs\nLF:400\nLH:285\nend_of_record\n";
        check(None, counted, Fail, Some((1000, 713)), "coverage is 71.3 %, at least 80 % is required");
        check(Some(71.3), counted, Pass, Some((1000, 713)), "");
        check(
            Some(71.4),
            counted,
            Fail,
            Some((1000, 713)),
            "coverage is 71.3 %, at least 71.4 % is required",
        );
        check(Some(0.0), counted, Pass, Some((1000, 713)), "");
        let lines = "SF:a\nDA:1,5\nDA:2,0\nDA:3,1,checksum\nBRDA:1,0,0,-\nLF:3\nLH:2\nend_of_record\nSF:a\r\nDA:2,1\r\nDA:4,1e3\r\nend_of_record\r\n";
        check(Some(100.0), lines, Pass, Some((4, 4)), "");
    }

    #[test]
    fn coverage_below_limit_is_never_rounded_up() {
        let report = "SF:a\nLF:10000\nLH:7999\nend_of_record\n";
        check(None, report, Fail, Some((10000, 7999)), "coverage is 79.9 %, at least 80 % is required");
    }

    #[test]
    fn cobertura_gives_counts_or_rate() {
        let head = "<?xml version=\"1.0\" ?>\n<!DOCTYPE coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n";
        let whole = format!(
            "{head}<coverage line-rate=\"0.85\" lines-valid=\"200\" lines-covered=\"170\"><packages/></coverage>"
        );
        check(None, &whole, Pass, Some((200, 170)), "");
        let lines = "<coverage line-rate=\"0.5\"><packages><package><classes><class><methods><method><lines><line number=\"1\" hits=\"9\"/></lines></method></methods><lines><line number=\"1\" hits=\"9\"/><line number=\"2\" hits=\"0\"/></lines></class></classes></package></packages></coverage>";
        check(None, lines, Fail, Some((2, 1)), "coverage is 50.0 %, at least 80 % is required");
        check(
            None,
            "<coverage line-rate=\"0.75\"/>",
            Fail,
            None,
            "coverage is 75.0 %, at least 80 % is required",
        );
        check(Some(75.0), "<coverage line-rate=\"0.75\"/>", Pass, None, "");
    }

    #[test]
    fn worse_of_declared_and_counted_result_holds() {
        let lcov = "SF:a\nDA:1,1\nLF:100\nLH:1\nend_of_record\n";
        check(None, lcov, Fail, Some((100, 1)), "coverage is 1.0 %, at least 80 % is required");
        let lcov = "SF:a\nDA:1,1\nDA:2,1\nLF:2\nLH:0\nend_of_record\n";
        check(None, lcov, Fail, Some((2, 0)), "coverage is 0.0 %, at least 80 % is required");
        let line = "<packages><package><classes><class><lines><line number=\"1\" hits=\"9\"/></lines></class></classes></package></packages>";
        let xml = |head: &str| format!("<coverage {head}>{line}</coverage>");
        check(None, &xml("line-rate=\"0.1\""), Fail, None, "coverage is 10.0 %, at least 80 % is required");
        check(
            None,
            &xml("lines-valid=\"10\" lines-covered=\"1\""),
            Fail,
            Some((10, 1)),
            "coverage is 10.0 %, at least 80 % is required",
        );
        check(None, &xml("line-rate=\"0.999\""), Pass, Some((1, 1)), "");
    }

    #[test]
    fn nothing_to_cover_is_no_pass() {
        check(None, "", Fail, Some((0, 0)), "its report names no line of code");
        check(
            None,
            "<coverage lines-valid='0' lines-covered='0'/>",
            Fail,
            Some((0, 0)),
            "its report names no line of code",
        );
        let said = judged(
            Coverage,
            Scene { exit: 1, report: Some("SF:a\nDA:1,1\nend_of_record\n"), ..Scene::default() },
        );
        assert_eq!((said.status, said.reason.as_deref()), (Fail, Some("it exited with 1")));
    }

    #[test]
    fn invalid_coverage_reports_give_no_result() {
        for (report, why) in [
            ("SF:a\nDA:1,1\n", "it ends in the middle of a record"),
            ("SF:a\nSF:b\n", "line 2: a record begins inside another"),
            ("end_of_record\n", "line 1: a record ends without a beginning"),
            ("SF:a\nDA:x,1\nend_of_record\n", "line 2: a line is written as `DA:LINE,COUNT`"),
            ("SF:a\nDA:1,NaN\nend_of_record\n", "line 2: a line is written as `DA:LINE,COUNT`"),
            ("SF:a\nLF:1\nLH:2\nend_of_record\n", "line 4: more lines are covered than there are"),
            ("{\"total\": 100}", "line 1: this is neither lcov nor Cobertura"),
            ("<coverage/>", "it has no line counts"),
            ("<coverage line-rate=\"inf\"/>", "it has no line counts"),
            ("<coverage line-rate=\"7\"/>", "it has no line counts"),
            ("<coverage lines-valid=\"1\" lines-covered=\"2\"/>", "more lines are covered than there are"),
            ("<report/>", "its root element is `report`, not `coverage`"),
        ] {
            check(None, report, CouldNotRun, None, &format!("its report `report.out` cannot be read: {why}"));
        }
        assert_eq!(judged(Coverage, Scene::default()).status, CouldNotRun);
    }
}
