//! One piece of work: sessions of the agent until the work is finished, released or blocked.

mod crashes;
mod ends;
mod failures;
mod slices;
mod spending;

use super::event::ChildAnswer;
use super::lease_renewer::RenewalParts;
use super::ledger::Ledger;
use super::output::{Bounds, Gauge, Tariff};
use super::prelude::*;
use super::runner::{After, Left, Runner, failure_text};
use super::session::{self, Ended, Files, Frame, Halting, Why, reason, switch_for};
use crate::board::rules::SeeMessages;
use crate::flow::sessions;
use crate::policy::halting::last_number;
use crate::policy::leaving::{Claimed, Reviewed, of_claim, of_review};
use crate::policy::provider::{Ending, OutputFormat};
use crate::provider::secrets;

/// After this many sessions in a row that succeed without any change, the runner gives up.
const EMPTY_SESSIONS: u32 = 3;
/// The most sessions on one claim, whatever they change.
const MOST_SESSIONS: u32 = 20;
/// After this many handoffs because of a limit, the task is too large for its agents.
const LIMIT_HANDOFFS: usize = 3;
/// First words of the summary of a handoff that a runner wrote because of a limit.
const LIMIT_MARK: &str = "limit reached: ";

impl Runner {
    /// Works until the work is over. After an error of the runner itself, releases the work for other agents.
    pub(super) fn carry_out(&mut self, assignment: Assignment, worktree: PathBuf) -> Result<After, Failure> {
        let given = assignment.clone();
        self.resume = None;
        let first = self.take_fallback(&assignment);
        let after = self
            .sessions_on(assignment, worktree)
            .inspect_err(|failure| self.release_work(&given, &failure.message));
        if let Some((provider, entry)) = first {
            (self.provider, self.entry, self.on_fallback) = (provider, entry, false);
        }
        // The agent's working directory was the checkout until now.
        if let Assignment::Review { task } = &given
            && let Ok(board) = self.board(None)
        {
            crate::flow::tidy::after_review(&self.ctx, &board, task, None);
        }
        after
    }

