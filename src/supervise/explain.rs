//! Shows the command that a runner would start, without starting or claiming anything.

use serde_json::{Value, json};

use super::prelude::*;
use super::runner::{Options, choose};
use crate::board::Actor;
use crate::flow::spend::holding;
use crate::flow::{agents, claim};

/// Variables that a runner sets for its agent.
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
    let Foreseen { agent, assignment: found, worktree } = what_next(ctx, options)?;
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
        prompt: prompt_text.clone(),
        prompt_file: run_dir.join("PROMPT.md"),
        common_dir: ctx.repo.common_dir.clone(),
        git_dir: git_dir_of(ctx, &worktree),
        worktree: worktree.clone(),
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
    names.extend(leftovers::author(ctx, &agent)?.into_iter().map(|(name, _)| name.to_owned()));
    let names: Vec<String> = names.into_iter().collect();
    let work = found.as_ref().map(work_words);
    let data = json!({
        "role": role, "agent": agent, "provider": chosen.name, "program": start.program, "args": start.args,
        "installed": installed, "cwd": worktree, "stdin": start.stdin.is_some(), "environment": names,
        "limits": { "wall_seconds": limits.wall_seconds, "turns": limits.turns, "tokens": limits.tokens },
        "worktrees": config.worktrees, "work": work, "prompt_bytes": prompt_text.len(), "missing": missing,
        "prompt_parts": sizes.iter().map(|(name, bytes)| json!({ "part": name, "bytes": bytes })).collect::<Vec<_>>(),
        "prompt": prompt_text,
    });
    let found = if installed.is_some() { "" } else { " (its command is not installed)" };
    let mut text = format!("{role}, played by {}{found}\n", chosen.name);
    // The prompt follows below.
    let is_prompt = |word: &&String| !prompt_text.is_empty() && word.contains(prompt_text.trim());
    let shown = |word: &String| if is_prompt(&word) { "PROMPT".to_owned() } else { word.clone() };
    let words = std::iter::once(&start.program).chain(&start.args).map(shown);
    text.push_str(&format!("command: {}\n", words.collect::<Vec<_>>().join(" ")));
    text.push_str(&format!("agent: {agent}\n"));
    text.push_str(&format!("in: {}\n", worktree.display()));
    text.push_str(&format!("environment: {}\n", names.join(" ")));
    let figure = |limit: Option<u64>| limit.map_or("none".to_owned(), |limit| limit.to_string());
    let [wall, turns, tokens] = [limits.wall_seconds, limits.turns, limits.tokens].map(figure);
    text.push_str(&format!("limits: {wall} s, {turns} turns, {tokens} tokens\n"));
    if !config.worktrees.prepares_nothing() {
        let copied = config.worktrees.copy.iter().map(|file| format!("copy {file}"));
        let most = config.worktrees.setup_timeout;
        let run = config.worktrees.setup.iter().map(|command| format!("run `{command}` (at most {most} s)"));
        let steps: Vec<String> = copied.chain(run).collect();
        text.push_str(&format!("worktree setup: {}\n", steps.join("; ")));
    }
    let next = work.as_deref().unwrap_or("no work for this agent now");
    text.push_str(&format!("next: {next}\n"));
    if !missing.is_empty() {
        text.push_str(&format!("the agent would not be started; missing: {}\n", missing.join("; ")));
    }
    if !sizes.is_empty() {
        text.push_str(&format!("prompt: {} bytes\n", prompt_text.len()));
        for (name, bytes) in &sizes {
            text.push_str(&format!("  {name}: {bytes}\n"));
        }
        text.push_str(&format!("\n{}\n", prompt_text.trim_end()));
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

/// The agent that would be started, its work and its worktree.
struct Foreseen {
    agent: AgentId,
    assignment: Option<Assignment>,
    worktree: PathBuf,
}

/// The next work for an agent of this role, computed on a copy of the board where the agent is registered.
fn what_next(ctx: &Context, options: &Options) -> Result<Foreseen, Failure> {
    let (role, only) = (&options.role, options.task.as_ref());
    let written = ctx.project_config()?.spend;
    let snapshot = ctx.read_with(|board| needed_to_begin(board, &written))?;
    let (agent, board) = agents::foreseen(ctx, &snapshot.board, role, options.id.clone())?;
    let caps = holding(written, &board);
    let world = ctx.store.surroundings(&board)?;
    let incarnation = board.agent(&agent).map_or(0, |agent| agent.incarnation);
    let call = Call::new(Actor::Agent { id: agent.clone(), incarnation }, &ctx.now, &world);
    let wanted = |task: &Task| {
        only.is_none_or(|only| only == &task.id) && caps.reached(&board, Some(task), Some(&agent)).is_none()
    };
    let worktrees = ctx.machine.worktrees();
    let (assignment, worktree) = if *role == Role::planner() {
        let wakes = wakes(&board, ctx.now.wall);
        let work = (!wakes.is_empty()).then_some(Assignment::Plan { wakes });
        (work, worktrees.join(format!(".plan/{agent}")))
    } else if role.judges() {
        let task = best_review(&board, &call, role, wanted).map(|task| task.id.clone());
        let name = task.as_ref().map_or("TASK", TaskId::as_str);
        let worktree = worktrees.join(format!(".review/{name}"));
        (task.map(|task| Assignment::Review { task }), worktree)
    } else {
        let task = best_claim(&board, &call, |task| &task.role == role && wanted(task));
        match task.map(|task| task.id.clone()) {
            Some(task) => {
                let whole = ctx.read(&Needs::task(&task))?.board;
                let claim = claim::foreseen(ctx, &whole, &agent, &task)?;
                (Some(Assignment::Task { task, epoch: 0 }), claim.worktree)
            }
            None => (None, worktrees.join("TASK")),
        }
    };
    Ok(Foreseen { agent, assignment, worktree })
}

/// Git's directory for this worktree, also if the worktree does not exist yet.
fn git_dir_of(ctx: &Context, worktree: &Path) -> PathBuf {
    if worktree.join(".git").exists() {
        return leftovers::git_dir(ctx, worktree);
    }
    let name = worktree.file_name().unwrap_or_default();
    ctx.repo.common_dir.join("worktrees").join(name)
}
