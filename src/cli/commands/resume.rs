use crate::cli::prelude::*;
use crate::flow::oversight;
use crate::policy::overseer::Question;

/// Remove PAUSE, CHECKPOINT and ABORT, and extend leases
///
/// Each lease is extended by the time the switches were set. Also answers "no" to the questions about agents in
/// .liza/ESCALATION: those agents continue.
///
/// Example: liza resume
#[derive(Args)]
pub struct ResumeArgs {
    /// Remove only the switch of this task
    #[arg(long, value_name = "TASK", conflicts_with = "agent")]
    pub task: Option<TaskId>,
    /// Remove only the switch of this agent
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<AgentId>,
}

impl OnBoard for ResumeArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let ctx = &session.ctx;
        if !ctx.is_human() {
            return Err(Failure::new(Code::HumanOnly, "only a person may resume")
                .hint("ask a person with `liza note`, and wait"));
        }
        // Checked first: leases can be extended only on a board that may be changed.
        ctx.read(&Needs::Nothing)?;
        ctx.settle_edits()?;
        let task = self.task.as_ref().map(TaskId::as_str);
        let wanted = task.or(self.agent.as_ref().map(AgentId::as_str));
        let mut chosen = ctx.store.switches()?.set;
        // Writes the summary of CHECKPOINT if this is the first command since it was set.
        crate::flow::summary::after_command(ctx);
        if let Some(wanted) = wanted {
            let is_wanted = |subject: &String| subject.eq_ignore_ascii_case(wanted);
            chosen.retain(|switch| switch.subject.as_ref().is_some_and(is_wanted));
        }
        let mut cleared = Vec::new();
        let mut paused = 0;
        for switch in &chosen {
            if let Some(seconds) = ctx.store.switch_age(switch.kind, switch.subject.as_deref())? {
                paused = paused.max(seconds);
                let of = switch.subject.as_ref().map_or(String::new(), |subject| format!(" for {subject}"));
                cleared.push(format!("{}{of}", switch.kind.as_str()));
            }
        }
        // Leases first: if they cannot be extended, no switch is removed. A crash in between extends them twice.
        let committed =
            if cleared.is_empty() { None } else { Some(ctx.commit(ExtendLeases { seconds: paused })?) };
        crate::host::crash::point("resume.extended");
        breaker::note_resumed(ctx, &chosen.iter().collect::<Vec<_>>())?;
        // Before the switches are removed, so that no agent is halted in between.
        let answered = answer_questions(ctx, wanted)?;
        for switch in &chosen {
            ctx.store.clear_switch(switch.kind, switch.subject.as_deref())?;
        }
        if wanted.is_none() {
            ctx.store.refused_edits_seen()?;
            ctx.store.end_escalation(ctx.now.monotonic)?;
        }
        let continues =
            |question: &Question| format!("\n{} continues ({} is answered: no)", question.agent, question.id);
        let continuing: String = answered.iter().map(continues).collect();
        let ids: Vec<&str> = answered.iter().map(|question| question.id.as_str()).collect();
        let Some(committed) = committed else {
            let data = json!({ "cleared": [], "answered": ids });
            return Ok(Answer::new(data, format!("no switch is set{continuing}")));
        };
        let text = format!("removed: {}; leases extended by {paused} s{continuing}", cleared.join(", "));
        let data = json!({
            "cleared": cleared, "extended_by": paused, "tasks": committed.outcome.tasks, "answered": ids,
        });
        Ok(Answer::new(data, text).at(committed.board.revision))
    }
}

/// Answers "no" to the questions in `.liza/ESCALATION`: all of them, or those about this task or agent.
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
            let escalation = ctx.store.escalation();
            let stands = |question: &Question| {
                escalation.lines().any(|line| line.starts_with(&format!("{}: ", question.id)))
            };
            questions.retain(stands);
        }
    }
    oversight::allow_to_continue(ctx, &board, &questions)?;
    Ok(questions)
}
