//! Where a goal that was given to `liza run` goes: one small job, or workstreams.

use super::{RunArgs, SingleKind};
use crate::board::goals::GOAL_SPEC;
use crate::board::route::{Estimate, Routing, RunMode, Way};
use crate::board::slice::SliceKind;
use crate::board::state::GoalStatus;
use crate::board::task::Scope;
use crate::cli::prelude::*;
use crate::supervise::routing::{Estimated, estimate};
use crate::text::ssot_id;

/// What a person may say about the route.
#[derive(Args)]
pub struct RouteArgs {
    /// Next goal, routed to one small job or to workstreams; queued if a goal is open
    #[arg(value_name = "WHAT", value_hint = ValueHint::Other)]
    pub what: Option<String>,
    /// Maximum duration in seconds (default: the planner estimates it)
    #[arg(long = "t-max", value_name = "SECONDS", requires_all = ["what", "t_why"])]
    pub t_max: Option<u64>,
    /// Reason for the maximum duration
    #[arg(long = "t-why", value_name = "TEXT", requires = "t_max")]
    pub t_why: Option<String>,
    /// Risk of a wrong result: low, medium or high
    #[arg(long, requires = "what")]
    pub risk: Option<Risk>,
    /// One small job without a plan, for one coder and one reviewer
    #[arg(long, requires = "what", conflicts_with_all = ["multi", "team"])]
    pub single: bool,
    /// Workstreams, each planned by a supervisor first
    #[arg(long, requires = "what")]
    pub multi: bool,
    /// read_only (no task may change a file), write or mixed
    #[arg(long, requires = "what")]
    pub mode: Option<RunMode>,
}

impl RouteArgs {
    fn routing(&self, session: &Session) -> Result<Routing, Failure> {
        let force = match (self.single, self.multi) {
            (true, _) => Some(Way::Single),
            (_, true) => Some(Way::Multi),
            _ => None,
        };
        let t_why = self.t_why.as_ref().map(|why| session.input.text(why)).transpose()?;
        let mode = self.mode.unwrap_or_default();
        Ok(Routing { t_max_s: self.t_max, t_why, risk: self.risk, mode, force })
    }
}

impl RunArgs {
    /// What was typed as WHAT, if it is to be a goal.
    pub(super) fn goal_text(&self, session: &Session) -> Result<Option<String>, Failure> {
        let Some(what) = self.route.what.as_ref() else { return Ok(None) };
        let what = session.input.text(what)?;
        if !what.trim().contains(char::is_whitespace) && !self.route.single {
            return Err(Failure::usage(format!("`{}` is one word, no goal", shown_line(&what)))
                .hint("a goal is a sentence in quotes; `liza --help` lists the commands"));
        }
        Ok(Some(what))
    }

    /// Makes it the next goal, with what was said about its route.
    pub(super) fn give_goal(&self, session: &Session, goal: String) -> Result<(), Failure> {
        let routing = Some(self.route.routing(session)?);
        let add = AddGoal { goal, spec_ref: GOAL_SPEC.to_owned(), routing, audited: true };
        let added = session.ctx.commit_step(add)?.outcome;
        let text = match added.status {
            GoalStatus::InProgress => format!("{}: {}", added.goal, shown_line(&added.description)),
            _ => {
                let ahead = usize::try_from(added.ahead).unwrap_or(usize::MAX);
                format!(
                    "{} is queued behind {}, and routed when its turn comes",
                    added.goal,
                    plural(ahead, "goal")
                )
            }
        };
        session.ctx.narrate(text);
        Ok(())
    }

    /// A job of its own: added and put on record as a single one, which nothing but the person has decided.
    pub(super) fn give_job(&self, session: &Session, what: &str) -> Result<TaskId, Failure> {
        let ctx = &session.ctx;
        let routing = self.route.routing(session)?;
        let board = ctx.read(&Needs::Nothing)?.board;
        let spec = board.rest.goal.spec_ref.clone();
        let (id, job) = self.job(ctx, &board, what, spec, routing.mode)?;
        let job = AddTasks { single: true, ..job };
        let unknown = "not estimated: --single was given".to_owned();
        let record = RecordRoute { job: Some(job), ..record(what, &routing, said(&routing).ok_or(unknown)) };
        ctx.commit(record)?;
        Ok(id)
    }

