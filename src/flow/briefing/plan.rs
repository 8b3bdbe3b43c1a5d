//! Why the planner is woken, and the overview that it and the overseer see.

use super::mail::letter;
use super::task::{files, numbered};
use super::{Desk, KIB};
use crate::board::goals::GOAL_SPEC;
use crate::board::records::{Anomaly, AnomalyKind, Discovery, Note, SpecChange};
use crate::board::route::Way;
use crate::flow::prelude::*;
use crate::policy::view::Scene;
use crate::policy::wake::{Trigger, Wake};
use crate::prompt::{Block, Bound, Quoted, WakeFacts};
use crate::text::side_by_side;

const TITLE_SHOWN: usize = 60;
const POSITION_WIDTH: usize = 60;
/// How many items of one reason are shown in full.
const SHOWN_PER_WAKE: usize = 10;

impl Desk<'_> {
    pub(super) fn plan(&mut self, wakes: &[Wake]) -> Result<()> {
        let tree = if self.row.tree { self.tree()? } else { Block::none() };
        self.facts.block("tree", tree);
        let agents = if self.row.agents { self.agents() } else { Block::none() };
        self.facts.block("agents", agents);
        if !self.row.planning {
            // Everything else that a template for any role may use.
            for name in
                ["task", "spec", "outputs", "done", "handoff", "saved", "conflict", "answer", "feedback"]
            {
                self.facts.block(name, Block::none());
            }
            for name in ["worktree", "branch", "base_commit", "epoch", "iteration"] {
                self.facts.optional(name, None::<&Quoted>);
            }
            return Ok(());
        }
        let goal = &self.board.rest.goal;
        let bound = Bound::new(16 * KIB, "`liza status`");
        self.facts.block("goal", Block::new("the board, the goal", goal.description.trim(), &bound));
        // The goal's own text is already above.
        if matches!(self.ctx.spec_text(goal, &goal.spec_ref), Ok(Some(text)) if text.of == GOAL_SPEC) {
            self.facts.block("spec", Block::none());
        } else {
            let remedy =
                "write it, so that there is something to plan from, or `liza goal edit ID --spec goal`";
            self.spec("the goal", Some(&goal.spec_ref), None, &remedy.replace("ID", &goal.id));
        }
        let route = self.board.route().filter(|route| route.route == Way::Multi);
        self.facts.optional("multi", route.map(|route| Quoted::new(route.mode.as_str())).as_ref());
        let merged = self.merged_outputs();
        self.facts.block("outputs", merged);
        let facts: Vec<WakeFacts> = wakes.iter().map(|wake| self.wake(wake)).collect();
        self.facts.wakes(&facts);
        let inbox = self.inbox(wakes);
        self.facts.block("inbox", inbox);
        Ok(())
    }

    fn wake(&self, wake: &Wake) -> WakeFacts {
        let mut details = Block::none();
        for id in wake.about.iter().take(SHOWN_PER_WAKE) {
            details = details.and(match wake.trigger {
                // The goal is already above, and the reports are below.
                Trigger::InitialPlanning | Trigger::Unprocessed => Block::none(),
                // So are the messages; one that was shown before and is late is shown again.
                Trigger::Message => Block::none(),
                Trigger::AnswerOverdue => {
                    let wanted = |message: &&Message| &message.id == id;
                    let known = self.board.rest.messages.iter().find(wanted);
                    known.map_or_else(Block::none, letter)
                }
                Trigger::AnsweredNote | Trigger::TypedNote => {
                    self.find(&self.board.rest.human_notes, |note| &note.id == id, note)
                }
                Trigger::ImmediateDiscovery => {
                    self.find(&self.board.rest.discovered, |found| &found.id == id, discovery)
                }
                Trigger::Blocked | Trigger::SingleFailed => {
                    self.about_task(id, |desk, task| desk.blocked(task))
                }
                Trigger::AuditBlock => self.audit(id),
                Trigger::HypothesisExhausted => self.about_task(id, |desk, task| desk.exhausted(task)),
                Trigger::IntegrationFailed => self.about_task(id, |desk, task| desk.unmerged(task)),
            });
        }
        WakeFacts {
            trigger: words(wake.trigger),
            about: Quoted::list(wake.about.iter().map(String::as_str)),
            details,
            commands: self.commands(wake),
        }
    }

    /// What the auditor found.
    fn audit(&self, id: &str) -> Block {
        let last = self.board.route().and_then(|route| route.audits.last());
        let Some(audit) = last.filter(|audit| audit.task.as_str() == id) else { return Block::none() };
        let found =
            if audit.findings.is_empty() { "none named".to_owned() } else { numbered(&audit.findings) };
        let text = format!(
            "verdict: {}, round {}\nfindings:\n{}",
            audit.verdict.as_str(),
            audit.round,
            indent(&found, 2)
        );
        Block::new("the auditor", &text, &Bound::new(24 * KIB, format!("`liza result show {id}`")))
    }

    fn find<T>(&self, records: &[T], wanted: impl Fn(&T) -> bool, describe: impl Fn(&T) -> String) -> Block {
        let Some(record) = records.iter().find(|record| wanted(record)) else { return Block::none() };
        Block::new("the board", &describe(record), &Bound::new(16 * KIB, "`liza inbox`"))
    }

    fn about_task(&self, id: &str, describe: impl Fn(&Self, &Task) -> String) -> Block {
        let task = TaskId::new(id).ok().and_then(|id| self.board.task(&id));
        let Some(task) = task else { return Block::none() };
        let mut text = format!("title: {}\n", shown_line(&task.body().title));
        text.push_str(&describe(self, task));
        let bound = Bound::new(24 * KIB, format!("`liza task show {}`", task.id));
        Block::new(&format!("task {}", task.id), &text, &bound)
    }

    fn blocked(&self, task: &Task) -> String {
        let body = task.body();
        let from = body.blocked_from.map_or("?", |status| status.as_str());
        let mut lines = vec![
            format!(
                "was: {from}, by {}",
                task.assigned_to.as_ref().map_or("no agent", |agent| agent.as_str())
            ),
            format!("reason: {}", continued(body.blocked_reason.as_deref().unwrap_or("not given"))),
            format!("questions:\n{}", indent(&numbered(&body.blocked_questions), 2)),
            format!("done when:\n{}", indent(&numbered(&body.done_when), 2)),
        ];
        let both = body.review_result.as_ref().and_then(|result| result.positions.as_ref());
        if let Some(both) = both {
            let columns =
                side_by_side(("the coder", &both.coder), ("the reviewer", &both.reviewer), POSITION_WIDTH);
            lines.push(format!("what each of the two holds:\n{}", indent(&columns, 2)));
        }
        lines.extend(self.notes_on(task));
        lines.extend(self.hunks_of(task));
        lines.join("\n")
    }

    fn exhausted(&self, task: &Task) -> String {
        let body = task.body();
        let failed: Vec<&str> = task.failed_by.iter().map(|agent| agent.as_str()).collect();
        let mut lines = vec![
            format!("failed by: {}", failed.join(", ")),
            format!("description: {}", continued(&body.description)),
            format!("done when:\n{}", indent(&numbered(&body.done_when), 2)),
            "how it failed:".to_owned(),
        ];
        use Event::{Blocked, Claimed, DiscussionNeeded, IntegrationFailed, Rejected};
        let telling = [Rejected, Blocked, DiscussionNeeded, IntegrationFailed, Claimed];
        for line in body.history.iter().filter(|line| telling.contains(&line.event)) {
            let detail = line.detail.as_deref().map(continued).unwrap_or_default();
            lines.push(format!("  {} {} {}: {detail}", line.time, line.agent, line.event.as_str()));
        }
        lines.extend(self.notes_on(task));
        lines.join("\n")
    }

    fn unmerged(&self, task: &Task) -> String {
        let mut lines = Vec::new();
        if let Some(failure) = &task.body().integration_failure {
            lines.push(format!("why: {}", continued(&failure.reason)));
            lines.push(format!("files: {}", files(&failure.files)));
            lines.push(format!("integration stood at: {}", failure.onto));
        }
        lines.extend(self.hunks_of(task));
        lines.join("\n")
    }

    /// Unprocessed notes of people about a task.
    fn notes_on(&self, task: &Task) -> Vec<String> {
        let open = |note: &&Note| note.task_id.as_ref() == Some(&task.id) && note.processed_by.is_none();
        self.board.rest.human_notes.iter().filter(open).map(note).collect()
    }

    /// The two sides of the last conflict.
    fn hunks_of(&self, task: &Task) -> Vec<String> {
        let last = self.board.rest.anomalies.iter().rfind(|anomaly| {
            anomaly.task_id == task.id
                && anomaly.kind == AnomalyKind::IntegrationConflict
                && anomaly.processed_by.is_none()
        });
        let Some(last) = last else { return Vec::new() };
        let hunks = last.details.iter().filter(|(name, _)| name.starts_with("hunk_"));
        hunks.map(|(_, hunk)| format!("conflict at {}", continued(hunk))).collect()
    }

    /// Reports that are not among the reasons shown in full.
    fn inbox(&self, wakes: &[Wake]) -> Block {
        let is_shown = |id: &String| {
            wakes.iter().any(|wake| {
                !matches!(wake.trigger, Trigger::Unprocessed)
                    && wake.about.iter().take(SHOWN_PER_WAKE).any(|about| about == id)
            })
        };
        let rest = &self.board.rest;
        let new = |id: &String, processed_by: &Option<AgentId>| processed_by.is_none() && !is_shown(id);
        let anomalies = rest.anomalies.iter().filter(|found| new(&found.id, &found.processed_by));
        let discovered = rest.discovered.iter().filter(|found| new(&found.id, &found.processed_by));
        let changes = rest.spec_changes.iter().filter(|change| change.processed_by.is_none());
        let notes = rest.human_notes.iter().filter(|found| new(&found.id, &found.processed_by));
        let lines = anomalies.map(anomaly).chain(discovered.map(discovery));
        let lines: Vec<String> = lines.chain(changes.map(spec_change)).chain(notes.map(note)).collect();
        Block::new("the board, what was reported", &lines.join("\n"), &Bound::new(32 * KIB, "`liza inbox`"))
    }

    /// Every task in a line.
    fn tree(&self) -> Result<Block> {
        let world = self.ctx.store.surroundings(self.board)?;
        let scene = Scene::new(self.board, &world, &self.ctx.now);
        let mut lines = Vec::new();
        // Finished work of earlier goals is in the repository.
        let counts = |task: &&Task| !task.status.is_terminal() || self.board.is_of_current_goal(task);
        for task in self.board.tasks.iter().filter(counts) {
            let depends: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
            let agent = task.assigned_to.as_ref().map_or("-", |agent| agent.as_str());
            let waits = scene.waiting(task).map(|waiting| waiting.why);
            lines.push(format!(
                "{} | {} | {} | {agent} | {} | {} | {}",
                task.id,
                task.status,
                task.role,
                if depends.is_empty() { "-".to_owned() } else { depends.join(", ") },
                shown_line(waits.as_deref().unwrap_or("-")),
                shown_line(&clipped(&task.body().title, TITLE_SHOWN)),
            ));
        }
        if !lines.is_empty() {
            lines.insert(0, "id | status | role | agent | depends on | waits for | title".to_owned());
        }
        Ok(Block::new("the board", &lines.join("\n"), &Bound::new(64 * KIB, "`liza status`")))
    }

    /// The registered agents and what each holds.
    fn agents(&self) -> Block {
        let mut lines = Vec::new();
        for (id, agent) in &self.board.rest.agents {
            let roles: Vec<&str> = agent.roles.iter().map(|role| role.as_str()).collect();
            let held = self.board.tasks.iter().filter_map(|task| {
                let lease = task.lease.as_ref().filter(|lease| &lease.agent == id);
                let review = task.review_lease.as_ref().filter(|lease| &lease.agent == id);
                let word = if lease.is_some() { "works on" } else { "reviews" };
                lease.or(review).map(|lease| format!("{word} {} until {}", task.id, lease.expires.at))
            });
            let held: Vec<String> = held.collect();
            let state = if agent.is_active() { "active" } else { "retired" };
            lines.push(format!(
                "{id} | {} | {state}, last sign {} | {}",
                roles.join(", "),
                agent.heartbeat,
                if held.is_empty() { "-".to_owned() } else { held.join("; ") }
            ));
        }
        Block::new("the board", &lines.join("\n"), &Bound::new(32 * KIB, "`liza agent list`"))
    }

    fn commands(&self, wake: &Wake) -> Vec<String> {
        let mut all = Vec::new();
        for id in wake.about.iter().filter(|id| TaskId::new(id).is_ok()).take(SHOWN_PER_WAKE) {
            let rescope = format!("`liza task rescope {id} --into FILE --reason \"…\"`");
            match wake.trigger {
                Trigger::InitialPlanning => {
                    return vec!["Cut the goal into tasks: `liza plan FILE --check`, then `liza plan FILE`.".to_owned()];
                }
                Trigger::Unprocessed => return vec!["They stand below, with everything else that was reported.".to_owned()],
                Trigger::HypothesisExhausted => all.push(format!(
                    "Find the root cause and split or replan {id}: {rescope}; or give it up: `liza task abandon {id} --reason \"…\"`"
                )),
                Trigger::Blocked => all.push(format!(
                    "If the specs or a person's note answer it: `liza task unblock {id} --answer \"…\"`. If it was cut wrong: {rescope}. \
                     If only a person can know: leave it."
                )),
                Trigger::SingleFailed => all.push(format!(
                    "The goal was routed to one small job, {id}, which did not do it. Plan it as workstreams (`liza plan FILE`) and give the job \
                     up (`liza task abandon {id} --reason \"…\"`); or split it: {rescope}; or, if you know the answer: `liza task unblock {id} --answer \"…\"`"
                )),
                Trigger::AuditBlock => all.push(
                    "Plan tasks that settle the findings: `liza plan FILE --check`, then `liza plan FILE`. Once they are merged, the auditor looks again.".to_owned(),
                ),
                Trigger::IntegrationFailed => all.push(format!(
                    "A coder repairs {id}; nothing to do unless no coder can (`liza task show {id}`): then {rescope}"
                )),
                Trigger::ImmediateDiscovery => all.push(format!(
                    "Plan it in with `liza plan FILE`, or decide against it; then `liza inbox --done {id}`"
                )),
                Trigger::Message => {
                    return vec![
                        "They stand below. Act on each; what asks for an answer: `liza message reply ID --body \"…\"`.".to_owned(),
                    ];
                }
                Trigger::AnswerOverdue => {
                    all.push(format!("Its sender waits: `liza message reply {id} --body \"…\"`"));
                }
                Trigger::TypedNote => all.push(format!(
                    "Its author is unknown: it answers no question and changes no task until a person has confirmed it. Prepare what you can; then `liza inbox --done {id}`"
                )),
                Trigger::AnsweredNote => {
                    let about = self.board.rest.human_notes.iter().find(|note| &note.id == id);
                    let act = match about.and_then(|note| note.task_id.as_ref()) {
                        Some(task) => format!(
                            "Act on it (a blocked task: `liza task unblock {task} --answer \"…\"`)"
                        ),
                        None => "Act on it".to_owned(),
                    };
                    all.push(format!("{act}; then `liza inbox --done {id}`"));
                }
            }
        }
        all
    }
}

