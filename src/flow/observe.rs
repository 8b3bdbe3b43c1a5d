//! Examines a board and its surroundings for a watcher. Examining changes nothing.

use super::moved::integration_was_moved;
use super::prelude::*;
use crate::board::Switch;
use crate::policy::alerts::{self, Moved, Outside, Problem, Report, Room, Situation, SwitchMark};
use crate::store::Snapshot;
use crate::store::files::FileIdentity;

/// A board that looks damaged is examined again after this: a person may be saving it just now.
const SETTLE: Duration = Duration::from_millis(500);

/// What can be seen without reading the board. While it stays the same, only time can make anything due.
#[derive(Debug, Clone, PartialEq)]
pub struct QuickLook {
    pub switches: Vec<SwitchMark>,
    state: Option<FileIdentity>,
    config: Option<FileIdentity>,
    head: Option<CommitId>,
    /// Not the bytes, which change all the time.
    room_is_low: bool,
    room_is_enough: bool,
}

/// Why the board could not be examined.
pub enum Unseen {
    /// This board no longer exists here.
    Gone(Failure),
    /// Only temporarily.
    Later(Failure),
}

impl From<StoreError> for Unseen {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing(_) | StoreError::OtherVersion { .. } => Self::Gone(error.into()),
            other => Self::Later(other.into()),
        }
    }
}

/// What is remembered between examinations.
pub struct Observer {
    /// Device and inode of the board's directory: another directory of the same name is another board.
    place: (u64, u64),
    config: ProjectConfig,
    config_seen: Option<FileIdentity>,
    branch: Option<String>,
    /// Problems that stop nothing.
    troubles: Vec<String>,
}

impl Observer {
    pub fn new(ctx: &Context) -> Result<Self> {
        // A damaged board can be watched; a missing or another version's board cannot.
        let read = ctx.store.read(&Needs::Nothing);
        if let Err(error @ (StoreError::Missing(_) | StoreError::OtherVersion { .. })) = read {
            return Err(error.into());
        }
        let place = ctx.store.directory_identity().ok_or_else(|| board_gone(ctx))?;
        let mut observer = Self {
            place,
            config: ProjectConfig::default(),
            config_seen: None,
            branch: None,
            troubles: Vec::new(),
        };
        observer.read_config(ctx, None);
        Ok(observer)
    }

    /// The problems since the last call.
    pub fn troubles(&mut self) -> Vec<String> {
        std::mem::take(&mut self.troubles)
    }

    /// The command that gets every alert.
    pub fn notify_command(&self) -> Option<&str> {
        self.config.watch.notify.as_deref()
    }

    /// A mistake in liza.yaml does not stop the watcher: the last valid settings still apply.
    fn read_config(&mut self, ctx: &Context, seen: Option<FileIdentity>) {
        self.config_seen = seen;
        match ctx.project_config() {
            Ok(config) => self.config = config,
            Err(failure) => {
                self.troubles.push(format!("{}; the former settings still apply", failure.message))
            }
        }
    }

    pub fn quick_look(&mut self, ctx: &Context) -> Result<QuickLook, Unseen> {
        if ctx.store.directory_identity() != Some(self.place) {
            return Err(Unseen::Gone(board_gone(ctx)));
        }
        let config = FileIdentity::at(&ctx.root().join("liza.yaml")).ok();
        if config != self.config_seen {
            self.read_config(ctx, config.clone());
        }
        let room = self.room(ctx);
        let head = self.branch.as_ref().and_then(|branch| ctx.query().ok()?.head_of_branch(branch).ok()?);
        Ok(QuickLook {
            switches: switches(ctx).map_err(Unseen::Later)?,
            state: ctx.store.file_identity(),
            config,
            head,
            room_is_low: room.is_some_and(|room| room.is_low()),
            room_is_enough: room.is_none_or(|room| room.is_enough()),
        })
    }

    fn room(&self, ctx: &Context) -> Option<Room> {
        let found = crate::host::room(ctx.machine.home())?;
        Some(Room { free: found.free, wanted: self.config.disk.threshold(found.total) })
    }

