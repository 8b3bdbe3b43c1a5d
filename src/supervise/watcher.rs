//! The watcher: looks at the board whenever something changes or becomes due, and tells a person what needs one.
//!
//! Nothing depends on it: every rule holds without it, and what it would have reported stays visible on the board.

use super::listen::listen;
use super::notifier::{Notifier, TimedAlert};
use super::oversight::Oversight;
use super::prelude::*;
use crate::flow::observe::{self, Observer, QuickLook, Unseen};
use crate::flow::summary;
use crate::flow::views::Keeper;
use crate::policy::alerts::{Kind, Memory, Severity};
use crate::store::StoreError;

/// How long it sleeps at most: the integration branch, the disk and liza.yaml change without a word.
const SLOW_POLL: Duration = Duration::from_secs(2);
/// After a look at the board it rests so many times as long as that took, so that a large board in a storm of changes does
/// not cost a processor. A switch is looked at all the same.
const REST: u32 = 4;
/// What a hanging `watch.notify` may hold up `--once` for, when several alerts wait for it.
const LAST_WORDS: Duration = Duration::from_secs(60);
/// Long enough to end the command that is running.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why it ended without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Signal(i32),
    OutputClosed,
}

enum Event {
    Changed,
    Signal(i32),
    Trouble(String),
}

/// Shows an alert on the terminal; false when the terminal or pipe is closed.
pub type Show<'a> = &'a dyn Fn(&TimedAlert) -> bool;

/// Looks once, reports new alerts, and returns them.
pub fn once(ctx: &mut Context) -> Result<Vec<TimedAlert>, Failure> {
    let (send, troubles) = channel();
    let mut watcher = Watcher::open(ctx, None, move |text| {
        let _ = send.send(text);
    })?;
    // What the overseer and the breaker do is reported in the same look.
    let looked = watcher.quick_look().and_then(|_| {
        watcher.oversee();
        watcher.look()
    });
    let alerts = match looked {
        Ok(looked) => looked.alerts,
        Err(Unseen::Gone(failure) | Unseen::Later(failure)) => return Err(failure),
    };
    watcher.notifier.finish(LAST_WORDS);
    troubles.try_iter().for_each(|text| watcher.say(&text));
    Ok(alerts)
}

/// Watches until a signal comes, the output is closed, or the board is gone.
pub fn watch(ctx: &mut Context, show: Show) -> Result<Ended, Failure> {
    let (send, events) = channel();
    let started = ctx.now.wall;
    // Handle signals before taking the watcher's lock: a process that sees the lock may send one. Listen for changes before
    // the first look, so that none is missed.
    let changes = listen(ctx.store.watched_dir(), &send, Event::Signal, || Event::Changed)?;
    let mut watcher = Watcher::open(ctx, Some(started), move |text| {
        let _ = send.send(Event::Trouble(text));
    })?;
    if let Some(why) = changes.is_polling() {
        watcher.say(&format!(
            "changes are looked for five times a second, because notification is not to be had: {why}"
        ));
    }
    let mut rhythm = Rhythm { seen: None, due: None, rested: Instant::now() };
    loop {
        let end = match watcher.turn(&mut rhythm, show) {
            Ok(Some(end)) => end,
            Ok(None) => return Ok(watcher.end(Ended::OutputClosed)),
            Err(Unseen::Gone(failure)) => return Err(failure),
            Err(Unseen::Later(failure)) => {
                watcher.say(&format!("the board cannot be looked at now: {}", failure.message));
                rhythm.seen = None;
                Instant::now() + SLOW_POLL
            }
        };
        let mut next = events.recv_timeout(end.saturating_duration_since(Instant::now()));
        // Whatever else has come meanwhile calls for the same one look.
        loop {
            match next {
                Ok(Event::Signal(signal)) => return Ok(watcher.end(Ended::Signal(signal))),
                Ok(Event::Trouble(text)) => watcher.say(&text),
                Ok(Event::Changed) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
            next = events.recv_timeout(Duration::ZERO);
        }
    }
}

/// When the next look is called for.
struct Rhythm {
    /// What there was to see at the last one.
    seen: Option<QuickLook>,
    /// When time alone makes something due.
    due: Option<Instant>,
    /// Until then only a switch calls for one.
    rested: Instant,
}

struct Looked {
    alerts: Vec<TimedAlert>,
    due_in: Option<Duration>,
}

struct Watcher<'c> {
    ctx: &'c mut Context,
    observer: Observer,
    memory: Memory,
    /// The memory as it is on disk.
    kept: String,
    notifier: Notifier,
    /// Standing still counts from here on at the earliest.
    started: Option<Wall>,
    said: BTreeSet<String>,
    views: Keeper,
    oversight: Oversight,
    _one_of_it: SideLock,
}

