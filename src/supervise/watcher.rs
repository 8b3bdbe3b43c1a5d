//! The watcher: looks at the board when it changes or a deadline passes, and reports to a person what needs attention.
//!
//! All rules hold without the watcher, and the board shows the same problems.

use super::listen::listen;
use super::notifier::{Notifier, TimedAlert};
use super::oversight::Oversight;
use super::prelude::*;
use crate::flow::observe::{self, Observer, QuickLook, Unseen};
use crate::flow::summary;
use crate::flow::views::Keeper;
use crate::policy::alerts::{Kind, Memory, Severity};
use crate::store::StoreError;

/// The longest sleep: changes of the integration branch, the disk and liza.yaml send no notification.
const SLOW_POLL: Duration = Duration::from_secs(2);
/// After a look at the board the watcher rests this many times as long as the look took, so that a large, busy board does
/// not occupy a processor. Switches are checked meanwhile.
const REST: u32 = 4;
/// How long `--once` waits for `watch.notify` to report all alerts.
const NOTIFY_WITH_ONCE: Duration = Duration::from_secs(60);
/// How long the watcher waits at its end for a running `watch.notify`.
const NOTIFY_AT_END: Duration = Duration::from_secs(2);

/// Why the watcher ended without an error.
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
    // Overseer and breaker act first, so that the same look reports their acts.
    let looked = watcher.quick_look().and_then(|_| {
        watcher.oversee();
        watcher.look()
    });
    let alerts = match looked {
        Ok(looked) => looked.alerts,
        Err(Unseen::Gone(failure) | Unseen::Later(failure)) => return Err(failure),
    };
    watcher.notifier.finish(NOTIFY_WITH_ONCE);
    troubles.try_iter().for_each(|text| watcher.say(&text));
    Ok(alerts)
}

/// Watches until a signal arrives, the output is closed, or the board is gone.
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
        watcher.say(&format!("no change notification; the watcher checks five times a second: {why}"));
    }
    let mut schedule = LookSchedule { seen: None, due: None, rested: Instant::now() };
    loop {
        let end = match watcher.turn(&mut schedule, show) {
            Ok(Some(end)) => end,
            Ok(None) => return Ok(watcher.end(Ended::OutputClosed)),
            Err(Unseen::Gone(failure)) => return Err(failure),
            Err(Unseen::Later(failure)) => {
                watcher.say(&format!("cannot read the board now: {}", failure.message));
                schedule.seen = None;
                Instant::now() + SLOW_POLL
            }
        };
        let mut next = events.recv_timeout(end.saturating_duration_since(Instant::now()));
        // One look answers all pending events.
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

/// When the next look is due.
struct LookSchedule {
    /// The files' state at the last look.
    seen: Option<QuickLook>,
    /// When a deadline passes.
    due: Option<Instant>,
    /// Until then, only a switch causes a look.
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
    /// A standstill is counted from here at the earliest.
    started: Option<Wall>,
    reported: BTreeSet<String>,
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
                Failure::new(ErrorCode::StaleWatched, format!("{holder} watches this board already"))
                    .hint("one watcher is enough; its alerts are in .liza/alerts.log")
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
            reported: BTreeSet::new(),
            views: Keeper::default(),
            oversight: Oversight::default(),
            _one_of_it: lock,
            ctx,
        })
    }

    /// Looks if a look is due. Returns when the next one is due; none if the output is closed.
    fn turn(&mut self, schedule: &mut LookSchedule, show: Show) -> Result<Option<Instant>, Unseen> {
        let quick_look = self.quick_look()?;
        let now = Instant::now();
        let overseen = self.oversee();
        let calls = schedule.seen.as_ref() != Some(&quick_look) || schedule.due.is_some_and(|at| at <= now);
        let switched = schedule.seen.as_ref().is_none_or(|seen| seen.switches != quick_look.switches);
        let mut end = now + SLOW_POLL;
        if calls && (switched || now >= schedule.rested) {
            let looked = self.look()?;
            if !looked.alerts.iter().all(show) {
                return Ok(None);
            }
            schedule.seen = Some(quick_look);
            schedule.due = looked.due_in.map(|due| Instant::now() + due);
            schedule.rested = Instant::now() + now.elapsed() * REST;
        } else if calls {
            end = end.min(schedule.rested);
        }
        let end = overseen.map_or(end, |again_in| end.min(now + again_in));
        Ok(Some(schedule.due.map_or(end, |due| end.min(due))))
    }

    /// Runs overseer, breaker and sprint deadline; returns when to look again at the latest.
    fn oversee(&mut self) -> Option<Duration> {
        let revision = self.ctx.store.published_revision();
        let looked = self.oversight.look(self.ctx, revision);
        looked.done.iter().chain(&looked.questions).for_each(|line| self.ctx.narrate(line));
        looked.troubles.iter().for_each(|trouble| self.say(trouble));
        looked.again_in
    }

    fn end(&mut self, how: Ended) -> Ended {
        self.notifier.finish(NOTIFY_AT_END);
        how
    }

    /// Prints a lasting problem only once.
    fn say(&mut self, text: &str) {
        if self.reported.len() > 1000 {
            self.reported.clear();
        }
        if self.reported.insert(text.to_owned()) {
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

    /// Examines everything, acts where settings allow it, and reports new alerts.
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
                // Only once, when the board becomes invalid: a person who then removes PAUSE has decided.
                Kind::InvalidBoard if !was_broken => self.pause(alert),
                Kind::CheckpointStale if alert.severity == Severity::Critical => self.escalate(alert),
                Kind::RubberStamp => self.notify_planner(alert),
                _ => {}
            }
        }
        let alerts: Vec<TimedAlert> =
            news.into_iter().map(|alert| TimedAlert { time: self.ctx.now.wall, alert }).collect();
        alerts.iter().for_each(|alert| self.write_and_notify(alert));
        // Last: a watcher that dies in between reports twice rather than never.
        self.keep();
        let due_in = report.due_in.map(Duration::from_secs);
        let again_in = self.keep_views();
        Ok(Looked { alerts, due_in: due_in.into_iter().chain(again_in).min() })
    }

    /// Writes the board's views for other programs.
    fn keep_views(&mut self) -> Option<Duration> {
        let revision = self.ctx.store.published_revision();
        let kept = self.views.keep(self.ctx, revision);
        kept.troubles.iter().for_each(|trouble| self.say(trouble));
        kept.again_in
    }

    /// Writes the summary of a CHECKPOINT switch that was set by `touch`.
    fn summarise(&mut self) {
        match summary::write_once(self.ctx) {
            Ok(None) => {}
            Ok(Some(report)) => self.ctx.narrate(format!("summary: {}", report.display())),
            Err(failure) => self.say(&format!("could not write the summary: {}", failure.message)),
        }
    }

    fn pause(&mut self, alert: &Alert) {
        let reason = format!("set by `liza watch`: {}; then `liza resume`", alert.text);
        if let Err(error) = self.ctx.store.set_switch(SwitchKind::Pause, None, &reason) {
            self.say(&format!("could not set PAUSE: {error}"));
        }
    }

    /// Also sends the planner a message about a lack of reviewers.
    fn notify_planner(&mut self, alert: &Alert) {
        if let Err(failure) = observe::notify_planner(self.ctx, alert) {
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
        let notified = self.observer.notify_command().map(|command| self.notifier.notify(command, alert));
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
            Err(error) => {
                self.say(&format!("could not save which alerts were reported; some may repeat: {error}"))
            }
        }
    }
}
