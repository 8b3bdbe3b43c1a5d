//! The result of a goal: the results of all its tasks together.

use super::{Amount, Counts, counts, journey::journey, journey::merged_at};
use crate::board::gates::{Counted, GateOutcome};
use crate::board::state::GoalStatus;
use crate::policy::prelude::*;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoalRollUp {
    pub id: String,
    pub description: String,
    pub status: GoalStatus,
    /// Work was merged, no task is open, and no task was abandoned.
    pub success: bool,
    pub tasks: Counts,
    /// Files of merged tasks; the caller reads git and knows which of them existed before.
    pub files: Vec<String>,
    pub tests: TestCounts,
    pub lint: LintCounts,
    pub iterations: u64,
    pub review_cycles: u64,
    pub review: ReviewState,
    pub spent: Amount,
    /// Why each unmerged task is not merged: one line each.
    pub errors: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TestCounts {
    /// Files of merged tasks that count as tests.
    pub files: Vec<String>,
    /// The counts of the gates on the tree merged last.
    pub total: Option<u64>,
    pub passed: Option<u64>,
    pub failing: Option<u64>,
}

/// The results of linters and checkers for the tree merged last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct LintCounts {
    /// Gates that count findings, and gates named after a linter.
    pub gates: Vec<String>,
    /// Findings, if a gate counts them; a red gate without a count counts as one.
    pub errors: Option<u64>,
}

/// The state of the reviews.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ReviewState {
    /// Every merged task was approved, and no task waits for a verdict or was rejected.
    pub approved: bool,
    pub ready_for_review: u64,
    pub sent_back: u64,
    /// Critical and major issues that are not resolved.
    pub blocking_issues: u64,
    /// Gates that were red at their last run, by task.
    pub red_gates: BTreeMap<String, Vec<String>>,
}

/// Computed over all tasks ever, with bodies.
pub fn goal_roll_up(board: &Board, all: &[&Task]) -> GoalRollUp {
    let goal = &board.rest.goal;
    let tasks = counts(all);
    let merged: Vec<&Task> = all.iter().copied().filter(|task| task.status == Status::Merged).collect();
    let mut spent = Amount::default();
    all.iter().for_each(|task| spent.add(&task.body().spent));
    spent.add(&board.rest.spent_planning.since(&goal.planning_before));
    let review = review_state(all);
    let open = tasks.in_progress + tasks.blocked + tasks.waiting;
    GoalRollUp {
        id: goal.id.clone(),
        description: goal.description.clone(),
        status: goal.status,
        success: tasks.done > 0 && open == 0 && tasks.abandoned == 0 && review.approved,
        tasks,
        files: unique(merged.iter().flat_map(|task| files(task))),
        tests: tests(&merged),
        lint: lint(&merged),
        iterations: all.iter().map(|task| journey(task, None).claims).fold(0, u64::saturating_add),
        review_cycles: all.iter().map(|task| u64::from(task.review_cycles_total)).sum(),
        review,
        spent,
        errors: all.iter().filter_map(|task| error(task)).collect(),
    }
}

fn unique<'t>(names: impl Iterator<Item = &'t String>) -> Vec<String> {
    names.collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

/// The files that a merged task changed.
fn files(task: &Task) -> &[String] {
    let body = task.body();
    match &body.submission {
        Some(submission) if body.actual_outputs.is_empty() => &submission.files,
        _ => &body.actual_outputs,
    }
}

/// The gate results for the tree merged last.
fn last_results<'t>(merged: &[&'t Task]) -> &'t [GateOutcome] {
    let last = merged.iter().max_by_key(|task| merged_at(task).map_or(i64::MIN, |Wall(at)| at));
    last.and_then(|task| task.body().gates.as_ref()).map(|gates| &gates.results[..]).unwrap_or_default()
}

/// Whether a gate is a linter, by its unit or its name.
fn is_lint(gate: &GateOutcome) -> bool {
    let name = gate.name.to_ascii_lowercase();
    gate.counted == Some(Counted::Findings)
        || ["lint", "clippy", "ruff", "flake8"].iter().any(|word| name.contains(word))
}