    fn sessions_on(&mut self, mut assignment: Assignment, mut worktree: PathBuf) -> Result<After, Failure> {
        let mut remarks: Vec<String> = Vec::new();
        let mut again: Vec<String> = Vec::new();
        let mut empty = 0;
        let mut sessions = 0;
        let mut restarts = 0;
        let mut asked_to_submit = false;
        // How often the runner asked the session for raw JSON, and the text of the request.
        let (mut asked_for_json, mut ask): (u32, Option<String>) = (0, None);
        let mut before = self.state_at_start(&assignment);
        let halting = self.halting()?;
        loop {
            let task = assignment.task().cloned();
            match self.wait_for_leave_to_start(task.as_ref()) {
                None => {}
                Some(Left::Aborted(why)) => return Ok(self.aborted(&assignment, &why)),
                Some(left) => return Ok(After::Leave(left)),
            }
            if let Some(over) = self.is_over(&assignment)? {
                return Ok(over);
            }
            if let Some(why) = self.identity_lost()? {
                return Ok(After::Leave(Left::GaveUp(why)));
            }
            // A halt ordered while no session ran.
            if let Some(halt) = halting.ordered_by_hand(&self.ctx) {
                let left = self.left_behind(&assignment);
                return Ok(self.halted(&assignment, &halt, left.as_ref()));
            }
            if let Some(why) = self.cap_used_up(task.as_ref())? {
                let left = self.left_behind(&assignment);
                return Ok(self.end_at_limit(&assignment, &why, left.as_ref()));
            }
            if sessions == MOST_SESSIONS {
                let why = format!("{} ended {MOST_SESSIONS} sessions on it without finishing it", self.agent);
                return Ok(self.give_up_on(&assignment, why));
            }
            sessions += 1;
            let request = BriefRequest {
                role: &self.role,
                agent: &self.agent,
                assignment: &assignment,
                remarks: &remarks,
                again: &again,
            };
            let prompt = match brief(&self.ctx, &request) {
                Ok(Ok(prompt)) => prompt,
                Ok(Err(missing)) => return Ok(self.incomplete(&assignment, &missing)),
                // The agent does not hold the work any more.
                Err(failure) if failure.code.class() == Class::Stale => return Ok(After::GoOn),
                Err(failure) => return Err(failure),
            };
            self.mark_messages_seen(&prompt.shown_messages);
            let message = match ask.take() {
                Some(text) => {
                    slices::Message { timebox: self.timebox(&assignment), ..slices::Message::plain(text) }
                }
                None => match self.message(&assignment, &prompt.text)? {
                    Ok(message) => message,
                    Err(problems) => return Ok(self.invalid_dispatch(&assignment, &problems)),
                },
            };
            let ended = self.session(&assignment, &worktree, &message, halting.clone())?;
            self.ctx.now = crate::host::now();
            let left = self.left_behind(&assignment);
            self.emit_end(&assignment, &ended, left.as_ref());
            match &ended.why {
                Why::Abort(why) => return Ok(self.aborted(&assignment, why)),
                Why::Signal(signal) => return Ok(After::Leave(Left::Signal(*signal))),
                Why::Lost(why) => {
                    self.emit(Event::notice(format!("lost the claim: {why}")));
                    return Ok(After::GoOn);
                }
                Why::Limit(_) | Why::Timebox | Why::Halted(_) | Why::ByItself => {}
            }
            // The agent may have claimed another task itself.
            if let Some((task, epoch, held)) = self.held_task()? {
                assignment = Assignment::Task { task, epoch };
                worktree = held;
            }
            if let Some(over) = self.is_over(&assignment)? {
                self.note_compliance(&assignment);
                return Ok(over);
            }
            // The worktree is gone; the next claim makes a new one from the branch.
            if let Some(why) = left.as_ref().and_then(|left| left.lost.clone()) {
                self.release_work(&assignment, &why);
                return Ok(After::GoOn);
            }
            match &ended.why {
                Why::Limit(why) => return Ok(self.end_at_limit(&assignment, why, left.as_ref())),
                Why::Halted(halt) => return Ok(self.halted(&assignment, halt, left.as_ref())),
                Why::Timebox => {
                    match self.take_result(&assignment, &ended, left.as_ref(), asked_for_json, true)? {
                        slices::Taken::Over(after) => return Ok(after),
                        _ => return Ok(self.end_at_limit(&assignment, "its timebox expired", left.as_ref())),
                    }
                }
                _ => {}
            }
            let now = self.state_of(&assignment);
            let changed = now != before;
            empty = if changed { 0 } else { empty + 1 };
            before = now;
            remarks = vec![remark(&ended, left.as_ref())];
            let ending = ended.code().map_or(Ending::Crash, |code| self.entry.ending(code));
            // A fresh session does not know the messages that the former session was shown.
            again = if ending == Ending::Done { Vec::new() } else { prompt.shown_messages };
            // The agent was asked to submit and did not answer: liza's own checks decide.
            if asked_to_submit && let Some(why) = self.submit_for(&assignment, left.as_ref()) {
                remarks.push(why);
            }
            if asked_to_submit && let Some(over) = self.is_over(&assignment)? {
                return Ok(over);
            }
            if let Some(trouble) = self.trouble(&ended, ending, empty) {
                match self.after_trouble(&assignment, &ended, trouble) {
                    Some(after) => return Ok(after),
                    None => continue,
                }
            }
            self.waits = 0;
            match ending {
                Ending::Limit => {
                    let why = format!("the agent ended at its provider's own limit ({})", ended.words());
                    return Ok(self.end_at_limit(&assignment, &why, left.as_ref()));
                }
                Ending::Done => {
                    self.resume.clone_from(&ended.usage.session);
                    if let Assignment::Plan { wakes } = &assignment {
                        return Ok(self.planned(wakes));
                    }
                    if !asked_to_submit && let Some(ask) = self.ask_to_submit(&assignment, left.as_ref()) {
                        asked_to_submit = true;
                        empty = 0;
                        remarks.push(ask);
                        continue;
                    }
                    if !asked_to_submit {
                        remarks.extend(self.submit_for(&assignment, left.as_ref()));
                    }
                    if let Some(over) = self.is_over(&assignment)? {
                        return Ok(over);
                    }
                    match self.take_result(&assignment, &ended, left.as_ref(), asked_for_json, false)? {
                        slices::Taken::Over(after) => return Ok(after),
                        slices::Taken::Ask(text) => {
                            asked_for_json += 1;
                            ask = Some(text);
                            continue;
                        }
                        slices::Taken::Nothing => {}
                    }
                }
                Ending::Restart if empty < EMPTY_SESSIONS => {
                    restarts += 1;
                    if let Some(after) = self.end_of_restarts(&assignment, restarts) {
                        return Ok(after);
                    }
                    continue;
                }
                Ending::Restart | Ending::Crash => {
                    let trouble = failures::Trouble::plain();
                    match self.after_trouble(&assignment, &ended, trouble) {
                        Some(after) => return Ok(after),
                        None => continue,
                    }
                }
            }
            if empty >= EMPTY_SESSIONS {
                let reviews = matches!(assignment, Assignment::Review { .. });
                let left = if reviews { "a verdict" } else { "submitting or changing anything" };
                let why = format!("{} ended {EMPTY_SESSIONS} sessions in a row without {left}", self.agent);
                return Ok(self.give_up_on(&assignment, why));
            }
        }
    }

