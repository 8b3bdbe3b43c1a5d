//! Shared by all runs of one call: the repository, the settings, the directories, and the children's environment.

use crate::flow::interruption;
use crate::flow::prelude::*;
use crate::git::{Identity, Repo, identity};
use crate::host::anchored_path;
use crate::policy::experiment::ExperimentConfig;
use crate::provider::{Redactor, is_own, secrets};
use crate::store::{Machine, Store, files};

pub const BY_SIGNAL: &str = "interrupted by a signal";

const LARGEST_ENV_FILE: u64 = 256 * 1024;
const LARGEST_PROMPT_FILE: u64 = 256 * 1024;

/// A report on the progress of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Progress {
    pub run_id: String,
    pub idea: String,
    pub what: String,
}

/// Shared by the threads of a call.
pub struct Lab {
    pub repo: Repo,
    pub machine: Machine,
    pub project: ProjectConfig,
    pub has_board: bool,
    /// The directories of worktrees and artifacts; each run has its own subdirectory.
    pub worktrees: PathBuf,
    pub runs: PathBuf,
    pub identity: Identity,
    /// Variables from the configured files, except those that are set already.
    pub variables: Vec<(OsString, OsString)>,
    pub secrets: Vec<Secret>,
}

impl Lab {
    /// Reads the settings; makes nothing.
    pub fn open(ctx: &Context) -> Result<Self> {
        let project = ctx.project_config()?;
        if let Some(problem) = project.experiment.problem() {
            return Err(failure!(Code::Value, "liza.yaml: {problem}")
                .hint("`experiment:` in liza.yaml; docs/experiments.md explains the settings"));
        }
        let root = ctx.root();
        let variables = variables(root, &project.experiment)?;
        let secrets = secrets_of(&variables);
        Ok(Self {
            repo: ctx.repo.clone(),
            machine: ctx.machine.clone(),
            has_board: ctx.store.exists(),
            worktrees: root.join(&project.experiment.worktree_root),
            runs: root.join(&project.experiment.experiments_root),
            identity: identity(root)?,
            variables,
            secrets,
            project,
        })
    }

    pub fn config(&self) -> &ExperimentConfig {
        &self.project.experiment
    }

    pub fn root(&self) -> &Path {
        &self.repo.root
    }

    /// Makes the directories, and adds those inside the repository to git's exclude file.
    pub fn prepare(&self) -> Result<()> {
        for dir in [&self.worktrees, &self.runs] {
            match dir.strip_prefix(self.root()) {
                Ok(_) => anchored_path::make_directories(self.root(), dir)
                    .map_err(|error| Failure::io("make", dir, &error))?,
                Err(_) => files::make_named_dirs(dir)?,
            }
        }
        self.exclude()
    }

    fn exclude(&self) -> Result<()> {
        let path = self.repo.common_dir.join("info/exclude");
        let mut text = match read_whole(&path, LARGEST_ENV_FILE) {
            Ok((bytes, _)) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Failure::io("read", &path, &error)),
        };
        let inside =
            [&self.worktrees, &self.runs].into_iter().filter_map(|dir| dir.strip_prefix(self.root()).ok());
        let lines = inside.map(|dir| format!("/{}/", dir.display()));
        let missing: Vec<String> =
            lines.filter(|line| !text.lines().any(|known| known.trim() == line.as_str())).collect();
        if missing.is_empty() {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for line in missing {
            text.push_str(&line);
            text.push('\n');
        }
        let info = self.repo.common_dir.join("info");
        fs::create_dir_all(&info).map_err(|error| Failure::io("make", &info, &error))?;
        Ok(files::replace_shared(&path, text.as_bytes())?)
    }

