//! Removes liza from a repository. Only the agents' secrets are deleted: `.liza` is renamed to a directory beside it,
//! which a person keeps or deletes.
//!
//! In this order, each step harmless to repeat, the board last, so that the same command finishes after a crash anywhere:
//!  1  refuse while an agent works, then set PAUSE;
//!  2  remove the hooks;
//!  3  save uncommitted work under refs, and move the worktrees to the trash inside `.liza`;
//!  4  remove the lines in git's exclude file;
//!  5  delete the tokens;
//!  6  rename `.liza`, under the board's lock. Branches and refs stay.

use super::init::{EXCLUDES, excluded};
use super::prelude::*;
use super::recover;
use super::worktrees::{self, ListedWorktree};
use crate::git::worktree::GOING;
use crate::store::files;

#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub dry_run: bool,
    /// Where the content of `.liza` is now; absent if there was no board.
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub kept: Option<PathBuf>,
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub worktrees: Vec<PathBuf>,
    /// Refs under which uncommitted work was saved.
    pub saved: Vec<String>,
    /// Entries of `.worktrees` that are not liza's.
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub left: Vec<PathBuf>,
    /// Empty directories of liza's that could not be removed.
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub not_removed: Vec<PathBuf>,
    /// Hooks from which liza's block was removed.
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub hooks: Vec<PathBuf>,
    /// Lines removed from git's exclude file.
    pub excludes: Vec<String>,
}

pub fn uninstall(ctx: &Context, dry_run: bool) -> Result<Report> {
    let mut report = Report { dry_run, ..Report::default() };
    if ctx.store.directory_identity().is_none() {
        report.left = entries_of_others(ctx, &[]);
        // An earlier uninstall left its line in git's exclude file, because it could not remove its directories.
        if excludes(ctx, true, true)?.is_empty() {
            report.left = files::paths_in(ctx.machine.worktrees());
        } else if !dry_run {
            delete_empty_directories(ctx, &mut report);
        }
        report.excludes = excludes(ctx, report.no_worktrees(), dry_run)?;
        if !dry_run {
            // The copies are all that is left of a board that was removed by hand.
            report.kept = ctx.store.forget_witness(&ctx.now)?;
        }
        return Ok(report);
    }
    super::hooks::install::refuse_unreadable(ctx)?;
    if !dry_run {
        recover::recover(ctx)?;
    }
    // 1
    refuse_while_in_use(ctx, &ctx.read(&Needs::Nothing)?.board)?;
    let (ours, theirs): (Vec<ListedWorktree>, Vec<ListedWorktree>) =
        worktrees::list_without_sizes(ctx)?.into_iter().partition(ListedWorktree::is_ours);
    report.left = theirs.into_iter().map(|worktree| worktree.path).collect();
    report.worktrees = ours.iter().map(|worktree| worktree.path.clone()).collect();
    let others = entries_of_others(ctx, &report.worktrees);
    let is_named = |path: &PathBuf| report.left.iter().any(|left| left.starts_with(path));
    let others: Vec<PathBuf> = others.into_iter().filter(|path| !is_named(path)).collect();
    report.left.extend(others);
    let aside = ctx.store.name_aside(&ctx.now);
    report.kept = Some(aside.clone());
    if dry_run {
        report.excludes = excludes(ctx, report.no_worktrees(), true)?;
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
        let _one_at_a_time = ctx.machine.lock_worktrees()?;
        super::merged::finish_deletions(ctx)?;
        for worktree in &ours {
            report.saved.extend(worktrees::save(ctx, worktree)?);
            worktrees::remove(ctx, &worktree.path)?;
            crash::point("uninstall.worktree");
        }
        delete_empty_directories(ctx, &mut report);
    }
    // 4
    report.excludes = excludes(ctx, report.no_worktrees(), false)?;
    crash::point("uninstall.excludes");
    // 5
    for token in ctx.machine.token_files() {
        fs::remove_file(&token).map_err(|error| Failure::io("remove", &token, &error))?;
    }
    crash::point("uninstall.tokens");
    // 6
    let lock = ctx.store.lock(&ctx.now)?;
    refuse_while_in_use(ctx, &ctx.read(&Needs::Nothing)?.board)?;
    ctx.store.forget_witness(&ctx.now)?;
    ctx.store.set_aside(lock, &aside)?;
    Ok(report)
}

impl Report {
    /// Whether the directory for worktrees is gone, or will be.
    fn no_worktrees(&self) -> bool {
        self.left.is_empty() && self.not_removed.is_empty()
    }
}

/// The directories that liza makes for worktrees, the outermost last.
fn directories(ctx: &Context) -> Vec<PathBuf> {
    let home = ctx.machine.worktrees();
    use super::ownership::{GATES, MERGES, PLANS, REVIEWS};
    [REVIEWS, MERGES, PLANS, GATES].iter().map(|own| home.join(own)).chain([home.to_owned()]).collect()
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// What is in these directories besides them and liza's worktrees; a directory that is a link or a file counts itself.
fn entries_of_others(ctx: &Context, ours: &[PathBuf]) -> Vec<PathBuf> {
    let own = directories(ctx);
    let mut others = Vec::new();
    for dir in own.iter().rev() {
        match fs::read_dir(dir) {
            Ok(_) if is_directory(dir) => others.extend(files::paths_in(dir)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            _ => others.push(dir.clone()),
        }
    }
    // A deletion that was interrupted is finished, not left.
    let is_going = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(GOING.as_bytes()))
    };
    others.retain(|path| {
        !ours.contains(path) && !(is_directory(path) && (own.contains(path) || is_going(path)))
    });
    others.sort();
    others.dedup();
    others
}

/// Removes those of them that are empty.
fn delete_empty_directories(ctx: &Context, report: &mut Report) {
    for dir in directories(ctx) {
        let _ = host::anchored_path::AnchoredPath::at(ctx.root(), &dir).map(|path| path.remove_empty());
        // It could not be removed: reported, so that a person knows.
        let holds = |path: &PathBuf| path.starts_with(&dir);
        if is_directory(&dir) && !report.left.iter().chain(&report.not_removed).any(holds) {
            report.not_removed.push(dir);
        }
    }
}

/// Refuses while a process or a lease shows that an agent works.
fn refuse_while_in_use(ctx: &Context, board: &Board) -> Result<()> {
    let mut busy = Vec::new();
    for intent in board.rest.intents.iter().filter(|intent| ctx.machine.works_on_intents(&intent.owner)) {
        busy.push(format!("a {} by {} is under way", intent.work.verb(), intent.by));
    }
    if ctx.machine.gates_run() {
        busy.push("gates run".to_owned());
    }
    for (id, agent) in &board.rest.agents {
        if agent.runner.as_ref().is_some_and(host::lives) {
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
    Err(failure!(ErrorCode::RefusedInUse, "the board is in use: {}", busy.join("; "))
        .hint("stop the agents, then run `liza agent retire ID` for each, which ends its leases")
        .detail("busy", busy))
}

/// Removes liza's lines from git's exclude file; the one for worktrees only once they are gone.
fn excludes(ctx: &Context, no_worktrees: bool, dry_run: bool) -> Result<Vec<String>> {
    let (path, bytes) = excluded(ctx)?;
    let goes = |line: &[u8]| {
        let ours = EXCLUDES.iter().find(|ours| line.trim_ascii() == ours.as_bytes());
        ours.filter(|ours| no_worktrees || **ours == EXCLUDES[0])
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