    /// Marks the messages in the prompt of this session as seen. If that cannot be recorded, the next session is shown them
    /// once more, which is better than not at all.
    fn mark_messages_seen(&self, messages: &[String]) {
        if !messages.is_empty() {
            let _ = self.ctx.commit(SeeMessages { ids: messages.to_vec() });
        }
    }

    /// An ABORT for the team or this agent ends the runner; an ABORT for the task ends only the work on that task.
    fn aborted(&self, assignment: &Assignment, why: &str) -> After {
        if switch_for(&self.ctx, &self.agent, None).is_some() {
            return After::Leave(Left::Aborted(why.to_owned()));
        }
        self.release_work(assignment, why);
        After::GoOn
    }

    /// While a switch is set nothing starts; ABORT and signals end the waiting.
    fn wait_for_leave_to_start(&mut self, task: Option<&TaskId>) -> Option<Left> {
        let mut reported = false;
        loop {
            let switch = switch_for(&self.ctx, &self.agent, task)?;
            if switch.kind == SwitchKind::Abort {
                return Some(Left::Aborted(reason(&switch)));
            }
            self.handle_checkpoint(switch.kind);
            if !reported {
                reported = true;
                self.emit(Event::new(Kind::Paused, reason(&switch)));
            }
            if let Some(left) = self.wait(tick()) {
                return Some(left);
            }
        }
    }

    fn board(&self, task: Option<&TaskId>) -> Result<Board, Failure> {
        let needs = task.map_or(Needs::Nothing, Needs::task);
        Ok(self.ctx.read(&needs)?.board)
    }

    /// Why this runner may not act for its agent any more: the agent was retired or registered again.
    fn identity_lost(&self) -> Result<Option<String>, Failure> {
        let caller = crate::board::Credentials::Agent {
            id: self.agent.clone(),
            token_hash: crate::flow::context::token_hash(&self.token),
        };
        Ok(self.board(None)?.identify(&caller).err().map(|refusal| refusal.message))
    }

    /// The task that this agent holds now, which may differ from its assignment.
    fn held_task(&self) -> Result<Option<(TaskId, u64, PathBuf)>, Failure> {
        let board = self.board(None)?;
        let incarnation = board.agent(&self.agent).map(|agent| agent.incarnation);
        let is_own = |lease: &Lease| lease.agent == self.agent && Some(lease.incarnation) == incarnation;
        let works = |task: &&Task| task.status == Status::Working && task.lease.as_ref().is_some_and(is_own);
        let Some(held) = board.tasks.iter().find(works) else { return Ok(None) };
        let whole = self.board(Some(&held.id))?;
        let attempt = whole.task(&held.id).and_then(|task| task.body().attempt());
        Ok(attempt.map(|attempt| (held.id.clone(), held.epoch, self.ctx.root().join(&attempt.worktree))))
    }

