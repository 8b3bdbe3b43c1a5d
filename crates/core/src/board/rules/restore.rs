//! A former revision brought back as a change like any other: history is only ever added to.
//!
//! What people decided comes back: goal, limits, the text of tasks, and where in their life tasks stand as far as that
//! is a decision. What happened stays: commits, verdicts, merges, registrations, notes. So the board never says of git
//! what is not so, and no former claim or approval becomes valid again.

use super::adopt_edit::{TaskEdit, replace};
use super::claim::path_rival;
use super::prelude::*;

logged! {
    pub struct RestoreRevision {
        /// The revision to restore.
        pub revision: u64,
        /// The revision for which the restore was computed; the board must still be at it.
        pub on: u64,
        pub goal_description: Option<String>,
        pub goal_spec_ref: Option<String>,
        pub config: Option<Config>,
        pub tasks: Vec<TaskBack>,
    }

    /// A restored task. The record holds all of it, so that a replay needs no other board than the one before.
    pub struct TaskBack {
        pub text: TaskEdit,
        pub to: Status,
        pub superseded_by: Vec<TaskId>,
        pub end_reason: Option<String>,
        pub blocked: Option<Blockage>,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blockage {
    pub reason: String,
    pub questions: Vec<String>,
    pub from: Status,
}

impl RestoreRevision {
    /// The changes that restore `old` on top of `now`. Both must have all bodies loaded.
    pub fn between(now: &Board, old: &Board, stamp: &Stamp) -> Self {
        let differs = |a: &String, b: &String| (a != b).then(|| b.clone());
        let (goal, former) = (&now.rest.goal, &old.rest.goal);
        let by_id = now.by_id();
        Self {
            revision: old.revision,
            on: now.revision,
            goal_description: differs(&goal.description, &former.description),
            goal_spec_ref: differs(&goal.spec_ref, &former.spec_ref),
            config: (now.rest.config != old.rest.config).then(|| old.rest.config.clone()),
            tasks: old
                .tasks
                .iter()
                .filter_map(|former| TaskBack::between(now, by_id.get(&former.id)?, former, stamp))
                .collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.goal_description.is_none()
            && self.goal_spec_ref.is_none()
            && self.config.is_none()
            && self.tasks.is_empty()
    }
}

impl TaskBack {
    fn between(now: &Board, task: &Task, former: &Task, stamp: &Stamp) -> Option<Self> {
        // Merged work stays merged.
        if task.status == Status::Merged || former.status == Status::Merged {
            return None;
        }
        let to = reachable(now, task, former, stamp);
        let same_text = TaskEdit::of(task) == TaskEdit::of(former);
        if same_text && (task.status == to || task.status == former.status) {
            return None;
        }
        let body = former.body();
        let blocked = (to == Status::Blocked).then(|| Blockage {
            reason: body.blocked_reason.clone().unwrap_or_default(),
            questions: body.blocked_questions.clone(),
            from: match body.blocked_from {
                Some(Status::Draft) => Status::Draft,
                Some(from) if same_facts(task, former) => from,
                _ => Status::Idle,
            },
        });
        Some(Self {
            text: TaskEdit::of(former),
            to,
            superseded_by: if to == Status::Superseded { former.superseded_by.clone() } else { Vec::new() },
            end_reason: body.end_reason.clone().filter(|_| to.is_terminal()),
            blocked,
        })
    }
}

/// The state that a task can return to: its former one, unless that state implies work or verdicts that no longer
/// exist.
fn reachable(now: &Board, task: &Task, former: &Task, stamp: &Stamp) -> Status {
    match former.status {
        // The former claim has ended; the work stays on the branch.
        Status::Working => Status::Idle,
        with_work if has_work(with_work) => {
            let free = path_rival(&now.tasks, former, stamp).is_none();
            if same_facts(task, former) && free { with_work } else { Status::Idle }
        }
        plain => plain,
    }
}

/// States of tasks with a submitted or judged commit.
fn has_work(status: Status) -> bool {
    matches!(status, Status::ReadyForReview | Status::Approved | Status::Rejected | Status::IntegrationFailed)
}

/// Whether a state rests on an approval: such a task can be merged without another verdict.
fn rests_on_approval(status: Status) -> bool {
    matches!(status, Status::Approved | Status::IntegrationFailed)
}

/// Whether the task was not claimed, submitted or judged between the two.
fn same_facts(task: &Task, former: &Task) -> bool {
    let (now, then) = (task.body(), former.body());
    task.review_commit == former.review_commit
        && task.implementers == former.implementers
        && task.iteration == former.iteration
        && task.result == former.result
        && now.attempts == then.attempts
        && now.submission == then.submission
        && now.approval == then.approval
        && task.approvals == former.approvals
        && now.reviews == then.reviews
        && now.integration_failure == then.integration_failure
}

outcome!(TaskRestored { task: TaskId, from: Option<Status>, to: Status });

outcome!(Restored { restored: u64, tasks: Vec<TaskRestored>, config: bool, goal: bool });

impl Verb for RestoreRevision {
    const OPERATION: Option<Operation> = None;
    type Outcome = Restored;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "restore a former revision")?;
        if board.revision != self.on {
            return Err(Refusal::new(
                Code::IntentGone,
                format!("the board is at revision {} now, no longer at {}", board.revision, self.on),
            )
            .hint("look at the difference again: `liza doctor --restore … --dry-run`"));
        }
        if let Some(intent) = board.rest.intents.first() {
            return Err(Refusal::new(
                Code::IntentOpen,
                format!("a {} is under way (process {})", intent.work.verb(), intent.owner.pid),
            )
            .hint("wait for it to end, or `liza doctor --fix` if that process died; then repeat"));
        }
        if let Some(config) = &self.config {
            if config.integration_branch != board.config().integration_branch {
                return Err(refusal!(
                    Code::EditRefused,
                    "the integration branch had another name at that revision"
                ));
            }
            if let Some((field, why)) = config.problems().into_iter().next() {
                return Err(refusal!(Code::EditRefused, "{field} {why}"));
            }
        }
        for back in &self.tasks {
            let task = find(board, &back.text.id)?;
            if task.status == Status::Merged || matches!(back.to, Status::Merged | Status::Working) {
                return Err(Refusal::new(
                    Code::Transition,
                    format!("task `{}` cannot go from {} to {}", task.id, task.status, back.to),
                ));
            }
        }
        // The invariants check everything else that a former state needs.
        let mut result = board.clone();
        self.change(&mut result, call);
        let before = violations(board);
        match violations(&result).into_iter().find(|violation| !before.contains(violation)) {
            None => Ok(()),
            Some(violation) => Err(Refusal::new(
                Code::Transition,
                format!("revision {} conflicts with later changes: {violation}", self.revision),
            )
            .hint("restore a later revision, or change single tasks with liza's commands")),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        replace(&mut board.rest.goal.description, self.goal_description.as_ref());
        replace(&mut board.rest.goal.spec_ref, self.goal_spec_ref.as_ref());
        replace(&mut board.rest.config, self.config.as_ref());
        let mut restored = Vec::new();
        for back in &self.tasks {
            let from = board.task(&back.text.id).map(|task| task.status);
            back.write_into(board, call, self.revision);
            restored.push(TaskRestored { task: back.text.id.clone(), from, to: back.to });
        }
        Restored {
            restored: self.revision,
            tasks: restored,
            config: self.config.is_some(),
            goal: self.goal_description.is_some() || self.goal_spec_ref.is_some(),
        }
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Tasks(self.tasks.iter().map(|back| back.text.id.clone()).collect())
    }
}

impl TaskBack {
    fn write_into(&self, board: &mut Board, call: &Call, revision: u64) {
        self.text.write_into(board);
        if self.to.is_terminal() {
            super::expectations::forget(board, &self.text.id);
        }
        let (head, body) = parts(board, &self.text.id);
        let from = head.status;
        // Fences the former holder; a task that was never claimed has none.
        if head.epoch > 0 {
            end_claim(head);
        }
        head.status = self.to;
        head.reserved_until = None;
        head.holds_paths = has_work(self.to);
        head.holds_paths_until = None;
        head.superseded_by = self.superseded_by.clone();
        body.end_reason = self.end_reason.clone();
        body.blocked_reason = self.blocked.as_ref().map(|blocked| blocked.reason.clone());
        body.blocked_questions = self.blocked.as_ref().map_or(Vec::new(), |found| found.questions.clone());
        body.blocked_from = self.blocked.as_ref().map(|blocked| blocked.from);
        let resumes_at = self.blocked.as_ref().map_or(self.to, |blocked| blocked.from);
        if !rests_on_approval(resumes_at) {
            // The approval is void, so a second restore must not bring it back.
            forget_approval(head, body);
        }
        if self.to == Status::Idle && !body.attempts.is_empty() {
            // The next claim starts from the work on the branch.
            body.left = Some(Left::Released);
        }
        let line = entry(call, Event::Restored).step(from, self.to);
        body.history.push(line.detail(format!("as of revision {revision}")));
    }
}
