//! Agent sessions kept under `.liza/runs`: found by agent or task, and read step by step for people.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::time::SystemTime;

use crate::flow::prelude::*;
use crate::policy::provider::OutputFormat;
use crate::provider::{Step, Transcript, Usage};
use crate::store::files::{open_plain, paths_in, replace_disposable};

const LARGEST_RECORD: usize = 64 * 1024;
/// How much of an output line is read; the rest is skipped.
const LONGEST_LINE: u64 = 1024 * 1024;
/// How many session names are suggested if the requested one does not exist.
const NAMED: usize = 8;

/// What a runner records when a session starts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    pub agent: AgentId,
    pub task: Option<TaskId>,
    pub role: Role,
    pub provider: String,
    pub output: OutputFormat,
    pub started: Wall,
}

/// What a runner records when it has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ended {
    pub agent: AgentId,
    pub exit: Option<i32>,
    pub seconds: f64,
    pub usage: Usage,
    /// How it ended, in words.
    #[serde(default)]
    pub ended: String,
}

/// The files of one session.
#[derive(Debug, Clone)]
pub struct Kept {
    dir: PathBuf,
    stem: String,
    pub agent: String,
    pub task: Option<String>,
    began: SystemTime,
}

impl Kept {
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{}.{name}", self.stem))
    }

    pub fn about(&self) -> Option<About> {
        record(&self.path("session.json"))
    }

    pub fn ended(&self) -> Option<Ended> {
        record(&self.path("usage.json"))
    }

    /// Why it failed, as its runner understood it.
    pub fn failure(&self) -> Option<String> {
        let (bytes, _) = read_whole(&self.path("failure.txt"), LARGEST_RECORD as u64).ok()?;
        Some(shown_line(String::from_utf8_lossy(&bytes).trim()).into_owned())
    }

    /// All of its kept output, in order.
    fn outputs(&self) -> Vec<PathBuf> {
        let names = ["out.log", "out.tail-before.log", "out.tail.log"];
        names.map(|name| self.path(name)).into_iter().filter(|path| path.exists()).collect()
    }
}

fn record<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    let (bytes, _) = read_whole(path, LARGEST_RECORD as u64).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Records the start of a session; if it cannot be written, only its display suffers.
pub fn begin(path: &Path, about: &About) {
    if let Ok(text) = serde_json::to_vec(about) {
        let _ = replace_disposable(path, &text);
    }
}

/// Every kept session, the oldest first.
pub fn all(ctx: &Context) -> Vec<Kept> {
    let mut found = Vec::new();
    for place in paths_in(&ctx.machine.runs()) {
        let name = place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let task = (!name.starts_with('.')).then(|| name.clone());
        let rounds = if task.is_some() { paths_in(&place) } else { vec![place] };
        for dir in rounds {
            found.extend(sessions_in(&dir, task.as_deref()));
        }
    }
    found.sort_by(|one, other| (one.began, &one.stem).cmp(&(other.began, &other.stem)));
    found
}

fn sessions_in(dir: &Path, task: Option<&str>) -> Vec<Kept> {
    let of_file = |path: PathBuf| {
        let stem = path.file_name()?.to_str()?.strip_suffix(".prompt.md")?.to_owned();
        let (agent, _) = stem.rsplit_once('-')?;
        let began = path.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let task = task.map(str::to_owned);
        Some(Kept { dir: dir.to_owned(), agent: agent.to_owned(), stem, task, began })
    };
    paths_in(dir).into_iter().filter_map(of_file).collect()
}

/// The last session of an agent or on a task, or of all.
pub fn last(ctx: &Context, of: Option<&str>) -> Result<Kept> {
    let all = all(ctx);
    let fits = |kept: &&Kept| of.is_none_or(|of| kept.agent == of || kept.task.as_deref() == Some(of));
    if let Some(kept) = all.iter().rev().find(fits) {
        return Ok(kept.clone());
    }
    let mut names: Vec<&str> = Vec::new();
    for kept in all.iter().rev() {
        for name in [Some(kept.agent.as_str()), kept.task.as_deref()].into_iter().flatten() {
            if !names.contains(&name) && names.len() < NAMED {
                names.push(name);
            }
        }
    }
    Err(match of {
        Some(of) if !names.is_empty() => {
            let text = format!("there is no session of `{}`", shown_line(of));
            Failure::usage(text).hint(format!("name one of {}", list_words(names)))
        }
        _ => Failure::usage("no session of an agent is kept").hint("`liza run` starts agents"),
    })
}