fn words(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::InitialPlanning => "Nothing is planned yet",
        Trigger::HypothesisExhausted => "Two agents failed",
        Trigger::AnsweredNote => "A person has spoken",
        Trigger::TypedNote => "A note was typed into state.yaml, not confirmed by a person",
        Trigger::SingleFailed => "One small job was not enough",
        Trigger::AuditBlock => "The auditor does not let the goal pass",
        Trigger::Blocked => "Blocked",
        Trigger::IntegrationFailed => "Could not be integrated",
        Trigger::ImmediateDiscovery => "Found, and urgent",
        Trigger::Message => "You were written to",
        Trigger::AnswerOverdue => "You were asked, and your answer is late",
        Trigger::Unprocessed => "Open reports",
    }
}

/// A text whose further lines cannot look like lines of liza.
fn continued(text: &str) -> String {
    indent(text.trim(), 4).trim_start().to_owned()
}

/// The author of a note typed into the file.
const UNCONFIRMED: &str = "hand, typed into state.yaml and confirmed by no person";

fn note(note: &Note) -> String {
    let Note { id, by, task_id, time, text, typed, .. } = note;
    let on = task_id.as_ref().map_or(String::new(), |task| format!(" on {task}"));
    let by = typed.as_ref().map_or_else(|| by.to_string(), |_| UNCONFIRMED.to_owned());
    format!("{} note by {by}{on}, {time}: {}", shown_line(id), continued(text))
}

fn anomaly(anomaly: &Anomaly) -> String {
    let Anomaly { id, kind, task_id, logged_by, details, .. } = anomaly;
    let details = details.iter().filter(|(name, _)| !name.starts_with("hunk_"));
    let details: Vec<String> =
        details.map(|(name, value)| format!("{}: {}", shown_line(name), continued(value))).collect();
    let (id, kind, details) = (shown_line(id), kind.as_str(), details.join("; "));
    format!("{id} {kind} on {task_id} by {logged_by}: {details}")
}

fn discovery(found: &Discovery) -> String {
    let Discovery { id, severity, urgency, task_id, by, text, .. } = found;
    let (id, severity, urgency) = (shown_line(id), severity.as_str(), urgency.as_str());
    format!("{id} discovery ({severity}, {urgency}) on {task_id} by {by}: {}", continued(text))
}

fn spec_change(change: &SpecChange) -> String {
    let affects: Vec<&str> = change.affects.iter().map(TaskId::as_str).collect();
    let affects = if affects.is_empty() { "not said".to_owned() } else { affects.join(", ") };
    let (id, spec) = (shown_line(&change.id), shown_line(&change.spec));
    format!("{id} change of {spec} by {}: {} (affects: {affects})", change.by, continued(&change.change))
}
