//! Why a session failed, by the provider's own words, and what follows: what a retry cannot help is not tried again.

use super::super::event::FailureNote;
use super::super::prelude::*;
use super::super::runner::{After, Left, Runner, said};
use super::super::session::Ended;
use crate::board::breaker::CrashClass;
use crate::board::rules::RecordCrash;
use crate::policy::provider::{Ending, OutputFormat};
use crate::policy::provider_errors::again_at;
use crate::text::{clipped, shown_line};

/// How long a provider rests that does not say when its quota is there again.
const QUOTA_REST: Duration = Duration::from_secs(1800);
/// A limit of requests that lasts longer than this is a matter of quota.
const LONGEST_LIMIT: i64 = 600;
/// So often in a row a service that cannot be had for the moment is waited for.
const MOST_WAITS: u32 = 5;
/// The first of those waits, in pauses after a crash.
const FIRST_WAIT: u32 = 15;
const LONGEST_LINE: usize = 300;
/// So many sessions in a row that changed nothing, and whose last failed call was denied, are enough.
const DENIED_SESSIONS: u32 = 2;

/// What went wrong with a session.
pub(super) struct Trouble {
    pub class: CrashClass,
    /// What the provider said, or what came of its tools.
    line: Option<String>,
    until: Option<Wall>,
}

impl Trouble {
    /// One of which no more is known.
    pub fn plain() -> Self {
        Self { class: CrashClass::Crash, line: None, until: None }
    }
}

impl Runner {
    /// What was wrong with a session that crashed, or that ended well and came to nothing.
    pub(super) fn trouble(&self, ended: &Ended, ending: Ending, empty: u32) -> Option<Trouble> {
        let usage = &ended.usage;
        let table = self.entry.errors.clone().unwrap_or_default();
        let crashed = matches!(ending, Ending::Crash);
        if !crashed && (ending != Ending::Done || empty == 0) {
            return None;
        }
        let denied = usage.tool_calls > 0 && usage.failed_calls >= usage.tool_calls;
        let calls = || format!("{} of {} tool calls failed", usage.failed_calls, usage.tool_calls);
        // Where some work, one that did not may be a slip; the second session in a row that comes to nothing is none.
        if (denied || usage.failed_calls > 0 && empty >= DENIED_SESSIONS)
            && let Some(last) = usage.last_failure.as_deref()
            && table.class_of(last) == Some(CrashClass::Permission)
        {
            let line = Some(format!("{}: {}", calls(), one_line(last)));
            return Some(Trouble { class: CrashClass::Permission, line, until: None });
        }
        // Some sandboxes hide from liza what they denied; that liza.yaml asked for it is known.
        if !crashed && usage.failed_calls == usage.tool_calls && self.is_started_without_liza() {
            let line = format!("`deny` of the role {} in liza.yaml keeps `liza` from it", self.role);
            return Some(Trouble { class: CrashClass::Permission, line: Some(line), until: None });
        }
        // What a tool printed about a login is not the provider's; where no tool was called, all is. Plain text may be about
        // anything, so that it counts only after a crash.
        let own = usage.last_error.iter().filter(|_| crashed || usage.errors > 0);
        let talks =
            matches!(self.entry.output.unwrap_or_default(), OutputFormat::Text | OutputFormat::AiderText);
        let printed = ended.said.iter().rev().filter(|_| crashed || usage.tool_calls == 0 && !talks);
        // What liza and git advise is no error, and names commits and paths.
        let candidates: Vec<&String> =
            own.chain(printed).filter(|line| !line.starts_with("hint: ")).collect();
        let known = candidates.iter().find_map(|line| Some((table.class_of(line)?, line)));
        let line = match known {
            Some((_, line)) => Some(one_line(line)),
            None if crashed && denied => Some(calls()),
            None => candidates.first().map(|line| one_line(line)),
        };
        let class = match known {
            // That is about one tool of many.
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

    /// Whether its role is denied a kind of tools without which its program cannot run `liza`.
    fn is_started_without_liza(&self) -> bool {
        let denied = Registry::new(&self.config).started_without(&self.role, &self.entry);
        denied.classes.iter().filter_map(|class| self.entry.denial(*class)).any(|denial| denial.without_liza)
    }

    /// What follows; nothing, if the agent is to be started again now.
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
                self.tell_failure(&trouble, format!("{words}; not started again"), task.as_ref());
                self.let_go(assignment, &words);
                Some(After::Leave(Left::GaveUp(words)))
            }
            CrashClass::Quota => {
                self.record_failure(&trouble, &words, task.as_ref());
                self.tell_failure(&trouble, words.clone(), task.as_ref());
                self.let_go(assignment, &words);
                if self.options.parent.is_some() {
                    // The run knows by now, and starts this provider again when it is time.
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
                self.tell_failure(&trouble, text, task.as_ref());
                self.pause(task.as_ref(), pause).map(After::Leave)
            }
            CrashClass::Context | CrashClass::Crash => {
                self.after_crash(assignment, ended, task.as_ref(), &trouble, &words)
            }
        }
    }