    /// A fingerprint of the work, to detect sessions that changed nothing.
    fn state_of(&self, assignment: &Assignment) -> String {
        match assignment {
            Assignment::Task { task, .. } => {
                leftovers::gather(&self.ctx, task).map(|found| found.fingerprint).unwrap_or_default()
            }
            Assignment::Review { .. } => String::new(),
            Assignment::Plan { .. } => {
                self.board(None).map(|board| planned_state(&board)).unwrap_or_default()
            }
        }
    }

    /// The same right after the claim: a first claim's worktree is at its base commit, so git is not asked.
    fn state_at_start(&self, assignment: &Assignment) -> String {
        let known = match assignment {
            Assignment::Task { task, epoch: 1 } => leftovers::as_handed_out(&self.ctx, task),
            _ => None,
        };
        known.unwrap_or_else(|| self.state_of(assignment))
    }

    /// Whether the work is over, by the board; none while this agent still holds it.
    fn is_over(&mut self, assignment: &Assignment) -> Result<Option<After>, Failure> {
        let Some(task) = assignment.task() else { return Ok(None) };
        let board = self.board(Some(task))?;
        let about = board.task(task);
        let (kind, text) = match assignment {
            Assignment::Task { epoch, .. } => match of_claim(&board, &self.agent, task, *epoch) {
                Claimed::Unfinished => return Ok(None),
                Claimed::Submitted => (Kind::Submitted, String::new()),
                Claimed::Blocked => {
                    let reason = about.and_then(|task| task.body().blocked_reason.clone());
                    (Kind::Blocked, reason.unwrap_or_default())
                }
                Claimed::LetGo => (Kind::Released, String::new()),
                Claimed::Ended => (Kind::Notice, "the task has ended".to_owned()),
                Claimed::Lost => (Kind::Notice, "another agent holds it now".to_owned()),
            },
            _ => match of_review(&board, &self.agent, task) {
                Reviewed::Unfinished => return Ok(None),
                Reviewed::Approved => {
                    self.emit(Event::new(Kind::Approved, "").task(task));
                    let mergeable = |task: &Task| task.status == Status::Approved && !task.awaits_red_team();
                    let merges = self.role == Role::code_reviewer() && about.is_some_and(mergeable);
                    return Ok(Some(if merges { self.merge() } else { After::GoOn }));
                }
                Reviewed::Counted => {
                    let approvals = about.and_then(|task| task.approvals.as_ref());
                    (Kind::Approved, approvals.map(|given| given.words()).unwrap_or_default())
                }
                Reviewed::Rejected => {
                    let reason = about.and_then(|task| task.body().rejection_reason.clone());
                    (Kind::Rejected, reason.unwrap_or_default())
                }
                Reviewed::Blocked => (Kind::Blocked, "by the review".to_owned()),
                Reviewed::Lost => (Kind::Notice, "another reviewer holds the review now".to_owned()),
            },
        };
        self.emit(Event::new(kind, text).task(task));
        Ok(Some(After::GoOn))
    }

    /// Selects halts that are ordered from now on.
    fn halting(&self) -> Result<Halting, Failure> {
        let board = self.board(None)?;
        let incarnation = board.agent(&self.agent).map_or(0, |agent| agent.incarnation);
        let (agent, config) = (self.agent.clone(), self.config.overseer.clone());
        Ok(Halting { agent, incarnation, after: last_number(&board), config })
    }

