//! A thread of the runner renews the agent's lease while the agent's process lives.

use super::ledger::Booking;
use super::prelude::*;
use crate::board::rules::{Heartbeat, Renew, RenewReview};

/// Stops when dropped, and no renewal is under way after that.
pub struct LeaseRenewer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Pause after a failed renewal; shorter than the regular one.
const RETRY: Duration = Duration::from_secs(5);

/// Which lease to renew, for which agent, and how often.
#[derive(Clone)]
pub struct RenewalParts {
    pub root: PathBuf,
    pub caller: Caller,
    pub assignment: Assignment,
    pub every: Duration,
}

impl RenewalParts {
    pub fn open(&self) -> Result<Context, Failure> {
        Context::open(&self.root, &self.caller, Rc::new(|_| {}))
    }
}

impl LeaseRenewer {
    /// Also records on the board what the session uses, so that this survives the runner.
    pub fn start(
        parts: RenewalParts,
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

impl Drop for LeaseRenewer {
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

fn renew(parts: &RenewalParts) -> Renewed {
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
        // The agent may just have submitted or released its task; the runner sees that when the session ends.
        Err(failure) if failure.code == Code::Transition => Renewed::NotNow,
        Err(failure) if failure.code == Code::Identity => Renewed::Never(failure.message),
        Err(failure) if failure.code.class() == Class::Stale => {
            renew_what_it_holds(&ctx, &parts.assignment, failure.message)
        }
        Err(_) => Renewed::NotNow,
    }
}

/// The claim that the agent was started for has ended: the agent may have claimed another task, or lost the claim.
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
    // What the agent submitted or released itself is not lost.
    if taken { Renewed::Never(why) } else { Renewed::NotNow }
}
