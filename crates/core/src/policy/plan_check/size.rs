//! The sizes of tasks: too large, too small, or work that should not be split.

use super::{Finding, Severity, order::Order, order::owned};
use crate::board::slice::{HARD_CAP_MINUTES, MICRO_MINUTES, SliceKind};
use crate::policy::prelude::*;

const MOST_FILES: usize = 5;
const MOST_LINES: u32 = 500;
const MOST_STEPS: usize = 5;

/// Whether the work should be split at all, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Split {
    pub justified: bool,
    pub reasons: Vec<&'static str>,
}

impl Split {
    pub fn of(tasks: &[NewTask], order: &Order) -> Self {
        let mut paths: Vec<_> = tasks.iter().map(owned).filter(|paths| !paths.is_empty()).collect();
        // Sorting puts equal paths side by side.
        paths.sort_unstable();
        paths.dedup();
        let part = |(at, one): (usize, &&[PathPattern])| {
            paths[at + 1..].iter().any(|other| any_overlap(one, other).is_none())
        };
        let apart = paths.iter().enumerate().any(part);
        let minutes: u64 = tasks.iter().filter_map(|task| task.timebox_minutes).map(u64::from).sum();
        let blocks = |task: &NewTask| task.tags.iter().any(|tag| tag == "blocking_io");
        let mut reasons = Vec::new();
        if apart {
            reasons.push("parts own disjoint paths");
        }
        if order.branches {
            reasons.push("parts do not wait for each other");
        }
        if minutes > u64::from(HARD_CAP_MINUTES) {
            reasons.push("one agent would need more than 12 minutes");
        }
        if order.branches && tasks.iter().any(blocks) {
            reasons.push("one part waits for a build, a test or a download while another can go on");
        }
        Self { justified: tasks.len() < 2 || !reasons.is_empty(), reasons }
    }
}

/// Findings about one task alone.
pub fn of_task(task: &NewTask, strict: bool) -> Vec<Finding> {
    let id = &task.id;
    let mut found = Vec::new();
    let named = task.scope.inside.iter().filter(|path| is_file(path)).count();
    let expected = task.expected_files.and_then(|files| usize::try_from(files).ok());
    let files = expected.unwrap_or(named);
    if files > MOST_FILES {
        let says = if expected.is_some() { "expects to change" } else { "names" };
        let message = format!("{id} {says} {files} files; more than {MOST_FILES} is too much for one task");
        let hint = "split it between modules, each part with its own tests";
        found.push(Finding::of(Severity::Warning, "too_many_files", id, message, hint));
    }
    if let Some(lines) = task.expected_lines.filter(|lines| *lines > MOST_LINES) {
        let message =
            format!("{id} expects {lines} lines; more than {MOST_LINES} is too much to review at once");
        let hint = "split it into steps that each work and can be merged alone";
        found.push(Finding::of(Severity::Warning, "too_many_lines", id, message, hint));
    }
    let steps = task.done_when.len();
    if steps > MOST_STEPS {
        let message = format!("{id} has {steps} criteria; more than {MOST_STEPS} is too much for one task");
        let hint = "criteria without common code belong in separate tasks";
        found.push(Finding::of(Severity::Warning, "too_many_criteria", id, message, hint));
    }
    found.extend(timebox(task, strict));
    found
}

fn timebox(task: &NewTask, strict: bool) -> Option<Finding> {
    let (id, minutes) = (&task.id, task.timebox_minutes?);
    let slice = task.slice_kind.unwrap_or_else(|| SliceKind::of_role(&task.role));
    let band = slice.band(&task.role);
    if task.role.codes() && minutes > HARD_CAP_MINUTES {
        let message = format!(
            "{id} is given {minutes} minutes; a coder's task gets at most {HARD_CAP_MINUTES}, so that a stall is noticed"
        );
        let hint = "split it into smaller tasks; what brings the parts together is for `role: supervisor` with `slice_kind: merge`";
        return Some(Finding::of(Severity::Error, "timebox_over_cap", id, message, hint));
    }
    // A probe only runs commands: it may be short.
    if minutes < MICRO_MINUTES && slice != SliceKind::Probe {
        let message =
            format!("{id} is given {minutes} minute; dispatch, review and merge take longer than that");
        let hint = "make it part of another task; an operator's task that only runs commands has `slice_kind: probe`";
        return Some(Finding::of(sized(strict, Severity::Warning), "micro_slice", id, message, hint));
    }
    (!band.contains(&minutes)).then(|| {
        let (what, least, most) = (slice.words(&task.role), band.start(), band.end());
        let message = format!("{id} is given {minutes} minutes; {what} takes {least} to {most}");
        let hint = "split it differently, or name its purpose with slice_kind (probe, work, review, merge)";
        // No reviewer checks an operator's work, so its time limit is the only bound.
        let bound = strict && task.role == Role::operator() && slice == SliceKind::Work;
        Finding::of(sized(bound, Severity::Advice), "timebox_band", id, message, hint)
    })
}

/// An error for a routed goal: no agent reads advice between a plan and its acceptance.
fn sized(strict: bool, otherwise: Severity) -> Severity {
    if strict { Severity::Error } else { otherwise }
}

/// Findings about the tasks together.
pub fn of_plan(tasks: &[NewTask], split: &Split, strict: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut by_place: BTreeMap<Vec<&str>, Vec<&NewTask>> = BTreeMap::new();
    for task in tasks.iter().filter(|task| !owned(task).is_empty() && owned(task).iter().all(is_file)) {
        let mut place: Vec<&str> = owned(task).iter().map(PathPattern::as_str).collect();
        place.sort_unstable();
        place.dedup();
        by_place.entry(place).or_default().push(task);
    }
    let mut says_so = false;
    for (place, those) in by_place.iter().filter(|(_, those)| those.len() > 1) {
        let minutes: u64 = those.iter().filter_map(|task| task.timebox_minutes).map(u64::from).sum();
        if minutes > u64::from(HARD_CAP_MINUTES) {
            continue;
        }
        says_so |= those.len() == tasks.len();
        let ids: Vec<&str> = those.iter().map(|task| task.id.as_str()).collect();
        let message = format!(
            "{} all own exactly {}: only one of them can be worked on, and each is reviewed and merged by itself",
            ids.join(", "),
            place.join(", ")
        );
        let hint = "make them one task, or show with timebox_minutes that together they take more than 12";
        found.push(Finding::of_all(Severity::Warning, "same_place", message, hint));
    }
    if !split.justified && !says_so {
        let ids: Vec<&str> = tasks.iter().map(|task| &task.id).map(TaskId::as_str).collect();
        let message = format!(
            "there is no reason to split this into {}: the same paths, one after the other, and at most 12 minutes as declared",
            ids.join(", ")
        );
        let hint = "make it one task; split where parts own disjoint paths, do not wait for each other, or take too long";
        found.push(Finding::of_all(sized(strict, Severity::Advice), "split_unjustified", message, hint));
    }
    found
}

/// One file by its name, neither a directory nor a pattern.
fn is_file(path: &PathPattern) -> bool {
    !path.as_str().ends_with('/') && !path.as_str().contains(['*', '?'])
}
