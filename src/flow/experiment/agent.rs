//! One call of an agent: the prompt in, its last message out. What it does in the worktree is looked at afterwards.

use super::{Lab, mcp, trace};
use crate::experiment::Step;
use crate::flow::one_call::{OneCall, Said};
use crate::flow::prelude::*;
use crate::flow::shell::leaving_nothing;
use crate::host::place::Temporary;
use crate::policy::experiment::{CODEX_MCP, ExperimentAgent};
use crate::policy::prices::price_of;
use crate::policy::provider::ProviderEntry;
use crate::policy::registry::Registry;
use crate::policy::team::Limits as SessionLimits;
use crate::provider::{Job, Usage, environment, invocation, secrets};

/// Who is called, for what.
pub struct Call<'a> {
    pub step: Step,
    pub round: u32,
    pub prompt: &'a str,
    /// The artifact that holds the prompt.
    pub prompt_name: &'a str,
    /// The artifact the answer goes to.
    pub answer_name: &'a str,
    pub worktree: &'a Path,
    pub run_dir: &'a Path,
}

/// What came back.
pub struct Answer {
    pub text: String,
    pub usage: Usage,
    pub seconds: f64,
    /// Why it counts for nothing: it could not be started, was stopped, or failed.
    pub failed: Option<String>,
    /// Why it was ended before its time: a signal, or ABORT.
    pub stopped: Option<&'static str>,
}

impl Answer {
    /// One that could not even be asked for.
    pub fn none(why: String) -> Self {
        Self { text: String::new(), usage: Usage::default(), seconds: 0.0, failed: Some(why), stopped: None }
    }
}

/// The agent of a step, as configured.
pub fn of(lab: &Lab, step: Step) -> &ExperimentAgent {
    let agents = &lab.config().agents;
    match step {
        Step::Planner => &agents.planner,
        Step::Coder => &agents.coder,
        Step::Reviewer => &agents.reviewer,
    }
}

/// The name of the provider that plays a step.
pub fn provider_of(lab: &Lab, step: Step) -> Result<&str> {
    let named = of(lab, step).provider.as_deref().or(lab.project.provider.as_deref());
    named.ok_or_else(|| {
        failure!(ErrorCode::UsageProvider, "no agent command is named for the {step}").hint(format!(
            "set `provider: NAME`, or `experiment: {{agents: {{{step}: {{provider: NAME}}}}}}`, in liza.yaml"
        ))
    })
}

/// Whether every step can be played, asked before anything is made.
pub fn check(lab: &Lab) -> Result<()> {
    let catalog = Catalog::new(&lab.project);
    for step in Step::ALL {
        let name = provider_of(lab, *step)?;
        if name != CODEX_MCP {
            catalog.entry(name)?;
        }
    }
    Ok(())
}

/// Calls the agent, and writes prompt, answer and span.
pub fn call(lab: &Lab, call: &Call<'_>) -> Result<Answer> {
    let prompt = lab.redacted(call.prompt);
    let prompt_file = call.run_dir.join(call.prompt_name);
    crate::store::files::replace_disposable(&prompt_file, prompt.as_bytes())?;
    let name = provider_of(lab, call.step)?;
    let start = host::now().wall;
    let (answer, tools) = if name == CODEX_MCP {
        mcp::call(lab, call, &prompt)
    } else {
        let entry = Catalog::new(&lab.project).entry(name)?.clone();
        leaving_nothing(|| session(lab, call, &prompt, name, &entry))?
    };
    let text = lab.redacted(&answer.text);
    crate::store::files::replace_disposable(&call.run_dir.join(call.answer_name), text.as_bytes())?;
    trace::span(
        lab,
        call.run_dir,
        &trace::Span {
            step: call.step,
            round: call.round,
            start,
            end: host::now().wall,
            provider: name,
            model: answer.usage.model.as_deref().or(of(lab, call.step).model.as_deref()),
            usage: (&answer.usage).into(),
            files: [call.prompt_name, call.answer_name],
            tools: &tools,
            error: answer.failed.as_deref(),
        },
    );
    Ok(Answer { text, ..answer })
}

