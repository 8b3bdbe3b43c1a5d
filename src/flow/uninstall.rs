//! Taking liza out of a repository again. Nothing is deleted but the agents' secrets: what was `.liza` becomes one
//! directory beside it, which a person keeps or deletes.
//!
//! In this order, each step harmless to repeat, the board last, so that a death anywhere is finished by the same command:
//!  1  nobody is at work, and PAUSE keeps it so;
//!  2  hooks;
//!  3  worktrees: what is uncommitted is saved under refs, then they go to the trash inside `.liza`;
//!  4  the excludes;
//!  5  the tokens;
//!  6  `.liza` gets its new name, under the board's lock. Branches and refs stay.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::board::rules::lease_over;
use crate::board::{Board, Needs, SwitchKind};
use crate::host::crash;
use crate::store::files;
use crate::store::lock::{BoardLock, SideLock};

use super::context::Context;
use super::failure::Failure;
use super::init::EXCLUDES;
use super::recover;
use super::worktrees::{self, Place};

const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub dry_run: bool,
    /// Where everything that was in `.liza` is now; absent if there was no board.
    pub kept: Option<PathBuf>,
    pub worktrees: Vec<PathBuf>,
    /// Refs under which uncommitted work was saved.
    pub saved: Vec<String>,
    /// What is under `.worktrees` and not liza's.
    pub left: Vec<PathBuf>,
    /// Hooks that liza's block was taken out of.
    pub hooks: Vec<PathBuf>,
    /// Lines taken out of git's exclude file.
    pub excludes: Vec<String>,
}

pub fn uninstall(ctx: &Context, dry_run: bool) -> Result<Report, Failure> {
    let mut report = Report { dry_run, ..Report::default() };
    if ctx.store.dir().symlink_metadata().is_err() {
        report.left = entries(&ctx.worktrees_dir());
        report.excludes = excludes(ctx, report.left.is_empty(), dry_run)?;
        return Ok(report);
    }
    if !dry_run {
        recover::recover(ctx)?;
    }
    // 1
    nobody_works(ctx, &ctx.read(&Needs::Nothing)?.board)?;
    let (ours, theirs): (Vec<Place>, Vec<Place>) =
        worktrees::places(ctx)?.into_iter().partition(Place::is_ours);
    report.left = theirs.into_iter().map(|place| place.path).collect();
    report.worktrees = ours.iter().map(|place| place.path.clone()).collect();
    let aside = place_aside(ctx);
    report.kept = Some(aside.clone());
    if dry_run {
        report.excludes = excludes(ctx, report.left.is_empty(), true)?;
        return Ok(report);
    }
    ctx.store.set_switch(
        SwitchKind::Pause,
        None,
        "liza is being uninstalled (`liza uninstall` finishes it)",
    )?;
    crash::point("uninstall.paused");
    // 2
    report.hooks = super::hooks::install::uninstall(ctx)?.into_iter().map(|done| done.path).collect();
    crash::point("uninstall.hooks");
    // 3
    {
        let _one_at_a_time = SideLock::acquire(&ctx.store.layout().worktree_lock(), PATIENCE)?;
        for place in &ours {
            report.saved.extend(worktrees::save(ctx, place)?);
            worktrees::remove(ctx, &place.path)?;
            crash::point("uninstall.worktree");
        }
        let home = ctx.worktrees_dir();
        for dir in [home.join(".review"), home.join(".merge"), home.join(super::accounts::GATES), home] {
            // Only where nothing is left in it.
            let _ = fs::remove_dir(dir);
        }
        let home = ctx.worktrees_dir();
        if report.left.is_empty() && home.symlink_metadata().is_ok() {
            // Empty, and yet it could not be taken away: said, so that nobody wonders.
            report.left.push(home);
        }
    }
    // 4
    report.excludes = excludes(ctx, ctx.worktrees_dir().symlink_metadata().is_err(), false)?;
    crash::point("uninstall.excludes");
    // 5
    for token in entries(&ctx.store.layout().tokens()) {
        fs::remove_file(&token).map_err(|error| Failure::io("remove", &token, &error))?;
    }
    crash::point("uninstall.tokens");
    // 6
    let lock =
        BoardLock::acquire(&ctx.store.layout().lock(), ctx.store.patience(), &ctx.now.wall.to_string())?;
    nobody_works(ctx, &ctx.read(&Needs::Nothing)?.board)?;
    // Ignores itself and everything beside it: kept, and in nobody's `git status`.
    files::replace(&ctx.store.dir().join(".gitignore"), b"*\n")?;
    fs::rename(ctx.store.dir(), &aside).map_err(|error| Failure::io("rename", ctx.store.dir(), &error))?;
    crash::point("uninstall.renamed");
    files::sync_parent(&aside)?;
    drop(lock);
    Ok(report)
}

/// Refuses while a process or a lease says that somebody is at work.
fn nobody_works(ctx: &Context, board: &Board) -> Result<(), Failure> {
    let mut busy = Vec::new();
    for intent in board.rest.intents.iter().filter(|intent| crate::host::lives(&intent.owner)) {
        busy.push(format!("a {} by {} is under way", intent.work.verb(), intent.by));
    }
    if super::runners::gates_run(ctx.store.dir()) {
        busy.push("gates run".to_owned());
    }
    for (id, agent) in &board.rest.agents {
        if agent.runner.as_ref().is_some_and(crate::host::lives) {
            busy.push(format!("the runner of {id} is alive"));
        }
    }
    for task in &board.tasks {
        for lease in [&task.lease, &task.review_lease].into_iter().flatten() {
            if !lease.agent.is_human() && !lease_over(board, lease, &ctx.now) {
                busy.push(format!("{} holds {} until {}", lease.agent, task.id, lease.expires.at));
            }
        }
    }
    if busy.is_empty() {
        return Ok(());
    }
    Err(Failure::new("refused.in_use", format!("the board is in use: {}", busy.join("; ")))
        .hint("stop them, then `liza agent retire` each, which ends its leases")
        .detail("busy", busy))
}

/// A name beside `.liza` that nobody has.
fn place_aside(ctx: &Context) -> PathBuf {
    let dir = ctx.store.dir();
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let stamp = ctx.now.wall.to_string().replace([':', '-'], "");
    let mut number = 1;
    loop {
        let more = if number == 1 { String::new() } else { format!("~{number}") };
        let aside = dir.with_file_name(format!("{name}-uninstalled-{stamp}{more}"));
        if aside.symlink_metadata().is_err() {
            return aside;
        }
        number += 1;
    }
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Takes liza's lines out of git's exclude file; that of the worktrees only once they are gone.
fn excludes(ctx: &Context, no_worktrees: bool, dry_run: bool) -> Result<Vec<String>, Failure> {
    let path = ctx.repo.common_dir.join("info/exclude");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::io("read", &path, &error)),
    };
    let goes = |line: &[u8]| {
        EXCLUDES
            .iter()
            .find(|ours| line.trim_ascii() == ours.as_bytes())
            .filter(|ours| no_worktrees || **ours == EXCLUDES[0])
    };
    let mut taken = Vec::new();
    let mut rest = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match goes(line) {
            Some(ours) => taken.push((*ours).to_owned()),
            None => rest.extend_from_slice(line),
        }
    }
    if !taken.is_empty() && !dry_run {
        files::replace_shared(&path, &rest)?;
    }
    Ok(taken)
}
