//! Sessions on slices: the dispatch that is sent, the result that is taken, and the ladder when there is none.

use super::super::prelude::*;
use super::super::runner::{After, Runner, check_program, choose, said};
use super::super::session::{Ended, Files};
use super::super::waits::minute;
use super::left_words;
use crate::board::result::{EndCause, EvidenceItem, ResultStatus};
use crate::board::rules::Redispatch;
use crate::director::ladder::{Rung, next_rung};
use crate::director::reading::listed;
use crate::director::{Problem, SliceResult};
use crate::flow::dispatch::{self, Addressee};
use crate::flow::results;
use crate::policy::provider::ProviderEntry;
use crate::provider::LastMessage;
use crate::text::{clipped, shown_line};

/// So much of an output is kept as evidence on the board; the files have all of it.
const LONGEST_EXCERPT: usize = 1500;
/// So much of an output is read for its last message.
const LONGEST_OUTPUT: u64 = 64 * 1024 * 1024;

/// What is sent to an agent.
pub(super) struct Message {
    pub text: String,
    /// It is a dispatch, and is kept as one.
    pub dispatch: bool,
    /// How long the session may take.
    pub timebox: Option<Duration>,
}

impl Message {
    pub fn plain(text: String) -> Self {
        Self { text, dispatch: false, timebox: None }
    }
}

/// What a session on a slice came to.
pub(super) enum Taken {
    /// The board has the result, or the slice was ended for its agent.
    Over(After),
    /// The same session is asked once more, with these words.
    Ask(String),
    /// It is no slice, or its step is on the board.
    Nothing,
}

impl Runner {
    /// The slice that is worked on, with its body.
    fn slice(&self, assignment: &Assignment) -> Option<(Board, TaskId, u64)> {
        let Assignment::Task { task, epoch } = assignment else { return None };
        let board = self.board(Some(task)).ok()?;
        let is_slice = board.task(task).is_some_and(|task| task.is_slice());
        is_slice.then(|| (board, task.clone(), *epoch))
    }

    /// What is sent for this piece of work: the prompt, or for a slice its dispatch with the prompt in it.
    pub(super) fn message(
        &self,
        assignment: &Assignment,
        prompt: &str,
    ) -> Result<Result<Message, Vec<Problem>>, Failure> {
        let Some((board, id, _)) = self.slice(assignment) else {
            return Ok(Ok(Message::plain(prompt.to_owned())));
        };
        let Some(task) = board.task(&id) else { return Ok(Ok(Message::plain(prompt.to_owned()))) };
        let model = self.config.roles.get(&self.role).and_then(|role| role.model.as_deref());
        let to =
            Addressee { provider: &self.provider, model, fallback: self.on_fallback, instructions: prompt };
        let built = dispatch::build(&self.ctx, &board, task, &to)?;
        Ok(built.map(|dispatch| Message {
            text: crate::wire::to_json_pretty(&dispatch),
            dispatch: true,
            timebox: Some(minutes(dispatch.timebox_minutes)),
        }))
    }

    /// How long a slice may take, when its session is asked again.
    pub(super) fn timebox(&self, assignment: &Assignment) -> Option<Duration> {
        let (board, id, _) = self.slice(assignment)?;
        Some(minutes(dispatch::timebox_of(board.task(&id)?)))
    }

    /// Plays a slice with the fallback of its role, if its first provider crashed or did not answer properly. Returns what is
    /// to be put back afterwards.
    pub(super) fn take_fallback(&mut self, assignment: &Assignment) -> Option<(String, ProviderEntry)> {
        let (board, id, _) = self.slice(assignment)?;
        let task = board.task(&id)?;
        let wanted = task.body().previous.as_ref().is_some_and(|previous| previous.wants_fallback());
        let name = self.config.roles.get(&self.role)?.fallback.clone().filter(|_| wanted)?;
        let chosen = choose(&self.config, &self.role, Some(&name));
        match chosen.and_then(|chosen| check_program(&chosen).map(|()| chosen)) {
            Ok(chosen) => {
                let text =
                    format!("attempt {} is played by the fallback {name}", task.body().dispatch_attempt());
                self.tell(Event::notice(text).task(&id));
                self.on_fallback = true;
                let former = std::mem::replace(&mut self.provider, chosen.name);
                Some((former, std::mem::replace(&mut self.entry, chosen.entry)))
            }
            Err(failure) => {
                self.tell(
                    Event::notice(format!("the fallback {name} cannot be used: {}", failure.message))
                        .task(&id),
                );
                None
            }
        }
    }

