use clap::{Args, Subcommand};
use serde_json::json;

use crate::board::oversight::{Action, Behaviour, Gravity, Intervention};
use crate::board::rules::lease_over;
use crate::board::{AgentId, Board, Needs, Role, Wall};
use crate::flow::oversight::{Explained, Seen, Word, ask, explain, order, picture, waiting};
use crate::flow::{Context, Failure};
use crate::policy::overseer::{AgentSnapshot, OverseerConfig, Question, open_questions};
use crate::store::StoreError;
use crate::store::lock::SideLock;
use crate::text::{ago, pad_to, shown_line};

use super::super::Session;
use super::super::ui::Answer;
use super::agent::parse_agent;

/// Show which agents get anywhere, and do something about one that does not
///
/// Who lives and by which signs, since when nothing came of the work, what it has cost, and what is the matter. What runners
/// see is judged by `watch` and `run`; looking changes nothing and needs neither. Settings: `overseer` in liza.yaml.
///
/// Example: liza overseer
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct OverseerArgs {
    /// The numbers behind one agent's line: every look, every threshold
    #[arg(long, value_name = "AGENT")]
    pub explain: Option<String>,
    #[command(subcommand)]
    pub command: Option<OverseerCommand>,
}

#[derive(Subcommand)]
pub enum OverseerCommand {
    Nudge(NudgeArgs),
    Halt(HaltArgs),
}

/// Tell an agent that it is on the wrong way (people, overseers)
///
/// It hears of it with its next liza command. On record with the reason, like everything the overseer does.
///
/// Example: liza overseer nudge coder-1 --reason "the parser is not the place for this"
#[derive(Args)]
pub struct NudgeArgs {
    /// The agent
    pub agent: String,
    /// What is wrong, and what to do instead
    #[arg(long)]
    pub reason: String,
    /// Which of the seven behaviours it is (default: reported)
    #[arg(long, value_name = "NAME")]
    pub behaviour: Option<String>,
}

/// End an agent's session, keep its work, and block its task (people, overseers)
///
/// Its runner ends it: TERM, the grace of `run.grace_seconds`, KILL. What was not committed is kept under a ref; the task is
/// BLOCKED with the reason. The review of a halted reviewer is free again. Nobody else is stopped.
///
/// Example: liza overseer halt coder-1 --reason "it rewrites the same file again and again"
#[derive(Args)]
pub struct HaltArgs {
    /// The agent
    pub agent: String,
    /// What is wrong
    #[arg(long)]
    pub reason: String,
    /// Which of the seven behaviours it is (default: reported)
    #[arg(long, value_name = "NAME")]
    pub behaviour: Option<String>,
}

impl OverseerArgs {
    pub fn only_looks(&self) -> bool {
        self.command.is_none()
    }
}

pub fn run(session: &mut Session, args: &OverseerArgs) -> Result<Answer, Failure> {
    match (&args.command, &args.explain) {
        (Some(OverseerCommand::Nudge(args)), _) => {
            act(session, Action::Nudge, &args.agent, &args.reason, args.behaviour.as_deref())
        }
        (Some(OverseerCommand::Halt(args)), _) => {
            act(session, Action::Halt, &args.agent, &args.reason, args.behaviour.as_deref())
        }
        (None, Some(agent)) => explained(session, agent),
        (None, None) => shown(session),
    }
}

fn shown(session: &Session) -> Result<Answer, Failure> {
    let config = session.ctx.project_config()?.overseer;
    let board = session.ctx.read(&Needs::Nothing)?.board;
    let agents = picture(&session.ctx, &board, &config);
    let now = session.ctx.now.wall;
    let mut text = String::new();
    let questions = waiting(&session.ctx, &board, &config);
    for seen in &agents {
        text.push_str(&lines(seen, now));
        questions.iter().filter(|one| one.agent == seen.agent).for_each(|one| text.push_str(&asked(one)));
    }
    if agents.is_empty() {
        text.push_str("no agent is registered; `liza run` starts a team");
    }
    let watched = somebody_judges(&session.ctx);
    if !config.enabled {
        text.push_str("nobody is looked after: `overseer.enabled` is false in liza.yaml\n");
    } else if !agents.is_empty() && !watched {
        text.push_str("nobody does anything about it now: `liza watch` or `liza run` would\n");
    }
    let data = json!({
        "enabled": config.enabled, "watched": watched, "agents": agents, "questions": questions,
    });
    Ok(Answer::new(data, text).at(board.revision))
}

