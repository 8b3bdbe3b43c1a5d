//! Converts an old board to a valid one. No agent holds a task afterwards: the old claims had no token and no
//! incarnation. A task whose state git does not confirm goes back to a state from which the work is done again without
//! loss, and its history says why.

use super::task::QUESTION;
use super::{OldBoard, OldTask, Said};
use crate::board::graph::Graph;
use crate::board::review::Approval;
use crate::wire::prelude::*;
use crate::wire::to_json_line;

/// Queries to git.
pub trait Repository {
    /// The commit with a full or abbreviated id.
    fn commit(&self, text: &str) -> Option<CommitId>;
    fn head_of(&self, branch: &str) -> Option<CommitId>;
    /// The merge base of a commit and integration.
    fn base_of(&self, commit: &CommitId) -> Option<CommitId>;
    fn in_integration(&self, commit: &CommitId) -> bool;
    fn parent_of(&self, commit: &CommitId) -> Option<CommitId>;
    /// The content of a submitted commit, as far as it can be found.
    fn submission(&self, commit: &CommitId) -> Option<Submission>;
}

/// Makes the board satisfy every invariant. Adds the changes to its remarks.
pub fn settle(
    mut old: OldBoard,
    git: &dyn Repository,
    integration: &CommitId,
    now: &Stamp,
) -> (OldBoard, Board) {
    for task in &mut old.tasks {
        let settled =
            Settling { said: &task.said, whole: &mut task.whole, git, integration, now, reasons: Vec::new() }
                .settle();
        let id = &task.whole.head.id;
        old.remarks.extend(settled.into_iter().map(|why| format!("{id}: {why}")));
    }
    share_contested_paths(&mut old.tasks, &mut old.remarks, now);
    cut_cycles(&mut old, now);
    old.rest.integration.head = Some(integration.clone());
    let board = old.as_board();
    (old, board)
}

struct Settling<'s> {
    said: &'s Said,
    whole: &'s mut WholeTask,
    git: &'s dyn Repository,
    integration: &'s CommitId,
    now: &'s Stamp,
    reasons: Vec<String>,
}

