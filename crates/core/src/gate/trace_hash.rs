//! A hash that must stay the same: the same inputs lead to the same trace.

use super::{AdapterResult, FinishedCommand, lines::lines};
use crate::board::expectation::plain_hash;
use crate::policy::gate::Gate;
use crate::text::shown_line;

pub fn judge(gate: &Gate, ran: &FinishedCommand<'_>) -> Result<AdapterResult, AdapterResult> {
    if ran.exit != 0 {
        return Err(AdapterResult::fail(format!("it exited with {}", ran.exit)));
    }
    let hash = hash(ran)?;
    let expected = ran.expected.map(|expected| plain_hash(expected).unwrap_or_else(|| expected.to_owned()));
    let reason = match expected {
        Some(expected) if expected == hash => None,
        Some(expected) => Some(format!("the hash is {hash}, expected is {}", shown_line(&expected))),
        None => Some(format!(
            "no hash is expected yet; if {hash} is right: liza gate bless {} --hash {hash} --reason …",
            shown_line(&gate.name)
        )),
    };
    Ok(AdapterResult { hash: Some(hash), ..AdapterResult::unless(reason) })
}

/// The hash in the last line, or else the hash of all output.
fn hash(ran: &FinishedCommand<'_>) -> Result<String, AdapterResult> {
    let lines = lines(ran.stdout);
    let Some(last) = lines.iter().rev().map(|line| line.trim()).find(|line| !line.is_empty()) else {
        return Err(AdapterResult::fail("it printed nothing, so there is nothing to compare"));
    };
    if let Some(hash) = plain_hash(last) {
        return Ok(hash);
    }
    if ran.cut {
        return Err(AdapterResult::could_not_run(
            "it prints more than liza keeps, so liza cannot hash the output; let it print a hash as its last line",
        ));
    }
    Ok(blake3::hash(&normal(ran.stdout)).to_hex().to_string())
}

/// Ignores line ends, blanks at the ends of lines, and empty lines at the end.
fn normal(output: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(output.len());
    for line in output.split(|byte| *byte == b'\n') {
        text.extend_from_slice(line.trim_ascii_end());
        text.push(b'\n');
    }
    text.truncate(text.trim_ascii_end().len());
    text
}

#[cfg(test)]
mod tests {
    use crate::board::gates::GateStatus::{CouldNotRun, Fail, Pass};
    use crate::gate::testing::{Scene, judged};
    use crate::policy::gate::AdapterKind::TraceHash;

    #[test]
    fn the_last_line_is_the_hash_if_it_looks_like_one() {
        for output in [
            "a1b2c3d4e5f60718",
            "log line\n  A1B2C3D4E5F60718  \n\n",
            "trace-hash: a1b2c3d4e5f60718\r\n",
            "hash: a1b2c3d4e5f60718",
            "sha256:a1b2c3d4e5f60718",
            "\u{1b}[1ma1b2c3d4e5f60718\u{1b}[0m\n",
        ] {
            for expected in ["a1b2c3d4e5f60718", "A1B2C3D4E5F60718", "sha256:a1b2c3d4e5f60718"] {
                let said = judged(TraceHash, Scene { output, expected: Some(expected), ..Scene::default() });
                assert_eq!(
                    (said.status, said.hash.as_deref()),
                    (Pass, Some("a1b2c3d4e5f60718")),
                    "{output:?}"
                );
            }
            let said = judged(
                TraceHash,
                Scene { output, cut: true, expected: Some("ffffffff"), ..Scene::default() },
            );
            assert_eq!(said.status, Fail);
            assert_eq!(said.reason.as_deref(), Some("the hash is a1b2c3d4e5f60718, expected is ffffffff"));
        }
    }

    #[test]
    fn output_without_hash_line_is_hashed() {
        let of = |output| judged(TraceHash, Scene { output, ..Scene::default() }).hash.expect("a hash");
        let one = of("step 1\nstep 2\n");
        assert_eq!(one.len(), 64);
        for same in ["step 1\nstep 2", "step 1\r\nstep 2\r\n", "step 1  \nstep 2\t\n\n\n"] {
            assert_eq!(of(same), one, "{same:?}");
        }
        for other in ["step 1\n\nstep 2", " step 1\nstep 2", "step 2\nstep 1", "abc123"] {
            assert_ne!(of(other), one, "{other:?}");
        }
        let said =
            judged(TraceHash, Scene { output: "step 1\nstep 2", expected: Some(&one), ..Scene::default() });
        assert_eq!(said.status, Pass);
        let said = judged(TraceHash, Scene { output: "step 1", cut: true, ..Scene::default() });
        assert_eq!((said.status, said.hash), (CouldNotRun, None));
    }

    #[test]
    fn missing_expectation_names_the_bless_command() {
        let said = judged(TraceHash, Scene { output: "a1b2c3d4", ..Scene::default() });
        assert_eq!((said.status, said.hash.as_deref()), (Fail, Some("a1b2c3d4")));
        assert!(said.reason.expect("a reason").contains("liza gate bless check --hash a1b2c3d4 --reason"));
    }

    #[test]
    fn failed_or_silent_command_has_no_hash() {
        let said = judged(
            TraceHash,
            Scene { exit: 3, output: "a1b2c3d4", expected: Some("a1b2c3d4"), ..Scene::default() },
        );
        assert_eq!((said.status, said.hash, said.reason.as_deref()), (Fail, None, Some("it exited with 3")));
        let said = judged(TraceHash, Scene { output: " \n\t\n", ..Scene::default() });
        assert_eq!((said.status, said.hash), (Fail, None));
    }
}
