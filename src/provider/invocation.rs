//! From an entry and a job to a command line and an environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::policy::provider::ProviderEntry;
use crate::policy::team::Limits;

/// What is to be done, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub prompt: String,
    /// A file that holds the prompt.
    pub prompt_file: PathBuf,
    /// Where it works: a task's worktree, a review checkout, or the root for a planner.
    pub worktree: PathBuf,
    /// The git directory that all worktrees share.
    pub common_dir: PathBuf,
    /// The git directory of this worktree alone, where it is a linked one.
    pub git_dir: PathBuf,
    pub board_dir: PathBuf,
    /// Where this session keeps its files.
    pub run_dir: PathBuf,
    pub model: Option<String>,
    pub args: Vec<String>,
    /// The session to go on with, if the former one may be continued.
    pub session: Option<String>,
    pub limits: Limits,
}

/// What is started.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
    pub program: String,
    pub args: Vec<String>,
    /// What it reads; nothing, if absent.
    pub stdin: Option<Vec<u8>>,
    pub env: BTreeMap<String, String>,
    /// A file it writes its use of tokens to.
    pub usage_file: Option<PathBuf>,
}

pub fn invocation(entry: &ProviderEntry, job: &Job) -> Invocation {
    let fill = |text: &String| {
        text.replace("{prompt_file}", &job.prompt_file.display().to_string())
            .replace("{model}", job.model.as_deref().unwrap_or_default())
            .replace("{worktree}", &job.worktree.display().to_string())
    };
    let mut words = entry.command.iter().map(fill);
    Invocation {
        program: words.next().unwrap_or_default(),
        args: words.chain(job.args.iter().cloned()).collect(),
        stdin: Some(job.prompt.clone().into_bytes()),
        env: entry.set.clone(),
        usage_file: None,
    }
}

/// What of the caller's environment an agent gets: an allow-list, and what its entry names.
pub fn environment(
    entry: &ProviderEntry,
    caller: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    const COMMON: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "TERM"];
    caller
        .into_iter()
        .filter(|(name, _)| {
            name.to_str()
                .is_some_and(|name| COMMON.contains(&name) || entry.env.iter().any(|own| own == name))
        })
        .collect()
}
