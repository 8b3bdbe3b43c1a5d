use clap::Args;
use serde_json::json;

use crate::board::grants::{Stopped, check_switch};
use crate::board::rules::ExtendLeases;
use crate::board::{AgentId, Board, Needs, SwitchKind};
use crate::flow::{Context, Failure, breaker, oversight, summary};
use crate::policy::overseer::Question;

use super::super::Session;
use super::super::ui::Answer;

/// Set a kill switch: the same as touching the file of that name in .liza
///
/// While a switch is set, nobody claims, submits, judges or merges (exit 5); saving work goes on. CHECKPOINT also
/// writes a summary report. Agents keep their leases: `liza resume` gives them the time back. An agent may stop itself
/// and the task it holds or reviews; planners and overseers may stop others.
///
/// Example: liza pause --reason "looking at t3"
#[derive(Args)]
pub struct SwitchArgs {
    /// Only this task
    #[arg(long, value_name = "TASK", conflicts_with = "agent")]
    pub task: Option<String>,
    /// Only this agent
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Why, for whoever meets it
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// Take every kill switch away and give leases the paused time back
///
/// It also answers "no" to the questions about agents in .liza/ESCALATION: those agents go on.
///
/// Example: liza resume
#[derive(Args)]
pub struct ResumeArgs {
    /// Only the switch of this task
    #[arg(long, value_name = "TASK", conflicts_with = "agent")]
    pub task: Option<String>,
    /// Only the switch of this agent
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
}

fn subject(board: &Board, task: Option<&String>, agent: Option<&String>) -> Result<Stopped, Failure> {
    if let Some(task) = task {
        let id = crate::flow::init::parse_task(task)?;
        return match board.task(&id) {
            Some(_) => Ok(Stopped::Task(id)),
            None => {
                Err(Failure::new("refused.unknown_task", format!("there is no task `{task}` on this board"))
                    .hint("`liza task list` shows every task"))
            }
        };
    }
    let Some(agent) = agent else { return Ok(Stopped::Everybody) };
    let known = AgentId::new(agent).ok().filter(|id| board.agent(id).is_some() || id.is_human());
    known.map(Stopped::Agent).ok_or_else(|| {
        Failure::new("refused.unknown_agent", format!("there is no agent `{agent}` on this board"))
            .hint("`liza agent list` shows them")
    })
}

pub fn set(session: &mut Session, kind: SwitchKind, args: &SwitchArgs) -> Result<Answer, Failure> {
    let ctx = &session.ctx;
    if kind == SwitchKind::Checkpoint && !ctx.is_human() {
        return Err(Failure::new("refused.human_only", "`liza checkpoint` halts the whole system")
            .hint("a coder's plan is written with `liza task checkpoint TASK --intent …`"));
    }
    let board = ctx.read(&Needs::Nothing)?.board;
    let whom = subject(&board, args.task.as_ref(), args.agent.as_ref())?;
    check_switch(&board, &board.identify(&ctx.credentials)?, &whom)?;
    let subject = args.task.clone().or_else(|| args.agent.clone());
    let reason = session.input.text(&args.reason)?;
    let set = ctx.store.set_switch(kind, subject.as_deref(), &reason)?;
    let mut text = match (&subject, set) {
        (None, true) => format!("{} is set: nothing new starts until `liza resume`", kind.as_str()),
        (Some(subject), true) => format!("{} is set for {subject}", kind.as_str()),
        (_, false) => format!("{} was set already; it stays as it is", kind.as_str()),
    };
    let mut data = json!({ "switch": kind.as_str(), "subject": subject, "set": set });
    if kind == SwitchKind::Checkpoint {
        // Where it was set before, its report may be old.
        let report = if set {
            summary::of_checkpoint(ctx, subject.as_deref())?.map(|(report, _)| report)
        } else {
            None
        };
        let report = report.map_or_else(|| summary::write(ctx, &reason), Ok)?;
        text.push_str(&format!("\nsummary: {}", report.display()));
        data["report"] = json!(report);
    }
    Ok(Answer::new(data, text))
}

pub fn resume(session: &mut Session, args: &ResumeArgs) -> Result<Answer, Failure> {
    let ctx = &session.ctx;
    if !ctx.is_human() {
        return Err(Failure::new("refused.human_only", "only a person may resume")
            .hint("say what you need with `liza note`, and wait"));
    }
    // Before anything is taken away: leases can be extended only on a board that may be changed.
    ctx.read(&Needs::Nothing)?;
    let wanted = match (&args.task, &args.agent) {
        (None, None) => None,
        (task, agent) => task.clone().or_else(|| agent.clone()),
    };
    let mut chosen = ctx.store.switches()?.set;
    chosen.retain(|switch| match &wanted {
        None => true,
        Some(wanted) => switch.subject.as_ref().is_some_and(|subject| subject.eq_ignore_ascii_case(wanted)),
    });
    let mut cleared = Vec::new();
    let mut paused = 0;
    for switch in &chosen {
        if let Some(seconds) = ctx.store.switch_age(switch.kind, switch.subject.as_deref())? {
            paused = paused.max(seconds);
            let of = switch.subject.as_ref().map_or(String::new(), |subject| format!(" for {subject}"));
            cleared.push(format!("{}{of}", switch.kind.as_str()));
        }
    }
    // The leases first: whoever cannot give the time back takes nothing away. Dying in between gives it twice.
    let committed =
        if cleared.is_empty() { None } else { Some(ctx.commit(ExtendLeases { seconds: paused })?) };
    crate::host::crash::point("resume.extended");
    breaker::note_resumed(ctx, &chosen.iter().collect::<Vec<_>>())?;
    // Before the switches go: an agent that is let go on must not be halted in between.
    let answered = answer_questions(ctx, wanted.as_deref())?;
    for switch in &chosen {
        ctx.store.clear_switch(switch.kind, switch.subject.as_deref())?;
    }
    if wanted.is_none() {
        ctx.store.refused_edits_seen()?;
        ctx.store.end_escalation(ctx.now.monotonic)?;
    }
    let go_on: Vec<String> = answered
        .iter()
        .map(|question| format!("\n{} goes on ({} is answered: no)", question.agent, question.id))
        .collect();
    let go_on = go_on.concat();
    let ids: Vec<&str> = answered.iter().map(|question| question.id.as_str()).collect();
    let Some(committed) = committed else {
        return Ok(Answer::new(
            json!({ "cleared": [], "answered": ids }),
            format!("no switch is set{go_on}"),
        ));
    };
    let text = format!("taken away: {}; leases extended by {paused} s{go_on}", cleared.join(", "));
    let data = json!({
        "cleared": cleared, "extended_by": paused, "tasks": committed.outcome["tasks"], "answered": ids,
    });
    Ok(Answer::new(data, text).at(committed.board.revision))
}

/// Answers "no" to what a person was asked: everything that stands in `.liza/ESCALATION`, or what is about this task or
/// agent.
fn answer_questions(ctx: &Context, wanted: Option<&str>) -> Result<Vec<Question>, Failure> {
    let board = ctx.read(&Needs::Nothing)?.board;
    if board.rest.interventions.is_empty() {
        return Ok(Vec::new());
    }
    let config = ctx.project_config().map(|config| config.overseer).unwrap_or_default();
    let mut questions = oversight::waiting(ctx, &board, &config);
    match wanted {
        Some(wanted) => {
            let is = |id: &str| id.eq_ignore_ascii_case(wanted);
            questions.retain(|question| {
                is(question.agent.as_str()) || question.task.as_ref().is_some_and(|task| is(task.as_str()))
            });
        }
        None => {
            let asked = ctx.store.escalation();
            let stands = |question: &Question| {
                asked.lines().any(|line| line.starts_with(&format!("{}: ", question.id)))
            };
            questions.retain(stands);
        }
    }
    oversight::let_go_on(ctx, &board, &questions)?;
    Ok(questions)
}
