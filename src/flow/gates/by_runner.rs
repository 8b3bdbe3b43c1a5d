//! A gate that cannot run where an agent asks, because its sandbox keeps it from making a private worktree, is run by the
//! agent's runner: outside of the sandbox, in the environment in which the merge is judged too.
//!
//! The agent's command writes a request below `.liza/gates/requests/AGENT`, the runner takes it, runs `liza gate run` for
//! it and writes the answer beside it. A request names a task and a gate, never a command or a commit: all it can bring
//! about is that a gate of `liza.yaml` judges what the agent committed, which happens before every review anyway.

use super::Question;
use super::ask::Shared;
use super::attention::Attention;
use super::record::GateRecord;
use crate::flow::prelude::*;
use crate::host::place::Place;
use crate::store::Machine;
use crate::store::files::{make_private_dirs, paths_in, replace_disposable};

/// So long a runner may take to notice a request.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);
/// Beside the time of the gate itself.
const MARGIN: Duration = Duration::from_secs(120);
const LARGEST: usize = 1024 * 1024;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    task: TaskId,
    gate: String,
}

/// What the runner says to it.
#[derive(Serialize, Deserialize)]
enum Answer {
    #[serde(rename = "record")]
    Said(Box<GateRecord>),
    #[serde(rename = "error")]
    Failed(String),
}

/// Removes what was written for one request.
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

/// What the runner's gate says; nothing, if gates can run here or there is no runner to ask.
pub fn asked(
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
    make_private_dirs(&dir)?;
    let nanos = host::now().wall.to_string();
    let stem: String = nanos.chars().filter(char::is_ascii_digit).collect();
    let files = Files::of(dir.join(format!("{stem}-{}.json", std::process::id())));
    let request = Request { task: task.clone(), gate: gate.name.clone() };
    let text = serde_json::to_vec(&request).unwrap_or_default();
    replace_disposable(&files.request, &text)?;
    ctx.narrate(format!("gate {}: it cannot run here; the runner of {agent} runs it", gate.name));
    let begun = Instant::now();
    let tries = gate.flaky_retries + crate::flow::shell::RETRIES + 1;
    let most = Duration::from_secs(gate.timeout.unwrap_or(Gate::DEFAULT_TIMEOUT)) * tries + MARGIN;
    loop {
        attention.check()?;
        if let Ok((bytes, _)) = read_whole(&files.answer, LARGEST as u64) {
            return said(&bytes, question, gate).map(Some);
        }
        let waited = begun.elapsed();
        if waited > TAKEN_WITHIN && !files.taken.exists() {
            // Whoever is there can only run it here, and that says why it cannot.
            return Ok(None);
        }
        if waited > most {
            return Err(failure!(ErrorCode::BusyGates, "the runner of `{agent}` does not answer"));
        }
        std::thread::sleep(PAUSE);
    }
}

fn said(bytes: &[u8], question: &Question<'_>, gate: &Gate) -> Result<GateOutcome> {
    let broken =
        |why: String| failure!(ErrorCode::BusyGates, "the runner could not run gate `{}`: {why}", gate.name);
    let answer = read_foreign(bytes, Limits::of_bytes(LARGEST)).map_err(|error| broken(error.to_string()))?;
    let record: GateRecord = match answer {
        Answer::Said(record) => *record,
        Answer::Failed(why) => return Err(broken(why)),
    };
    if &record.commit != question.commit {
        let text = format!("it judged {}, not {}", record.commit.short(), question.commit.short());
        return Err(broken(text).hint("commit what you have and try again"));
    }
    let kept = record.gates.get(&gate.name).cloned();
    kept.map(|kept| kept.outcome).ok_or_else(|| broken("it did not say anything".to_owned()))
}

/// The agent that asks, if it has a runner and this is not the runner's own doing.
fn whose_runner(ctx: &Context, board: &Board) -> Option<AgentId> {
    let Ok(Actor::Agent { id, .. }) = board.identify(&ctx.credentials) else { return None };
    let runner = board.agent(&id)?.runner.as_ref()?;
    let parent = match &ctx.credentials {
        Credentials::Descendant { of, .. } => of.ancestors.first(),
        _ => None,
    };
    // The runner itself, or what it starts without a holder in between.
    (*runner != host::this_process() && Some(runner) != parent).then_some(id)
}

/// Answers every request of this agent that is there. `run` starts `liza gate run`, and gives what that printed.
pub fn serve(machine: &Machine, agent: &AgentId, run: impl Fn(&TaskId, &str) -> Result<Vec<u8>, String>) {
    for path in paths_in(&machine.gate_requests(agent)) {
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let (taken, answer) = (path.with_extension("taken"), path.with_extension("answer"));
        let Ok((bytes, _)) = read_whole(&path, LARGEST as u64) else { continue };
        // From here on it is not taken again.
        if fs::rename(&path, &taken).is_err() {
            continue;
        }
        let said = read_foreign::<Request>(&bytes, Limits::of_bytes(LARGEST))
            .map_err(|error| error.to_string())
            .and_then(|request| run(&request.task, &request.gate));
        let said = said.and_then(|printed| answered(&printed));
        let text = serde_json::to_vec(&said.map_or_else(Answer::Failed, Answer::Said)).unwrap_or_default();
        let _ = replace_disposable(&answer, &text);
    }
}

/// Requests of a session that is over are nobody's.
pub fn forget(machine: &Machine, agent: &AgentId) {
    if let Ok(place) = Place::at(machine.home(), &machine.gate_requests(agent)) {
        let _ = place.delete();
    }
}

fn answered(printed: &[u8]) -> Result<Box<GateRecord>, String> {
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
    let why = printed.error.map_or("it said nothing".to_owned(), |error| error.message);
    printed.data.map(Box::new).ok_or(why)
}
