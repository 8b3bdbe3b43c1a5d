//! The pre-execution checkpoint: what will be done, on what assumptions, how it will be shown to be right.

use super::prelude::*;

logged! {
    pub struct WriteCheckpoint {
        pub task: TaskId,
        pub epoch: Option<u64>,
        pub checkpoint: Checkpoint,
        /// The worktree as it is now; it must still be as it was handed out.
        pub found: Handout,
    }
}

outcome!(Checkpointed { task: TaskId, status: Status, iteration: u32, critical_assumptions: usize, assumption_budget: usize, questions: Vec<String> });

impl Verb for WriteCheckpoint {
    const OPERATION: Option<Operation> = Some(Operation::Work);
    type Outcome = Checkpointed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        holds_lease(task, call, self.epoch)?;
        check_quality(&self.checkpoint)?;
        check_files(board, call, task, &self.checkpoint.files_to_modify)?;
        let handed_out = task.body().attempt().and_then(|attempt| attempt.handout.as_ref());
        if handed_out == Some(&self.found) {
            return Ok(());
        }
        Err(refusal!(
            Code::CheckpointLate,
            "the worktree of `{}` is no longer as it was at the claim: a checkpoint is written before the work",
            self.task
        )
        .hint("put the work aside (for example `git stash -u`, and `git reset --keep` to the head of the claim), write the checkpoint, then bring it back")
        .detail("head_at_claim", handed_out.map(|handout| handout.head.as_str().to_owned()))
        .detail("head_now", self.found.head.as_str()))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let budget = board.config().assumption_budget as usize;
        let (hold, lease_seconds) = (board.config().blocked_hold_seconds, board.config().lease_seconds);
        let (head, body) = parts(board, &self.task);
        let mut line = entry(call, Event::PreExecutionCheckpoint).epoch(head.epoch).iteration(head.iteration);
        line.checkpoint = Some(self.checkpoint.clone());
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
fn check_quality(checkpoint: &Checkpoint) -> Result<(), Refusal> {
    let mut weak: Vec<(&str, String)> = Vec::new();
    let intent = checkpoint.intent.trim();
    let words = intent.split_whitespace().count();
    if intent.is_empty() {
        weak.push(("intent", "it is missing".to_owned()));
    } else if words < 3 || VAGUE.contains(&intent.to_lowercase().as_str()) {
        weak.push(("intent", format!("`{intent}` is not specific: say what will be observably different")));
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
        weak.push(("validation", "the expected output (--expect) is missing".to_owned()));
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

/// Whether these files may be touched by this task at all; said now rather than at submit.
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
