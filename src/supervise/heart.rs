//! The lease of a living agent is renewed by a thread of its runner; that of a dead one is not.

use super::ledger::Booking;
use super::prelude::*;
use crate::board::rules::{Heartbeat, Renew, RenewReview};

/// Stops when dropped, and no renewal is under way after that.
pub struct Heart {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Sooner than the next regular beat, because this one failed.
const RETRY: Duration = Duration::from_secs(5);

/// In whose name it beats, for what, and how often.
#[derive(Clone)]
pub struct HeartParts {
    pub root: PathBuf,
    pub caller: Caller,
    pub assignment: Assignment,
    pub every: Duration,
}

impl HeartParts {
    pub fn open(&self) -> Result<Context, Failure> {
        Context::open(&self.root, &self.caller, Rc::new(|_| {}))
    }
}

impl Heart {
    /// Tells the board what the session uses as well, so that it is known whatever becomes of the runner.
    pub fn start(
        parts: HeartParts,
        alive: Process,
        booking: Booking,
        lost: impl Fn(String) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let every = parts.every;
        let thread = crate::host::start_thread(move || {
            let mut beat_at = Instant::now() + every;
            let mut pause = every.min(booking.every);
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                if !crate::host::lives(&alive) {
                    return;
                }
                if Instant::now() >= beat_at {
                    let rest = match renew(&parts) {
                        Renewed::Yes => every,
                        Renewed::NotNow => RETRY.min(every),
                        Renewed::Never(why) => {
                            lost(why);
                            return;
                        }
                    };
                    beat_at = Instant::now() + rest;
                }
                if booking.is_due()
                    && let Ok(ctx) = parts.open()
                {
                    booking.book(&ctx);
                }
                pause = beat_at.saturating_duration_since(Instant::now()).min(booking.every);
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum Renewed {
    Yes,
    NotNow,
    Never(String),
}

fn renew(parts: &HeartParts) -> Renewed {
    let Ok(ctx) = parts.open() else { return Renewed::NotNow };
    let done = match &parts.assignment {
        Assignment::Task { task, epoch } => {
            ctx.commit_step(Renew { task: task.clone(), epoch: Some(*epoch) }).map(|_| ())
        }
        Assignment::Review { task } => ctx.commit_step(RenewReview { task: task.clone() }).map(|_| ()),
        Assignment::Plan { .. } => ctx.commit_step(Heartbeat {}).map(|_| ()),
    };
    match done {
        Ok(()) => Renewed::Yes,
        // The agent itself may just have submitted or let go; its runner sees that when it ends.
        Err(failure) if failure.code == Code::Transition => Renewed::NotNow,
        Err(failure) if failure.code == Code::Identity => Renewed::Never(failure.message),
        Err(failure) if failure.code.class() == Class::Stale => {
            renew_what_it_holds(&ctx, &parts.assignment, failure.message)
        }
        Err(_) => Renewed::NotNow,
    }
}

/// The claim it was started for has ended; it may have gone on to another by itself, or somebody took it away.
fn renew_what_it_holds(ctx: &Context, assignment: &Assignment, why: String) -> Renewed {
    let Ok(snapshot) = ctx.read(&Needs::Nothing) else { return Renewed::NotNow };
    let Ok(actor) = snapshot.board.identify(&ctx.credentials) else { return Renewed::NotNow };
    let mine = |lease: &Lease| lease.agent == actor.id() && lease.incarnation == actor.incarnation();
    let works = |task: &&Task| task.status == Status::Working && task.lease.as_ref().is_some_and(mine);
    if let Some(held) = snapshot.board.tasks.iter().find(works) {
        let renew = Renew { task: held.id.clone(), epoch: Some(held.epoch) };
        return if ctx.commit_step(renew).is_ok() { Renewed::Yes } else { Renewed::NotNow };
    }
    let task = assignment.task().and_then(|task| snapshot.board.task(task));
    let taken = task.is_some_and(|task| match assignment {
        Assignment::Review { .. } => {
            task.judged_by().is_some() && task.review_lease.as_ref().is_some_and(|lease| !mine(lease))
        }
        _ => task.status == Status::Working && !task.lease.as_ref().is_some_and(mine),
    });
    // What it handed in or let go itself is no loss.
    if taken { Renewed::Never(why) } else { Renewed::NotNow }
}
