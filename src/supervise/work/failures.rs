//! Classifies a session's failure by the provider's own messages, and decides whether to try again.

use super::super::event::FailureNote;
use super::super::prelude::*;
use super::super::runner::{After, Left, Runner, failure_text};
use super::super::session::Ended;
use crate::board::breaker::CrashClass;
use crate::board::rules::RecordCrash;
use crate::policy::provider::{Ending, OutputFormat};
use crate::policy::provider_errors::again_at;
use crate::text::{clipped, shown_line};

/// Pause of a provider that does not say when its quota returns.
const QUOTA_REST: Duration = Duration::from_secs(1800);
/// A rate limit that lasts longer than this counts as missing quota.
const LONGEST_LIMIT: i64 = 600;
/// How many times in a row the runner waits for an unavailable service.
const MOST_WAITS: u32 = 5;
/// The first of those waits, in pauses after a crash.
const FIRST_WAIT: u32 = 15;
const LONGEST_LINE: usize = 300;
/// The runner gives up after this many sessions in a row without a change and with a denied last call.
const DENIED_SESSIONS: u32 = 2;

/// The failure of a session.
pub(super) struct Trouble {
    pub class: CrashClass,
    /// The provider's message, or the state of its tool calls.
    line: Option<String>,
    until: Option<Wall>,
}

impl Trouble {
    /// A failure without a known cause.
    pub fn plain() -> Self {
        Self { class: CrashClass::Crash, line: None, until: None }
    }
}

impl Runner {
    /// The cause of a crash, or of a successful session without any change.
    pub(super) fn trouble(&self, ended: &Ended, ending: Ending, empty: u32) -> Option<Trouble> {
        let usage = &ended.usage;
        let table = self.entry.errors.clone().unwrap_or_default();
        let crashed = matches!(ending, Ending::Crash);
        if !crashed && (ending != Ending::Done || empty == 0) {
            return None;
        }
        let denied = usage.tool_calls > 0 && usage.failed_calls >= usage.tool_calls;
        let calls = || format!("{} of {} tool calls failed", usage.failed_calls, usage.tool_calls);
        // If some calls succeed, one failed call may be a mistake; two sessions in a row without a change are not.
        if (denied || usage.failed_calls > 0 && empty >= DENIED_SESSIONS)
            && let Some(last) = usage.last_failure.as_deref()
            && table.class_of(last) == Some(CrashClass::Permission)
        {
            let line = Some(format!("{}: {}", calls(), one_line(last)));
            return Some(Trouble { class: CrashClass::Permission, line, until: None });
        }
        // Some sandboxes do not report what they denied; but liza.yaml shows the configured `deny`.
        if !crashed && usage.failed_calls == usage.tool_calls && self.is_started_without_liza() {
            let line = format!("`deny` of the role {} in liza.yaml denies `liza` to the agent", self.role);
            return Some(Trouble { class: CrashClass::Permission, line: Some(line), until: None });
        }
        // A line about a login may come from a tool, unless no tool was called. Plain text counts only after a crash.
        let own = usage.last_error.iter().filter(|_| crashed || usage.errors > 0);
        let talks =
            matches!(self.entry.output.unwrap_or_default(), OutputFormat::Text | OutputFormat::AiderText);
        let printed = ended.last_lines.iter().rev().filter(|_| crashed || usage.tool_calls == 0 && !talks);
        // Hints of liza and git are no errors, and name commits and paths.
        let candidates: Vec<&String> =
            own.chain(printed).filter(|line| !line.starts_with("hint: ")).collect();
        let known = candidates.iter().find_map(|line| Some((table.class_of(line)?, line)));
        let line = match known {
            Some((_, line)) => Some(one_line(line)),
            None if crashed && denied => Some(calls()),
            None => candidates.first().map(|line| one_line(line)),
        };
        let class = match known {
            // This concerns only one of many tools.
            Some((class, _)) if class != CrashClass::Permission || usage.tool_calls == usage.failed_calls => {
                class
            }
            _ if crashed => CrashClass::Crash,
            _ => return None,
        };
        let now = crate::host::now().wall;
        let until = known.and_then(|(_, line)| again_at(line, now, crate::host::ahead_of_utc()));
        let lasts = until.is_some_and(|until| until.since(now) > LONGEST_LIMIT);
        let class = if class == CrashClass::RateLimit && lasts { CrashClass::Quota } else { class };
        Some(Trouble { class, line, until })
    }

    /// Whether the role's `deny` includes the tools that the program needs to run `liza`.
    fn is_started_without_liza(&self) -> bool {
        let denied = Registry::new(&self.config).started_without(&self.role, &self.entry);
        denied.classes.iter().filter_map(|class| self.entry.denial(*class)).any(|denial| denial.without_liza)
    }