    /// Everything to report at `ctx.now`. Standing still counts from `awake_since` on.
    pub fn look(&mut self, ctx: &Context, awake_since: Option<Wall>) -> Result<Report, Unseen> {
        let mut outside = Outside {
            switches: switches(ctx).map_err(Unseen::Later)?,
            room: self.room(ctx),
            ..Outside::default()
        };
        let snapshot = match read_settled(ctx) {
            Err(StoreError::Invalid { message, hint }) => {
                return Ok(alerts::of_damage(&Problem { message, hint }, &outside, &ctx.now));
            }
            // The branch existed when this examination started.
            Err(StoreError::Missing(_)) => return Err(Unseen::Gone(board_gone(ctx))),
            other => other?,
        };
        let board = &snapshot.board;
        self.branch = Some(board.config().integration_branch.clone());
        if let Some(problem) = board_problem(board) {
            return Ok(alerts::of_damage(&problem, &outside, &ctx.now));
        }
        outside.rolled_back = snapshot.warning.filter(|warning| !warning.starts_with(EDITED_BY_HAND));
        outside.moved = match integration_was_moved(ctx, board) {
            Ok(evidence) => evidence.map(|evidence| Moved {
                branch: evidence.branch.clone(),
                to: evidence.to.as_ref().map_or("nowhere", |to| to.as_str()).to_owned(),
                description: evidence.message(),
                remedy: evidence.remedy(),
            }),
            Err(failure) => {
                self.troubles.push(format!("the integration branch cannot be examined: {failure}"));
                None
            }
        };
        outside.caps = super::spend::holding(self.config.spend, board);
        let world = ctx.store.surroundings(board)?;
        let booted = booted(&ctx.now);
        Ok(alerts::of_board(&Situation {
            board,
            world: &world,
            now: &ctx.now,
            outside: &outside,
            awake_since: awake_since.map_or(booted, |since| since.max(booted)),
        }))
    }
}

fn board_gone(ctx: &Context) -> Failure {
    let board = ctx.store.display();
    failure!(ErrorCode::BoardGone, "{board} is not the same board any more: it was moved or removed")
        .hint("start the watcher again in the board's repository; `liza status` shows whether a board exists")
}

/// When this machine came up, by the wall clock.
fn booted(now: &Stamp) -> Wall {
    let seconds = i64::try_from(now.monotonic / NANOS_PER_SECOND).unwrap_or(i64::MAX);
    Wall(now.wall.0.saturating_sub(seconds))
}

fn switches(ctx: &Context) -> Result<Vec<SwitchMark>> {
    let set = ctx.store.switches()?.set;
    Ok(set
        .into_iter()
        .filter_map(|switch| {
            // A switch that is cleared meanwhile is not set.
            let (identity, since) = ctx.store.switch_identity(switch.kind, switch.subject.as_deref())?;
            let Switch { kind, subject, reason, .. } = switch;
            Some(SwitchMark { kind, subject, reason, identity, since })
        })
        .collect())
}

fn read_settled(ctx: &Context) -> Result<Snapshot, StoreError> {
    match ctx.store.read(&Needs::Everything) {
        Err(StoreError::Invalid { .. }) => {
            std::thread::sleep(SETTLE);
            ctx.store.read(&Needs::Everything)
        }
        other => other,
    }
}

/// What `validate` would report.
fn board_problem(board: &Board) -> Option<Problem> {
    let found = violations(board);
    let first = found.first()?;
    let more = found.len() - 1;
    let message = if more == 0 { first.to_string() } else { format!("{first} (and {more} more)") };
    Some(Problem {
        message,
        hint: "`liza validate` lists the faults; `liza doctor` shows the remedies".to_owned(),
    })
}

/// The file a person finds when a CHECKPOINT switch has waited too long.
pub fn escalate(ctx: &Context, text: &str) -> Result<PathBuf> {
    Ok(ctx.store.escalate(&format!(
        "{}\n{text}\nThe newest report in {} lists what waits for a person. `liza resume` lets the team continue and removes this file.\n",
        ctx.now.wall,
        ctx.store.reports_shown()
    ))?)
}

/// Sends the planner a message with the same text that a person gets.
pub fn notify_planner(ctx: &Context, alert: &alerts::Alert) -> Result<()> {
    let subject = format!("{} {}", alert.kind.as_str(), alert.subject);
    let body = format!("{}\n{}", alert.text, alert.hint);
    let message = Draft::new(Recipient::Role(Role::planner()), MessageKind::Escalate, subject, body);
    ctx.commit(SendMessage { message }).map(|_| ())
}
