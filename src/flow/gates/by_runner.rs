//! If an agent's sandbox forbids making a private worktree, the agent's runner runs the gate: outside of the sandbox, in the
//! environment in which the merge is judged too.
//!
//! The agent's command writes a request below `.liza/gates/requests/AGENT`, the runner takes it, runs `liza gate run` for
//! it and writes the answer beside it. A request names a task and a gate, never a command or a commit: it can only make a
//! gate of `liza.yaml` run on what the agent committed, which happens before every review anyway.

use super::Question;
use super::ask::Shared;
use super::attention::Attention;
use super::record::GateRecord;
use crate::flow::prelude::*;
use crate::host::anchored_path::AnchoredPath;
use crate::store::Machine;
use crate::store::files::{make_private_dirs, paths_in, replace_disposable};

/// How long a runner may take to notice a request.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);
/// In addition to the time of the gate itself.
const MARGIN: Duration = Duration::from_secs(120);
const LARGEST: usize = 1024 * 1024;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    task: TaskId,
    gate: String,
}

/// The runner's answer.
#[derive(Serialize, Deserialize)]
enum Answer {
    #[serde(rename = "record")]
    Record(Box<GateRecord>),
    #[serde(rename = "error")]
    Failed(String),
}

/// Removes the files of one request.
struct Files {
    request: PathBuf,
    taken: PathBuf,
    answer: PathBuf,
}

impl Files {
    fn of(request: PathBuf) -> Self {
        Self { taken: request.with_extension("taken"), answer: request.with_extension("answer"), request }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in [&self.request, &self.taken, &self.answer] {
            let _ = fs::remove_file(path);
        }
    }
}

/// The result of the runner's gate; none if gates can run here or there is no runner to ask.
pub fn ask_runner(
    ctx: &Context,
    question: &Question<'_>,
    gate: &Gate,
    shared: &mut Shared<'_>,
    board: &Board,
    attention: &Attention<'_>,
) -> Result<Option<GateOutcome>> {
    let Some((agent, task)) = whose_runner(ctx, board).zip(question.task) else { return Ok(None) };
    if shared.can_run_here().is_ok() {
        return Ok(None);
    }
    let dir = ctx.machine.gate_requests(&agent);
    make_private_dirs(ctx.machine.home(), &dir)?;
    let nanos = host::now().wall.to_string();
    let stem: String = nanos.chars().filter(char::is_ascii_digit).collect();
    let files = Files::of(dir.join(format!("{stem}-{}.json", std::process::id())));
    let request = Request { task: task.clone(), gate: gate.name.clone() };
    let text = serde_json::to_vec(&request).unwrap_or_default();
    replace_disposable(&files.request, &text)?;
    ctx.narrate(format!("gate {} cannot run here; the runner of {agent} runs it", gate.name));
    let begun = Instant::now();
    let tries = gate.flaky_retries + crate::flow::shell::RETRIES + 1;
    let most = Duration::from_secs(gate.timeout.unwrap_or(Gate::DEFAULT_TIMEOUT)) * tries + MARGIN;
    loop {
        attention.check()?;
        if let Ok((bytes, _)) = read_whole(&files.answer, LARGEST as u64) {
            return outcome_of(&bytes, question, gate).map(Some);
        }
        let waited = begun.elapsed();
        if waited > TAKEN_WITHIN && !files.taken.exists() {
            // Without a runner the gate can only run here, and that run says why it cannot.
            return Ok(None);
        }
        if waited > most {
            return Err(failure!(ErrorCode::BusyGates, "the runner of `{agent}` does not answer"));
        }
        std::thread::sleep(PAUSE);
    }
}

fn outcome_of(bytes: &[u8], question: &Question<'_>, gate: &Gate) -> Result<GateOutcome> {
    let broken =
        |why: String| failure!(ErrorCode::BusyGates, "the runner could not run gate `{}`: {why}", gate.name);
    let answer = read_foreign(bytes, Limits::of_bytes(LARGEST)).map_err(|error| broken(error.to_string()))?;
    let record: GateRecord = match answer {
        Answer::Record(record) => *record,
        Answer::Failed(why) => return Err(broken(why)),
    };
    if &record.commit != question.commit {
        let text = format!("it judged {}, not {}", record.commit.short(), question.commit.short());
        return Err(broken(text).hint("commit what you have and try again"));
    }
    let kept = record.gates.get(&gate.name).cloned();
    kept.map(|kept| kept.outcome).ok_or_else(|| broken("it gave no result".to_owned()))
}

/// The calling agent, if it has a runner and the caller is not that runner.
fn whose_runner(ctx: &Context, board: &Board) -> Option<AgentId> {
    let Ok(Actor::Agent { id, .. }) = board.identify(&ctx.credentials) else { return None };
    let runner = board.agent(&id)?.runner.as_ref()?;
    let parent = match &ctx.credentials {
        Credentials::Descendant { of, .. } => of.ancestors.first(),
        _ => None,
    };
    // The runner itself, or a process it starts without a holder in between.
    (*runner != host::this_process() && Some(runner) != parent).then_some(id)
}

/// Answers every pending request of this agent. `run` starts `liza gate run` and returns its output.
pub fn serve(machine: &Machine, agent: &AgentId, run: impl Fn(&TaskId, &str) -> Result<Vec<u8>, String>) {
    for path in paths_in(&machine.gate_requests(agent)) {
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let (taken, answer) = (path.with_extension("taken"), path.with_extension("answer"));
        let Ok((bytes, _)) = read_whole(&path, LARGEST as u64) else { continue };
        // No other process takes the request after this.
        if fs::rename(&path, &taken).is_err() {
            continue;
        }
        let printed = read_foreign::<Request>(&bytes, Limits::of_bytes(LARGEST))
            .map_err(|error| error.to_string())
            .and_then(|request| run(&request.task, &request.gate));
        let outcome = printed.and_then(|printed| parse_record(&printed));
        let text =
            serde_json::to_vec(&outcome.map_or_else(Answer::Failed, Answer::Record)).unwrap_or_default();
        let _ = replace_disposable(&answer, &text);
    }
}

/// Removes requests of an ended session.
pub fn forget(machine: &Machine, agent: &AgentId) {
    if let Ok(requests) = AnchoredPath::at(machine.home(), &machine.gate_requests(agent)) {
        let _ = requests.delete();
    }
}

fn parse_record(printed: &[u8]) -> Result<Box<GateRecord>, String> {
    #[derive(Deserialize)]
    struct Printed {
        data: Option<GateRecord>,
        error: Option<PrintedError>,
    }
    #[derive(Deserialize)]
    struct PrintedError {
        message: String,
    }
    let printed: Printed = serde_json::from_slice(printed).map_err(|error| error.to_string())?;
    let why = printed.error.map_or("it printed nothing".to_owned(), |error| error.message);
    printed.data.map(Box::new).ok_or(why)
}