    /// What the runner does next; none if it starts the agent again now.
    pub(super) fn after_trouble(
        &mut self,
        assignment: &Assignment,
        ended: &Ended,
        mut trouble: Trouble,
    ) -> Option<After> {
        let task = assignment.task().cloned();
        self.waits = match trouble.class {
            CrashClass::RateLimit | CrashClass::Network => self.waits + 1,
            _ => 0,
        };
        if self.waits > MOST_WAITS {
            trouble.class = match trouble.class {
                CrashClass::RateLimit => CrashClass::Quota,
                _ => CrashClass::Crash,
            };
        }
        if trouble.class == CrashClass::Quota && trouble.until.is_none() {
            trouble.until = Some(crate::host::now().wall.plus_seconds(QUOTA_REST.as_secs()));
        }
        let words = self.words_of(&trouble, ended);
        if let Some(files) = &self.last_files
            && crate::store::files::make_private_dirs(self.ctx.machine.home(), &files.dir).is_ok()
        {
            let text = format!("{}: {words}\n", trouble.class.as_str());
            let _ = crate::store::files::replace_disposable(&files.path("failure.txt"), text.as_bytes());
        }
        match trouble.class {
            CrashClass::Login | CrashClass::Permission => {
                self.record_failure(&trouble, &words, task.as_ref());
                self.emit_failure(&trouble, format!("{words}; not started again"), task.as_ref());
                self.release_work(assignment, &words);
                Some(After::Leave(Left::GaveUp(words)))
            }
            CrashClass::Quota => {
                self.record_failure(&trouble, &words, task.as_ref());
                self.emit_failure(&trouble, words.clone(), task.as_ref());
                self.release_work(assignment, &words);
                if self.options.parent.is_some() {
                    // The run starts this provider again when its pause is over.
                    return Some(After::Leave(Left::Done));
                }
                if self.options.once {
                    return Some(After::Leave(Left::GaveUp(words)));
                }
                let rest = trouble.until.map_or(0, |until| until.since(crate::host::now().wall));
                let rest = Duration::from_secs(rest.max(0).unsigned_abs());
                Some(self.pause(None, rest).map_or(After::GoOn, After::Leave))
            }
            CrashClass::RateLimit | CrashClass::Network => {
                self.record_failure(&trouble, &words, task.as_ref());
                let pause = self.wait_for(&trouble);
                let text = format!("{words}; started again in {} s", pause.as_secs());
                self.emit_failure(&trouble, text, task.as_ref());
                self.pause(task.as_ref(), pause).map(After::Leave)
            }
            CrashClass::Context | CrashClass::Crash => {
                self.after_crash(assignment, ended, task.as_ref(), &trouble, &words)
            }
        }
    }

    /// The pause before the next start; never longer than the lease.
    fn wait_for(&self, trouble: &Trouble) -> Duration {
        let wait = trouble.until.map(|until| until.since(crate::host::now().wall).max(1).unsigned_abs());
        let growing = back_off() * FIRST_WAIT * 2u32.pow(self.waits.saturating_sub(1).min(8));
        let lease = self.board_config_lease() / 2;
        wait.map_or(growing, Duration::from_secs).min(Duration::from_secs(lease.max(1)))
    }

    fn board_config_lease(&self) -> u64 {
        self.ctx.read(&Needs::Nothing).map_or(60, |snapshot| snapshot.board.config().lease_seconds)
    }

    /// The message for a person: the failure, the provider's words, the remedy.
    fn words_of(&self, trouble: &Trouble, ended: &Ended) -> String {
        let (name, line) = (&self.provider, trouble.line.as_deref());
        let detail = line.map_or(String::new(), |line| format!(": {line}"));
        match trouble.class {
            CrashClass::Login => {
                let help = self.entry.login_command.as_deref();
                let help =
                    help.map_or(String::new(), |command| format!("; `{command}` logs in, then run again"));
                format!("{name} is not logged in{detail}{help}")
            }
            CrashClass::Permission => {
                format!(
                    "{name} denied the agent's tools{detail}; `permissions` of `{name}` in liza.yaml grants them"
                )
            }
            CrashClass::Quota => {
                let until = trouble.until.map_or(String::new(), |until| format!(" until {until}"));
                format!("{name} has no quota{until}{detail}")
            }
            CrashClass::RateLimit => format!("{name} limits its requests{detail}"),
            CrashClass::Network => format!("{name} cannot reach its service{detail}"),
            CrashClass::Context => format!("the context of {name} is full{detail}"),
            CrashClass::Crash => format!("{}{detail}", ended.words()),
        }
    }

    pub(super) fn emit_failure(&self, trouble: &Trouble, text: String, task: Option<&TaskId>) {
        let note =
            FailureNote { class: trouble.class, provider: self.provider.clone(), until: trouble.until };
        let event = Event::new(Kind::Crashed, text).about(task);
        self.emit(Event { failure: Some(note), ..event });
    }

    /// Records the failure for `liza status` and the breaker. If that fails, the runner goes on.
    pub(super) fn record_failure(&self, trouble: &Trouble, words: &str, task: Option<&TaskId>) {
        let crash = RecordCrash {
            task: task.cloned(),
            text: words.to_owned(),
            class: Some(trouble.class),
            provider: Some(self.provider.clone()),
            until: trouble.until,
        };
        if let Err(failure) = self.ctx.commit(crash) {
            self.emit(Event::notice(format!("could not record the crash: {}", failure_text(&failure))));
        }
    }
}

fn one_line(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    clipped(&shown_line(first.trim()), LONGEST_LINE).into_owned()
}
