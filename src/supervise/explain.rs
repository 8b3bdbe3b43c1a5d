//! What would be started, without starting or claiming anything.

use serde_json::{Value, json};

use crate::board::{AgentId, Call, Role, Task, TaskId};
use crate::flow::briefing::{Assignment, BriefRequest, brief};
use crate::flow::spend::holding;
use crate::flow::{Context, Failure, leftovers};
use crate::policy::registry::Registry;
use crate::policy::schedule::{best_claim, best_review};
use crate::policy::spend::needed_to_begin;
use crate::policy::team::Limits;
use crate::policy::wake::wakes;
use crate::provider::{Job, environment, invocation};

use super::runner::{Options, choose};

pub struct Explained {
    pub data: Value,
    pub text: String,
}

pub fn explain(ctx: &Context, options: &Options) -> Result<Explained, Failure> {
    let config = ctx.project_config()?;
    let role = &options.role;
    let chosen = choose(&config, role, options.provider.as_deref())?;
    let installed = crate::host::program(chosen.entry.program());
    let agent = match &options.id {
        Some(id) => id.clone(),
        None => AgentId::new(&format!("{}-1", role.as_str().replace('_', "-")))
            .map_err(|why| Failure::usage(why.to_string()))?,
    };
    let found = what_next(ctx, role, options.task.as_ref())?;
    let place = match &found {
        Some(Assignment::Task { task, .. }) => ctx.root().join(".worktrees").join(task.as_str()),
        Some(Assignment::Review { task }) => ctx.root().join(".worktrees/.review").join(task.as_str()),
        _ => ctx.root().join(".worktrees/.plan").join(agent.as_str()),
    };
    let prompt = match &found {
        Some(assignment) => {
            Some(brief(ctx, &BriefRequest { role, agent: &agent, assignment, remarks: &[], again: &[] })?)
        }
        None => None,
    };
    let prompt_text = match &prompt {
        Some(Ok(brief)) => brief.text.clone(),
        _ => String::new(),
    };
    let role_config = config.roles.get(role);
    let limits = Limits::of_role(role, role_config);
    let run_dir = ctx.store.layout().runs();
    let job = Job {
        prompt: "PROMPT".to_owned(),
        prompt_file: run_dir.join("PROMPT.md"),
        common_dir: ctx.repo.common_dir.clone(),
        git_dir: leftovers::git_dir(ctx, &place),
        worktree: place.clone(),
        board_dir: ctx.store.dir().to_owned(),
        run_dir,
        model: role_config.and_then(|role| role.model.clone()),
        args: role_config.map(|role| role.args.clone()).unwrap_or_default(),
        denied: Registry::new(&config).started_without(role, &chosen.entry),
        session: None,
        limits,
    };
    let start = invocation(&chosen.entry, &job);
    let mut names: Vec<String> = environment(&chosen.entry, std::env::vars_os())
        .into_iter()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .chain(start.env.keys().cloned())
        .chain(
            [
                "LIZA_AGENT_ID",
                "LIZA_AGENT_TOKEN_FILE",
                "LIZA_CLAIM",
                "LIZA_TASK",
                "LIZA_ROLE",
                "LIZA_PROMPT_FILE",
                "SPECS_LOCATION",
                "BLACKBOARD",
                "PROJECT_ROOT",
            ]
            .map(str::to_owned),
        )
        .collect();
    names.sort();
    names.dedup();
    let (sizes, missing) = match &prompt {
        Some(Ok(brief)) => (brief.sizes.clone(), Vec::new()),
        Some(Err(missing)) => (Vec::new(), missing.clone()),
        None => (Vec::new(), Vec::new()),
    };
    let work = found.as_ref().map(work_words);
    let mut words = vec![start.program.clone()];
    words.extend(start.args.iter().cloned());
    let data = json!({
        "role": role, "agent": agent, "provider": chosen.name, "program": start.program, "args": start.args,
        "installed": installed, "cwd": place, "stdin": start.stdin.is_some(), "environment": names,
        "limits": { "wall_seconds": limits.wall_seconds, "turns": limits.turns, "tokens": limits.tokens },
        "work": work, "prompt_bytes": prompt_text.len(), "missing": missing,
        "prompt_parts": sizes.iter().map(|(name, bytes)| json!({ "part": name, "bytes": bytes })).collect::<Vec<_>>(),
        "prompt": prompt_text,
    });
    let mut text = format!("{role}, played by {}", chosen.name);
    text.push_str(match &installed {
        Some(_) => "\n",
        None => " (its command is not found on this machine)\n",
    });
    text.push_str(&format!("command: {}\n", words.join(" ")));
    text.push_str(&format!("in: {}\n", place.display()));
    text.push_str(&format!("environment: {}\n", names.join(" ")));
    let figure = |limit: Option<u64>| limit.map_or("none".to_owned(), |limit| limit.to_string());
    text.push_str(&format!(
        "limits: {} s, {} turns, {} tokens\n",
        figure(limits.wall_seconds),
        figure(limits.turns),
        figure(limits.tokens)
    ));
    match &work {
        Some(work) => text.push_str(&format!("next: {work}\n")),
        None => text.push_str("next: there is nothing to do for it now\n"),
    }
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
            format!(
                "planning, because of {}",
                wakes.iter().flat_map(|wake| wake.about.clone()).collect::<Vec<_>>().join(", ")
            )
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
