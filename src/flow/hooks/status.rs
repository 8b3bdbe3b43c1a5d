//! Checks whether git runs the hooks, by making git run them.

use super::hook_dir::{self, HookDir};
use super::{Hook, PROBE, script};
use crate::flow::prelude::*;

#[derive(Debug, Clone, Serialize)]
pub struct HookStatus {
    pub hook: Hook,
    pub active: bool,
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub path: PathBuf,
    pub detail: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct HooksStatus {
    /// Whether every hook runs.
    pub active: bool,
    /// Whether a person asked for them.
    pub wanted: bool,
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub directory: PathBuf,
    /// The owner of the directory, if liza may not write there.
    pub manager: Option<&'static str>,
    pub hooks: Vec<HookStatus>,
    /// Lines for a person to add, and the files.
    pub lines: Option<String>,
}

pub fn status(ctx: &Context) -> Result<HooksStatus> {
    let hook_dir = hook_dir::find(ctx)?;
    let checkouts = checkouts(ctx);
    let hooks: Vec<HookStatus> =
        Hook::ALL.into_iter().map(|hook| status_in_all_checkouts(ctx, &hook_dir, &checkouts, hook)).collect();
    let active = hooks.iter().all(|hook| hook.active);
    Ok(HooksStatus {
        active,
        wanted: ctx.machine.wants_hooks(),
        directory: hook_dir.dir.clone(),
        manager: hook_dir.manager.as_ref().map(|manager| manager.name),
        hooks,
        lines: hook_dir
            .manager
            .filter(|_| !active)
            .map(|manager| format!("{}\n{}", manager.why, manager.lines)),
    })
}

/// The main checkout and a few worktrees of tasks: commits are made there too.
fn checkouts(ctx: &Context) -> Vec<PathBuf> {
    const ASKED: usize = 3;
    let mut all = vec![ctx.root().to_owned()];
    let known = checkouts::list(&ctx.repo).unwrap_or_default();
    let ours = known
        .into_iter()
        .filter_map(|checkout| checkout.path)
        .filter(|path| path.parent() == Some(ctx.machine.worktrees()));
    let sound = ours.filter(|path| checkouts::check_sound(&ctx.repo, path).is_ok());
    all.extend(sound.take(ASKED));
    all
}

/// Active if it runs in every checkout.
fn status_in_all_checkouts(
    ctx: &Context,
    hook_dir: &HookDir,
    checkouts: &[PathBuf],
    hook: Hook,
) -> HookStatus {
    let mut first = None;
    for checkout in checkouts {
        let found = probe(ctx, hook_dir, checkout, hook);
        if !found.active {
            return found;
        }
        first = first.or(Some(found));
    }
    match first {
        // Future worktrees will have only committed files.
        Some(found) if !hook_dir.is_shared && !committed(ctx, &found.path) => HookStatus {
            active: false,
            detail:
                "core.hooksPath is relative and this file is not committed: tasks' worktrees will not have it"
                    .to_owned(),
            ..found
        },
        Some(found) => found,
        None => {
            HookStatus { hook, active: false, path: hook_dir.dir.clone(), detail: "no checkout".to_owned() }
        }
    }
}

fn committed(ctx: &Context, path: &Path) -> bool {
    let git = Git::reading(ctx.root(), "ls-files").args(["--error-unmatch", "--"]).arg(path);
    git.output().is_ok_and(|output| output.status.success())
}

/// Runs the hook as git would, in a way that makes it only print its name.
fn probe(ctx: &Context, hook_dir: &HookDir, checkout: &Path, hook: Hook) -> HookStatus {
    let dir = hook_dir::seen_from(checkout).unwrap_or_else(|_| hook_dir.dir.clone());
    let path = dir.join(hook.name());
    let status = |active: bool, detail: &str| HookStatus {
        hook,
        active,
        path: path.clone(),
        detail: detail.to_owned(),
    };
    if fs::symlink_metadata(&path).is_err() {
        return status(false, "git's hook directory has no such hook");
    }
    // A hook that does not call liza is the person's own: running it would run the person's checks and prove nothing.
    let text = host::read_plain(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    if !asks(&text, hook) && !script::has_block(&text) {
        return match configured(ctx, hook_dir, hook) {
            // The manager would run all its checks, and some change files.
            Some(file) => {
                status(true, &format!("{file} calls liza (not tested: that would run its other checks, too)"))
            }
            None => status(false, "the hook does not call liza"),
        };
    }
    let Ok(note) = tempfile::NamedTempFile::new() else {
        return status(false, "no temporary file for the probe");
    };
    let mut git = Git::acting(checkout, "hook").arg("run").arg("--ignore-missing");
    if hook.is_fed() {
        git = git.arg("--to-stdin=/dev/null");
    }
    git = git.arg(hook.name());
    if hook == Hook::ReferenceTransaction {
        git = git.args(["--", "prepared"]);
    }
    let ran = git.env(PROBE, note.path()).output();
    let probe_output = fs::read_to_string(note.path()).unwrap_or_default();
    match ran {
        Err(error) => status(false, &format!("git could not run it: {error}")),
        Ok(_) if probe_output.lines().any(|line| line == hook.name()) => status(true, "git runs it"),
        Ok(_) => status(
            false,
            "git runs the hook, but the hook does not call liza, is not executable, or fails earlier",
        ),
    }
}

/// Whether a script calls `liza hooks run` for this hook, by any path.
fn asks(text: &str, hook: Hook) -> bool {
    let call = format!(" hooks run {}", hook.name());
    text.lines().any(|line| {
        line.split_once(&call)
            .is_some_and(|(before, _)| before.trim_end_matches(['\'', '"']).ends_with("liza"))
    })
}

/// The manager's configuration file that calls liza for this hook.
fn configured(ctx: &Context, hook_dir: &HookDir, hook: Hook) -> Option<String> {
    let own = format!(".husky/{}", hook.name());
    let files: &[&str] = match hook_dir.manager.as_ref()?.name {
        "lefthook" => {
            &["lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", "lefthook-local.yml"]
        }
        "pre-commit" => &[".pre-commit-config.yaml"],
        "overcommit" => &[".overcommit.yml"],
        "husky" => &[&own],
        _ => &[],
    };
    let named = |file: &&&str| {
        host::read_plain(&ctx.root().join(file))
            .is_ok_and(|bytes| asks(&String::from_utf8_lossy(&bytes), hook))
    };
    files.iter().find(named).map(|file| (*file).to_owned())
}