impl Settling<'_> {
    fn settle(mut self) -> Vec<String> {
        let from = self.whole.head.status;
        self.whole.head.lease = None;
        self.whole.head.review_commit = None;
        self.attempt();
        let to = match from {
            Status::Draft => Status::Draft,
            Status::Idle => self.idle(),
            Status::Working => self.working(),
            Status::ReadyForReview => self.ready(),
            Status::Approved => self.approved(),
            Status::Rejected => Status::Rejected,
            Status::IntegrationFailed => self.integration_failed(),
            Status::Blocked => Status::Blocked,
            Status::Merged => self.merged(),
            Status::Superseded => self.superseded(),
            Status::Abandoned => Status::Abandoned,
        };
        self.whole.head.status = to;
        self.complete();
        if self.whole.head.status == Status::Blocked {
            self.blocked(if to == from { None } else { Some(from) });
        }
        self.keep_unborne();
        let head = &mut self.whole.head;
        head.holds_paths = !head.status.is_terminal() && self.said.begun && head.status != Status::Draft;
        let mut line = HistoryEntry::new(self.now.wall, Event::Migrated, AgentId::human());
        if from != head.status {
            line = line.step(from, head.status);
        }
        if !self.reasons.is_empty() {
            line = line.detail(self.reasons.join("; "));
        }
        self.whole.body.history.push(line);
        self.reasons
    }

    fn tell(&mut self, why: impl Into<String>) {
        self.reasons.push(why.into());
    }

    /// Keeps the old values about git as extras where the new board does not have them.
    fn keep_unborne(&mut self) {
        let (said, head, body) = (self.said, &self.whole.head, &mut self.whole.body);
        let attempt = body.attempts.last();
        // The old commit may be abbreviated.
        let same =
            |said: &str, made: fn(&Attempt) -> &str| attempt.is_some_and(|attempt| made(attempt) == said);
        let based =
            |said: &str| attempt.is_some_and(|attempt| attempt.base_commit.as_str().starts_with(said));
        let approver = body.approval.as_ref().map(|approval| &approval.reviewer);
        let kept = [
            ("branch", said.branch.clone().filter(|text| !same(text, |made| &made.branch))),
            ("worktree", said.worktree.clone().filter(|text| !same(text, |made| &made.worktree))),
            ("base_commit", said.base_commit.clone().filter(|text| !based(text))),
            ("review_commit", said.review_commit.clone().filter(|_| head.review_commit.is_none())),
            ("merge_commit", said.merge_commit.clone().filter(|_| body.merge.is_none())),
            (
                "approved_by",
                said.approved_by.as_ref().filter(|by| approver != Some(*by)).map(ToString::to_string),
            ),
        ];
        for (key, text) in kept {
            if let Some(text) = text {
                body.extra.insert(key.to_owned(), to_json_line(&json!(text)));
            }
        }
    }

    /// Only the task's own branch: the agent that continues must not work on another task's branch.
    fn branch(&self) -> String {
        let named = self.said.branch.clone().filter(|branch| branch.starts_with("task/"));
        named.unwrap_or_else(|| format!("task/{}", self.said.id))
    }

    /// Only a path for worktrees of tasks: never the user's own checkout, whatever the old board says.
    fn worktree(&self) -> String {
        let plain = |path: &String| {
            path.strip_prefix(".worktrees/")
                .is_some_and(|name| !name.starts_with('.') && !name.contains(['/', '\\']))
        };
        let named =
            self.said.worktree.clone().map(|path| path.trim_end_matches('/').to_owned()).filter(plain);
        named.unwrap_or_else(|| format!(".worktrees/{}", self.whole.head.id))
    }

    /// The former work, if its branch exists.
    fn attempt(&mut self) {
        let branch = self.branch();
        let head = self.git.head_of(&branch);
        let agent =
            self.whole.head.assigned_to.clone().or_else(|| self.whole.head.implementers.first().cloned());
        let said = self.said;
        let base = said
            .base_commit
            .as_deref()
            .and_then(|text| self.git.commit(text))
            .or_else(|| head.as_ref().and_then(|head| self.git.base_of(head)));
        match (head, agent, base) {
            (Some(_), agent, Some(base)) => {
                let agent = agent.unwrap_or_else(AgentId::unknown);
                let worktree = self.worktree();
                self.whole.head.epoch = 1;
                self.whole.body.attempts = vec![Attempt {
                    agent,
                    epoch: 1,
                    branch,
                    worktree,
                    base_commit: base,
                    handout: None,
                    began: None,
                    prepared: Vec::new(),
                    byproducts: Vec::new(),
                }];
            }
            (head, _, _) => {
                let open = !self.whole.head.status.is_terminal() && self.whole.head.status != Status::Draft;
                if open && (said.begun || head.is_some()) {
                    self.tell(format!(
                        "its branch `{branch}` cannot be continued; the next claim starts a new one"
                    ));
                    // The next claim must not find leftovers under the plain name.
                    let undone = HistoryEntry::new(self.now.wall, Event::ClaimUndone, AgentId::human())
                        .detail("no branch of the former claim was found");
                    self.whole.body.history.push(undone);
                }
            }
        }
    }

    fn has_work(&self) -> bool {
        !self.whole.body.attempts.is_empty()
    }

    fn idle(&mut self) -> Status {
        if self.whole.body.done_when.is_empty() {
            self.tell("it has no acceptance criterion (done_when); it stays a DRAFT until it has one");
            return Status::Draft;
        }
        Status::Idle
    }

    /// Free for any agent; the agent that claims the task continues from the branch.
    fn working(&mut self) -> Status {
        let holder =
            self.whole.head.assigned_to.as_ref().map_or("an unknown agent".to_owned(), ToString::to_string);
        if self.has_work() {
            self.whole.body.left = Some(Left::Released);
            self.tell(format!("{holder}'s claim could not be carried over; the work stays on its branch"));
        } else {
            self.tell(format!("{holder}'s claim could not be carried over"));
        }
        Status::Idle
    }

    /// The commit under review, if it exists and is still the head of its branch.
    fn under_review(&mut self) -> Option<CommitId> {
        let said = self.said.review_commit.clone();
        let Some(commit) = said.as_deref().and_then(|text| self.git.commit(text)) else {
            self.tell(match said {
                None => "it names no commit to review".to_owned(),
                Some(text) => format!("its commit {text} is not in the repository"),
            });
            return None;
        };
        if !self.has_work() || self.git.head_of(&self.branch()).as_ref() != Some(&commit) {
            self.tell("the submitted commit is not the head of its branch");
            return None;
        }
        let Some(submission) = self.git.submission(&commit) else {
            self.tell("the submitted commit has nothing in common with integration");
            return None;
        };
        self.whole.body.submission = Some(submission);
        self.whole.head.review_commit = Some(commit.clone());
        Some(commit)
    }

    fn back_to_work(&mut self) -> Status {
        if self.has_work() {
            self.whole.body.left = Some(Left::Released);
        }
        self.tell("it has to be submitted again");
        Status::Idle
    }

    /// An implementer must not review the task; if the old board names no implementer, any agent could be one.
    fn ready(&mut self) -> Status {
        if self.under_review().is_none() {
            return self.back_to_work();
        }
        if !self.said.begun {
            self.tell("it names no implementer, so liza could not keep an implementer from reviewing it");
            self.whole.head.review_commit = None;
            self.whole.body.submission = None;
            return self.back_to_work();
        }
        Status::ReadyForReview
    }

    /// The approver, if the old board names an agent that is no implementer.
    fn approver(&self) -> Option<AgentId> {
        let history = &self.whole.body.history;
        let named = self.said.approved_by.clone().or_else(|| {
            history.iter().rev().find(|line| line.event == Event::Approved).map(|line| line.agent.clone())
        });
        named.filter(|agent| *agent != AgentId::unknown() && !self.whole.head.was_implemented_by(agent))
    }

    /// Names had no token there, so the approver is not certain.
    fn approved(&mut self) -> Status {
        let by = self.said.approved_by.as_ref().map_or(String::new(), |agent| format!(" by {agent}"));
        self.tell(format!("it was approved{by}, but approvals are not carried over: it is reviewed again"));
        self.ready()
    }

    fn time_of(&self, event: Event) -> crate::board::Wall {
        let history = &self.whole.body.history;
        history.iter().rev().find(|line| line.event == event).map_or(self.now.wall, |line| line.time)
    }

    fn integration_failed(&mut self) -> Status {
        if !self.has_work() {
            return self.back_to_work();
        }
        // It was approved, but the commit after the fix is another one: it is submitted and reviewed again.
        let reason = self.whole.body.extra.get("integration_error").cloned();
        self.whole.body.integration_failure = Some(IntegrationFailure {
            reason: reason.unwrap_or_else(|| "it could not be integrated on the older board".to_owned()),
            onto: self.integration.clone(),
            files: Vec::new(),
            log: None,
            gate: None,
            failing: Vec::new(),
        });
        Status::IntegrationFailed
    }

    /// A merged task must be contained in integration; otherwise its dependents would start without its work.
    fn merged(&mut self) -> Status {
        let said = self.said;
        let resolve = |text: &Option<String>| text.as_deref().and_then(|text| self.git.commit(text));
        let landed = |commit: &CommitId| self.git.in_integration(commit);
        let reviewed = resolve(&said.review_commit).filter(landed);
        let merge = resolve(&said.merge_commit).filter(landed).or_else(|| reviewed.clone());
        let Some(merge) = merge else {
            self.tell(
                "the older board says MERGED, but integration does not contain its commit; it is BLOCKED",
            );
            return Status::Blocked;
        };
        let approver = self.approver().unwrap_or_else(AgentId::unknown);
        let time = self.time_of(Event::Merged);
        let commit = reviewed.unwrap_or_else(|| merge.clone());
        self.whole.head.review_commit = Some(commit.clone());
        self.whole.body.approval = Some(Approval {
            reviewer: approver.clone(),
            commit,
            time,
            protected_paths_allowed: false,
            notes: Vec::new(),
        });
        self.whole.body.merge = Some(MergeRecord {
            onto: Some(self.git.parent_of(&merge).unwrap_or_else(|| merge.clone())),
            commit: Some(merge),
            nothing: false,
            by: approver,
            time,
            drift: 0,
        });
        Status::Merged
    }

    fn superseded(&mut self) -> Status {
        if self.whole.head.superseded_by.is_empty() {
            self.tell("the older board says SUPERSEDED, but names no task of the board; it is ABANDONED");
            return Status::Abandoned;
        }
        Status::Superseded
    }

    /// Fills fields that every task except a draft must have.
    fn complete(&mut self) {
        let (head, body) = (&mut self.whole.head, &mut self.whole.body);
        if matches!(head.status, Status::Draft | Status::Superseded | Status::Abandoned) {
            return;
        }
        if body.done_when.is_empty() {
            body.done_when = vec![body.title.clone()];
            self.reasons
                .push("it had no acceptance criterion (done_when); its title is used instead".to_owned());
        }
        if body.spec_ref.is_none() {
            body.spec_ref = Some("specs/vision.md".to_owned());
        }
    }

    fn blocked(&mut self, from: Option<Status>) {
        let reasons = self.reasons.join("; ");
        let body = &mut self.whole.body;
        if body.blocked_reason.as_ref().is_none_or(|reason| reason.trim().is_empty()) {
            body.blocked_reason = Some(if reasons.is_empty() {
                "the older board does not say why".to_owned()
            } else {
                reasons
            });
        }
        body.blocked_questions.retain(|question| !question.trim().is_empty());
        if body.blocked_questions.len() > 3 {
            // At most three questions; the third contains the rest.
            let rest = body.blocked_questions.split_off(2);
            body.blocked_questions.push(rest.join("\n"));
        }
        if body.blocked_questions.is_empty() {
            body.blocked_questions = vec![QUESTION.to_owned()];
        }
        let in_progress = !body.attempts.is_empty();
        body.blocked_from = Some(if from.is_none() && in_progress { Status::Working } else { Status::Idle });
        if in_progress {
            body.left = Some(Left::Released);
        }
    }
}