impl<'c> Watcher<'c> {
    fn open(
        ctx: &'c mut Context,
        started: Option<Wall>,
        trouble: impl Fn(String) + Send + 'static,
    ) -> Result<Self, Failure> {
        let observer = Observer::new(ctx)?;
        let lock = ctx.machine.lock_watching(ctx.now.wall).map_err(|error| match error {
            StoreError::Busy { holder, .. } => {
                Failure::new(ErrorCode::StaleWatched, format!("this board is being watched by {holder}"))
                    .hint("one is enough: what it has to say is in .liza/alerts.log")
            }
            other => other.into(),
        })?;
        let kept = ctx.store.reported_alerts();
        Ok(Self {
            observer,
            memory: Memory::parse(&kept),
            kept,
            notifier: Notifier::new(ctx.root(), trouble),
            started,
            said: BTreeSet::new(),
            views: Keeper::default(),
            oversight: Oversight::default(),
            _one_of_it: lock,
            ctx,
        })
    }

    /// Looks if anything calls for it. Says how long to wait for the next thing that does; nothing, if the output is closed.
    fn turn(&mut self, rhythm: &mut Rhythm, show: Show) -> Result<Option<Instant>, Unseen> {
        let quick_look = self.quick_look()?;
        let now = Instant::now();
        let overseen = self.oversee();
        let calls = rhythm.seen.as_ref() != Some(&quick_look) || rhythm.due.is_some_and(|at| at <= now);
        let switched = rhythm.seen.as_ref().is_none_or(|seen| seen.switches != quick_look.switches);
        let mut end = now + SLOW_POLL;
        if calls && (switched || now >= rhythm.rested) {
            let looked = self.look()?;
            if !looked.alerts.iter().all(show) {
                return Ok(None);
            }
            rhythm.seen = Some(quick_look);
            rhythm.due = looked.due_in.map(|due| Instant::now() + due);
            rhythm.rested = Instant::now() + now.elapsed() * REST;
        } else if calls {
            end = end.min(rhythm.rested);
        }
        let end = overseen.map_or(end, |again_in| end.min(now + again_in));
        Ok(Some(rhythm.due.map_or(end, |due| end.min(due))))
    }

    /// Looks after agents, patterns and the sprint; says when to look again at the latest.
    fn oversee(&mut self) -> Option<Duration> {
        let revision = self.ctx.store.published_revision();
        let looked = self.oversight.look(self.ctx, revision);
        looked.done.iter().chain(&looked.questions).for_each(|line| self.ctx.narrate(line));
        looked.troubles.iter().for_each(|trouble| self.say(trouble));
        looked.again_in
    }

    fn end(&mut self, how: Ended) -> Ended {
        self.notifier.finish(FAREWELL);
        how
    }

    /// Says what goes on being so only once.
    fn say(&mut self, text: &str) {
        if self.said.len() > 1000 {
            self.said.clear();
        }
        if self.said.insert(text.to_owned()) {
            self.ctx.narrate(text);
        }
    }