    /// Whether a task delivers a result and no commit.
    pub(super) fn reports(&self, task: &TaskId) -> bool {
        let is_report = |task: &Task| task.kind == crate::board::task::Kind::Report;
        self.board(None).is_ok_and(|board| board.task(task).is_some_and(is_report))
    }

    /// The last message of the session, as its provider's format has it.
    fn last_message(&self, files: &Files) -> String {
        let mut last = LastMessage::new(self.entry.output.unwrap_or_default());
        for name in ["out.log", "out.tail-before.log", "out.tail.log"] {
            if let Ok((bytes, _)) = crate::store::files::read_whole(&files.path(name), LONGEST_OUTPUT) {
                last.feed(&bytes);
            }
        }
        last.finish()
    }

    /// Takes the result of a session on a slice from its last message; otherwise climbs the ladder.
    pub(super) fn take_result(
        &mut self,
        assignment: &Assignment,
        ended: &Ended,
        left: Option<&Leftovers>,
        asked: u32,
        out_of_time: bool,
    ) -> Result<Taken, Failure> {
        let Some((board, id, epoch)) = self.slice(assignment) else { return Ok(Taken::Nothing) };
        let (Some(task), Some(files)) = (board.task(&id), self.last_files.clone()) else {
            return Ok(Taken::Nothing);
        };
        let text = self.last_message(&files);
        let delivers =
            task.delivers_result() && !(task.is_merge_slice() && left.is_some_and(|left| left.committed));
        let problems = match results::read_for(task, text.trim().as_bytes()) {
            Ok(_) if delivers => match results::submit(&self.ctx, &id, Some(epoch), text.trim().as_bytes()) {
                Ok((done, _)) => {
                    let words = format!("result {}, {}", done.result.as_str(), done.status);
                    self.tell(Event::new(Kind::Submitted, words).task(&id));
                    return Ok(Taken::Over(After::GoOn));
                }
                Err(failure) => vec![Problem::new("(board)", failure.message)],
            },
            Ok(result) => match self.of_coder(assignment, &result) {
                Some(after) => return Ok(Taken::Over(after)),
                None => vec![Problem::new("(board)", "the result is complete, and nothing was submitted")],
            },
            Err(problems) => {
                results::keep_refused(&self.ctx, task, text.as_bytes());
                problems
            }
        };
        let cause = if out_of_time { EndCause::Timebox } else { EndCause::BadOutput };
        let can_resume = !out_of_time && ended.usage.session.is_some() && self.entry.can_resume();
        let attempt = task.body().dispatch_attempt();
        if next_rung(cause, attempt, asked, can_resume) == Rung::Resume {
            self.resume.clone_from(&ended.usage.session);
            self.tell(
                Event::notice(format!("the answer is no result ({}); asked for raw JSON", listed(&problems)))
                    .task(&id),
            );
            return Ok(Taken::Ask(ask_for_json(task, &problems)));
        }
        let minutes = dispatch::timebox_of(task);
        let reason = if out_of_time {
            format!("its timebox of {minutes} minutes is over without a result")
        } else {
            // A rung that is skipped is on record, too.
            let unasked = asked == 0 && !can_resume;
            let unasked =
                if unasked { " (it was not asked again: its session cannot be resumed)" } else { "" };
            format!("its answer is not exactly one value of its schema{unasked}: {}", listed(&problems))
        };
        let mut evidence = vec![self.output_evidence(&files, ended, &text)];
        evidence.extend(left.map(|left| EvidenceItem {
            kind: "worktree".to_owned(),
            reference: left.kept_as.clone().unwrap_or_else(|| "its branch".to_owned()),
            exit: None,
            excerpt: Some(left_words(left)),
        }));
        Ok(Taken::Over(self.redispatch(&id, epoch, cause, reason, evidence)))
    }