/// On the old board, several tasks could change the same paths. Of the started ones, the first owns its paths and the
/// others share them: the merge resolves conflicts, as before.
fn share_contested_paths(tasks: &mut [OldTask], remarks: &mut Vec<String>, now: &Stamp) {
    for at in 0..tasks.len() {
        let (before, rest) = tasks.split_at_mut(at);
        let Some(task) = rest.first_mut().filter(|task| task.whole.head.holds_paths) else { continue };
        let rival = before
            .iter()
            .filter(|other| other.whole.head.holds_paths)
            .find(|other| any_overlap(&task.whole.head.owns, &other.whole.head.owns).is_some());
        let Some(rival) = rival else { continue };
        let why = format!(
            "its paths overlap those of {}, which was started too: it shares them",
            rival.whole.head.id
        );
        task.whole.head.owns.clear();
        task.whole
            .body
            .history
            .push(HistoryEntry::new(now.wall, Event::PathsGivenBack, AgentId::human()).detail(why.clone()));
        remarks.push(format!("{}: {why}", task.whole.head.id));
    }
}

/// Tasks in a dependency cycle can never start: the last of them loses its dependencies on the others.
fn cut_cycles(old: &mut OldBoard, now: &Stamp) {
    while let Some(cycle) = Graph::of(&old.as_board().tasks).cycle() {
        let chosen = old
            .tasks
            .iter_mut()
            .rev()
            .filter(|task| cycle.contains(&task.whole.head.id))
            .max_by_key(|task| task.whole.head.status != Status::Superseded);
        let Some(WholeTask { head, body }) = chosen.map(|task| &mut task.whole) else { return };
        let others: Vec<&str> = cycle.iter().filter(|id| **id != head.id).map(TaskId::as_str).collect();
        let why = if head.status == Status::Superseded {
            head.superseded_by.retain(|id| !cycle.contains(id));
            if head.superseded_by.is_empty() {
                head.status = Status::Abandoned;
            }
            format!("it was superseded in a cycle with {}", others.join(", "))
        } else {
            body.extra.insert("depends_on".to_owned(), to_json_line(&json!(head.depends_on)));
            head.depends_on.retain(|id| !cycle.contains(id));
            format!("it was in a dependency cycle with {}; it no longer waits for them", others.join(", "))
        };
        let line = HistoryEntry::new(now.wall, Event::Migrated, AgentId::human()).detail(why.clone());
        body.history.push(line);
        old.remarks.push(format!("{}: {why}", head.id));
    }
}