    fn session(
        &mut self,
        assignment: &Assignment,
        worktree: &Path,
        message: &slices::Message,
        halting: Halting,
    ) -> Result<Ended, Failure> {
        let prompt = message.text.as_str();
        self.sessions += 1;
        let files = self.files(assignment)?;
        crate::flow::gates::record_environment(&self.ctx, &self.config.gates, &self.agent);
        let prompt_file = files.path("prompt.md");
        crate::store::files::replace(&prompt_file, prompt.as_bytes())?;
        if message.dispatch {
            crate::store::files::replace(&files.path("dispatch.json"), prompt.as_bytes())?;
        }
        let role_config = self.config.roles.get(&self.role);
        let job = Job {
            prompt: prompt.to_owned(),
            prompt_file: prompt_file.clone(),
            worktree: worktree.to_owned(),
            common_dir: self.ctx.repo.common_dir.clone(),
            git_dir: leftovers::git_dir(&self.ctx, worktree),
            board_dir: self.ctx.store.address().to_owned(),
            run_dir: files.dir.clone(),
            model: role_config.and_then(|role| role.model.clone()),
            args: role_config.map(|role| role.args.clone()).unwrap_or_default(),
            denied: Registry::new(&self.config).started_without(&self.role, &self.entry),
            session: self.resume.take(),
            limits: self.limits,
        };
        let former = job.session.as_ref().and_then(|id| Some((id.clone(), *self.threads.get(id)?)));
        let invocation = invocation(&self.entry, &job);
        let tariff = Tariff {
            prices: self.config.prices.clone(),
            model: job.model.clone(),
            provider: self.provider.clone(),
        };
        let env = self.environment(assignment, &invocation.env, &prompt_file)?;
        let board = self.board(None)?;
        let config = board.config();
        let renewal = RenewalParts {
            root: self.ctx.root().to_owned(),
            caller: self.caller.clone(),
            assignment: assignment.clone(),
            every: Duration::from_secs(config.heartbeat_seconds.min(config.lease_seconds / 3).max(1)),
        };
        let task = assignment.task();
        let about = sessions::About {
            agent: self.agent.clone(),
            task: task.cloned(),
            role: self.role.clone(),
            provider: self.provider.clone(),
            output: self.entry.output.unwrap_or_default(),
            started: crate::host::now().wall,
        };
        sessions::begin(&files.path("session.json"), &about);
        let round = task.and_then(|task| board.task(task)).map(|task| task.review_cycles_total + 1);
        let ledger = Ledger::new(task.cloned(), spending::kind_of(assignment), round);
        self.emit(Event::new(Kind::Started, invocation.program.clone()).about(task));
        let sink = |mut event: Event| {
            event.task = event.task.or_else(|| task.map(TaskId::to_string));
            self.emit(event);
        };
        let frame = Frame {
            number: self.sessions,
            ctx: &self.ctx,
            task,
            renewal,
            ledger: ledger.clone(),
            bounds: Bounds::new(self.limits, crate::flow::spend::uses(&self.ctx, &self.agent, task)?),
            grace: grace(self.config.run.grace_seconds),
            timebox: message.timebox,
            files: files.clone(),
            secrets: self.secrets(&env),
            tx: &self.tx,
            rx: &self.rx,
            sink: &sink,
            gauge: Gauge::new(Meter::new(&self.entry).going_on(former), tariff),
            halting,
            role: &self.role,
            plain: matches!(
                self.entry.output.unwrap_or_default(),
                OutputFormat::Text | OutputFormat::AiderText
            ),
        };
        let ended = session::run(frame, &invocation, worktree, env)?;
        if let (Some(id), Some(sum)) = (&ended.usage.session, ended.usage.thread) {
            self.threads.insert(id.clone(), sum);
        }
        let used = sessions::Ended {
            agent: self.agent.clone(),
            exit: ended.code(),
            seconds: ended.took.as_secs_f64(),
            usage: ended.usage.clone(),
            ended: ended.reason(),
        };
        let used = serde_json::to_string(&used).unwrap_or_default();
        // The agent may have put a link in the place of the directory meanwhile.
        if crate::store::files::make_private_dirs(self.ctx.machine.home(), &files.dir).is_ok() {
            let _ = crate::store::files::replace(&files.path("usage.json"), format!("{used}\n").as_bytes());
        }
        self.last_files = Some(files);
        self.record_usage(assignment, &ledger, &ended);
        Ok(ended)
    }

    /// Secrets to remove from the agent's recorded output.
    fn secrets(&self, env: &[(OsString, OsString)]) -> Vec<Secret> {
        // The path of its token file is no secret, whatever the variable's name.
        let passed = env.iter().filter(|(name, _)| !name.to_string_lossy().starts_with("LIZA_"));
        secrets(
            passed.map(|(name, value)| (name, value)),
            [("LIZA_AGENT_TOKEN", self.token.clone().into_bytes())],
        )
    }

