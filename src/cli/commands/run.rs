use clap::Args;
use serde_json::{Value, json};

use crate::board::rules::{AddTasks, CompleteGoal, NewTask};
use crate::board::task::{Kind, Risk, Scope};
use crate::board::{Needs, PathPattern, Role, TaskId};
use crate::flow::init::parse_role;
use crate::flow::report::{self, RunFacts};
use crate::flow::{Context, Failure};
use crate::policy::run::in_words;
use crate::policy::team::{TeamMember, default_team};
use crate::supervise::signals::exit_code;
use crate::supervise::team::{Checked, Finished, Outcome, RunOptions, TeamRun};

use super::super::Session;
use super::super::exit;
use super::super::live::Live;
use super::super::ui::Answer;

/// Let the team work until the goal is complete
///
/// Starts agents whenever there is work and room, as `team`, `roles`, `provider` and `run` in liza.yaml say: reviews and
/// merges before new tasks, and never two at once whose paths overlap. Ends when everything is merged (exit 0), when only a
/// person can go on (exit 1, with what is needed and the command for it), at ABORT (exit 5) or at a signal. Ctrl-C asks
/// agents to end and keeps their work; once more ends them at once. Run it again to go on. Leaves a report in .liza/reports.
///
/// Example: liza run --window 3
#[derive(Args)]
pub struct RunArgs {
    /// By which agent command everybody is played, instead of what liza.yaml says
    #[arg(long)]
    pub provider: Option<String>,
    /// How many agents work at the same time
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub window: Option<u32>,
    /// Whom to start, instead of `team` in liza.yaml; repeat for several
    #[arg(long, value_name = "ROLE=COUNT")]
    pub team: Vec<String>,
    /// One small job without a plan: one coder and one reviewer
    #[arg(long, value_name = "WHAT", conflicts_with = "team")]
    pub single: Option<String>,
    /// Where the job may change files (with --single; default: anywhere)
    #[arg(long = "in", value_name = "PATH", requires = "single")]
    pub inside: Vec<String>,
    /// What kind of change the job is (with --single): code needs tests
    #[arg(long, value_enum, default_value_t = SingleKind::Code, requires = "single")]
    pub kind: SingleKind,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum SingleKind {
    Code,
    Docs,
    Config,
}

/// So many reasons are said; people read no more at once.
const MOST_CAUSES: usize = 20;

pub fn run(session: &mut Session, args: &RunArgs) -> Result<Answer, Failure> {
    // Where there is no board, that is what is said.
    session.ctx.read(&Needs::Nothing)?;
    super::people_only(session, "run the team")?;
    let config = session.ctx.project_config()?;
    let mut team = match args.team.is_empty() {
        true if config.team.is_empty() => {
            default_team(config.red_team.is_some(), config.review.quorum.most())
        }
        true => config.team.clone(),
        false => args.team.iter().map(|text| parse_member(text)).collect::<Result<Vec<_>, _>>()?,
    };
    let job = args.single.as_ref().map(|what| session.input.text(what)).transpose()?;
    if job.is_some() {
        // A job of its own is of low risk.
        let red_team = config.red_team.as_ref().filter(|red_team| red_team.from <= Risk::Low);
        team = [Role::coder(), Role::code_reviewer()]
            .into_iter()
            .chain(red_team.map(|_| Role::red_team()))
            .map(|role| {
                let count =
                    if role == Role::code_reviewer() { config.review.quorum.of(Risk::Low) } else { 1 };
                TeamMember { role, count, provider: None }
            })
            .collect();
    }
    for member in &team {
        super::known_role(session, &member.role)?;
    }
    let checked = Checked::new(&session.ctx, &team, args.provider.as_deref())?;
    // Only now that it can be done: a task that nobody begins would stay on the board.
    let only = job.map(|what| add_single(&session.ctx, &what, args)).transpose()?;
    let options = RunOptions { window: args.window, team, only };
    let live = Live::new(session.ui);
    let finished = TeamRun::start(&mut session.ctx, checked, options, &live)?.run();
    session.ctx.now = crate::host::now();
    answer(session, &finished, args.single.is_some())
}

/// Whom `--team` names.
fn parse_member(text: &str) -> Result<TeamMember, Failure> {
    let (role, count) = text.split_once('=').unwrap_or((text, "1"));
    let count = count
        .parse()
        .map_err(|_| Failure::usage(format!("`{text}` is not of the form ROLE=COUNT, such as coder=3")))?;
    Ok(TeamMember { role: parse_role(role)?, count, provider: None })
}

/// The job as a task of its own: reviewed like any other.
fn add_single(ctx: &Context, what: &str, args: &RunArgs) -> Result<TaskId, Failure> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let stem: String = what
        .to_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(5)
        .collect::<Vec<_>>()
        .join("-")
        .chars()
        .take(40)
        .collect();
    let stem = if stem.is_empty() { "job".to_owned() } else { stem };
    let names = std::iter::once(stem.clone()).chain((2..1000).map(|n| format!("{stem}-{n}")));
    let id = names
        .filter_map(|name| TaskId::new(&name).ok())
        .find(|id| board.task(id).is_none() && ctx.store.archived_task(id).is_ok_and(|found| found.is_none()))
        .ok_or_else(|| Failure::new("refused.id_taken", "no free id could be had for the job"))?;
    let inside = if args.inside.is_empty() { vec!["**".to_owned()] } else { args.inside.clone() };
    let inside = inside
        .iter()
        .map(|text| PathPattern::new(text).map_err(|why| Failure::usage(format!("--in {text}: {why}"))))
        .collect::<Result<Vec<_>, _>>()?;
    let title: String = what.lines().next().unwrap_or(what).chars().take(120).collect();
    let task = NewTask {
        id: id.clone(),
        title,
        description: what.to_owned(),
        spec_ref: Some(board.rest.goal.spec_ref.clone()),
        done_when: vec![what.to_owned()],
        scope: Scope { inside, outside: Vec::new() },
        checklist: Vec::new(),
        owns: Vec::new(),
        depends_on: Vec::new(),
        priority: 0,
        kind: match args.kind {
            SingleKind::Code => Kind::Code,
            SingleKind::Docs => Kind::Docs,
            SingleKind::Config => Kind::Config,
        },
        risk: Risk::Low,
        role: Role::coder(),
        parent: None,
        tags: vec!["single".to_owned()],
        inputs: Vec::new(),
        expected_outputs: Vec::new(),
        max_coder_iterations: None,
        max_review_cycles: None,
        expected_files: None,
        expected_lines: None,
        timebox_minutes: None,
    };
    let found = ctx.spec_found(&board.rest.goal.spec_ref)?;
    let specs_found = if found { vec![id.clone()] } else { Vec::new() };
    ctx.commit(AddTasks::one(task, true, specs_found))?;
    Ok(id)
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
        // Said already, or not quite true after all: the report says what is.
        let _ = ctx.commit(CompleteGoal {});
    }
    let causes: Vec<Value> = match &finished.outcome {
        Outcome::Stuck(causes) => {
            causes.iter().map(|cause| serde_json::to_value(cause).unwrap_or_default()).collect()
        }
        _ => Vec::new(),
    };
    let facts = RunFacts {
        outcome,
        causes: causes.clone(),
        seconds: finished.took.as_secs_f64(),
        agents: finished.tally.agents(),
        stopped: finished.out.iter().map(|(agent, why)| (agent.to_string(), why.clone())).collect(),
        events: finished.tally.lines(),
    };
    // What the run did is done, whether it can be written down or not.
    let (data, ending, revision) = match report::write(ctx, &facts) {
        Ok(written) => (
            json!({
                "outcome": outcome, "causes": causes, "seconds": written.data["seconds"],
                "counts": written.data["counts"], "report": written.markdown, "report_json": written.json,
                "stopped": written.data["stopped"],
            }),
            format!("report: {}", written.markdown.display()),
            written.data["revision"].as_u64().unwrap_or_default(),
        ),
        Err(failure) => (
            json!({
                "outcome": outcome, "causes": causes, "seconds": facts.seconds, "counts": {}, "report": null,
                "report_json": null, "report_failed": failure.message,
                "stopped": facts.stopped.iter().map(|(agent, why)| json!({ "agent": agent, "why": why })).collect::<Vec<_>>(),
            }),
            format!("no report could be written: {}", failure.message),
            0,
        ),
    };
    match &finished.outcome {
        Outcome::Complete => {
            let merged = data["counts"]["MERGED"].as_u64().map_or("everything".to_owned(), |n| n.to_string());
            let text = format!("complete: {merged} merged in {:.1} s\n{ending}", finished.took.as_secs_f64());
            Ok(Answer::new(data, text))
        }
        Outcome::Signal(signal) => {
            let mut answer =
                Answer::new(data, format!("stopped; run it again to go on where it was\n{ending}"));
            answer.exit = exit_code(*signal);
            Ok(answer)
        }
        Outcome::Aborted(why) => Err(Failure::new("switch.set", format!("aborted: {why}; {ending}"))
            .hint("work in progress is kept; `liza resume` takes the switch away, then run it again")
            .with_data(data, revision)),
        Outcome::Stuck(causes) => {
            let mut lines = in_words(causes);
            let more = lines.len().saturating_sub(MOST_CAUSES);
            lines.truncate(MOST_CAUSES);
            if more > 0 {
                lines.push(format!("and {more} more; the report has them all"));
            }
            if session.ui.json {
                return Err(Failure::new("refused.stuck", "nothing can go on by itself")
                    .hint("`data.causes` says what each task needs and the command for it; then run it again")
                    .with_data(data, revision));
            }
            let text = format!("nothing can go on by itself:\n  {}\n{ending}", lines.join("\n  "));
            let mut answer = Answer::new(data, text);
            answer.exit = exit::REFUSED;
            Ok(answer)
        }
    }
}