/// Whether a watcher or a run judges what is seen.
fn somebody_judges(ctx: &Context) -> bool {
    let lock = SideLock::acquire_existing(&ctx.store.layout().oversight_lock());
    matches!(lock, Err(StoreError::Busy { .. }))
}

fn at(time: Wall, now: Wall) -> String {
    match ago(now.since(time)) {
        span if span.starts_with(|first: char| first.is_ascii_digit()) => format!("{span} ago"),
        words => words,
    }
}

/// One agent for people.
fn lines(seen: &Seen, now: Wall) -> String {
    let roles: Vec<&str> = seen.roles.iter().map(|role| role.as_str()).collect();
    let grade = word(&seen.liveness.grade);
    let task = seen.task.as_ref().map_or("-", |task| task.as_str());
    let mut text = format!(
        "{} {} {} {}",
        pad_to(seen.agent.as_str(), 20),
        pad_to(&roles.join(","), 16),
        pad_to(&grade, 8),
        pad_to(task, 12),
    );
    if let Some(last) = &seen.last {
        text.push_str(&format!(" {} tokens, {} turns, {} s", last.tokens, last.turns, last.elapsed_seconds));
    }
    // Of somebody with whom something is the matter, that tells how it gets on.
    if let Some(since) = seen.progress_since.filter(|_| seen.detections.is_empty()) {
        text.push_str(&format!("; progress {}", at(since, now)));
    }
    text.push('\n');
    let because = seen.liveness.because.join(", ");
    if !because.is_empty() {
        text.push_str(&format!("    {}\n", shown_line(&because)));
    }
    for detection in &seen.detections {
        text.push_str(&format!(
            "    !! {} ({:.0} %): {}\n",
            detection.behaviour.as_str(),
            detection.confidence * 100.0,
            shown_line(&detection.evidence.join("; "))
        ));
    }
    if let Some(one) = &seen.last_intervention {
        text.push_str(&format!("    last: {}\n", intervention(one, now)));
    }
    text
}

/// A question that waits for an answer.
fn asked(question: &Question) -> String {
    format!("    ?? {} ({}): {}\n", question.id, question.asked, shown_line(&question.text()))
}

/// Names as the JSON has them.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn intervention(one: &Intervention, now: Wall) -> String {
    let evidence = one.evidence.join("; ");
    format!(
        "{} {} for {}{}: {}",
        one.action.as_str(),
        at(one.time, now),
        one.behaviour.as_str(),
        one.task_id.as_ref().map_or(String::new(), |task| format!(" on {task}")),
        shown_line(&evidence)
    )
}

fn explained(session: &Session, agent: &str) -> Result<Answer, Failure> {
    let agent = parse_agent(agent)?;
    let config = session.ctx.project_config()?.overseer;
    let board = session.ctx.read(&Needs::Nothing)?.board;
    let found = explain(&session.ctx, &board, &config, &agent)?;
    let mut data = serde_json::to_value(&found).unwrap_or_default();
    data["thresholds"] = serde_json::to_value(&config).unwrap_or_default();
    Ok(Answer::new(data, in_full(&found, &config, session.ctx.now.wall)).at(board.revision))
}

fn in_full(found: &Explained, config: &OverseerConfig, now: Wall) -> String {
    let mut text = lines(&found.seen, now);
    if found.looks.is_empty() {
        text.push_str("no session of it is looked at now\n");
    } else {
        text.push_str(&format!(
            "\nlooks, one every {} s:\n{}",
            config.check_interval_seconds,
            table(&found.looks)
        ));
        text.push_str("\nhow near each alarm is:\n");
        for measure in &found.measures {
            let alarm = measure.alarm.map_or("no limit".to_owned(), |alarm| format!("of {alarm}"));
            text.push_str(&format!(
                "  {} {} {alarm} {}\n",
                pad_to(measure.behaviour.as_str(), 18),
                pad_to(&measure.now.to_string(), 8),
                measure.what
            ));
        }
    }
    if !found.interventions.is_empty() {
        text.push_str("\nwhat was done about it:\n");
        for one in &found.interventions {
            text.push_str(&format!("  {} {}\n", one.id, intervention(one, now)));
        }
    }
    text
}

