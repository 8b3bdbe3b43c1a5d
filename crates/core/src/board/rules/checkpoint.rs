//! The checkpoint before the work: what will be done, on which assumptions, and how it will be validated.

use super::prelude::*;
use super::submit::{has_checkpoint, tests_missing, this_iteration};
use crate::text::clipped;
use crate::text::vagueness::is_weak_intent;

logged! {
    pub struct WriteCheckpoint {
        pub task: TaskId,
        pub epoch: Option<u64>,
        pub checkpoint: Checkpoint,
        /// The current worktree; it must be unchanged since the claim.
        pub found: Handout,
        /// The test files of the attempt, by the patterns of liza.yaml.
        #[serde(default, skip_serializing_if = "TestFiles::is_nothing")]
        pub tests: TestFiles,
        #[serde(default, skip_serializing_if = "Edition::is_first")]
        pub edition: Edition,
    }

    /// The test files of an attempt.
    #[derive(Default)]
    pub struct TestFiles {
        /// Test files that this checkpoint announces.
        pub announced: Vec<String>,
        /// Announced files that are no tests and that no earlier checkpoint of the attempt announced.
        pub others: Vec<String>,
        /// An earlier checkpoint of the attempt announced test files.
        pub announced_before: bool,
        /// The branch of the attempt contains test files.
        pub committed: bool,
    }
}

impl TestFiles {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn are_missing(&self) -> bool {
        self.announced.is_empty() && !self.announced_before && !self.committed
    }
}

/// The mark of a checkpoint that announced test files after the work had begun.
pub const TESTS_ANNOUNCED_LATE: &str = "test files announced after the work began";

/// Whether a coder whose work has no tests may still announce them: once in an iteration, and no other file with them.
fn may_announce_tests_late(task: &Task, tests: &TestFiles) -> bool {
    let used = this_iteration(task.body()).iter().any(is_late);
    let adds_tests_only = !tests.announced.is_empty() && tests.others.is_empty();
    task.kind == Kind::Code && has_checkpoint(task.body()) && !tests.committed && adds_tests_only && !used
}

/// Whether this entry announced test files after the work had begun.
pub fn is_late(line: &HistoryEntry) -> bool {
    line.checkpoint.is_some() && line.detail.as_deref() == Some(TESTS_ANNOUNCED_LATE)
}

outcome!(Checkpointed { task: TaskId, status: Status, iteration: u32, critical_assumptions: usize, assumption_budget: usize, questions: Vec<String> });

impl Verb for WriteCheckpoint {
    const OPERATION: Option<Operation> = Some(Operation::Work);
    type Outcome = Checkpointed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        holds_lease(task, call, self.epoch)?;
        check_quality(&self.checkpoint, self.edition)?;
        check_files(board, call, task, &self.checkpoint.files_to_modify)?;
        let handed_out = task.body().attempt().and_then(|attempt| attempt.handout.as_ref());
        let today = self.edition.has(Edition::CONTRACT);
        if handed_out != Some(&self.found) && !(today && may_announce_tests_late(task, &self.tests)) {
            return Err(refusal!(
                Code::CheckpointLate,
                "the worktree of `{}` has changed since the claim: write the checkpoint before the work",
                self.task
            )
            .hint(self.keep_the_work(
                task,
                handed_out,
                handed_out.is_none_or(|before| before.head == self.found.head),
            ))
            .detail("head_at_claim", handed_out.map(|handout| handout.head.as_str().to_owned()))
            .detail("head_now", self.found.head.as_str()));
        }
        if today && task.kind == Kind::Code && self.tests.are_missing() {
            return Err(tests_missing(
                &self.task,
                format!("task `{}` is a code task, and its checkpoint announces no test file", self.task),
            )
            .hint("announce the tests too: `--file tests/test_NAME`, or as `tests:` in liza.yaml says"));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let budget = board.config().assumption_budget as usize;
        let (hold, lease_seconds) = (board.config().blocked_hold_seconds, board.config().lease_seconds);
        let (head, body) = parts(board, &self.task);
        let mut line = entry(call, Event::PreExecutionCheckpoint).epoch(head.epoch).iteration(head.iteration);
        line.checkpoint = Some(self.checkpoint.clone());
        let handed_out = body.attempt().and_then(|attempt| attempt.handout.as_ref());
        if handed_out != Some(&self.found) {
            line.detail = Some(TESTS_ANNOUNCED_LATE.to_owned());
        }
        body.history.push(line);
        let critical: Vec<&str> = self
            .checkpoint
            .assumptions
            .iter()
            .filter(|assumption| assumption.critical)
            .map(|assumption| assumption.text.as_str())
            .collect();
        if critical.len() > budget {
            let reason = format!(
                "Assumption budget exceeded: {} critical assumptions, {budget} allowed",
                critical.len()
            );
            body.blocked_questions =
                critical.iter().take(3).map(|text| format!("Is this so: {text}")).collect();
            body.blocked_reason = Some(reason.clone());
            body.blocked_from = Some(Status::Working);
            note_failure(head);
            end_claim(head);
            head.status = Status::Blocked;
            head.holds_paths_until = Some(Deadline::after(call.now, hold));
            conclude_blocked(body, call, lease_seconds, Status::Working, false);
            body.history
                .push(entry(call, Event::Blocked).step(Status::Working, Status::Blocked).detail(reason));
        }
        Checkpointed {
            task: self.task.clone(),
            status: head.status,
            iteration: head.iteration,
            critical_assumptions: critical.len(),
            assumption_budget: budget,
            questions: body.blocked_questions.clone(),
        }
    }
}

