//! The git program, and repository settings that break what liza relies on.

use super::{Finding, Scene};
use crate::flow::init;
use crate::flow::prelude::*;
use crate::git::facts::GitVersion;

pub fn git(scene: &Scene) -> Result<Vec<Finding>> {
    let ctx = scene.ctx;
    let mut found = Vec::new();
    match GitVersion::installed() {
        Err(error) => found.push(Finding::new(
            "git.missing",
            error.to_string(),
            "without git liza can make no worktree and merge no task",
            format!("install git {} or newer", GitVersion::OLDEST),
        )),
        Ok(version) if version < GitVersion::OLDEST => found.push(Finding::new(
            "git.version",
            format!("git {version} is older than {}", GitVersion::OLDEST),
            "it cannot merge outside of a checkout",
            format!("install git {} or newer", GitVersion::OLDEST),
        )),
        // Unsafe ownership, unreadable settings: git reports them itself.
        Ok(_) => {
            if let Err(error) = Git::reading(ctx.root(), "rev-parse").arg("--git-dir").run() {
                found.push(Finding::new(
                    "git.unusable",
                    error.to_string(),
                    "every command that needs git fails",
                    "follow git's advice above (for a repository of another user: `git config --global --add safe.directory` with its path)",
                ));
            }
        }
    }
    match repository(scene) {
        Ok(more) => found.extend(more),
        // A problem that stops git stops this too, and is already reported.
        Err(_) if !found.is_empty() => {}
        Err(failure) => return Err(failure),
    }
    Ok(found)
}

/// Settings changed since a person accepted the git settings.
pub fn accepted(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let why = "liza's own git commands do not use it, and git commands of people and agents do";
    let remedy = "`liza doctor --accept-git` shows the difference and accepts it; or undo the change";
    let finding = |what: String| Finding::new("git.not_accepted", what, why, remedy);
    if board.rest.git_settings.is_none() {
        let why = "filters, drivers and attributes that an agent sets are used by liza's own git commands";
        let what = "no settings of git were accepted on this board";
        let remedy = "accepts the present settings; `liza doctor --accept-git --dry-run` shows them first";
        let never = Finding::new("git.never_accepted", what, why, remedy);
        return Ok(vec![never.fixed_by(|ctx| crate::flow::git_settings::accept(ctx).map(|_| None))]);
    }
    let changed = crate::flow::git_settings::changed(scene.ctx, board)?;
    Ok(changed.into_iter().map(|name| finding(format!("{name} has changed since it was accepted"))).collect())
}

fn repository(scene: &Scene) -> Result<Vec<Finding>> {
    let ctx = scene.ctx;
    let query = ctx.query()?;
    let setting = |key: &str| query.setting(key).map(|value| value.trim().to_lowercase());
    let mut found = Vec::new();
    let mut name = |what: String, why: &str, remedy: &str| {
        found.push(Finding::new("git.setting", what, why, remedy));
    };
    let grafts = ctx.repo.common_dir.join("info/grafts");
    if fs::metadata(&grafts).is_ok_and(|meta| meta.len() > 0) {
        name(
            format!("{} changes how commits look", grafts.display()),
            "liza ignores the file, so git shows people another history than liza merges",
            "move the file away, unless you know why it is there",
        );
    }
    let replaced = query.refs_below("refs/replace/")?;
    if !replaced.is_empty() {
        name(
            format!("{} in refs/replace replace objects by others", plural(replaced.len(), "ref")),
            "liza ignores them, so git shows people other contents than liza merges",
            "look at them with `git replace -l`; keep them only if you know why they are there",
        );
    }
    for key in ["gc.pruneexpire", "gc.worktreepruneexpire"] {
        if setting(key).is_some_and(|value| ["now", "all", "0"].contains(&value.as_str())) {
            name(
                format!("{key} is set to `now`"),
                "a gc during a commit removes objects or worktree records that were just made",
                "unset it, or give it at least an hour",
            );
        }
    }
    if setting("core.sharedrepository")
        .is_some_and(|value| !["false", "umask", "0"].contains(&value.as_str()))
    {
        name(
            "core.sharedRepository lets other users write into the repository".to_owned(),
            "users who may write there can move the integration branch without liza",
            "restrict the repository to one user, or know who is in that group; `liza verify` reports every move",
        );
    }
    if setting("core.fsyncmethod").is_some_and(|value| value == "writeout-only") {
        name(
            "core.fsyncMethod is `writeout-only`".to_owned(),
            "a merge that is on record may be gone after a power cut",
            "unset it",
        );
    }
    if let Some(ignores) = setting("core.ignorecase") {
        let blind = ctx.root().join(".GIT").join("HEAD").exists();
        if blind != (ignores == "true") {
            let tells = if blind { "does not distinguish" } else { "distinguishes" };
            name(
                format!("core.ignoreCase is {ignores}, but this file system {tells} `A` from `a`"),
                "git and liza then disagree about the file that a path names",
                "set it to match the file system",
            );
        }
    }
    if setting("extensions.worktreeconfig").is_some_and(|value| value == "true") {
        let worktrees = ctx.worktrees();
        for record in checkouts::list(&ctx.repo)?.into_iter().filter(|record| worktrees.is_ours(record)) {
            let text = host::plain_text(&record.admin_dir.join("config.worktree")).unwrap_or_default();
            let lower = text.to_lowercase();
            if ["hookspath", "bare", "worktree", "fsmonitor"].iter().any(|key| lower.contains(key)) {
                let worktree = record.name;
                name(
                    format!("the worktree {worktree} has its own settings, which change how git works there"),
                    "hooks may not run there, or git may answer for another repository",
                    "look at them with `git config --worktree --list` in that worktree",
                );
            }
        }
    }
    Ok(found)
}

/// Committed state moves with history: an old branch brings an old board back.
pub fn excludes(scene: &Scene) -> Result<Vec<Finding>> {
    let ctx = scene.ctx;
    let mut found = Vec::new();
    let missing = init::missing_excludes(ctx)?;
    if !missing.is_empty() {
        found.push(
            Finding::new(
                "git.exclude",
                format!("{} is not in .git/info/exclude", missing.join(" and ")),
                "`git add` would add the board or the worktrees",
                "adds the lines again",
            )
            .fixed_by(|ctx| init::exclude(ctx).map(|()| None)),
        );
    }
    let ours = [".liza", ".worktrees"];
    let tracked = Git::reading(ctx.root(), "ls-files").args(["-z", "--"]).args(ours).run()?;
    let staged: Vec<_> = tracked.split(|byte| *byte == 0).filter(|path| !path.is_empty()).collect();
    if let Some(first) = staged.first() {
        found.push(Finding::new(
            "git.tracked",
            format!("git tracks {} (and {} more)", String::from_utf8_lossy(first), staged.len() - 1),
            "a checkout of another commit would put an old board in place of the present one",
            "remove them from git and keep them on disk: `git rm --cached -r` on those paths, then commit",
        ));
    }
    if let Some(board) = scene.board()
        && let Some(head) = ctx.query()?.head_of_branch(&board.config().integration_branch)?
    {
        for name in ours {
            if ctx.query()?.has_path(&head, name)? {
                found.push(Finding::new(
                    "git.tracked",
                    format!("the integration branch contains {name}"),
                    "every new worktree would hold an old board",
                    "remove it from the branch it came from, then `liza integration advance` to that",
                ));
            }
        }
    }
    Ok(found)
}
