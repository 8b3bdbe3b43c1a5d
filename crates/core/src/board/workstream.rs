//! Workstreams: parts of a goal that own different paths. Each has a supervisor's plan first, and then the slices of that plan.

use super::paths::{PathPattern, RepoPath};
use super::prelude::*;

/// The allowed time limits of a workstream, in minutes.
pub const STREAM_MINUTES: std::ops::RangeInclusive<u32> = 4..=12;
/// The minutes that a supervisor has for the plan of a workstream.
pub const PLANNING_MINUTES: std::ops::RangeInclusive<u32> = 6..=10;
/// The minutes of the slice that merges a workstream.
pub const MERGE_MINUTES: u32 = 20;

record! {
    /// A workstream as a plan proposes it.
    #[derive(Eq)]
    pub struct NewStream {
        pub id: WorkstreamId,
        /// The goal of the workstream.
        pub goal: String,
        /// Paths that no other workstream may own.
        always pub ownership_paths: Vec<PathPattern>,
        /// Paths that its slices may change; by default the owned ones.
        pub allowed_paths: Vec<PathPattern>,
        /// Workstreams that must be finished before its slices start.
        pub depends_on: Vec<WorkstreamId>,
        /// The time limit for each of its steps, 4 to 12 minutes.
        pub timebox_minutes: Option<u32>,
    }

    pub struct Workstream {
        pub id: WorkstreamId,
        pub goal: String,
        always pub ownership_paths: Vec<PathPattern>,
        always pub allowed_paths: Vec<PathPattern>,
        pub depends_on: Vec<WorkstreamId>,
        pub timebox_minutes: Option<u32>,
        /// The board's goal that the workstream belongs to.
        pub of_goal: String,
        /// The supervisor's task that plans it.
        pub plan: TaskId,
        /// When its plan was accepted: before that, the board takes none of its slices.
        pub accepted: Option<Wall>,
        /// The tasks of its accepted plan; the merge slice is the last.
        pub slices: Vec<TaskId>,
        /// Set if its remaining tasks may not change files.
        pub collapsed: Option<Collapsed>,
    }

    #[derive(Eq)]
    pub struct Collapsed {
        pub reason: String,
        pub by: AgentId,
        pub time: Wall,
    }
}

impl NewStream {
    /// The paths that its slices may change.
    pub fn allowed(&self) -> Vec<PathPattern> {
        if self.allowed_paths.is_empty() { self.ownership_paths.clone() } else { self.allowed_paths.clone() }
    }
}

/// Whether these patterns match every path of the pattern. In doubt they do.
pub fn is_within(pattern: &PathPattern, patterns: &[PathPattern]) -> bool {
    let text = pattern.as_str();
    let below = |outer: &str| outer.ends_with('/') && !outer.contains(['*', '?']) && text.starts_with(outer);
    let file = RepoPath::new(text).ok().filter(|_| !text.contains(['*', '?']));
    patterns.iter().any(|outer| {
        outer == pattern
            || outer.as_str() == "**"
            || below(outer.as_str())
            || file.as_ref().is_some_and(|file| outer.matches(file))
    })
}

impl Workstream {
    /// Ids are unique ignoring case.
    pub fn is(&self, id: &WorkstreamId) -> bool {
        self.id.as_str().eq_ignore_ascii_case(id.as_str())
    }
}

/// The id of the task that plans a workstream.
pub fn plan_id(stream: &WorkstreamId) -> Result<TaskId, IdError> {
    TaskId::new(&format!("{stream}-plan"))
}

/// The id of the task that merges the slices of a workstream.
pub fn merge_id(stream: &WorkstreamId) -> Result<TaskId, IdError> {
    TaskId::new(&format!("{stream}-merge"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_is_within_what_covers_all_of_it() {
        let pattern = |text: &str| PathPattern::new(text).expect("a pattern");
        let outer = [pattern("src/a/"), pattern("docs/*.md"), pattern("Makefile")];
        for inside in ["src/a/", "src/a/b.rs", "src/a/**/x.rs", "docs/x.md", "docs/*.md", "Makefile"] {
            assert!(is_within(&pattern(inside), &outer), "{inside}");
        }
        for beyond in ["src/", "src/ab.rs", "docs/", "docs/x/y.md", "**", "docs/?.md", "src/*/b.rs"] {
            assert!(!is_within(&pattern(beyond), &outer), "{beyond}");
        }
        assert!(is_within(&pattern("any/"), &[pattern("**")]));
    }
}