impl WriteCheckpoint {
    /// The hint how to keep work that was done before its checkpoint. Only a caller that reads the worktree knows
    /// whether some of it is uncommitted.
    pub fn hint_to_keep_the_work(&self, board: &Board, uncommitted: bool) -> Option<String> {
        let task = board.task(&self.task)?;
        let handed_out = task.body().attempt()?.handout.as_ref();
        Some(self.keep_the_work(task, handed_out, uncommitted))
    }

    fn keep_the_work(&self, task: &Task, handed_out: Option<&Handout>, uncommitted: bool) -> String {
        let found = &self.found;
        match handed_out.filter(|before| before.merge_head.is_none() && found.merge_head.is_none()) {
            Some(before) => KeepWork { base: &before.head, head: &found.head, uncommitted }.hint(task),
            None => "end the merge that is in progress (`git merge --abort`), then write the checkpoint"
                .to_owned(),
        }
    }
}

/// Work that was done before its checkpoint.
pub struct KeepWork<'a> {
    /// The commit of the worktree at the claim.
    pub base: &'a CommitId,
    pub head: &'a CommitId,
    /// The worktree has uncommitted changes.
    pub uncommitted: bool,
}

impl KeepWork<'_> {
    /// Commands that save everything under new branches, go back to the commit of the claim, and restore everything.
    /// They lose nothing: they fail if a branch name is taken.
    pub fn hint(&self, task: &Task) -> String {
        let (id, base) = (&task.id, self.base);
        let name = format!("keep/{id}-{}-{}", task.epoch, task.iteration);
        let (mut aside, mut back) = (Vec::new(), Vec::new());
        if self.uncommitted {
            aside.push(format!("git stash push -u && git branch {name}-files stash"));
        }
        if self.head != self.base {
            aside.push(format!("git branch {name} && git reset --keep {base}"));
            back.push(format!("git reset --keep {name}"));
        }
        if self.uncommitted {
            back.push(format!("git stash apply {name}-files"));
        }
        format!(
            "the checkpoint is written at {}. Keep the work: `{}`; then `liza task checkpoint {id} --intent … --risks … --validate … --expect … --file …`; then bring it back: `{}`",
            base.short(),
            aside.join(" && "),
            back.join(" && ")
        )
    }
}

/// Words that name no observable result when they stand alone.
const VAGUE: [&str; 12] = [
    "todo",
    "tbd",
    "fix",
    "fix it",
    "do it",
    "implement",
    "implement it",
    "work",
    "stuff",
    "n/a",
    "none",
    "various",
];

