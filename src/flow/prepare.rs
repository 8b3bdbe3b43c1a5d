//! Prepares a new worktree for its agent: copies files of the main checkout that git does not have, and runs commands
//! of the project such as `npm ci`. Both are set in `liza.yaml` of the main checkout and were accepted by a person,
//! like gates.
//!
//! The commands run in a tree that agents have written, so they run like gates: with a gate's environment, held, and
//! unable to change the board. No lock is held meanwhile. The files they make are recorded and do not count as an
//! agent's work.

use std::os::unix::fs::OpenOptionsExt;

use super::config_file::regular_file_inside;
use super::gates::environment::{Source, handed_over};
use super::prelude::*;
use super::prepared::NAME;
use super::shell::{Ended, Job, by_shell, execute};
use crate::git::DirtyKind;
use crate::host::anchored_path;
use crate::policy::worktrees::WorktreesConfig;
use crate::provider::secrets;

const LARGEST_COPY: u64 = 16 * 1024 * 1024;
/// More files than this that git does not ignore should be in `.gitignore`.
const MOST_PATHS: usize = 200;

/// Prepares a worktree that git has just made. Returns the new paths that are in no commit: files, and directories
/// with a slash at the end.
pub fn prepare(ctx: &Context, config: &WorktreesConfig, path: &Path, log: &Path) -> Result<Vec<String>> {
    if config.prepares_nothing() {
        return Ok(Vec::new());
    }
    let board = ctx.read(&Needs::Nothing)?.board;
    super::gates::accepted::check_setup(ctx, &board, config)?;
    let mut found: BTreeSet<String> = copy(ctx, config, path)?.into_iter().collect();
    crash::point("prepare.copied");
    run(ctx, &board, config, path, log)?;
    crash::point("prepare.ran");
    let (dirty, ignored) = content::status_and_ignored(path, Filters::Run)?;
    let (new, changed): (Vec<_>, Vec<_>) =
        dirty.into_iter().partition(|found| found.kind == DirtyKind::Untracked);
    if !changed.is_empty() {
        let changed: Vec<String> = changed.into_iter().map(|found| found.path).collect();
        return Err(failure!(
            Code::GateNotRun,
            "`worktrees.setup` changed files that git tracks: {}",
            changed.join(", ")
        )
        .hint(
            "use commands that do not change them (`npm ci`, not `npm install`); no worktree was handed out",
        )
        .detail("paths", changed));
    }
    let query = ctx.query()?;
    let head = content::head(path)?;
    for file in new {
        found.insert(topmost_new(&file.path, |dir| query.has_path(&head, dir).unwrap_or(true)));
    }
    if found.len() > MOST_PATHS {
        return Err(failure!(
            Code::GateNotRun,
            "`worktrees.setup` makes {} files that git does not ignore",
            found.len()
        )
        .hint("name them in .gitignore, or let the commands make them in one directory"));
    }
    found.extend(ignored);
    let all: Vec<String> = found.into_iter().collect();
    let stands_alone = |path: &&String| {
        let dirs = all.iter().filter(|dir| dir.ends_with('/') && dir != path);
        !dirs.into_iter().any(|dir| path.starts_with(dir.as_str()))
    };
    Ok(all.iter().filter(stands_alone).cloned().collect())
}

/// The topmost directory above a new file without tracked files, or the file itself.
pub fn topmost_new(path: &str, is_tracked: impl Fn(&str) -> bool) -> String {
    let mut ends = path.match_indices('/').map(|(end, _)| &path[..end]);
    ends.find(|dir| !is_tracked(dir)).map_or_else(|| path.to_owned(), |dir| format!("{dir}/"))
}