    /// Output files with names that no earlier session used.
    fn files(&self, assignment: &Assignment) -> Result<Files, Failure> {
        let machine = &self.ctx.machine;
        let dir = match assignment.task() {
            Some(task) => {
                let board = self.board(Some(task))?;
                let (epoch, iteration) = board.task(task).map_or((0, 0), |task| (task.epoch, task.iteration));
                machine.round(task, epoch, iteration)
            }
            None => machine.runs_of_agent(&self.agent),
        };
        crate::store::files::make_private_dirs(machine.home(), &dir)?;
        let stem = (1..).map(|number| format!("{}-{number}", self.agent));
        let free = stem.into_iter().find(|stem| !dir.join(format!("{stem}.prompt.md")).exists());
        Ok(Files { stem: free.unwrap_or_else(|| self.agent.to_string()), dir })
    }

    fn environment(
        &self,
        assignment: &Assignment,
        own: &std::collections::BTreeMap<String, String>,
        prompt_file: &Path,
    ) -> Result<Vec<(OsString, OsString)>, Failure> {
        let mut env = environment(&self.entry, std::env::vars_os());
        let mut set = |name: &str, value: OsString| {
            env.retain(|(known, _)| known != name);
            env.push((name.into(), value));
        };
        // The agent uses the same liza program as its runner.
        if let Some(dir) = crate::host::this_program().parent() {
            let paths = std::env::var_os("PATH").unwrap_or_default();
            let all = std::iter::once(dir.to_owned()).chain(std::env::split_paths(&paths));
            if let Ok(joined) = std::env::join_paths(all) {
                set("PATH", joined);
            }
        }
        for (name, value) in leftovers::author(&self.ctx, &self.agent)? {
            set(name, value.into());
        }
        for (name, value) in own {
            set(name, value.into());
        }
        set("LIZA_AGENT_ID", self.agent.as_str().into());
        set("LIZA_AGENT_TOKEN_FILE", self.ctx.machine.token_file(&self.agent).into());
        set("LIZA_ROLE", self.role.as_str().into());
        set("LIZA_PROMPT_FILE", prompt_file.into());
        set("SPECS_LOCATION", self.ctx.store.specs_location().into());
        set("BLACKBOARD", self.ctx.store.blackboard().into());
        set("PROJECT_ROOT", self.ctx.root().into());
        // A worktree that lost its `.git` file must not lead the agent's git to the person's checkout above it.
        set("GIT_CEILING_DIRECTORIES", self.ctx.machine.worktrees().into());
        match assignment {
            Assignment::Task { task, epoch } => {
                set("LIZA_TASK", task.as_str().into());
                set("LIZA_CLAIM", format!("{task}:{epoch}").into());
            }
            Assignment::Review { task } => {
                set("LIZA_TASK", task.as_str().into());
                // The review concerns this epoch: after a new claim, the verdict does not apply.
                if let Some(epoch) = self.board(None)?.task(task).map(|task| task.epoch) {
                    set("LIZA_CLAIM", format!("{task}:{epoch}").into());
                }
            }
            Assignment::Plan { wakes } => {
                let trigger = wakes.first().and_then(|wake| serde_json::to_value(wake.trigger).ok());
                let trigger = trigger.and_then(|value| value.as_str().map(str::to_owned));
                set("LIZA_TRIGGER", trigger.unwrap_or_default().into());
            }
        }
        Ok(env)
    }

    fn left_behind(&self, assignment: &Assignment) -> Option<Leftovers> {
        let Assignment::Task { task, epoch } = assignment else { return None };
        // A worktree that another agent has by now is not examined.
        let board = self.board(Some(task)).ok()?;
        if of_claim(&board, &self.agent, task, *epoch) != Claimed::Unfinished {
            return None;
        }
        match leftovers::gather(&self.ctx, task) {
            Ok(found) => Some(found),
            Err(failure) => {
                let text = format!("could not examine its worktree: {}", failure_text(&failure));
                self.emit(Event::notice(text).task(task));
                None
            }
        }
    }