    /// Removes secret values from a text.
    pub fn redacted(&self, text: &str) -> String {
        if self.secrets.is_empty() {
            return text.to_owned();
        }
        let mut redactor = Redactor::of(&self.secrets);
        let mut bytes = redactor.feed(text.as_bytes());
        bytes.extend(redactor.finish());
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The same for every text in a JSON value.
    pub fn redacted_json(&self, value: Value) -> Value {
        match value {
            _ if self.secrets.is_empty() => value,
            Value::String(text) => Value::String(self.redacted(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.redacted_json(item)).collect(),
            Value::Object(map) => {
                map.into_iter().map(|(key, value)| (self.redacted(&key), self.redacted_json(value))).collect()
            }
            other => other,
        }
    }

    /// The variable whose secret value these bytes contain, if any.
    pub fn leaked(&self, bytes: &[u8]) -> Option<&str> {
        let found = self.secrets.iter().find(|secret| memchr::memmem::find(bytes, &secret.value).is_some());
        found.map(|secret| secret.name.as_str())
    }

    /// The environment of a person's command: the person's own without liza's and git's variables, and the configured variables.
    pub fn command_environment(&self) -> Vec<(OsString, OsString)> {
        let own = std::env::vars_os().filter(|(name, _)| !is_own(&name.to_string_lossy()));
        own.chain(self.variables.iter().cloned()).collect()
    }

    /// The instructions of a role: the person's file, or the built-in text.
    pub fn instructions(&self, file: Option<&String>, built_in: &str) -> Result<String> {
        let Some(file) = file else { return Ok(built_in.to_owned()) };
        let path = self.root().join(file);
        let (bytes, _) =
            read_whole(&path, LARGEST_PROMPT_FILE).map_err(|error| Failure::io("read", &path, &error))?;
        String::from_utf8(bytes)
            .map_err(|_| failure!(Code::Value, "the prompt {} is not UTF-8 text", path.display()))
    }

    /// The team-wide switch, if one is set.
    pub fn switch(&self) -> Option<SwitchKind> {
        if !self.has_board {
            return None;
        }
        let switches = Store::new(self.machine.home()).switches().ok()?;
        switches.global().map(|switch| switch.kind)
    }

    /// Why the running process must end at once: a signal, or ABORT. Other switches take effect at the end of a phase.
    pub fn must_end(&self) -> Option<&'static str> {
        if interruption::signal().is_some() {
            return Some(BY_SIGNAL);
        }
        let aborted = || Store::new(self.machine.home()).switch_path(SwitchKind::Abort, None).exists();
        (self.has_board && aborted()).then_some("ABORT is set")
    }
}

/// Every long enough value, and each line of a multi-line value, because a diff puts a sign before each line.
fn secrets_of(variables: &[(OsString, OsString)]) -> Vec<Secret> {
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, value) in variables {
        let (name, bytes) = (name.to_string_lossy().into_owned(), value.as_encoded_bytes());
        found.push((name.clone(), bytes.to_vec()));
        let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        // The first and last lines of a key are the same in all keys.
        let telling = lines.filter(|line| *line != bytes.trim_ascii() && !line.starts_with(b"-----"));
        found.extend(telling.map(|line| (name.clone(), line.to_vec())));
    }
    secrets([], found.iter().map(|(name, value)| (name.as_str(), value.clone())))
}

/// The variables of all files; the first definition counts. Missing files are skipped.
fn variables(root: &Path, config: &ExperimentConfig) -> Result<Vec<(OsString, OsString)>> {
    let mut found: Vec<(OsString, OsString)> = Vec::new();
    for name in &config.env_files {
        let path = root.join(name);
        let bytes = match read_whole(&path, LARGEST_ENV_FILE) {
            Ok((bytes, _)) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Failure::io("read", &path, &error)),
        };
        for entry in dotenvy::from_read_iter(bytes.as_slice()) {
            // The error must not show the line, which contains a value.
            let (key, value) = entry.map_err(|_| {
                failure!(Code::Value, "{} has a line that is not NAME=VALUE", path.display())
                    .hint("each line must be empty, a comment that starts with #, or NAME=VALUE")
            })?;
            let (key, value) = (OsString::from(key), OsString::from(value));
            let known = std::env::var_os(&key).is_some() || found.iter().any(|(name, _)| *name == key);
            if !known && !is_own(&key.to_string_lossy()) {
                found.push((key, value));
            }
        }
    }
    Ok(found)
}