/// Copies files of the main checkout that this commit lacks. Follows no link on either side.
fn copy(ctx: &Context, config: &WorktreesConfig, path: &Path) -> Result<Vec<String>> {
    let mut copied = Vec::new();
    let head = content::head(path)?;
    for file in &config.copy {
        let name = file.as_str();
        let source = regular_file_inside(ctx.root(), Path::new(name)).map_err(|why| {
            failure!(ErrorCode::UsageConfig, "`worktrees.copy` names `{name}`: {why}")
                .hint("name regular files of the main checkout in liza.yaml")
        })?;
        let Some(source) = source else {
            ctx.narrate(format!("`worktrees.copy` names `{name}`, which does not exist"));
            continue;
        };
        let target = path.join(name);
        if ctx.query()?.has_path(&head, name)? || target.symlink_metadata().is_ok() {
            continue;
        }
        let (bytes, _) =
            read_whole(&source, LARGEST_COPY).map_err(|error| Failure::io("read", &source, &error))?;
        let write = || -> std::io::Result<()> {
            if let Some(above) = target.parent().filter(|above| *above != path) {
                anchored_path::make_directories(path, above)?;
            }
            let mode = source.metadata()?.permissions().mode() & 0o777;
            let mut open = fs::OpenOptions::new();
            let mut file = open.write(true).create_new(true).mode(mode).open(&target)?;
            std::io::Write::write_all(&mut file, &bytes)
        };
        write().map_err(|error| Failure::io("write", &target, &error))?;
        copied.push(name.to_owned());
    }
    Ok(copied)
}

/// Runs the commands one after the other; the first failure ends it.
fn run(ctx: &Context, board: &Board, config: &WorktreesConfig, path: &Path, log: &Path) -> Result<()> {
    let source = Source::of(ctx, board);
    let as_gate: Gate = serde_json::from_value(json!({ "name": NAME, "command": "true" }))
        .map_err(|error| failure!(ErrorCode::BugGates, "no environment for `worktrees.setup`: {error}"))?;
    let head = content::head(path)?;
    let env = handed_over(&as_gate, head.as_str(), &source).variables;
    let hidden = secrets(source.variables.iter().map(|(name, value)| (name, value)), []);
    let timeout = Duration::from_secs(config.setup_timeout);
    let mut text = Vec::new();
    for command in &config.setup {
        ctx.narrate(format!("preparing {}: {}", path.display(), shown_line(command)));
        let job = Job {
            held_for: Some(ctx.machine.home()),
            ceiling: Some(ctx.machine.worktrees()),
            secrets: &hidden,
            ..Job::new(by_shell(command), path, env.clone(), timeout)
        };
        let done = execute(&job, &|| super::interruption::signal().is_some());
        text.extend(format!("$ {command}\n").into_bytes());
        text.extend(done.output.kept());
        text.extend(format!("[{:?} after {} ms]\n", done.ended, done.duration.as_millis()).into_bytes());
        if let Some(dir) = log.parent() {
            crate::store::files::make_private_dirs(ctx.machine.home(), dir)?;
        }
        crate::store::files::replace_disposable(log, &text)?;
        let why = match done.ended {
            Ended::Exited(0) => continue,
            Ended::Exited(code) => format!("exit {code}"),
            Ended::Killed(signal) => format!("killed by signal {signal}"),
            Ended::TimedOut => format!("no end after {} s (`worktrees.setup_timeout`)", config.setup_timeout),
            Ended::Stopped => return Err(super::interruption::failure("while a worktree was prepared")),
            Ended::NotStarted(why) | Ended::Lost(why) => why,
        };
        let command = shown_line(command);
        return Err(failure!(Code::GateNotRun, "the command `{command}` of `worktrees.setup` failed: {why}")
            .hint(format!("read {}; no worktree was handed out", log.display()))
            .detail("log", log.display().to_string()));
    }
    Ok(())
}

/// What affects a gate's result beside its tree: the commands, and the content of the copied files.
pub fn weight(ctx: &Context, config: &WorktreesConfig) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(config.definition()?.as_bytes());
    for file in &config.copy {
        if let Ok(Some(source)) = regular_file_inside(ctx.root(), Path::new(file.as_str()))
            && let Ok((bytes, _)) = read_whole(&source, LARGEST_COPY)
        {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(&bytes);
        }
    }
    Some(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_are_named_by_their_new_directory() {
        let tracked = |dir: &str| ["web", "web/src"].contains(&dir);
        assert_eq!(topmost_new("web/node_modules/a/b.js", tracked), "web/node_modules/");
        assert_eq!(topmost_new("web/src/made.js", tracked), "web/src/made.js");
        assert_eq!(topmost_new(".env", tracked), ".env");
    }
}
