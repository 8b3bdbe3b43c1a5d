//! Workstreams: opened by a plan, each with a supervisor's task that plans it; its slices come after its plan was accepted.

use super::add_tasks::NewTask;
use super::prelude::*;
use crate::board::route::{RunMode, Way};

/// How many streams the board remembers, beside those of the current goal.
const STREAMS_KEPT: usize = 200;

/// Most streams that one goal is split into.
const MOST_STREAMS: usize = 50;

/// The task of a supervisor that plans a stream. Its scope says what it plans for; it owns nothing.
pub fn plan_task(stream: &NewStream) -> Result<NewTask, Refusal> {
    let id = plan_id(&stream.id).map_err(|why| {
        refusal!(Code::Value, "the workstream `{}` cannot have a task `{}-plan`: {why}", stream.id, stream.id)
            .hint("choose a shorter id")
    })?;
    let allowed = stream.allowed();
    let listed = |paths: &[PathPattern]| {
        let texts: Vec<&str> = paths.iter().map(PathPattern::as_str).collect();
        texts.join(", ")
    };
    let minutes = stream.timebox_minutes.unwrap_or(*PLANNING_MINUTES.end());
    let after = if stream.depends_on.is_empty() {
        String::new()
    } else {
        let names: Vec<&str> = stream.depends_on.iter().map(WorkstreamId::as_str).collect();
        format!("\nIts slices start after the workstreams {}.", names.join(", "))
    };
    Ok(NewTask {
        title: clip_title(&format!("Plan the workstream {}: {}", stream.id, stream.goal.replace('\n', " "))),
        description: format!(
            "Plan how this workstream reaches its goal: {}\nownership_paths: {}\nallowed_paths: {}{after}",
            stream.goal,
            listed(&stream.ownership_paths),
            listed(&allowed)
        ),
        spec_ref: Some(GOAL_SPEC.to_owned()),
        done_when: vec![
            "the result is one worker-result.supervisor/1 whose dispatch_plan has every slice of the workstream".to_owned(),
        ],
        scope: Scope { inside: allowed, outside: Vec::new() },
        kind: Kind::Report,
        role: Role::supervisor(),
        slice_kind: Some(SliceKind::Work),
        workstream: Some(stream.id.clone()),
        depends_on: stream.depends_on.iter().filter_map(|other| plan_id(other).ok()).collect(),
        timebox_minutes: Some(minutes.clamp(*PLANNING_MINUTES.start(), *PLANNING_MINUTES.end())),
        ..NewTask::blank(id)
    })
}

fn clip_title(text: &str) -> String {
    text.chars().take(120).collect()
}

/// Whether a plan may open these streams.
pub fn check_streams(board: &Board, tasks: &[NewTask], streams: &[NewStream]) -> Result<(), Refusal> {
    if streams.len() > MOST_STREAMS {
        return Err(refusal!(
            Code::Limit,
            "{} workstreams; a goal has at most {MOST_STREAMS}",
            streams.len()
        ));
    }
    for (at, stream) in streams.iter().enumerate() {
        let id = &stream.id;
        let same = |other: &WorkstreamId| other.as_str().eq_ignore_ascii_case(id.as_str());
        if board.workstream(id).is_some() || streams[..at].iter().any(|other| same(&other.id)) {
            return Err(refusal!(Code::IdTaken, "there is a workstream `{id}` already")
                .hint("choose another id; `liza status --json` lists the workstreams")
                .detail("workstream", id.as_str()));
        }
        text_given("the goal of a workstream", &stream.goal)?;
        if stream.ownership_paths.is_empty() {
            return Err(refusal!(Code::Incomplete, "the workstream `{id}` owns no paths")
                .hint("name under ownership_paths what only its slices may change")
                .detail("workstream", id.as_str()));
        }
        if stream.timebox_minutes.is_some_and(|minutes| !STREAM_MINUTES.contains(&minutes)) {
            return Err(refusal!(
                Code::Limit,
                "the workstream `{id}` is given {} minutes; a step of a workstream takes {} to {}",
                stream.timebox_minutes.unwrap_or_default(),
                STREAM_MINUTES.start(),
                STREAM_MINUTES.end()
            )
            .hint("split it differently; only its merge slice may take longer")
            .detail("workstream", id.as_str())
            .detail("field", "timebox_minutes"));
        }
        if let Some(path) = stream.ownership_paths.iter().find(|path| !is_within(path, &stream.allowed())) {
            return Err(refusal!(
                Code::Scope,
                "the workstream `{id}` owns {path}, which is not among its allowed_paths"
            )
            .hint("add it to allowed_paths, or leave allowed_paths out")
            .detail("workstream", id.as_str()));
        }
        let rivals = board.rest.workstreams.iter().filter(|other| is_live(board, other));
        let rivals = rivals.map(|other| (&other.id, other.ownership_paths.as_slice()));
        let beside = streams[..at].iter().map(|other| (&other.id, other.ownership_paths.as_slice()));
        for (other, paths) in rivals.chain(beside) {
            if let Some((ours, theirs)) = any_overlap(&stream.ownership_paths, paths) {
                return Err(refusal!(
                    Code::PathsOverlap,
                    "the workstreams `{id}` and `{other}` both own paths of {ours} and {theirs}"
                )
                .hint("give each workstream paths of its own, or make them one workstream")
                .detail("workstream", id.as_str())
                .detail("other", other.as_str()));
            }
        }
        for other in &stream.depends_on {
            let beside = streams.iter().any(|known| known.id.as_str().eq_ignore_ascii_case(other.as_str()));
            if same(other) || !beside && board.workstream(other).is_none() {
                return Err(refusal!(
                    Code::DependencyMissing,
                    "the workstream `{id}` depends on `{other}`, which is none"
                )
                .hint("depends_on of a workstream names other workstreams")
                .detail("workstream", id.as_str()));
            }
        }
        let plans = |task: &NewTask| {
            task.workstream.as_ref() == Some(id)
                && task.kind == Kind::Report
                && task.role == Role::supervisor()
                && plan_id(id).is_ok_and(|plan| plan == task.id)
        };
        if !tasks.iter().any(plans) {
            return Err(refusal!(Code::Incomplete, "the workstream `{id}` has no task `{id}-plan`")
                .detail("workstream", id.as_str()));
        }
    }
    Ok(())
}