    /// Never longer than its lease lasts.
    fn wait_for(&self, trouble: &Trouble) -> Duration {
        let said = trouble.until.map(|until| until.since(crate::host::now().wall).max(1).unsigned_abs());
        let growing = back_off() * FIRST_WAIT * 2u32.pow(self.waits.saturating_sub(1).min(8));
        let lease = self.board_config_lease() / 2;
        said.map_or(growing, Duration::from_secs).min(Duration::from_secs(lease.max(1)))
    }

    fn board_config_lease(&self) -> u64 {
        self.ctx.read(&Needs::Nothing).map_or(60, |snapshot| snapshot.board.config().lease_seconds)
    }

    /// What a person reads: what is wrong, in whose words, and what helps.
    fn words_of(&self, trouble: &Trouble, ended: &Ended) -> String {
        let (name, line) = (&self.provider, trouble.line.as_deref());
        let said = line.map_or(String::new(), |line| format!(": {line}"));
        match trouble.class {
            CrashClass::Login => {
                let help = self.entry.login_command.as_deref();
                let help =
                    help.map_or(String::new(), |command| format!("; `{command}` logs in, then run again"));
                format!("{name} is not logged in{said}{help}")
            }
            CrashClass::Permission => {
                format!(
                    "{name} denied the agent's tools{said}; `permissions` of `{name}` in liza.yaml grants them"
                )
            }
            CrashClass::Quota => {
                let until = trouble.until.map_or(String::new(), |until| format!(" until {until}"));
                format!("{name} has no quota{until}{said}")
            }
            CrashClass::RateLimit => format!("{name} limits its requests{said}"),
            CrashClass::Network => format!("{name} cannot reach its service{said}"),
            CrashClass::Context => format!("the context of {name} is full{said}"),
            CrashClass::Crash => format!("{}{said}", ended.words()),
        }
    }

    pub(super) fn tell_failure(&self, trouble: &Trouble, text: String, task: Option<&TaskId>) {
        let note =
            FailureNote { class: trouble.class, provider: self.provider.clone(), until: trouble.until };
        let event = Event::new(Kind::Crashed, text).about(task);
        self.tell(Event { failure: Some(note), ..event });
    }

    /// For status and the breaker. The runner goes on whether or not it can be put on record.
    pub(super) fn record_failure(&self, trouble: &Trouble, words: &str, task: Option<&TaskId>) {
        let crash = RecordCrash {
            task: task.cloned(),
            text: words.to_owned(),
            class: Some(trouble.class),
            provider: Some(self.provider.clone()),
            until: trouble.until,
        };
        if let Err(failure) = self.ctx.commit(crash) {
            self.tell(Event::notice(format!("the crash is not on record: {}", said(&failure))));
        }
    }
}

fn one_line(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    clipped(&shown_line(first.trim()), LONGEST_LINE).into_owned()
}