    fn emit_end(&self, assignment: &Assignment, ended: &Ended, left: Option<&Leftovers>) {
        let left = left.map_or(String::new(), |left| format!("; {}", left_words(left)));
        let event = Event::new(Kind::Ended, format!("{}{left}", ended.words())).about(assignment.task());
        self.emit(Event { usage: Some(ended.usage.clone()), ..event });
    }

    /// Asks the agent once about work that is committed, announced and green but not submitted: the agent may have forgotten
    /// it, or have a reason.
    fn ask_to_submit(&self, assignment: &Assignment, left: Option<&Leftovers>) -> Option<String> {
        let Assignment::Task { task, .. } = assignment else { return None };
        if !left?.is_ready_to_submit() || self.reports(task) {
            return None;
        }
        self.as_agent(assignment, &["task", "submit", task.as_str(), "--check"]).ok()?;
        let text = "committed and green, but not submitted; asked the agent to submit or to give a reason";
        self.emit(Event::notice(text).task(task));
        Some(format!(
            "Your work is committed and its validation passes, but it is not submitted. Submit or say why not: `liza task submit {task}`; if something is missing, \
             do that first; if you cannot, `liza task block {task} --reason \"…\" --question \"…\"`."
        ))
    }

    /// Submits work that is committed and announced; liza's own checks decide. Returns why it was refused.
    fn submit_for(&self, assignment: &Assignment, left: Option<&Leftovers>) -> Option<String> {
        let Assignment::Task { task, .. } = assignment else { return None };
        if !left?.is_ready_to_submit() || self.reports(task) {
            return None;
        }
        match self.as_agent(assignment, &["task", "submit", task.as_str()]) {
            Ok(()) => {
                let text = "committed but not submitted; submitted for the agent";
                self.emit(Event::notice(text).task(task));
                None
            }
            Err(why) => Some(format!("`liza task submit {task}` was refused: {why}")),
        }
    }

    /// Runs a liza command with only the agent's environment: a submission runs the validation, a command that the agent chose.
    fn as_agent(&self, assignment: &Assignment, args: &[&str]) -> Result<(), String> {
        let own = std::collections::BTreeMap::new();
        let env = self.environment(assignment, &own, Path::new("")).map_err(|failure| failure.message)?;
        let output = Program::new(this_program())
            .args(["--json", "--board"])
            .arg(self.ctx.store.address())
            .args(args)
            .dir(self.ctx.root())
            .only_env(env)
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let answer: ChildAnswer = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let error = answer.error.unwrap_or_default();
        Err(format!("{} ({})", error.message, error.hint.unwrap_or_default()))
    }
}

/// A fingerprint of all that a planner may change; not the revision, which changes with every heartbeat.
fn planned_state(board: &Board) -> String {
    let tasks: Vec<String> =
        board.tasks.iter().map(|task| format!("{} {} {}", task.id, task.status, task.priority)).collect();
    let rest = &board.rest;
    let open = [
        rest.human_notes.iter().filter(|note| note.processed_by.is_none()).count(),
        rest.anomalies.iter().filter(|anomaly| anomaly.processed_by.is_none()).count(),
        rest.discovered.iter().filter(|found| found.processed_by.is_none()).count(),
        rest.messages.len(),
    ];
    format!("{}; {open:?}", tasks.join(", "))
}

fn left_words(left: &Leftovers) -> String {
    if let Some(why) = &left.lost {
        return why.clone();
    }
    let mut words = vec![
        match (left.committed, left.has_checkpoint) {
            (true, _) => "committed but not submitted",
            (false, true) => "a checkpoint, but nothing committed",
            (false, false) => "no checkpoint, nothing committed",
        }
        .to_owned(),
    ];
    if let Some(kept) = &left.kept_as {
        words.push(format!("uncommitted: {}, kept as {kept}", left.uncommitted.join(", ")));
    }
    if let Some(left_out) = &left.left_out {
        words.push(format!("only in the worktree, not kept: {left_out}"));
    }
    words.join("; ")
}

/// The sentence about this session in the prompt of the next one.
fn remark(ended: &Ended, left: Option<&Leftovers>) -> String {
    let left = left.map_or(String::new(), |left| format!(" It left: {}.", left_words(left)));
    format!("Your former session on this ended with {} before it was finished.{left}", ended.words())
}
