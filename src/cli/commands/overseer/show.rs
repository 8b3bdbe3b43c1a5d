use crate::board::oversight::Intervention;
use crate::cli::prelude::*;
use crate::flow::oversight::{AgentView, Explained, explain, overview, waiting};
use crate::policy::overseer::{AgentSnapshot, OverseerConfig, Question};

/// Shows which agents make progress.
#[derive(Args)]
pub struct ShowArgs {
    /// Show every measurement and threshold behind one agent's line
    #[arg(long, value_name = "AGENT")]
    pub explain: Option<AgentId>,
}

impl OnBoard for ShowArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        match &self.explain {
            Some(agent) => explained(session, agent),
            None => overview_answer(session),
        }
    }
}

fn overview_answer(session: &Session) -> Result<Answer, Failure> {
    let config = session.ctx.project_config()?.overseer;
    let board = session.ctx.read(&Needs::Nothing)?.board;
    let agents = overview(&session.ctx, &board, &config);
    let now = session.ctx.now.wall;
    let mut text = String::new();
    let questions = waiting(&session.ctx, &board, &config);
    for seen in &agents {
        text.push_str(&lines(seen, now));
        questions
            .iter()
            .filter(|one| one.agent == seen.agent)
            .for_each(|one| text.push_str(&question_line(one)));
    }
    if agents.is_empty() {
        text.push_str("no agent is registered; `liza run` starts a team");
    }
    let watched = session.ctx.machine.is_overseen();
    if !config.enabled {
        text.line("the overseer is off: `overseer.enabled` is false in liza.yaml");
    } else if !agents.is_empty() && !watched {
        text.line("the overseer is not running: start `liza watch` or `liza run`");
    }
    let data = json!({
        "enabled": config.enabled, "watched": watched, "agents": agents, "questions": questions,
    });
    Ok(Answer::new(data, text).at(board.revision))
}

fn at(time: Wall, now: Wall) -> String {
    match ago(now.since(time)) {
        span if span.starts_with(|first: char| first.is_ascii_digit()) => format!("{span} ago"),
        words => words,
    }
}

/// One agent as text.
fn lines(seen: &AgentView, now: Wall) -> String {
    let roles: Vec<&str> = seen.roles.iter().map(|role| role.as_str()).collect();
    let grade = word(&seen.liveness.grade);
    let task = seen.task.as_ref().map_or("-", |task| task.as_str());
    let (agent, roles) = (pad_to(seen.agent.as_str(), 20), pad_to(&roles.join(","), 16));
    let mut text = format!("{agent} {roles} {} {}", pad_to(&grade, 8), pad_to(task, 12));
    if let Some(last) = &seen.last {
        text.push_str(&format!(" {} tokens, {} turns, {} s", last.tokens, last.turns, last.elapsed_seconds));
    }
    // With a detection, the evidence below shows the progress.
    if let Some(since) = seen.progress_since.filter(|_| seen.detections.is_empty()) {
        text.push_str(&format!("; progress {}", at(since, now)));
    }
    text.push('\n');
    let because = seen.liveness.because.join(", ");
    if !because.is_empty() {
        text.line(format!("    {}", shown_line(&because)));
    }
    for detection in &seen.detections {
        let (behaviour, sure) = (detection.behaviour.as_str(), detection.confidence * 100.0);
        let evidence = detection.evidence.join("; ");
        text.line(format!("    !! {behaviour} ({sure:.0} %): {}", shown_line(&evidence)));
    }
    if let Some(one) = &seen.last_intervention {
        text.line(format!("    last: {}", intervention(one, now)));
    }
    text
}

/// An unanswered question.
fn question_line(question: &Question) -> String {
    format!("    ?? {} ({}): {}\n", question.id, question.asked, shown_line(&question.text()))
}

/// Names as the JSON has them.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn intervention(one: &Intervention, now: Wall) -> String {
    let (action, behaviour, when) = (one.action.as_str(), one.behaviour.as_str(), at(one.time, now));
    let on = one.task_id.as_ref().map_or(String::new(), |task| format!(" on {task}"));
    format!("{action} {when} for {behaviour}{on}: {}", shown_line(&one.evidence.join("; ")))
}

fn explained(session: &Session, agent: &AgentId) -> Result<Answer, Failure> {
    let config = session.ctx.project_config()?.overseer;
    let board = session.ctx.read(&Needs::Nothing)?.board;
    let found = explain(&session.ctx, &board, &config, agent)?;
    let mut data = serde_json::to_value(&found).unwrap_or_default();
    data["thresholds"] = serde_json::to_value(&config).unwrap_or_default();
    Ok(Answer::new(data, in_full(&found, &config, session.ctx.now.wall)).at(board.revision))
}

fn in_full(found: &Explained, config: &OverseerConfig, now: Wall) -> String {
    let mut text = lines(&found.seen, now);
    if found.looks.is_empty() {
        text.line("the overseer sees no session of this agent now");
    } else {
        text.line(format!("\nlooks, one every {} s:", config.check_interval_seconds));
        text.push_str(&table(&found.looks));
        text.line("\ndistance to each alarm:");
        for measure in &found.measures {
            let alarm = measure.alarm.map_or("no limit".to_owned(), |alarm| format!("of {alarm}"));
            let (what, now) = (pad_to(measure.behaviour.as_str(), 18), pad_to(&measure.now.to_string(), 8));
            text.line(format!("  {what} {now} {alarm} {}", measure.what));
        }
    }
    if !found.interventions.is_empty() {
        text.line("\ninterventions:");
        for one in &found.interventions {
            text.line(format!("  {} {}", one.id, intervention(one, now)));
        }
    }
    text
}

fn table(looks: &[AgentSnapshot]) -> String {
    let head = "time,turns,calls,tokens,errors,output,files,astray,procs,cpu ms,tree,last call";
    let widths = [20, 6, 6, 8, 6, 9, 6, 6, 6, 8, 8, 0];
    let row = |cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| pad_to(cell, width)).collect();
        format!("  {}\n", cells.join(" ").trim_end())
    };
    let mut text = row(head.split(',').map(str::to_owned).collect());
    for look in looks {
        let tree = look.tree.as_deref().map_or("-", |tree| tree.get(..7).unwrap_or(tree));
        let call = match (&look.last_tool, look.repeated_calls) {
            (Some(tool), times) if times > 1 => format!("{} ({times} times)", shown_line(tool)),
            (Some(tool), _) => shown_line(tool).into_owned(),
            (None, _) => String::new(),
        };
        let (output, files, astray) = (look.output_bytes, look.files_modified, look.files_unannounced);
        let figures = [look.turns, look.tool_calls, look.tokens, look.errors, output, files, astray];
        let figures =
            figures.into_iter().chain([look.processes, look.cpu_ms]).map(|figure| figure.to_string());
        let cells = std::iter::once(look.time.to_string()).chain(figures);
        text.push_str(&row(cells.chain([tree.to_owned(), call]).collect()));
    }
    text
}