    /// What a coder's answer says that has not submitted: it may be blocked.
    fn of_coder(&mut self, assignment: &Assignment, result: &SliceResult) -> Option<After> {
        let common = result.common();
        if common.status != ResultStatus::Blocked {
            return None;
        }
        let reason = common.blocked_reason.unwrap_or_default().to_owned();
        Some(self.block(assignment, reason, crate::board::rules::SLICE_QUESTIONS.map(str::to_owned).to_vec()))
    }

    /// The output of a session, as evidence for the next attempt.
    fn output_evidence(&self, files: &Files, ended: &Ended, text: &str) -> EvidenceItem {
        let path = files.path("out.log");
        let shown = path.strip_prefix(self.ctx.root()).unwrap_or(&path).display().to_string();
        let excerpt = if text.trim().is_empty() { ended.said.join(" / ") } else { text.trim().to_owned() };
        EvidenceItem {
            kind: "output".to_owned(),
            reference: shown,
            exit: ended.code(),
            excerpt: Some(clipped(&shown_line(&excerpt), LONGEST_EXCERPT).into_owned()),
        }
    }

    /// The slice is dispatched once more with what was learnt, or blocked after its last dispatch.
    fn redispatch(
        &mut self,
        task: &TaskId,
        epoch: u64,
        cause: EndCause,
        reason: String,
        evidence: Vec<EvidenceItem>,
    ) -> After {
        let verb =
            Redispatch { task: task.clone(), epoch: Some(epoch), cause, reason: reason.clone(), evidence };
        let event = match self.ctx.commit(verb) {
            Ok(done) if done.outcome.status == Status::Blocked => Event::new(Kind::Blocked, reason),
            Ok(_) => Event::new(Kind::Released, format!("{reason}; dispatched again")),
            Err(failure) => Event::notice(format!("it could not be ended: {}", said(&failure))),
        };
        self.tell(event.task(task));
        After::GoOn
    }

    /// A crash loop on a slice: its next dispatch knows exit and last output. Whether its runner goes on with it.
    pub(super) fn redispatch_after_crashes(
        &mut self,
        assignment: &Assignment,
        ended: &Ended,
        why: &str,
    ) -> Option<After> {
        let (_, id, epoch) = self.slice(assignment)?;
        let files = self.last_files.clone()?;
        let text = self.last_message(&files);
        let evidence = vec![self.output_evidence(&files, ended, &text)];
        Some(self.redispatch(&id, epoch, EndCause::Crash, why.to_owned(), evidence))
    }

    /// A coder who has submitted and said something else than its schema asks for: noted, and its work stands.
    pub(super) fn note_compliance(&self, assignment: &Assignment) {
        let Some((board, id, _)) = self.slice(assignment) else { return };
        let (Some(task), Some(files)) = (board.task(&id), &self.last_files) else { return };
        if task.kind == crate::board::task::Kind::Report {
            return;
        }
        let text = self.last_message(files);
        if let Err(problems) = results::read_for(task, text.trim().as_bytes()) {
            results::keep_refused(&self.ctx, task, text.as_bytes());
            let words = format!("its work stands; its answer is non-compliant: {}", listed(&problems));
            self.tell(Event::notice(clipped(&words, 400).into_owned()).task(&id));
        }
    }
}

fn minutes(count: u32) -> Duration {
    minute() * count
}

fn ask_for_json(task: &Task, problems: &[Problem]) -> String {
    let schema = crate::director::results::schema_of(&task.role).unwrap_or_default();
    let lines: Vec<String> = problems.iter().map(|problem| format!("- {problem}")).collect();
    format!(
        "Your last message is not the result that liza needs for slice {}. What is wrong with it:\n{}\n\n\
         Answer now with exactly one JSON value of the schema {schema} (`liza schema {}` prints it) and nothing else: no prose, no \
         Markdown, no code fence, nothing before or after it. If you cannot, answer with status \"blocked\" and blocked_reason.",
        task.id,
        lines.join("\n"),
        crate::director::schema::name_of(schema)
    )
}