/// The role whose limits and rights a step has.
fn role_of(step: Step) -> Role {
    match step {
        Step::Planner => Role::planner(),
        Step::Coder => Role::coder(),
        Step::Reviewer => Role::code_reviewer(),
    }
}

pub fn limits(lab: &Lab, step: Step) -> SessionLimits {
    let role = role_of(step);
    let limits = SessionLimits::of_role(&role, lab.project.roles.get(&role));
    SessionLimits { turns: lab.config().agents_sdk.max_turns.or(limits.turns), ..limits }
}

fn session(
    lab: &Lab,
    call: &Call<'_>,
    prompt: &str,
    name: &str,
    entry: &ProviderEntry,
) -> Result<(Answer, Vec<String>)> {
    // What the command writes beside the worktree is no artifact.
    let scratch = Temporary::new(&lab.runs, &scratch_name(call.run_dir))
        .map_err(|error| Failure::io("make", &lab.runs, &error))?;
    let agent = of(lab, call.step);
    let limits = limits(lab, call.step);
    let job = Job {
        prompt: prompt.to_owned(),
        prompt_file: call.run_dir.join(call.prompt_name),
        worktree: call.worktree.to_owned(),
        common_dir: lab.repo.common_dir.clone(),
        git_dir: checkouts::admin_dir(&lab.repo, call.worktree),
        board_dir: lab.machine.home().to_owned(),
        run_dir: scratch.path().to_owned(),
        model: agent.model.clone(),
        args: agent.args.clone(),
        denied: Registry::new(&lab.project).started_without(&role_of(call.step), entry),
        session: None,
        limits,
    };
    let started = invocation(entry, &job);
    let env = agent_environment(lab, entry, &started.env, call);
    let mut all_secrets = lab.secrets.clone();
    all_secrets.extend(secrets(env.iter().map(|(name, value)| (name, value)), []));
    let one = OneCall {
        home: lab.machine.home(),
        dir: call.worktree,
        started: &started,
        entry,
        env,
        secrets: &all_secrets,
        wall_seconds: limits.wall_seconds,
        must_end: &|| lab.must_end(),
    };
    let Said { text, tools, mut usage, took, why, stopped, last_words } = match one.make() {
        Ok(said) => said,
        Err(why) => return Ok((Answer::none(why), Vec::new())),
    };
    if usage.cost_usd.is_none()
        && let Some(price) =
            price_of(&lab.project.prices, usage.model.as_deref(), agent.model.as_deref(), name)
    {
        usage.cost_usd = Some(price.of(usage.input_tokens, usage.output_tokens, usage.cached_tokens));
    }
    let failed = why.map(|why| {
        let said = last_words.map_or(String::new(), |said| format!(": {}", shown_line(&lab.redacted(&said))));
        format!("the {} ({name}) failed, {why}{said}", call.step)
    });
    let answer = Answer { text, usage, seconds: took.as_secs_f64(), failed, stopped };
    Ok((answer, tools))
}

/// How the scratch directories of a run begin.
pub fn scratch_name(run_dir: &Path) -> String {
    format!(".tmp-{}-", run_dir.file_name().unwrap_or_default().to_string_lossy())
}

/// What an agent gets: what its provider's entry names of the person's environment, the variables, and who commits.
pub fn agent_environment(
    lab: &Lab,
    entry: &ProviderEntry,
    own: &BTreeMap<String, String>,
    call: &Call<'_>,
) -> Vec<(OsString, OsString)> {
    let mut env = environment(entry, std::env::vars_os());
    env.extend(lab.variables.iter().cloned());
    let mut set = |name: &str, value: OsString| {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value));
    };
    for (name, value) in own {
        set(name, value.into());
    }
    for who in ["AUTHOR", "COMMITTER"] {
        set(&format!("GIT_{who}_NAME"), lab.identity.name.clone().into());
        set(&format!("GIT_{who}_EMAIL"), lab.identity.email.clone().into());
    }
    set("LIZA_EXPERIMENT_STEP", call.step.as_str().into());
    // A worktree that lost its `.git` file must not lead the agent's git to the person's checkout above it.
    set("GIT_CEILING_DIRECTORIES", lab.worktrees.clone().into());
    env
}
