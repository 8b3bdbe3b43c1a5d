mod route;

use crate::board::IdError;
use crate::board::route::RunMode;
use crate::board::state::GoalStatus;
use crate::cli::live::Live;
use crate::cli::prelude::*;
use crate::flow::report;
use crate::flow::report::{RunFacts, StoppedAgent};
use crate::policy::run::{Cause, in_words};
use crate::policy::team::{HUMAN, TeamMember, default_team};
use crate::supervise::team::{Checked, Finished, Outcome, RunOptions, TeamRun};

/// Run the team until the goal is complete
///
/// Continues with the next goal in the queue (`liza goal`), and ends by printing the command to type next. With WHAT,
/// that is the next goal, and liza routes it: a tiny, clear job of low risk that takes at most 90 seconds goes to one
/// coder and one reviewer; everything else goes to workstreams with a plan each, and to an auditor at the end. The
/// planner estimates, unless --t-max and --t-why are given.
///
/// Starts agents whenever there is work and room, as `team`, `roles`, `provider` and `run` in liza.yaml say: reviews
/// and merges before new tasks, and never two tasks at once whose paths overlap. Ends when everything is merged (exit
/// 0), when only a person can continue (exit 1, with what is needed and the command for it), at ABORT (exit 5) or at
/// a signal. Ctrl-C asks the agents to end and keeps their work; a second Ctrl-C ends them at once. Run it again to
/// continue. Writes a report to .liza/reports.
///
/// Example: liza run --window 3
///
/// Example: liza run "Fix the typo in the greeting" --t-max 60 --t-why "one line"
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub route: route::RouteArgs,
    /// Provider for all agents (overrides liza.yaml)
    #[arg(long)]
    pub provider: Option<String>,
    /// Maximum number of agents at work at the same time
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub window: Option<u32>,
    /// Team to start (overrides liza.yaml); the run waits for a person in ROLE=human; repeat
    #[arg(long, value_name = "ROLE=COUNT", value_parser = parse_member)]
    pub team: Vec<TeamMember>,
    /// Path that the job may change (with --single; default: any path)
    #[arg(long = "in", value_name = "PATH", requires = "single", value_hint = ValueHint::AnyPath)]
    pub inside: Vec<String>,
    /// Kind of change (with --single); code needs tests
    #[arg(long, value_enum, default_value_t = SingleKind::Code, requires = "single")]
    pub kind: SingleKind,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum SingleKind {
    Code,
    Docs,
    Config,
}

/// The maximum number of reasons printed.
const MOST_CAUSES: usize = 20;

impl OnBoard for RunArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        // Reports a missing board before any other refusal.
        session.ctx.read(&Needs::Nothing)?;
        session.people_only("run the team")?;
        let config = session.ctx.project_config()?;
        let mut team = match self.team.is_empty() {
            true if config.team.is_empty() => {
                default_team(config.red_team.is_some(), config.review.quorum.most())
            }
            true => config.team.clone(),
            false => self.team.clone(),
        };
        let what = self.goal_text(session)?;
        let job = what.as_ref().filter(|_| self.route.single).cloned();
        if job.is_some() {
            // A single job has low risk.
            let red_team = config.red_team.as_ref().filter(|red_team| red_team.from <= Risk::Low);
            let member = |role: Role, count: u32| TeamMember { role, count, provider: None };
            let reviewers = config.review.quorum.of(Risk::Low);
            team = vec![member(Role::coder(), 1), member(Role::code_reviewer(), reviewers)];
            team.extend(red_team.map(|_| member(Role::red_team(), 1)));
            if self.route.mode == Some(RunMode::ReadOnly) {
                team = vec![member(Role::operator(), 1)];
            }
        }
        for member in &team {
            session.known_role(&member.role)?;
        }
        session.ctx.settle_edits()?;
        // A changed gate is reported now, before it stops the first approval.
        let board = session.ctx.read(&Needs::Nothing)?.board;
        crate::flow::gates::accepted::check(&session.ctx, &board, &config)?;
        let checked = Checked::new(&session.ctx, &team, self.provider.as_deref())?;
        if let Some(goal) = what.filter(|_| job.is_none()) {
            self.give_goal(session, goal)?;
        }
        if job.is_none()
            && let Some(answer) = self.start_next_goal(session)?
        {
            return Ok(answer);
        }
        // Added last: if the run could not start, the task would stay on the board.
        let only = job.map(|what| self.give_job(session, &what)).transpose()?;
        let live = Live::new(session.ui);
        // From here on, edits of the file may come from agents.
        session.ctx.store.supervise();
        let mut checked = Some(checked);
        loop {
            if only.is_none() {
                self.route_goal(session)?;
            }
            let checked = match checked.take() {
                Some(checked) => checked,
                None => Checked::new(&session.ctx, &team, self.provider.as_deref())?,
            };
            let options = RunOptions {
                window: self.window,
                team: team.clone(),
                only: only.clone(),
                provider: self.provider.clone(),
            };
            let finished = TeamRun::start(&mut session.ctx, checked, options, &live)?.run();
            session.ctx.now = crate::host::now();
            if only.is_none() && finished.outcome == Outcome::Complete && next_goal(session, &finished) {
                continue;
            }
            return answer(session, &finished, only.is_some());
        }
    }
}

