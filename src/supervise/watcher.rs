//! The watcher: looks at the board whenever something changes or becomes due, and tells a person what needs one.
//!
//! Nothing depends on it: every rule holds without it, and whatever it would have told is still there to be seen.

use super::listen::listen;
use super::notifier::{Notifier, Told};
use super::oversight::Oversight;
use super::prelude::*;
use crate::flow::observe::{self, Observer, Pulse, Unseen};
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
    NobodyListens,
}

enum Event {
    Changed,
    Signal(i32),
    Trouble(String),
}

/// Shows an alert to whoever sits there; false when nobody does any more.
pub type Show<'a> = &'a dyn Fn(&Told) -> bool;

/// Looks once, tells what is new, and returns it.
pub fn once(ctx: &mut Context) -> Result<Vec<Told>, Failure> {
    let (send, troubles) = channel();
    let mut watcher = Watcher::open(ctx, None, move |text| {
        let _ = send.send(text);
    })?;
    // What is done about agents and patterns is told in the same look.
    let looked = watcher.pulse().and_then(|_| {
        watcher.oversee();
        watcher.look()
    });
    let told = match looked {
        Ok(looked) => looked.told,
        Err(Unseen::Gone(failure) | Unseen::Later(failure)) => return Err(failure),
    };
    watcher.notifier.finish(LAST_WORDS);
    troubles.try_iter().for_each(|text| watcher.say(&text));
    Ok(told)
}

/// Watches until a signal ends it, nobody listens any more, or the board is gone.
pub fn watch(ctx: &mut Context, show: Show) -> Result<Ended, Failure> {
    let (send, events) = channel();
    let started = ctx.now.wall;
    // Signals before its lock says that somebody watches, for whoever sees that may end it by one; and changes before the
    // first look, so that nothing slips in between.
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
            Ok(None) => return Ok(watcher.end(Ended::NobodyListens)),
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
    seen: Option<Pulse>,
    /// When time alone makes something due.
    due: Option<Instant>,
    /// Until then only a switch calls for one.
    rested: Instant,
}

struct Looked {
    told: Vec<Told>,
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
        let kept = ctx.store.alerts_told();
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

    /// Looks if anything calls for it. Says how long to wait for the next thing that does; nothing, if nobody listens.
    fn turn(&mut self, rhythm: &mut Rhythm, show: Show) -> Result<Option<Instant>, Unseen> {
        let pulse = self.pulse()?;
        let now = Instant::now();
        let overseen = self.oversee();
        let calls = rhythm.seen.as_ref() != Some(&pulse) || rhythm.due.is_some_and(|at| at <= now);
        let switched = rhythm.seen.as_ref().is_none_or(|seen| seen.switches != pulse.switches);
        let mut end = now + SLOW_POLL;
        if calls && (switched || now >= rhythm.rested) {
            let looked = self.look()?;
            if !looked.told.iter().all(show) {
                return Ok(None);
            }
            rhythm.seen = Some(pulse);
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

    fn pulse(&mut self) -> Result<Pulse, Unseen> {
        self.ctx.now = crate::host::now();
        let pulse = self.observer.pulse(self.ctx);
        self.observer.troubles().iter().for_each(|trouble| self.say(trouble));
        let pulse = pulse?;
        if pulse.switches.iter().any(|switch| switch.subject.is_none()) {
            self.memory.note_halt(self.ctx.now.wall);
            self.keep();
        }
        Ok(pulse)
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
                // Only when it breaks: whoever takes the pause away from a board that is still broken has decided.
                Kind::InvalidBoard if !was_broken => self.pause(alert),
                Kind::CheckpointStale if alert.severity == Severity::Critical => self.escalate(alert),
                Kind::RubberStamp => self.tell_planner(alert),
                _ => {}
            }
        }
        let told: Vec<Told> = news.into_iter().map(|alert| Told { time: self.ctx.now.wall, alert }).collect();
        told.iter().for_each(|told| self.write_and_notify(told));
        // Last: a watcher that dies in between tells again rather than never.
        self.keep();
        let due_in = report.due_in.map(Duration::from_secs);
        let again_in = self.keep_views();
        Ok(Looked { told, due_in: due_in.into_iter().chain(again_in).min() })
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
            self.say(&format!("the planner could not be told of {}: {}", alert.subject, failure.message));
        }
    }

    fn escalate(&mut self, alert: &Alert) {
        match observe::escalate(self.ctx, &alert.text) {
            Ok(path) => self.ctx.narrate(format!("a person is needed: {}", path.display())),
            Err(failure) => self.say(&failure.message),
        }
    }

    fn write_and_notify(&mut self, told: &Told) {
        if let Err(error) = self.ctx.store.append_alert(&to_json_line(told)) {
            self.say(&error.to_string());
        }
        let notified = self.observer.notify_command().map(|command| self.notifier.tell(command, told));
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
            Err(error) => self.say(&format!("alerts may be told twice: {error}")),
        }
    }
}