/// Something of it is not finished. What is over owns nothing.
fn is_live(board: &Board, stream: &Workstream) -> bool {
    let of_it = |task: &&Task| task.workstream.as_ref().is_some_and(|id| stream.is(id));
    stream.of_goal == board.rest.goal.id
        && board.tasks.iter().filter(of_it).any(|task| !task.status.is_terminal())
}

/// Puts streams on the board, with the tasks that plan them.
pub fn open_streams(board: &mut Board, streams: &[NewStream]) {
    let of_goal = board.rest.goal.id.clone();
    for stream in streams {
        let Ok(plan) = plan_id(&stream.id) else { continue };
        board.rest.workstreams.push(Workstream {
            id: stream.id.clone(),
            goal: stream.goal.clone(),
            ownership_paths: stream.ownership_paths.clone(),
            allowed_paths: stream.allowed(),
            depends_on: stream.depends_on.clone(),
            timebox_minutes: stream.timebox_minutes,
            of_goal: of_goal.clone(),
            plan,
            accepted: None,
            slices: Vec::new(),
            collapsed: None,
        });
    }
    // Of goals that are over, the last are remembered.
    let known = &mut board.rest.workstreams;
    let surplus = known.len().saturating_sub(STREAMS_KEPT);
    let mut left = surplus;
    known.retain(|stream| {
        let goes = left > 0 && stream.of_goal != of_goal;
        left -= usize::from(goes);
        !goes
    });
}

/// Whether tasks may join the streams they name. `opened` come with the same plan; `accepted` is the one whose plan makes them.
pub fn check_members(
    board: &Board,
    call: &Call,
    tasks: &[NewTask],
    opened: &[NewStream],
    accepted: Option<&WorkstreamId>,
) -> Result<(), Refusal> {
    for task in tasks {
        let Some(id) = &task.workstream else { continue };
        let is_plan = plan_id(id).is_ok_and(|plan| plan == task.id);
        let known = board.workstream(id);
        let fresh = opened.iter().find(|stream| &stream.id == id);
        if is_plan && (fresh.is_some() || known.is_some()) {
            continue;
        }
        let Some(stream) = known else {
            if fresh.is_some() {
                return Err(plan_first(task, id));
            }
            return Err(refusal!(
                Code::UnknownRecord,
                "task `{}` names the workstream `{id}`, which is none",
                task.id
            )
            .hint("`workstreams:` in a plan opens one; `liza status --json` lists them")
            .detail("task", task.id.as_str())
            .detail("workstream", id.as_str()));
        };
        let planned = stream.accepted.is_some() || accepted == Some(id);
        if !planned && call.guards.on(Guard::PlanFirst) {
            return Err(plan_first(task, id));
        }
        if let Some(collapsed) = stream.collapsed.as_ref().filter(|_| task.kind != Kind::Report) {
            return Err(refusal!(
                Code::ReadOnly,
                "the workstream `{id}` only looks ({}), so it takes no task of kind {}",
                collapsed.reason,
                task.kind.as_str()
            )
            .hint("use kind report, or open another workstream")
            .detail("task", task.id.as_str())
            .detail("workstream", id.as_str()));
        }
        let outside = |paths: &[PathPattern], within: &[PathPattern]| {
            paths.iter().find(|path| !is_within(path, within)).map(ToString::to_string)
        };
        let allowed = outside(&task.scope.inside, &stream.allowed_paths);
        let owned = outside(&task.owned(), &stream.allowed_paths);
        if let Some(path) = allowed.or(owned) {
            return Err(refusal!(
                Code::Scope,
                "task `{}` takes {path}, which is outside of its workstream `{id}`",
                task.id
            )
            .hint("keep its paths inside of the workstream's allowed_paths")
            .detail("task", task.id.as_str())
            .detail("workstream", id.as_str()));
        }
    }
    Ok(())
}