/// Reads a session's output, and continues where it stopped.
pub struct Reader {
    kept: Kept,
    transcript: Option<Transcript>,
    /// How much of the first file was read.
    offset: u64,
    rest: Vec<u8>,
}

impl Reader {
    /// Step by step, or line by line as printed.
    pub fn new(kept: &Kept, raw: bool) -> Self {
        let format = kept.about().map(|about| about.output).unwrap_or_default();
        let transcript = (!raw).then(|| Transcript::new(format));
        Self { kept: kept.clone(), transcript, offset: 0, rest: Vec::new() }
    }

    fn steps(&mut self, line: &[u8]) -> Vec<Step> {
        match &mut self.transcript {
            Some(transcript) => transcript.line(line),
            None => {
                let text = shown_line(&String::from_utf8_lossy(line)).into_owned();
                if text.is_empty() { Vec::new() } else { vec![Step::Printed { text }] }
            }
        }
    }

    /// The last steps of the present output, and how many came before.
    pub fn last_steps(&mut self, most: usize) -> (VecDeque<Step>, usize) {
        let mut kept = VecDeque::new();
        let mut left_out = 0;
        for (number, path) in self.kept.outputs().into_iter().enumerate() {
            let Ok(file) = open_plain(&path) else { continue };
            let mut reader = BufReader::new(file);
            let mut line = Vec::new();
            let mut read = 0;
            loop {
                line.clear();
                let Ok(count) = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line) else { break };
                // An unfinished line is read once it is complete.
                if count == 0 || number == 0 && !line.ends_with(b"\n") {
                    break;
                }
                read += count as u64;
                for step in self.steps(&line) {
                    kept.push_back(step);
                    if kept.len() > most {
                        kept.pop_front();
                        left_out += 1;
                    }
                }
            }
            if number == 0 {
                self.offset = read;
            }
        }
        (kept, left_out)
    }

    /// What was printed since the last call.
    pub fn more(&mut self) -> Vec<Step> {
        use std::io::{Seek, SeekFrom};
        let Ok(mut file) = open_plain(&self.kept.path("out.log")) else { return Vec::new() };
        let mut bytes = Vec::new();
        let read = file
            .seek(SeekFrom::Start(self.offset))
            .and_then(|_| file.take(LONGEST_LINE).read_to_end(&mut bytes));
        if read.is_err() || bytes.is_empty() {
            return Vec::new();
        }
        self.offset += bytes.len() as u64;
        self.rest.extend(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            // An endless line is not kept.
            if self.rest.len() as u64 > LONGEST_LINE {
                self.rest.clear();
            }
            return Vec::new();
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        whole.split(|byte| *byte == b'\n').flat_map(|line| self.steps(line)).collect()
    }

    /// What was started and not finished, once nothing more comes.
    pub fn finish(&mut self) -> Vec<Step> {
        let rest = std::mem::take(&mut self.rest);
        let mut steps = self.steps(&rest);
        steps.extend(self.transcript.as_mut().map(Transcript::finish).unwrap_or_default());
        steps
    }
}

/// How much of an output's end is searched for a program's last lines.
const LAST_WORDS: u64 = 4096;
const LAST_LINES: usize = 20;

/// The last lines of a kept output, without terminal control sequences.
pub fn last_lines(path: &Path) -> Vec<String> {
    use std::io::{Seek, SeekFrom};
    let tail = path.with_extension("tail.log");
    let path = if tail.exists() { tail } else { path.to_owned() };
    let Ok(mut file) = open_plain(&path) else { return Vec::new() };
    let length = file.metadata().map_or(0, |meta| meta.len());
    let mut bytes = Vec::new();
    let from = length.saturating_sub(LAST_WORDS);
    if file.seek(SeekFrom::Start(from)).is_err() || file.take(LAST_WORDS).read_to_end(&mut bytes).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut lines: Vec<String> = lines.map(|line| shown_line(line).into_owned()).collect();
    let too_many = lines.len().saturating_sub(LAST_LINES);
    lines.drain(..too_many);
    lines
}
