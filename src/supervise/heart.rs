//! The lease of a living agent is renewed by a thread of its runner; that of a dead one is not.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::board::lease::Lease;
use crate::board::rules::{Heartbeat, Renew, RenewReview};
use crate::board::{Needs, Process, Status, TaskId, Transition};
use crate::flow::context::{Caller, Context};

use super::ledger::Booking;

/// What is kept alive.
#[derive(Debug, Clone)]
pub enum Beat {
    Task { task: TaskId, epoch: u64 },
    Review { task: TaskId },
    Presence,
}

/// Stops when dropped, and no renewal is under way after that.
pub struct Heart {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Sooner than the next regular beat, because this one failed.
const RETRY: Duration = Duration::from_secs(5);

/// In whose name it beats, and how often.
pub struct HeartParts {
    pub root: PathBuf,
    pub caller: Caller,
    pub every: Duration,
}

impl Heart {
    /// Tells the board what the session uses as well, so that it is known whatever becomes of the runner.
    pub fn start(
        parts: HeartParts,
        beat: Beat,
        alive: Process,
        booking: Booking,
        lost: impl Fn(String) + Send + 'static,
    ) -> Self {
        let (stop, stopped) = channel();
        let HeartParts { root, caller, every } = parts;
        let thread = std::thread::spawn(move || {
            let mut beat_at = Instant::now() + every;
            let mut pause = every.min(booking.every);
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                if !crate::host::lives(&alive) {
                    return;
                }
                if Instant::now() >= beat_at {
                    let rest = match renew(&root, &caller, &beat) {
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
                    && let Ok(ctx) = Context::open(&root, &caller, Rc::new(|_| {}))
                {
                    booking.book(&ctx);
                }
                pause = beat_at.saturating_duration_since(Instant::now()).min(booking.every);
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
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

fn renew(root: &std::path::Path, caller: &Caller, beat: &Beat) -> Renewed {
    let Ok(ctx) = Context::open(root, caller, Rc::new(|_| {})) else { return Renewed::NotNow };
    let what: Transition = match beat {
        Beat::Task { task, epoch } => Renew { task: task.clone(), epoch: Some(*epoch) }.into(),
        Beat::Review { task } => RenewReview { task: task.clone() }.into(),
        Beat::Presence => Heartbeat {}.into(),
    };
    match ctx.commit_step(what) {
        Ok(_) => Renewed::Yes,
        // The agent itself may just have submitted or let go; its runner sees that when it ends.
        Err(failure) if failure.code.starts_with("refused.transition") => Renewed::NotNow,
        Err(failure) if failure.code.starts_with("refused.identity") => Renewed::Never(failure.message),
        Err(failure) if failure.code.starts_with("stale.") => {
            renew_what_it_holds(&ctx, beat, failure.message)
        }
        Err(_) => Renewed::NotNow,
    }
}

/// The claim it was started for has ended; it may have gone on to another by itself, or somebody took it away.
fn renew_what_it_holds(ctx: &Context, beat: &Beat, why: String) -> Renewed {
    let Ok(snapshot) = ctx.read(&Needs::Nothing) else { return Renewed::NotNow };
    let Ok(actor) = snapshot.board.identify(&ctx.credentials) else { return Renewed::NotNow };
    let mine = |lease: &Lease| lease.agent == actor.id() && lease.incarnation == actor.incarnation();
    let held = snapshot
        .board
        .tasks
        .iter()
        .find(|task| task.status == Status::Working && task.lease.as_ref().is_some_and(mine));
    if let Some(held) = held {
        let renew = Renew { task: held.id.clone(), epoch: Some(held.epoch) };
        return if ctx.commit_step(renew).is_ok() { Renewed::Yes } else { Renewed::NotNow };
    }
    let taken = match beat {
        Beat::Task { task, .. } => snapshot
            .board
            .task(task)
            .is_some_and(|task| task.status == Status::Working && !task.lease.as_ref().is_some_and(mine)),
        Beat::Review { task } => snapshot.board.task(task).is_some_and(|task| {
            task.judged_by().is_some() && task.review_lease.as_ref().is_some_and(|lease| !mine(lease))
        }),
        Beat::Presence => false,
    };
    // What it handed in or let go itself is no loss.
    if taken { Renewed::Never(why) } else { Renewed::NotNow }
}