fn plan_first(task: &NewTask, stream: &WorkstreamId) -> Refusal {
    refusal!(
        Code::PlanFirst,
        "task `{}` belongs to the workstream `{stream}`, whose plan is not accepted yet",
        task.id
    )
    .hint(format!("its supervisor plans first: `liza task show {stream}-plan`"))
    .detail("task", task.id.as_str())
    .detail("workstream", stream.as_str())
}

/// What the route of the goal asks of a plan: streams where it is multi, no change where it only looks.
pub fn check_route(
    board: &Board,
    call: &Call,
    tasks: &[NewTask],
    streams: &[NewStream],
) -> Result<(), Refusal> {
    let Some(route) = board.route() else { return Ok(()) };
    if route.mode == RunMode::ReadOnly
        && let Some(task) = tasks.iter().find(|task| task.kind != Kind::Report)
    {
        return Err(refusal!(
            Code::ReadOnly,
            "{} only looks (--mode read_only), so task `{}` of kind {} is refused",
            board.rest.goal.id,
            task.id,
            task.kind.as_str()
        )
        .hint("use kind report; a goal that changes files is given with --mode write or mixed")
        .detail("task", task.id.as_str()));
    }
    if route.route != Way::Multi {
        return Ok(());
    }
    let of_goal = board.rest.workstreams.iter().any(|stream| stream.of_goal == board.rest.goal.id);
    let reports = tasks.iter().all(|task| task.kind == Kind::Report);
    let by_hand = !matches!(call.by, Actor::Agent { .. });
    let without = tasks.iter().find(|task| task.workstream.is_none() && task.kind != Kind::Report);
    let missing = !of_goal && streams.is_empty() && !(by_hand && reports);
    if let Some(task) = without.or(tasks.first().filter(|_| missing)) {
        return Err(refusal!(
            Code::StreamsNeeded,
            "{} is routed to multi, and task `{}` belongs to no workstream",
            board.rest.goal.id,
            task.id
        )
        .hint("give the plan `workstreams:` with id, goal and ownership_paths; each supervisor's accepted plan makes the tasks")
        .detail("task", task.id.as_str()));
    }
    Ok(())
}

/// The tasks of an accepted plan belong to its stream.
pub fn check_accepted(board: &Board, call: &Call, plan: &TaskId, tasks: &[NewTask]) -> Result<(), Refusal> {
    let Some(stream) = board.planned_by(plan) else { return check_members(board, call, tasks, &[], None) };
    if let Some(task) = tasks.iter().find(|task| task.workstream.as_ref() != Some(&stream.id)) {
        return Err(refusal!(
            Code::Value,
            "task `{}` does not belong to the workstream `{}`",
            task.id,
            stream.id
        )
        .detail("task", task.id.as_str()));
    }
    if board.route().is_some_and(|route| route.mode == RunMode::ReadOnly)
        && let Some(task) = tasks.iter().find(|task| task.kind != Kind::Report)
    {
        return Err(refusal!(Code::ReadOnly, "the goal only looks, so task `{}` is refused", task.id)
            .detail("task", task.id.as_str()));
    }
    check_members(board, call, tasks, &[], Some(&stream.id))
}

/// The plan of a workstream brings its tasks.
pub fn check_stream_plan(board: &Board, plan: &TaskId) -> Result<(), Refusal> {
    match board.planned_by(plan) {
        None => Ok(()),
        Some(stream) => {
            Err(refusal!(Code::Incomplete, "the plan of the workstream `{}` brings no task", stream.id)
                .detail("workstream", stream.id.as_str()))
        }
    }
}

/// From here on the stream takes slices.
pub fn note_accepted(board: &mut Board, call: &Call, plan: &TaskId, tasks: &[NewTask]) {
    if let Some(stream) = board.rest.workstreams.iter_mut().find(|stream| &stream.plan == plan) {
        stream.accepted = Some(call.now.wall);
        stream.slices = tasks.iter().map(|task| task.id.clone()).collect();
    }
}
