//! One call of an agent: the prompt in, its last message out. What it does in the worktree is looked at afterwards.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use super::{Lab, mcp, trace};
use crate::experiment::Step;
use crate::flow::prelude::*;
use crate::flow::shell::leaving_nothing;
use crate::host::place::Temporary;
use crate::host::{Child, Program, Streams, start_thread};
use crate::policy::experiment::{CODEX_MCP, ExperimentAgent};
use crate::policy::prices::price_of;
use crate::policy::provider::{OutputFormat, ProviderEntry};
use crate::policy::registry::Registry;
use crate::policy::team::Limits as SessionLimits;
use crate::provider::{Job, LastMessage, Meter, Redactor, Usage, environment, invocation, secrets};

/// How long the rest of an output is waited for when the command has ended.
const DRAIN: Duration = Duration::from_secs(10);
/// How often signals, ABORT and deadlines are looked for.
const TICK: Duration = Duration::from_millis(50);
/// So much of what it said on standard error is kept, for the message when it fails.
const MOST_COMPLAINT: usize = 16 * 1024;

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
        git_dir: git_dir(lab, call.worktree),
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
    let began = Instant::now();
    let program = Program::held_for_gate(lab.machine.home(), &started.program).args(&started.args);
    let program = program.dir(call.worktree).only_env(env).own_group().streams(Streams::Apart);
    let mut child = match program.stdin(started.stdin.clone()).start() {
        Ok(child) => child,
        Err(error) => {
            let why = format!("`{}` cannot be started: {error}", started.program);
            return Ok((Answer::none(why), Vec::new()));
        }
    };
    let heard = listen(&mut child, entry, &all_secrets);
    let deadline = limits.wall_seconds.map(|seconds| began + Duration::from_secs(seconds));
    let (why, stopped) = wait(lab, &mut child, deadline);
    let Heard { mut last, mut meter, complaint } = heard.until(Instant::now() + DRAIN);
    let text = last.finish();
    meter.finish(
        started
            .usage_file
            .as_deref()
            .and_then(|path| read_whole(path, 1024 * 1024).ok())
            .map(|(bytes, _)| bytes)
            .as_deref(),
    );
    let mut usage = meter.usage().clone();
    if usage.cost_usd.is_none()
        && let Some(price) =
            price_of(&lab.project.prices, usage.model.as_deref(), agent.model.as_deref(), name)
    {
        usage.cost_usd = Some(price.of(usage.input_tokens, usage.output_tokens, usage.cached_tokens));
    }
    let failed = why.map(|why| {
        let said =
            usage.last_error.clone().or_else(|| last_line(&complaint)).or_else(|| last_line(text.as_bytes()));
        let said = said.map_or(String::new(), |said| format!(": {}", shown_line(&lab.redacted(&said))));
        format!("the {} ({name}) failed, {why}{said}", call.step)
    });
    let answer = Answer { text, usage, seconds: began.elapsed().as_secs_f64(), failed, stopped };
    Ok((answer, last.calls))
}

/// How the scratch directories of a run begin.
pub fn scratch_name(run_dir: &Path) -> String {
    format!(".tmp-{}-", run_dir.file_name().unwrap_or_default().to_string_lossy())
}

fn git_dir(lab: &Lab, worktree: &Path) -> PathBuf {
    let record = checkouts::recorded_at(&lab.repo, worktree).ok().and_then(|mut found| found.pop());
    record.map_or_else(|| lab.repo.common_dir.clone(), |record| record.admin_dir)
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

/// What was understood of an output so far.
struct Heard {
    last: LastMessage,
    meter: Meter,
    /// The end of what was said on standard error.
    complaint: Vec<u8>,
}

struct Ears {
    heard: Arc<Mutex<Heard>>,
    ended: mpsc::Receiver<()>,
    streams: usize,
}

impl Ears {
    /// What was said, once the streams have ended, or at the deadline: a process that was set free may hold them for ever.
    fn until(self, deadline: Instant) -> Heard {
        for _ in 0..self.streams {
            if self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_err() {
                break;
            }
        }
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = Heard {
            last: LastMessage::new(OutputFormat::Text),
            meter: Meter::default(),
            complaint: Vec::new(),
        };
        std::mem::replace(&mut *heard, empty)
    }
}

/// Reads both streams without secrets until they end. A program that cannot be listened to is ended.
fn listen(child: &mut Child, entry: &ProviderEntry, secrets: &[Secret]) -> Ears {
    let heard = Heard {
        last: LastMessage::new(entry.output.unwrap_or_default()),
        meter: Meter::new(entry),
        complaint: Vec::new(),
    };
    let heard = Arc::new(Mutex::new(heard));
    let (sender, ended) = mpsc::channel();
    let mut streams = 0;
    let mut begun = true;
    if let Some(out) = child.stdout.take() {
        let (heard, redactor, sender) = (Arc::clone(&heard), Redactor::of(secrets), sender.clone());
        streams += 1;
        begun &= start_thread(move || {
            pump(out, redactor, |bytes| {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.last.feed(bytes);
                heard.meter.feed(bytes);
            });
            let _ = sender.send(());
        })
        .is_ok();
    }
    if let Some(err) = child.stderr.take() {
        let (heard, redactor) = (Arc::clone(&heard), Redactor::of(secrets));
        streams += 1;
        begun &= start_thread(move || {
            pump(err, redactor, |bytes| {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.complaint.extend(bytes);
                let excess = heard.complaint.len().saturating_sub(MOST_COMPLAINT);
                heard.complaint.drain(..excess);
            });
            let _ = sender.send(());
        })
        .is_ok();
    }
    if !begun {
        child.end();
    }
    Ears { heard, ended, streams }
}

fn pump(mut from: impl Read, mut redactor: Redactor, mut pass: impl FnMut(&[u8])) {
    let mut buffer = vec![0u8; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => pass(&redactor.feed(&buffer[..count])),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    pass(&redactor.finish());
}

/// Waits for the end, or brings it about. Says why it counts as failed, and what ended it before its time.
fn wait(lab: &Lab, child: &mut Child, deadline: Option<Instant>) -> (Option<String>, Option<&'static str>) {
    use std::os::unix::process::ExitStatusExt;
    loop {
        match child.wait_within(TICK) {
            Ok(Some(status)) => {
                let why = match (status.code(), status.signal()) {
                    (Some(0), _) => None,
                    (Some(127), _) => Some("its command was not found".to_owned()),
                    (Some(code), _) => Some(format!("exit {code}")),
                    (None, signal) => Some(format!("killed by signal {}", signal.unwrap_or_default())),
                };
                return (why, None);
            }
            Ok(None) => {}
            Err(error) => return (Some(format!("it was lost: {error}")), None),
        }
        if let Some(why) = lab.must_end() {
            child.end();
            return (Some(why.to_owned()), Some(why));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            child.end();
            return (Some("its time is over".to_owned()), None);
        }
    }
}

fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(|line| clipped(line, 300).into_owned())
}