impl RunArgs {
    /// Starts the next goal of the queue if the current goal is finished; an answer if there is nothing to do.
    fn start_next_goal(&self, session: &Session) -> Result<Option<Answer>, Failure> {
        let ctx = &session.ctx;
        let board = ctx.read(&Needs::Nothing)?.board;
        let goal = &board.rest.goal;
        if goal.is_open() {
            return Ok(None);
        }
        if board.queued_goals().next().is_some() {
            let started = ctx.commit_step(StartGoal { audited: true })?.outcome;
            ctx.narrate(format!("{}: {}", started.goal, shown_line(&started.description)));
            return Ok(None);
        }
        let is_idle = board.tasks.iter().all(|task| task.status.is_terminal());
        if !is_idle || !wakes(&board, ctx.now.wall).is_empty() {
            return Ok(None);
        }
        let id = &goal.id;
        let next = "give the next goal: liza goal \"TEXT\"";
        if goal.status == GoalStatus::Abandoned {
            return Err(Failure::new(
                ErrorCode::RefusedStuck,
                format!("there is nothing to do: {id} was abandoned"),
            )
            .hint(next));
        }
        let text = format!("nothing to do: {id} is complete\nget the work:       liza deliver\n{next}");
        let data = json!({ "outcome": "complete", "causes": [], "goal": id, "nothing_to_do": true, "next": "liza deliver" });
        Ok(Some(Answer::new(data, text).at(board.revision)))
    }
}

/// After a goal is complete: writes its report and starts the next goal of the queue.
fn next_goal(session: &Session, finished: &Finished) -> bool {
    let ctx = &session.ctx;
    let waits =
        ctx.read(&Needs::Nothing).is_ok_and(|snapshot| snapshot.board.queued_goals().next().is_some());
    if !waits || ctx.commit_step(CompleteGoal { audited: true }).is_err() {
        return false;
    }
    let report = match report::write(ctx, &facts(finished, "complete")) {
        Ok(written) => format!("report: {}", written.markdown.display()),
        Err(failure) => format!("cannot write the report: {}", failure.message),
    };
    match ctx.commit_step(StartGoal { audited: true }) {
        Ok(committed) => {
            let GoalStarted { goal, description } = committed.outcome;
            ctx.narrate(format!("the goal is complete; {report}"));
            ctx.narrate(format!("continues with {goal}: {}", shown_line(&description)));
            true
        }
        Err(_) => false,
    }
}

/// Parses a member of `--team`.
fn parse_member(text: &str) -> Result<TeamMember, String> {
    let (role, count) = text.split_once('=').unwrap_or((text, "1"));
    let role = role.parse().map_err(|why: IdError| why.to_string())?;
    if count == HUMAN {
        return Ok(TeamMember { role, count: 1, provider: Some(HUMAN.to_owned()) });
    }
    let count = count.parse().map_err(|_| "it is not of the form ROLE=COUNT, such as coder=3".to_owned())?;
    Ok(TeamMember { role, count, provider: None })
}

fn facts(finished: &Finished, outcome: &'static str) -> RunFacts {
    let stopped = finished.out.iter();
    let stopped = stopped.map(|(agent, why)| StoppedAgent { agent: agent.clone(), why: why.clone() });
    RunFacts {
        outcome,
        causes: match &finished.outcome {
            Outcome::Stuck(causes) => causes.clone(),
            _ => Vec::new(),
        },
        seconds: finished.took.as_secs_f64(),
        agents: finished.tally.agents(),
        stopped: stopped.collect(),
        events: finished.tally.lines(),
    }
}

