//! What would be started, without starting or claiming anything.

use serde_json::{Value, json};

use super::prelude::*;
use super::runner::{Options, choose};
use crate::flow::spend::holding;

/// What a runner sets for its agent.
const OWN_VARIABLES: [&str; 9] = [
    "LIZA_AGENT_ID",
    "LIZA_AGENT_TOKEN_FILE",
    "LIZA_CLAIM",
    "LIZA_TASK",
    "LIZA_ROLE",
    "LIZA_PROMPT_FILE",
    "SPECS_LOCATION",
    "BLACKBOARD",
    "PROJECT_ROOT",
];

pub struct Explained {
    pub data: Value,
    pub text: String,
}

pub fn explain(ctx: &Context, options: &Options) -> Result<Explained, Failure> {
    let config = ctx.project_config()?;
    let role = &options.role;
    let chosen = choose(&config, role, options.provider.as_deref())?;
    let installed = crate::host::program(chosen.entry.program());
    let first = || AgentId::new(&format!("{}-1", role.as_str().replace('_', "-")));
    let agent = options.id.clone().map_or_else(first, Ok).map_err(|why| Failure::usage(why.to_string()))?;
    let found = what_next(ctx, role, options.task.as_ref())?;
    let place = ctx.machine.worktrees().join(match &found {
        Some(Assignment::Task { task, .. }) => task.to_string(),
        Some(Assignment::Review { task }) => format!(".review/{task}"),
        _ => format!(".plan/{agent}"),
    });
    let briefed =
        |assignment| brief(ctx, &BriefRequest { role, agent: &agent, assignment, remarks: &[], again: &[] });
    let (prompt_text, sizes, missing) = match found.as_ref().map(briefed).transpose()? {
        Some(Ok(brief)) => (brief.text, brief.sizes, Vec::new()),
        Some(Err(missing)) => (String::new(), Vec::new(), missing),
        None => (String::new(), Vec::new(), Vec::new()),
    };
    let role_config = config.roles.get(role);
    let limits = Limits::of_role(role, role_config);
    let run_dir = ctx.machine.runs();
    let job = Job {
        prompt: "PROMPT".to_owned(),
        prompt_file: run_dir.join("PROMPT.md"),
        common_dir: ctx.repo.common_dir.clone(),
        git_dir: leftovers::git_dir(ctx, &place),
        worktree: place.clone(),
        board_dir: ctx.store.address().to_owned(),
        run_dir,
        model: role_config.and_then(|role| role.model.clone()),
        args: role_config.map(|role| role.args.clone()).unwrap_or_default(),
        denied: Registry::new(&config).started_without(role, &chosen.entry),
        session: None,
        limits,
    };
    let start = invocation(&chosen.entry, &job);
    let passed = environment(&chosen.entry, std::env::vars_os());
    let mut names: BTreeSet<String> =
        passed.into_iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    names.extend(start.env.keys().cloned());
    names.extend(OWN_VARIABLES.map(str::to_owned));
    let names: Vec<String> = names.into_iter().collect();
    let work = found.as_ref().map(work_words);
    let data = json!({
        "role": role, "agent": agent, "provider": chosen.name, "program": start.program, "args": start.args,
        "installed": installed, "cwd": place, "stdin": start.stdin.is_some(), "environment": names,
        "limits": { "wall_seconds": limits.wall_seconds, "turns": limits.turns, "tokens": limits.tokens },
        "work": work, "prompt_bytes": prompt_text.len(), "missing": missing,
        "prompt_parts": sizes.iter().map(|(name, bytes)| json!({ "part": name, "bytes": bytes })).collect::<Vec<_>>(),
        "prompt": prompt_text,
    });
    let found = if installed.is_some() { "" } else { " (its command is not found on this machine)" };
    let mut text = format!("{role}, played by {}{found}\n", chosen.name);
    let words = std::iter::once(&start.program).chain(&start.args).map(String::as_str);
    text.push_str(&format!("command: {}\n", words.collect::<Vec<_>>().join(" ")));
    text.push_str(&format!("in: {}\n", place.display()));
    text.push_str(&format!("environment: {}\n", names.join(" ")));
    let figure = |limit: Option<u64>| limit.map_or("none".to_owned(), |limit| limit.to_string());
    let [wall, turns, tokens] = [limits.wall_seconds, limits.turns, limits.tokens].map(figure);
    text.push_str(&format!("limits: {wall} s, {turns} turns, {tokens} tokens\n"));
    let next = work.as_deref().unwrap_or("there is nothing to do for it now");
    text.push_str(&format!("next: {next}\n"));
    if !missing.is_empty() {
        text.push_str(&format!("it would not be started; missing: {}\n", missing.join("; ")));
    }
    if !sizes.is_empty() {
        text.push_str(&format!("prompt: {} bytes\n", prompt_text.len()));
        for (name, bytes) in &sizes {
            text.push_str(&format!("  {name}: {bytes}\n"));
        }
    }
    Ok(Explained { data, text })
}

fn work_words(assignment: &Assignment) -> String {
    match assignment {
        Assignment::Task { task, .. } => format!("task {task}"),
        Assignment::Review { task } => format!("review of {task}"),
        Assignment::Plan { wakes } => {
            let about: Vec<String> = wakes.iter().flat_map(|wake| wake.about.clone()).collect();
            format!("planning, because of {}", about.join(", "))
        }
    }
}

/// What an agent of this role would be given now.
fn what_next(ctx: &Context, role: &Role, only: Option<&TaskId>) -> Result<Option<Assignment>, Failure> {
    let written = ctx.project_config()?.spend;
    let snapshot = ctx.read_with(|board| needed_to_begin(board, &written))?;
    let board = &snapshot.board;
    let caps = holding(written, board);
    let world = ctx.store.surroundings(board)?;
    let call = Call::new(board.identify(&ctx.credentials)?, &ctx.now, &world);
    let wanted = |task: &Task| {
        only.is_none_or(|only| only == &task.id) && caps.reached(board, Some(task), None).is_none()
    };
    if *role == Role::planner() {
        let wakes = wakes(board, ctx.now.wall);
        return Ok((!wakes.is_empty()).then_some(Assignment::Plan { wakes }));
    }
    if role.judges() {
        let task = best_review(board, &call, role, wanted);
        return Ok(task.map(|task| Assignment::Review { task: task.id.clone() }));
    }
    let task = best_claim(board, &call, |task| &task.role == role && wanted(task));
    Ok(task.map(|task| Assignment::Task { task: task.id.clone(), epoch: 0 }))
}