    fn quick_look(&mut self) -> Result<QuickLook, Unseen> {
        self.ctx.now = crate::host::now();
        let quick_look = self.observer.quick_look(self.ctx);
        self.observer.troubles().iter().for_each(|trouble| self.say(trouble));
        let quick_look = quick_look?;
        if quick_look.switches.iter().any(|switch| switch.subject.is_none()) {
            self.memory.note_halt(self.ctx.now.wall);
            self.keep();
        }
        Ok(quick_look)
    }

    /// Looks at everything, acts where the watcher is to act, and tells what is new.
    fn look(&mut self) -> Result<Looked, Unseen> {
        self.summarise();
        let awake_since = self.memory.halted().max(self.started);
        let report = self.observer.look(self.ctx, awake_since);
        self.observer.troubles().iter().for_each(|trouble| self.say(trouble));
        let report = report?;
        let was_broken = self.memory.holds(Kind::InvalidBoard);
        let news = self.memory.news(&report);
        for alert in &news {
            match alert.kind {
                // Only when it breaks: a person who removes PAUSE from a board that is still broken has decided.
                Kind::InvalidBoard if !was_broken => self.pause(alert),
                Kind::CheckpointStale if alert.severity == Severity::Critical => self.escalate(alert),
                Kind::RubberStamp => self.tell_planner(alert),
                _ => {}
            }
        }
        let alerts: Vec<TimedAlert> =
            news.into_iter().map(|alert| TimedAlert { time: self.ctx.now.wall, alert }).collect();
        alerts.iter().for_each(|alert| self.write_and_notify(alert));
        // Last: a watcher that dies in between tells again rather than never.
        self.keep();
        let due_in = report.due_in.map(Duration::from_secs);
        let again_in = self.keep_views();
        Ok(Looked { alerts, due_in: due_in.into_iter().chain(again_in).min() })
    }

    /// The board's files for other programs, while it can be read.
    fn keep_views(&mut self) -> Option<Duration> {
        let revision = self.ctx.store.published_revision();
        let kept = self.views.keep(self.ctx, revision);
        kept.troubles.iter().for_each(|trouble| self.say(trouble));
        kept.again_in
    }

    /// A checkpoint made by `touch` has no report yet.
    fn summarise(&mut self) {
        match summary::write_once(self.ctx) {
            Ok(None) => {}
            Ok(Some(report)) => self.ctx.narrate(format!("summary: {}", report.display())),
            Err(failure) => self.say(&format!("no summary could be written: {}", failure.message)),
        }
    }

    fn pause(&mut self, alert: &Alert) {
        let reason = format!("set by `liza watch`: {}; then `liza resume`", alert.text);
        if let Err(error) = self.ctx.store.set_switch(SwitchKind::Pause, None, &reason) {
            self.say(&format!("PAUSE could not be set: {error}"));
        }
    }

    /// Who reviews is the planner's concern, not only a person's.
    fn tell_planner(&mut self, alert: &Alert) {
        if let Err(failure) = observe::tell_planner(self.ctx, alert) {
            self.say(&format!("could not notify the planner of {}: {}", alert.subject, failure.message));
        }
    }

    fn escalate(&mut self, alert: &Alert) {
        match observe::escalate(self.ctx, &alert.text) {
            Ok(path) => self.ctx.narrate(format!("a person is needed: {}", path.display())),
            Err(failure) => self.say(&failure.message),
        }
    }

    fn write_and_notify(&mut self, alert: &TimedAlert) {
        if let Err(error) = self.ctx.store.append_alert(&to_json_line(alert)) {
            self.say(&error.to_string());
        }
        let notified = self.observer.notify_command().map(|command| self.notifier.tell(command, alert));
        if let Some(Err(trouble)) = notified {
            self.say(&trouble);
        }
    }

    fn keep(&mut self) {
        let text = self.memory.text();
        if text == self.kept {
            return;
        }
        match self.ctx.store.remember_alerts(&text) {
            Ok(()) => self.kept = text,
            Err(error) => self.say(&format!("alerts may be reported twice: {error}")),
        }
    }
}
