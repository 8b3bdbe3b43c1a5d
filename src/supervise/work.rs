//! One piece of work: sessions of the agent until it is finished, let go, or cannot go on.

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
use super::runner::{After, Left, Runner, said};
use super::session::{self, Ended, Files, Frame, Halting, Why, reason, stopping};
use crate::board::rules::SeeMessages;
use crate::flow::sessions;
use crate::policy::halting::last_number;
use crate::policy::leaving::{Claimed, Reviewed, of_claim, of_review};
use crate::policy::provider::{Ending, OutputFormat};
use crate::provider::secrets;

/// So many sessions in a row that end well and change nothing are enough.
const EMPTY_SESSIONS: u32 = 3;
/// So many sessions on one claim, whatever they change: an agent that never gets there is not helped by one more.
const MOST_SESSIONS: u32 = 20;
/// So many handoffs because of a limit, and the task is too large for its agents.
const LIMIT_HANDOFFS: usize = 3;
/// How the summary of a handoff begins that a runner wrote because of a limit.
const LIMIT_MARK: &str = "limit reached: ";

impl Runner {
    /// Works on it until it is over. Whatever goes wrong with the runner itself, the work is let go for others.
    pub(super) fn carry_out(&mut self, assignment: Assignment, place: PathBuf) -> Result<After, Failure> {
        let given = assignment.clone();
        self.resume = None;
        let first = self.take_fallback(&assignment);
        let after =
            self.sessions_on(assignment, place).inspect_err(|failure| self.let_go(&given, &failure.message));
        if let Some((provider, entry)) = first {
            (self.provider, self.entry, self.on_fallback) = (provider, entry, false);
        }
        // Its agent stood in the checkout until now.
        if let Assignment::Review { task } = &given
            && let Ok(board) = self.board(None)
        {
            crate::flow::tidy::after_review(&self.ctx, &board, task, None);
        }
        after
    }

