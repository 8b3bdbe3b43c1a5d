//! Checks a task against the repository: tests inside its scope, the heading of its spec, the directories of its paths.

use super::{Finding, Severity};
use crate::board::task::Kind;
use crate::policy::prelude::*;

/// Facts about the repository for one task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ground {
    /// No path of its scope is a test or has tests below it.
    pub no_tests: bool,
    pub lost_anchor: Option<LostAnchor>,
    pub no_parents: Vec<NoParent>,
}

/// An anchor that is missing in the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostAnchor {
    pub file: String,
    pub anchor: String,
    /// The most similar anchor of the spec.
    pub nearest: Option<String>,
}

/// A path whose directory is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoParent {
    pub path: String,
    /// The first missing directory of the path.
    pub missing: String,
    /// The most similar existing directory.
    pub nearest: Option<String>,
}

/// All findings are warnings: the task may be about to create a missing path.
pub fn of_task(task: &NewTask, ground: &Ground) -> Vec<Finding> {
    let id = &task.id;
    let mut found = Vec::new();
    if ground.no_tests && task.kind == Kind::Code && !task.scope.inside.is_empty() {
        let message = format!(
            "{id} is a code task, and no test is inside its scope: code without tests is not approved"
        );
        let hint =
            "add the path of its tests to the scope, such as `--in tests/`, or give it another `--kind`";
        found.push(Finding::of(Severity::Warning, "tests_out_of_scope", id, message, hint));
    }
    if let Some(LostAnchor { file, anchor, nearest }) = &ground.lost_anchor {
        let message = format!("{id} names the spec {file}#{anchor}, and {file} has no such heading");
        let hint = match nearest {
            Some(near) => format!("did you mean {file}#{near}?"),
            None => format!("write {file} alone, or the anchor of one of its headings"),
        };
        found.push(Finding::of(Severity::Warning, "anchor_missing", id, message, &hint));
    }
    for NoParent { path, missing, nearest } in &ground.no_parents {
        let message = format!("{id} may change {path}, and there is no directory {missing}");
        let (severity, hint) = match nearest {
            Some(near) => (
                Severity::Warning,
                format!("did you mean {near}? A directory that the task makes needs nothing"),
            ),
            None => (
                Severity::Advice,
                "a directory that the task makes needs nothing; otherwise correct the path".to_owned(),
            ),
        };
        found.push(Finding::of(severity, "parent_missing", id, message, &hint));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::testing::new_task;

    #[test]
    fn each_ground_check_has_its_own_finding() {
        let ground = Ground {
            no_tests: true,
            lost_anchor: Some(LostAnchor {
                file: "specs/v.md".to_owned(),
                anchor: "gaol".to_owned(),
                nearest: Some("goal".to_owned()),
            }),
            no_parents: vec![NoParent {
                path: "scr/a.rs".to_owned(),
                missing: "scr/".to_owned(),
                nearest: Some("src/".to_owned()),
            }],
        };
        let mut task = new_task("t", "scr/a.rs");
        let codes = |task: &NewTask| of_task(task, &ground).iter().map(|one| one.code).collect::<Vec<_>>();
        assert_eq!(codes(&task), ["tests_out_of_scope", "anchor_missing", "parent_missing"]);
        let found = of_task(&task, &ground);
        assert!(found[1].hint.contains("specs/v.md#goal") && found[2].hint.contains("src/"), "{found:?}");
        task.kind = Kind::Docs;
        assert_eq!(codes(&task), ["anchor_missing", "parent_missing"]);
        assert!(of_task(&task, &Ground::default()).is_empty());
    }
}