fn lint(merged: &[&Task]) -> LintCounts {
    let gates: Vec<&GateOutcome> = last_results(merged).iter().filter(|gate| is_lint(gate)).collect();
    let errors = |gate: &&GateOutcome| match (gate.counted, gate.total) {
        (Some(Counted::Findings), Some(total)) => total,
        _ => u64::from(gate.status == GateStatus::Fail),
    };
    LintCounts {
        errors: (!gates.is_empty()).then(|| gates.iter().map(errors).fold(0, u64::saturating_add)),
        gates: gates.iter().map(|gate| gate.name.clone()).collect(),
    }
}

fn tests(merged: &[&Task]) -> TestCounts {
    let submissions = merged.iter().filter_map(|task| task.body().submission.as_ref());
    let tests = last_results(merged).iter().filter(|gate| gate.counted.is_none());
    let counted: Vec<(u64, u64)> = tests.filter_map(|gate| Some((gate.total?, gate.passed?))).collect();
    let sum = |part: fn(&(u64, u64)) -> u64| {
        (!counted.is_empty()).then(|| counted.iter().map(part).fold(0, u64::saturating_add))
    };
    let (total, passed) = (sum(|(total, _)| *total), sum(|(_, passed)| *passed));
    TestCounts {
        files: unique(submissions.flat_map(|submission| &submission.tests)),
        total,
        passed,
        failing: total.zip(passed).map(|(total, passed)| total.saturating_sub(passed)),
    }
}

fn review_state(all: &[&Task]) -> ReviewState {
    let mut found = ReviewState::default();
    let mut approved = true;
    for task in all {
        let body = task.body();
        match task.status {
            Status::Merged => approved &= body.approval.is_some(),
            Status::ReadyForReview => found.ready_for_review += 1,
            Status::Rejected => found.sent_back += 1,
            _ => {}
        }
        if task.status.is_terminal() {
            continue;
        }
        found.blocking_issues += u64::try_from(body.blocking_issues().count()).unwrap_or(u64::MAX);
        let red = body.gates.iter().flat_map(|gates| &gates.results);
        let red: Vec<String> =
            red.filter(|gate| gate.status != GateStatus::Pass).map(|gate| gate.name.clone()).collect();
        if !red.is_empty() {
            found.red_gates.insert(task.id.to_string(), red);
        }
    }
    found.approved = approved && found.ready_for_review == 0 && found.sent_back == 0;
    found
}

fn error(task: &Task) -> Option<String> {
    let body = task.body();
    let why = match task.status {
        Status::Abandoned => body.end_reason.clone().unwrap_or_else(|| "abandoned".to_owned()),
        Status::Blocked => body.blocked_reason.clone().unwrap_or_else(|| "blocked".to_owned()),
        Status::IntegrationFailed => {
            body.integration_failure.as_ref().map(|failure| failure.reason.clone()).unwrap_or_default()
        }
        _ => return None,
    };
    Some(format!("{}: {why}", task.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::gates::{GateReport, Moment};
    use crate::board::testing::{Bench, commit, id};

    #[test]
    fn lint_errors_are_counted_apart_from_tests() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.approved("coder-1", "t");
        bench.merge("t");
        let gate = |name: &str, status, counted, total, passed| GateOutcome {
            counted,
            total: Some(total),
            passed,
            ..GateOutcome::new(name, status)
        };
        let results = vec![
            gate("test", GateStatus::Pass, None, 179, Some(179)),
            gate("coverage", GateStatus::Pass, Some(Counted::Lines), 1000, Some(900)),
            gate("diag", GateStatus::Pass, Some(Counted::Findings), 3, None),
            GateOutcome::new("clippy", GateStatus::Fail),
        ];
        let (_, body) = bench.board.task_mut(&id("t")).expect("there").parts_mut();
        body.gates = Some(GateReport { results, ..GateReport::empty(Moment::Merge, commit(1), commit(2)) });
        let all: Vec<&Task> = bench.board.tasks.iter().collect();
        let goal = goal_roll_up(&bench.board, &all);
        assert_eq!((goal.tests.total, goal.tests.passed), (Some(179), Some(179)), "lines are no tests");
        assert_eq!(
            goal.lint,
            LintCounts { gates: vec!["diag".to_owned(), "clippy".to_owned()], errors: Some(4) }
        );
    }
}