    fn sessions_on(&mut self, mut assignment: Assignment, mut place: PathBuf) -> Result<After, Failure> {
        let mut remarks: Vec<String> = Vec::new();
        let mut again: Vec<String> = Vec::new();
        let mut empty = 0;
        let mut sessions = 0;
        let mut restarts = 0;
        let mut asked = false;
        // How often the session was asked for raw JSON, and the words for it.
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
            if let Some(why) = self.no_longer_itself()? {
                return Ok(After::Leave(Left::GaveUp(why)));
            }
            // Ordered while nothing ran.
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
                // It is not this agent's any more.
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
            let ended = self.session(&assignment, &place, &message, halting.clone())?;
            self.ctx.now = crate::host::now();
            let left = self.left_behind(&assignment);
            self.tell_end(&assignment, &ended, left.as_ref());
            match &ended.why {
                Why::Abort(why) => return Ok(self.aborted(&assignment, why)),
                Why::Signal(signal) => return Ok(After::Leave(Left::Signal(*signal))),
                Why::Lost(why) => {
                    self.tell(Event::notice(format!("the claim is lost: {why}")));
                    return Ok(After::GoOn);
                }
                Why::Limit(_) | Why::Timebox | Why::Halted(_) | Why::ByItself => {}
            }
            // The agent may have gone on to other work by itself.
            if let Some((task, epoch, worktree)) = self.held()? {
                assignment = Assignment::Task { task, epoch };
                place = worktree;
            }
            if let Some(over) = self.is_over(&assignment)? {
                self.note_compliance(&assignment);
                return Ok(over);
            }
            // Without its worktree nothing can go on there; the next claim makes a new one from what was committed.
            if let Some(why) = left.as_ref().and_then(|left| left.lost.clone()) {
                self.let_go(&assignment, &why);
                return Ok(After::GoOn);
            }
            match &ended.why {
                Why::Limit(why) => return Ok(self.end_at_limit(&assignment, why, left.as_ref())),
                Why::Halted(halt) => return Ok(self.halted(&assignment, halt, left.as_ref())),
                Why::Timebox => {
                    match self.take_result(&assignment, &ended, left.as_ref(), asked_for_json, true)? {
                        slices::Taken::Over(after) => return Ok(after),
                        _ => return Ok(self.end_at_limit(&assignment, "its timebox is over", left.as_ref())),
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
            // It was asked for it and said nothing: then liza's own checks decide, however it ended.
            if asked && let Some(why) = self.submit_for(&assignment, left.as_ref()) {
                remarks.push(why);
            }
            if asked && let Some(over) = self.is_over(&assignment)? {
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
                    let why = format!("the agent ended at a limit of its own ({})", ended.words());
                    return Ok(self.end_at_limit(&assignment, &why, left.as_ref()));
                }
                Ending::Done => {
                    self.resume.clone_from(&ended.usage.session);
                    if let Assignment::Plan { wakes } = &assignment {
                        return Ok(self.planned(wakes));
                    }
                    if !asked && let Some(ask) = self.ask_to_submit(&assignment, left.as_ref()) {
                        asked = true;
                        empty = 0;
                        remarks.push(ask);
                        continue;
                    }
                    if !asked {
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
        if stopping(&self.ctx, &self.agent, None).is_some() {
            return After::Leave(Left::Aborted(why.to_owned()));
        }
        self.let_go(assignment, why);
        After::GoOn
    }

    /// While a switch is set nothing starts; ABORT and signals end the waiting.
    fn wait_for_leave_to_start(&mut self, task: Option<&TaskId>) -> Option<Left> {
        let mut reported = false;
        loop {
            let switch = stopping(&self.ctx, &self.agent, task)?;
            if switch.kind == SwitchKind::Abort {
                return Some(Left::Aborted(reason(&switch)));
            }
            self.heed_checkpoint(switch.kind);
            if !reported {
                reported = true;
                self.tell(Event::new(Kind::Paused, reason(&switch)));
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

    /// Why this runner cannot act for its agent any more, if so: it was retired or registered again.
    fn no_longer_itself(&self) -> Result<Option<String>, Failure> {
        let caller = crate::board::Credentials::Agent {
            id: self.agent.clone(),
            token_hash: crate::flow::context::token_hash(&self.token),
        };
        Ok(self.board(None)?.identify(&caller).err().map(|refusal| refusal.message))
    }

    /// The task this agent holds now, whatever it was given.
    fn held(&self) -> Result<Option<(TaskId, u64, PathBuf)>, Failure> {
        let board = self.board(None)?;
        let incarnation = board.agent(&self.agent).map(|agent| agent.incarnation);
        let is_own = |lease: &Lease| lease.agent == self.agent && Some(lease.incarnation) == incarnation;
        let works = |task: &&Task| task.status == Status::Working && task.lease.as_ref().is_some_and(is_own);
        let Some(held) = board.tasks.iter().find(works) else { return Ok(None) };
        let whole = self.board(Some(&held.id))?;
        let attempt = whole.task(&held.id).and_then(|task| task.body().attempt());
        Ok(attempt.map(|attempt| (held.id.clone(), held.epoch, self.ctx.root().join(&attempt.worktree))))
    }

    /// Names the state of what is worked on, so that a session that changed nothing is seen.
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

    /// The same for a piece of work that was taken up just now. What was made for its first claim stands as that left it:
    /// the board knows, and git need not be asked again.
    fn state_at_start(&self, assignment: &Assignment) -> String {
        let known = match assignment {
            Assignment::Task { task, epoch: 1 } => leftovers::as_handed_out(&self.ctx, task),
            _ => None,
        };
        known.unwrap_or_else(|| self.state_of(assignment))
    }

    /// What the board says has become of it; nothing while it is still this agent's.
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
                    self.tell(Event::new(Kind::Approved, "").task(task));
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
        self.tell(Event::new(kind, text).task(task));
        Ok(Some(After::GoOn))
    }

    /// What is ordered from here on is about the work that is begun now.
    fn halting(&self) -> Result<Halting, Failure> {
        let board = self.board(None)?;
        let incarnation = board.agent(&self.agent).map_or(0, |agent| agent.incarnation);
        let (agent, config) = (self.agent.clone(), self.config.overseer.clone());
        Ok(Halting { agent, incarnation, after: last_number(&board), config })
    }

    fn session(
        &mut self,
        assignment: &Assignment,
        place: &Path,
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
            worktree: place.to_owned(),
            common_dir: self.ctx.repo.common_dir.clone(),
            git_dir: leftovers::git_dir(&self.ctx, place),
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
        self.tell(Event::new(Kind::Started, invocation.program.clone()).about(task));
        let sink = |mut event: Event| {
            event.task = event.task.or_else(|| task.map(TaskId::to_string));
            self.tell(event);
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
        let ended = session::run(frame, &invocation, place, env)?;
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

    /// What must not be written down of what the agent prints.
    fn secrets(&self, env: &[(OsString, OsString)]) -> Vec<Secret> {
        // Where its token is kept is no secret, whatever the variable is called.
        let passed = env.iter().filter(|(name, _)| !name.to_string_lossy().starts_with("LIZA_"));
        secrets(
            passed.map(|(name, value)| (name, value)),
            [("LIZA_AGENT_TOKEN", self.token.clone().into_bytes())],
        )
    }

    /// Names that no former session has.
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
        // The same liza for the agent as for its runner.
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
                // What it judges is the work of this claim: once another begins, its words are about something else.
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
        // If another agent has the worktree by now, it is not examined.
        let board = self.board(Some(task)).ok()?;
        if of_claim(&board, &self.agent, task, *epoch) != Claimed::Unfinished {
            return None;
        }
        match leftovers::gather(&self.ctx, task) {
            Ok(found) => Some(found),
            Err(failure) => {
                let text = format!("its worktree could not be looked at: {}", said(&failure));
                self.tell(Event::notice(text).task(task));
                None
            }
        }
    }

    fn tell_end(&self, assignment: &Assignment, ended: &Ended, left: Option<&Leftovers>) {
        let left = left.map_or(String::new(), |left| format!("; {}", left_words(left)));
        let event = Event::new(Kind::Ended, format!("{}{left}", ended.words())).about(assignment.task());
        self.tell(Event { usage: Some(ended.usage.clone()), ..event });
    }

    /// Work that is committed, announced and green, and was not submitted: the agent may have forgotten it, or may have
    /// meant it so. It is asked, once.
    fn ask_to_submit(&self, assignment: &Assignment, left: Option<&Leftovers>) -> Option<String> {
        let Assignment::Task { task, .. } = assignment else { return None };
        if !left?.is_ready_to_submit() || self.reports(task) {
            return None;
        }
        self.as_agent(assignment, &["task", "submit", task.as_str(), "--check"]).ok()?;
        let text = "committed and green, but not submitted; the agent is asked to submit or to say why not";
        self.tell(Event::notice(text).task(task));
        Some(format!(
            "Your work is committed and its validation passes, but it is not submitted. Submit or say why not: `liza task submit {task}`; if something is missing, \
             do that first; if you cannot, `liza task block {task} --reason \"…\" --question \"…\"`."
        ))
    }

    /// Work that is committed and announced but was not submitted: liza's own checks decide. Says why not.
    fn submit_for(&self, assignment: &Assignment, left: Option<&Leftovers>) -> Option<String> {
        let Assignment::Task { task, .. } = assignment else { return None };
        if !left?.is_ready_to_submit() || self.reports(task) {
            return None;
        }
        match self.as_agent(assignment, &["task", "submit", task.as_str()]) {
            Ok(()) => {
                let text = "committed but not submitted; submitted for the agent";
                self.tell(Event::notice(text).task(task));
                None
            }
            Err(why) => Some(format!("`liza task submit {task}` was refused: {why}")),
        }
    }

    /// A command of liza with the agent's environment and nothing more: its validation is a command of the agent's own choosing.
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

/// Names what a planner may have changed: not the revision, which moves with every heartbeat.
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
        words.push(format!("not committed: {}, kept as {kept}", left.uncommitted.join(", ")));
    }
    if let Some(left_out) = &left.left_out {
        words.push(format!("only in the worktree, not kept: {left_out}"));
    }
    words.join("; ")
}

/// The remark about this session in the prompt of the next one.
fn remark(ended: &Ended, left: Option<&Leftovers>) -> String {
    let left = left.map_or(String::new(), |left| format!(" It left: {}.", left_words(left)));
    format!("Your former session on this ended with {} before it was finished.{left}", ended.words())
}
