//! Sprints: starting, showing, and closing them with figures and a draft of a retrospective.

use super::metrics::Everything;
use super::prelude::*;
use super::retrospective;
use crate::board::state::{DeadlineHalt, SprintStatus};

pub struct Begin {
    pub id: Option<String>,
    pub goal: Option<String>,
    pub scope: Vec<TaskId>,
    pub deadline: Option<Wall>,
}

/// Starts a sprint. Closes the initial sprint of the board first, if it was never used.
pub fn start(ctx: &Context, begin: Begin) -> Result<(SprintStarted, u64)> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let what = |board: &Board| StartSprint {
        id: begin.id.clone().unwrap_or_else(|| next_id(board)),
        goal: begin.goal.clone(),
        scope: begin.scope.clone(),
        deadline: begin.deadline,
    };
    if board.rest.sprint.is_undeclared() {
        // Refuse an invalid new sprint before the old one ends.
        let world = World::default();
        let mut without = board.clone();
        without.rest.sprint.status = SprintStatus::Closed;
        let call = Call::new(without.identify(&ctx.credentials)?, &ctx.now, &world);
        what(&without).check(&without, &call)?;
        close_open(ctx, None, false)?;
        crash::point("sprint.closed");
    }
    Ok(ctx.commit(what(&board))?.done())
}

/// `sprint-N` with the next number.
fn next_id(board: &Board) -> String {
    let known = std::iter::once(&board.rest.sprint).chain(&board.rest.former_sprints);
    let numbers = known.filter_map(|sprint| sprint.id.strip_prefix("sprint-")?.parse::<u64>().ok());
    format!("sprint-{}", numbers.max().unwrap_or(0).saturating_add(1))
}

pub fn set_scope(ctx: &Context, add: Vec<TaskId>, drop: Vec<TaskId>) -> Result<(SprintScope, u64)> {
    let id = ctx.read(&Needs::Nothing)?.board.rest.sprint.id;
    Ok(ctx.commit(SetSprintScope { id, add, drop })?.done())
}

/// A closed sprint.
#[derive(Serialize)]
pub struct Closed {
    #[serde(flatten)]
    pub sprint: SprintClosed,
    pub metrics: Metrics,
    /// The path of the retrospective's draft.
    #[serde(skip)]
    pub retrospective: PathBuf,
    /// Whether the CHECKPOINT switch still halts the team.
    #[serde(skip)]
    pub halted: bool,
    #[serde(skip)]
    pub revision: u64,
}

pub fn close(ctx: &Context, note: Option<String>) -> Result<Closed> {
    close_open(ctx, note, true)
}

/// The draft exists before the board names it, so the board never names a missing file.
fn close_open(ctx: &Context, note: Option<String>, is_request: bool) -> Result<Closed> {
    let everything = Everything::read(ctx)?;
    let sprint = &everything.board.rest.sprint;
    let (id, metrics) = (sprint.id.clone(), BTreeMap::new());
    let mut what = CloseSprint { id, metrics, retrospective: None, note: note.clone() };
    ctx.ask(&everything.board, what.clone())?;
    let mut ending = sprint.clone();
    ending.timeline.ended = Some(ctx.now.wall);
    ending.note = note;
    let metrics = everything.of_sprint(&ending);
    what.metrics = metrics.figures().into_iter().collect();
    let text = retrospective::draft(&everything, &ending, &metrics);
    let path = write_draft(ctx, sprint, &text)?;
    crash::point("sprint.drafted");
    let shown = path.strip_prefix(ctx.root()).unwrap_or(&path).display().to_string();
    what.retrospective = Some(shown);
    let committed = if is_request { ctx.commit(what)? } else { ctx.commit_step(what)? };
    let halted = ctx.store.switches().is_ok_and(|switches| {
        switches.set.iter().any(|switch| switch.kind == SwitchKind::Checkpoint && switch.subject.is_none())
    });
    let (sprint, revision) = committed.done();
    Ok(Closed { sprint, metrics, retrospective: path, halted, revision })
}

/// Under an unused name: people may have edited an older draft.
fn write_draft(ctx: &Context, sprint: &Sprint, text: &str) -> Result<PathBuf> {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let safe: String = sprint.id.chars().map(safe).take(64).collect();
    let stem = if safe.starts_with("sprint") { safe } else { format!("sprint-{safe}") };
    for number in 1..1000 {
        let name = if number == 1 { format!("{stem}.md") } else { format!("{stem}-{number}.md") };
        if let (path, true) = ctx.store.publish_report(&name, text)? {
            return Ok(path);
        }
    }
    Err(failure!(ErrorCode::IoReports, "all names for {stem}.md in {} are taken", ctx.store.reports_shown())
        .hint("move old retrospectives elsewhere"))
}

/// The deadline of the open sprint, if it was not handled yet.
pub fn due(board: &Board) -> Option<Wall> {
    let sprint = &board.rest.sprint;
    let waits = sprint.is_open() && sprint.timeline.halt != Some(DeadlineHalt::Done);
    sprint.timeline.deadline.filter(|_| waits)
}

/// Sets the CHECKPOINT switch when a deadline has passed, only once: liza does not set it again after a person clears it.
/// Returns a line about it.
pub fn handle_deadline(ctx: &Context) -> Result<Option<String>> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let Some(deadline) = due(&board).filter(|deadline| *deadline <= ctx.now.wall) else { return Ok(None) };
    let sprint = &board.rest.sprint;
    let step = |halt: DeadlineHalt| PassDeadline { id: sprint.id.clone(), halt };
    // Recorded first: if this process dies before the end, another one continues.
    if sprint.timeline.halt.is_none() {
        ctx.commit_as_liza(step(DeadlineHalt::Begun))?;
        crash::point("deadline.begun");
    }
    let reason = format!(
        "sprint {} has reached its deadline of {deadline}; `liza sprint show`; `liza sprint close` if it is over; then `liza resume` lets the team continue",
        sprint.id
    );
    let set = ctx.store.set_switch(SwitchKind::Checkpoint, None, &reason)?;
    crash::point("deadline.set");
    ctx.commit_as_liza(step(DeadlineHalt::Done))?;
    super::summary::write_once(ctx)?;
    let done = if set { "is set:" } else { "was set already;" };
    Ok(Some(format!("CHECKPOINT {done} {reason}")))
}
