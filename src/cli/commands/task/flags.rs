//! The fields of a task as flags, for `task add` and `task edit`.

use crate::board::WorkstreamId;
use crate::board::slice::SliceKind;
use crate::cli::prelude::*;

#[derive(Args)]
pub struct TaskFlags {
    /// Title, in one line
    #[arg(long)]
    pub title: Option<String>,
    /// Description
    #[arg(long, visible_alias = "description")]
    pub desc: Option<String>,
    /// File that specifies the task
    #[arg(long, visible_alias = "spec-ref", value_name = "FILE[#ANCHOR]")]
    pub spec: Option<String>,
    /// Acceptance criterion; repeat
    #[arg(long, visible_alias = "done-when", value_name = "CRITERION")]
    pub done: Vec<String>,
    /// Path the task may change; repeat
    #[arg(long = "in", visible_alias = "scope-in", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub inside: Vec<String>,
    /// Path the task must not change; repeat
    #[arg(long = "out", visible_alias = "scope-out", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub outside: Vec<String>,
    /// Checklist item that the reviewer must answer; repeat
    #[arg(long, visible_alias = "checklist", value_name = "ITEM")]
    pub check: Vec<String>,
    /// Path that no other task may own meanwhile (default: all of --in); repeat
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub owns: Vec<String>,
    /// Task that must be merged first; repeat
    #[arg(long, visible_alias = "depends-on", value_name = "TASK")]
    pub depends: Vec<TaskId>,
    /// Higher is more urgent
    #[arg(long, allow_negative_numbers = true)]
    pub priority: Option<i64>,
    /// code (needs tests), docs, config, spec or report (one JSON value, no change)
    #[arg(long)]
    pub kind: Option<Kind>,
    /// low, medium or high
    #[arg(long)]
    pub risk: Option<Risk>,
    /// Role that may claim the task
    #[arg(long)]
    pub role: Option<Role>,
    /// Task that this task was split from
    #[arg(long, value_name = "TASK")]
    pub parent: Option<TaskId>,
    /// Tag; repeat
    #[arg(long, visible_alias = "tags")]
    pub tag: Vec<String>,
    /// File or artifact that the task needs; repeat
    #[arg(long, visible_alias = "inputs", value_name = "NAME")]
    pub input: Vec<String>,
    /// File or artifact that the task produces; repeat
    #[arg(long, visible_alias = "expected-outputs", value_name = "NAME")]
    pub output: Vec<String>,
    /// Expected number of changed files
    #[arg(long, value_name = "N")]
    pub expected_files: Option<u32>,
    /// Expected number of changed lines
    #[arg(long, value_name = "N")]
    pub expected_lines: Option<u32>,
    /// Time limit in minutes; at most 12 for a coder's task
    #[arg(long, visible_alias = "timebox-minutes", value_name = "MINUTES")]
    pub timebox: Option<u32>,
    /// Kind of slice: probe, work, review or merge (default: by the role)
    #[arg(long, value_name = "KIND")]
    pub slice_kind: Option<SliceKind>,
    /// Workstream of the task
    #[arg(long, value_name = "ID")]
    pub workstream: Option<WorkstreamId>,
}

impl TaskFlags {
    /// Sets the given fields; a given list replaces the whole list.
    pub fn write_over(&self, session: &Session, task: &mut NewTask) -> Result<(), Failure> {
        let texts = |given: &[String]| session.input.texts(given);
        set(&mut task.title, self.title.as_ref().map(|text| session.input.text(text)).transpose()?);
        set(&mut task.description, self.desc.as_ref().map(|text| session.input.text(text)).transpose()?);
        task.spec_ref = self.spec.clone().or(task.spec_ref.take());
        replace(&mut task.done_when, texts(&self.done)?);
        replace(&mut task.scope.inside, patterns("--in", &self.inside)?);
        replace(&mut task.scope.outside, patterns("--out", &self.outside)?);
        replace(&mut task.checklist, texts(&self.check)?);
        replace(&mut task.owns, patterns("--owns", &self.owns)?);
        replace(&mut task.depends_on, self.depends.clone());
        set(&mut task.priority, self.priority);
        set(&mut task.kind, self.kind);
        set(&mut task.risk, self.risk);
        set(&mut task.role, self.role.clone());
        task.parent = self.parent.clone().or(task.parent.take());
        replace(&mut task.tags, texts(&self.tag)?);
        replace(&mut task.inputs, texts(&self.input)?);
        replace(&mut task.expected_outputs, texts(&self.output)?);
        task.expected_files = self.expected_files.or(task.expected_files);
        task.expected_lines = self.expected_lines.or(task.expected_lines);
        task.timebox_minutes = self.timebox.or(task.timebox_minutes);
        task.slice_kind = self.slice_kind.or(task.slice_kind);
        task.workstream = self.workstream.clone().or(task.workstream.take());
        Ok(())
    }
}

fn set<T>(field: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *field = given;
    }
}

fn replace<T>(field: &mut Vec<T>, given: Vec<T>) {
    if !given.is_empty() {
        *field = given;
    }
}

pub fn patterns(flag: &str, given: &[String]) -> Result<Vec<PathPattern>, Failure> {
    given
        .iter()
        .map(|text| {
            PathPattern::new(text).map_err(|why| {
                Failure::new(Code::Value, format!("{flag} `{text}`: {why}"))
                    .hint("a file, a directory with a final slash, or a pattern with * ? **, relative to the repository's root")
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_paths_are_refused_with_their_flag() {
        for path in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "..",
            ".git/config",
            ".GIT/hooks/",
            "sub/.git/x",
            ".liza/state.yaml",
            ".Liza/",
            ".worktrees/t1/x",
            "",
            "a\\b",
            "a\nb",
            "a\u{202e}b",
            "C:/x",
            "git~1/config",
            ".git./x",
            "a\u{7}",
        ] {
            for flag in ["--in", "--out", "--owns"] {
                let failure = patterns(flag, &[path.to_owned()]).expect_err(path);
                assert_eq!(failure.code, Code::Value, "{path:?}");
                assert!(failure.message.contains(flag), "{}", failure.message);
            }
        }
    }
}