    /// Routes the current goal, if it was given to `liza run` and has no route yet.
    pub(super) fn route_goal(&self, session: &Session) -> Result<(), Failure> {
        let ctx = &session.ctx;
        let board = ctx.read(&Needs::Nothing)?.board;
        let goal = &board.rest.goal;
        let Some(routing) = goal.routing.clone().filter(|_| goal.is_open() && board.route().is_none()) else {
            return Ok(());
        };
        let what = goal.description.clone();
        let estimated = self.estimated(session, &what, &routing)?;
        let (_, job) = self.job(ctx, &board, &what, goal.spec_ref.clone(), routing.mode)?;
        let record =
            RecordRoute { goal: Some(goal.id.clone()), job: Some(job), ..record(&what, &routing, estimated) };
        let routed = ctx.commit_step(record)?.outcome;
        let seconds = routed.t_max_s.map_or("unknown".to_owned(), |seconds| format!("{seconds} s"));
        let way = routed.route.as_str();
        ctx.narrate(format!(
            "routed to {way}: {} (t_max {seconds}: {})",
            routed.reason,
            shown_line(&routed.t_why)
        ));
        Ok(())
    }

    fn estimated(
        &self,
        session: &Session,
        what: &str,
        routing: &Routing,
    ) -> Result<Result<Estimate, String>, Failure> {
        if let Some(said) = said(routing) {
            return Ok(Ok(said));
        }
        if let Some(way) = routing.force {
            return Ok(Err(format!("not estimated: --{} was given", way.as_str())));
        }
        match estimate(&session.ctx, self.provider.as_deref(), what) {
            Estimated::Known(estimate) => Ok(Ok(estimate)),
            Estimated::Unknown(why) => {
                session.ctx.narrate(&why);
                Ok(Err(why))
            }
            Estimated::Interrupted => {
                let signal = crate::flow::interruption::signal().unwrap_or(signal_hook::consts::SIGINT);
                Err(Failure::new(ErrorCode::of_signal(signal), "stopped by a signal")
                    .hint("run it again to go on where it was"))
            }
        }
    }

    /// The whole of it as one task: reviewed like any other.
    fn job(
        &self,
        ctx: &Context,
        board: &Board,
        what: &str,
        spec: String,
        mode: RunMode,
    ) -> Result<(TaskId, AddTasks), Failure> {
        let id = crate::flow::free_id::for_title(ctx, board, what, "job")?;
        let everywhere = vec!["**".to_owned()];
        let inside = if self.inside.is_empty() { everywhere } else { self.inside.clone() };
        let inside = inside
            .iter()
            .map(|text| PathPattern::new(text).map_err(|why| Failure::usage(format!("--in {text}: {why}"))))
            .collect::<Result<Vec<_>, _>>()?;
        let title: String = what.lines().next().unwrap_or(what).chars().take(120).collect();
        let task = NewTask {
            title,
            description: what.to_owned(),
            spec_ref: Some(spec),
            done_when: vec![what.to_owned()],
            scope: Scope { inside, outside: Vec::new() },
            kind: match self.kind {
                SingleKind::Code => Kind::Code,
                SingleKind::Docs => Kind::Docs,
                SingleKind::Config => Kind::Config,
            },
            tags: vec!["single".to_owned()],
            ..NewTask::blank(id.clone())
        };
        let task = if mode == RunMode::ReadOnly { reading(task) } else { task };
        let specs = ctx.pin_specs(std::slice::from_ref(&task))?;
        Ok((id, AddTasks::one(task, true, specs)))
    }
}

/// The same as a job that changes nothing and answers with a report.
fn reading(task: NewTask) -> NewTask {
    NewTask {
        kind: Kind::Report,
        role: Role::operator(),
        slice_kind: Some(SliceKind::Work),
        scope: Scope::default(),
        ..task
    }
}

/// What the person said. Who names the seconds vouches for a small, clear job; the risk is low unless said otherwise.
fn said(routing: &Routing) -> Option<Estimate> {
    let risk = routing.risk.unwrap_or_default();
    let t_why = routing.t_why.clone().unwrap_or_default();
    Some(Estimate { t_max_s: routing.t_max_s?, t_why, tiny: true, clear: true, risk })
}

fn record(what: &str, routing: &Routing, estimated: Result<Estimate, String>) -> RecordRoute {
    let (estimate, unknown) = match estimated {
        Ok(estimate) => (Some(estimate), None),
        Err(why) => (None, Some(why)),
    };
    RecordRoute {
        ssot_id: ssot_id(what),
        goal: None,
        task: None,
        job: None,
        estimate,
        unknown,
        mode: routing.mode,
        risk: routing.risk,
        force: routing.force,
        after: None,
        once: true,
    }
}