/// The questions of blocked tasks, each with the command that answers it.
fn questions(ctx: &Context, causes: &[Cause]) -> Vec<(TaskId, String, String)> {
    let named = causes.iter().filter_map(|cause| TaskId::new(cause.task.as_ref()?).ok()).collect();
    let Ok(snapshot) = ctx.read(&Needs::Tasks(named)) else { return Vec::new() };
    let board = &snapshot.board;
    let blocked = causes.iter().filter_map(|cause| board.task(&TaskId::new(cause.task.as_ref()?).ok()?));
    let blocked = blocked.filter(|task| task.status == Status::Blocked && !task.hypothesis_exhausted());
    let asked = |task: &Task| {
        let command = format!("liza task unblock {} --answer \"YOUR ANSWER\"", task.id);
        let body = task.body();
        let reason = body.blocked_reason.iter().filter(|_| body.blocked_questions.is_empty());
        let asked = body.blocked_questions.iter().chain(reason);
        asked.map(|question| (task.id.clone(), question.clone(), command.clone())).collect::<Vec<_>>()
    };
    blocked.flat_map(asked).collect()
}

fn answer(session: &mut Session, finished: &Finished, single: bool) -> Result<Answer, Failure> {
    let ctx = &session.ctx;
    let outcome = match &finished.outcome {
        Outcome::Complete => "complete",
        Outcome::Stuck(_) => "stuck",
        Outcome::Aborted(_) => "aborted",
        Outcome::Signal(_) => "stopped",
    };
    if finished.outcome == Outcome::Complete && !single {
        // Printed already, or outdated: the report has the present state.
        let _ = ctx.commit(CompleteGoal { audited: true });
    }
    let facts = facts(finished, outcome);
    let questions = questions(ctx, &facts.causes);
    let asked: Vec<Value> = questions
        .iter()
        .map(
            |(task, question, command)| json!({ "task": task, "question": question, "answer_with": command }),
        )
        .collect();
    let next = (finished.outcome == Outcome::Complete).then_some("liza deliver");
    // The run has done its work even if its report cannot be written.
    let (data, ending, revision, merged) = match report::write(ctx, &facts) {
        Ok(written) => (
            json!({
                "outcome": outcome, "causes": facts.causes, "seconds": written.seconds, "counts": written.counts,
                "report": written.markdown, "report_json": written.json, "stopped": facts.stopped, "questions": asked, "next": next,
            }),
            format!("report: {}", written.markdown.display()),
            written.revision,
            written.merged.to_string(),
        ),
        Err(failure) => (
            json!({
                "outcome": outcome, "causes": facts.causes, "seconds": facts.seconds, "counts": {}, "report": null,
                "report_json": null, "report_failed": failure.message, "stopped": facts.stopped, "questions": asked, "next": next,
            }),
            format!("cannot write the report: {}", failure.message),
            0,
            "everything".to_owned(),
        ),
    };
    match &finished.outcome {
        Outcome::Complete => {
            let took = finished.took.as_secs_f64();
            let text = format!("complete: {merged} merged in {took:.1} s\n{ending}\nnext: liza deliver");
            Ok(Answer::new(data, text))
        }
        Outcome::Signal(signal) => {
            let text = format!("stopped; `liza run` continues the work\n{ending}");
            let stopped = Failure::new(ErrorCode::of_signal(*signal), "stopped by a signal")
                .hint("`liza run` continues the work");
            Ok(Answer::new(data, text).failed(stopped).exit(exit_code(*signal)))
        }
        Outcome::Aborted(why) => Err(Failure::new(Code::Switched, format!("aborted: {why}; {ending}"))
            .hint("work in progress is kept; `liza resume` removes the switch, then run it again")
            .with_data(data, revision)),
        Outcome::Stuck(causes) => {
            let mut lines = in_words(causes);
            let more = lines.len().saturating_sub(MOST_CAUSES);
            lines.truncate(MOST_CAUSES);
            if more > 0 {
                lines.push(format!("and {more} more; the report has them all"));
            }
            let stuck = Failure::new(ErrorCode::RefusedStuck, "no task can proceed without a person")
                .hint("`data.causes` says what each task needs and the command for it; then run it again");
            let mut text = format!("no task can proceed without a person:\n  {}\n", lines.join("\n  "));
            for (task, question, command) in questions.iter().take(MOST_CAUSES) {
                text.line(format!("{task} asks: {}\n  {command}", shown_line(question)));
            }
            text.line("then: liza run");
            text.push_str(&ending);
            Ok(Answer::new(data, text).at(revision).failed(stuck))
        }
    }
}