/// Names every missing or weak part at once.
fn check_quality(checkpoint: &Checkpoint, edition: Edition) -> Result<(), Refusal> {
    let mut weak: Vec<(&str, String)> = Vec::new();
    let intent = checkpoint.intent.trim();
    let words = intent.split_whitespace().count();
    if intent.is_empty() {
        weak.push(("intent", "it is missing".to_owned()));
    } else if words < 3 || VAGUE.contains(&intent.to_lowercase().as_str()) {
        weak.push(("intent", format!("`{intent}` is not specific: say what will be observably different")));
    } else if edition.has(Edition::CONTRACT) && is_weak_intent(intent) {
        let why = "names nothing that can be observed: say what a command prints, returns or refuses then";
        weak.push(("intent", format!("`{}` {why}", clipped(intent, 80))));
    }
    if checkpoint.risks.trim().is_empty() {
        weak.push(("risks", "it is missing; say what could go wrong, or why nothing can".to_owned()));
    }
    if checkpoint.validation.command.trim().is_empty() {
        weak.push(("validation", "the command (--validate) is missing".to_owned()));
    } else if matches!(checkpoint.validation.command.trim(), "true" | ":" | "exit 0") {
        weak.push(("validation", "the command proves nothing".to_owned()));
    }
    if checkpoint.validation.expect.trim().is_empty() {
        let how = "write `--expect TEXT`, or in a file `validation: COMMAND outputs 'TEXT'`";
        weak.push(("validation", format!("the expected output is missing; {how}")));
    }
    if checkpoint.files_to_modify.is_empty() {
        weak.push(("files_to_modify", "no file is listed (--file)".to_owned()));
    }
    if checkpoint.assumptions.iter().any(|assumption| assumption.text.trim().is_empty()) {
        weak.push(("assumptions", "one of them is empty".to_owned()));
    }
    for (field, text) in [
        ("intent", &checkpoint.intent),
        ("risks", &checkpoint.risks),
        ("validation", &checkpoint.validation.command),
        ("validation", &checkpoint.validation.expect),
    ] {
        text_fits(field, text)?;
    }
    checkpoint.assumptions.iter().try_for_each(|assumption| text_fits("assumptions", &assumption.text))?;
    if checkpoint.assumptions.len() > MOST_ITEMS || checkpoint.files_to_modify.len() > MOST_ITEMS {
        return Err(refusal!(Code::Limit, "a checkpoint lists at most {MOST_ITEMS} files and assumptions"));
    }
    if weak.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = weak.iter().map(|(field, why)| format!("{field}: {why}")).collect();
    Err(refusal!(Code::CheckpointWeak, "the checkpoint is not good enough. {}", list.join("; "))
        .hint("a checkpoint needs --intent, --risks, --validate with --expect, and a --file for each file it will touch")
        .detail("weak", list))
}

/// Refuses files that the task may not touch; submit checks them again.
fn check_files(board: &Board, call: &Call, task: &Task, files: &[String]) -> Result<(), Refusal> {
    let mut patterns = Vec::new();
    for file in files {
        match PathPattern::new(file) {
            Ok(pattern) => patterns.push(pattern),
            Err(why) => {
                return Err(refusal!(Code::Value, "`{file}` cannot be a file of the repository: {why}")
                    .detail("field", "files_to_modify"));
            }
        }
    }
    let scope = &task.body().scope;
    let mut outside: Vec<String> = Vec::new();
    for pattern in &patterns {
        let one = std::slice::from_ref(pattern);
        if any_overlap(one, &scope.inside).is_none() {
            outside.push(format!("{pattern} (not inside scope IN)"));
        } else if any_overlap(one, &scope.outside).is_some() {
            outside.push(format!("{pattern} (inside scope OUT)"));
        } else {
            let other = board.tasks.iter().find(|other| {
                other.id != task.id && other.is_live(call.now) && any_overlap(one, &other.owns).is_some()
            });
            if let Some(other) = other {
                outside.push(format!("{pattern} (owned by task {})", other.id));
            }
        }
    }
    if outside.is_empty() {
        return Ok(());
    }
    Err(refusal!(Code::Scope, "task `{}` may not touch {}", task.id, outside.join(", "))
        .hint("keep to the scope of the task; if it is too narrow, block the task and ask the planner")
        .detail("paths", outside))
}