fn table(looks: &[AgentSnapshot]) -> String {
    let head = [
        "time",
        "turns",
        "calls",
        "tokens",
        "errors",
        "output",
        "files",
        "astray",
        "procs",
        "cpu ms",
        "tree",
        "last call",
    ];
    let widths = [20, 6, 6, 8, 6, 9, 6, 6, 6, 8, 8, 0];
    let row = |cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| pad_to(cell, width)).collect();
        format!("  {}\n", cells.join(" ").trim_end())
    };
    let mut text = row(head.iter().map(|cell| (*cell).to_owned()).collect());
    for look in looks {
        let tree = look.tree.as_deref().map_or("-", |tree| tree.get(..7).unwrap_or(tree));
        let call = match (&look.last_tool, look.repeated_calls) {
            (Some(tool), times) if times > 1 => format!("{} ({times} times)", shown_line(tool)),
            (Some(tool), _) => shown_line(tool).into_owned(),
            (None, _) => String::new(),
        };
        text.push_str(&row(vec![
            look.time.to_string(),
            look.turns.to_string(),
            look.tool_calls.to_string(),
            look.tokens.to_string(),
            look.errors.to_string(),
            look.output_bytes.to_string(),
            look.files_modified.to_string(),
            look.files_unannounced.to_string(),
            look.processes.to_string(),
            look.cpu_ms.to_string(),
            tree.to_owned(),
            call,
        ]));
    }
    text
}

/// The piece of work an agent is at, with its epoch.
fn work_of(session: &Session, board: &Board, agent: &AgentId) -> Option<(crate::board::TaskId, u64)> {
    let incarnation = board.agent(agent)?.incarnation;
    board.tasks.iter().find_map(|task| {
        let mut leases = [&task.lease, &task.review_lease].into_iter().flatten();
        let held = leases.any(|lease| {
            &lease.agent == agent
                && lease.incarnation == incarnation
                && !lease_over(board, lease, &session.ctx.now)
        });
        held.then(|| (task.id.clone(), task.epoch))
    })
}

fn act(
    session: &mut Session,
    action: Action,
    agent: &str,
    reason: &str,
    behaviour: Option<&str>,
) -> Result<Answer, Failure> {
    let agent = parse_agent(agent)?;
    let reason = session.input.text(reason)?;
    let behaviour = match behaviour {
        None => Behaviour::Reported,
        Some(name) => Behaviour::parse(name).ok_or_else(|| {
            let known: Vec<&str> = Behaviour::ALL.iter().map(|one| one.as_str()).collect();
            Failure::usage(format!("there is no behaviour `{}`", shown_line(name)))
                .hint(format!("one of {}, or none", known.join(", ")))
        })?,
    };
    session.seal_request()?;
    let board = session.ctx.read(&Needs::Nothing)?.board;
    let known = board.agent(&agent);
    let held = work_of(session, &board, &agent);
    let runs = known.and_then(|known| known.runner.as_ref()).is_some_and(crate::host::lives);
    let word = Word {
        incarnation: known.map_or(0, |known| known.incarnation),
        role: known.and_then(|known| known.roles.first().cloned()).unwrap_or_else(Role::coder),
        agent: agent.clone(),
        epoch: held.as_ref().map(|(_, epoch)| *epoch),
        task: held.map(|(task, _)| task),
        behaviour,
        action,
        severity: if action == Action::Halt { Gravity::Critical } else { Gravity::Warning },
        confidence: 1.0,
        evidence: reason.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect(),
        question: None,
        text: reason,
        bounds: None,
    };
    if action == Action::Halt && known.is_some() && !runs {
        // Whoever may not do it in any case is told that.
        ask(&session.ctx, &board, &word)?;
        return Err(Failure::new(
            "refused.transition",
            format!("nobody runs `{agent}`: there is no session to end"),
        )
        .hint(match &word.task {
            Some(task) => format!("its claim can be ended: `liza task release {task} --reason …`"),
            None => "`liza overseer` shows who is at work".to_owned(),
        }));
    }
    let config = session.ctx.project_config().map(|config| config.overseer).unwrap_or_default();
    let mut asked = if session.ctx.is_human() { open_questions(&board, &config) } else { Vec::new() };
    asked.retain(|question| question.agent == agent && question.task == word.task);
    let ordered = order(&session.ctx, &word)?;
    let text = match action {
        Action::Halt => format!("{agent} is halted; its runner ends the session and keeps the work"),
        _ if runs => format!("{agent} hears of it with its next liza command"),
        _ if known.is_some_and(|known| known.runner.is_some()) => format!(
            "nobody runs {agent} now, its runner is dead: whoever goes on as {agent} hears of it with its first liza command"
        ),
        _ => format!(
            "no runner runs {agent}: it hears of it with its next liza command, if it is at work at all"
        ),
    };
    let answer = if action == Action::Halt { "yes" } else { "no, it goes on" };
    let answered: String =
        asked.iter().map(|question| format!("\n{} is answered: {answer}", question.id)).collect();
    let text = format!("{text}{answered}");
    Ok(Answer::new(ordered.data, text).at(ordered.revision))
}
