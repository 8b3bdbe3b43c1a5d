//! What is wrong, why it matters, and what mending it would do. Mends only when asked to, and keeps what it replaces.

use serde::Serialize;

use crate::board::{Needs, SwitchKind, violations};
use crate::git::Worktrees;
use crate::store::StoreError;
use crate::store::read::LARGEST_STATE;

use super::context::Context;
use super::failure::Failure;
use super::recover;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub what: String,
    pub why: String,
    /// What `--fix` does about it, or what a person has to do.
    pub remedy: String,
    pub fixable: bool,
    pub fixed: bool,
}

impl Finding {
    fn new(what: impl Into<String>, why: &str, remedy: impl Into<String>, fixable: bool) -> Self {
        Self { what: what.into(), why: why.to_owned(), remedy: remedy.into(), fixable, fixed: false }
    }
}

pub fn examine(ctx: &Context, fix: bool) -> Result<Vec<Finding>, Failure> {
    let mut found = Vec::new();
    if let Some(finding) = super::migrate::examine(ctx, fix)? {
        let migrated = finding.fixed;
        found.push(finding);
        if !migrated {
            return Ok(found);
        }
    }
    board(ctx, fix, &mut found)?;
    refused_edits(ctx, &mut found)?;
    half_made_worktrees(ctx, fix, &mut found)?;
    if ctx.store.read(&Needs::Nothing).is_ok() {
        intents(ctx, fix, &mut found)?;
        worktrees(ctx, &mut found)?;
        story(ctx, &mut found)?;
        invariants(ctx, &mut found)?;
    }
    Ok(found)
}

fn board(ctx: &Context, fix: bool, found: &mut Vec<Finding>) -> Result<(), Failure> {
    let broken = match ctx.store.read(&Needs::Everything) {
        Ok(snapshot) => match snapshot.warning {
            None => return Ok(()),
            Some(warning) => warning,
        },
        Err(StoreError::Missing(dir)) => return Err(StoreError::Missing(dir).into()),
        Err(StoreError::Invalid { message, .. }) => message,
        Err(error) => return Err(error.into()),
    };
    if broken.contains("edited by hand; the next command") {
        let remedy = "a person's next command adopts it, or refuses it and keeps it";
        found.push(Finding::new(broken, "what was typed into the file is not on record yet", remedy, false));
        return Ok(());
    }
    let rebuilt = ctx.store.rebuild(None);
    let mut finding = match &rebuilt {
        Ok(rebuilt) => Finding::new(
            broken,
            "no command can trust the board",
            format!(
                "the board of revision {} is made again from image and log; the present file is kept under .liza/edits",
                rebuilt.board.revision
            ),
            true,
        ),
        Err(error) => Finding::new(broken, "no command can trust the board", error.to_string(), false),
    };
    if fix && let Ok(rebuilt) = rebuilt {
        let kept = ctx.store.restore(&rebuilt, LARGEST_STATE, &ctx.now)?;
        if let Some(kept) = kept {
            finding.remedy.push_str(&format!(" (as {})", kept.display()));
        }
        finding.fixed = true;
    }
    found.push(finding);
    Ok(())
}

/// An edit that was refused stays here until a person has looked at it: the PAUSE it set says so.
fn refused_edits(ctx: &Context, found: &mut Vec<Finding>) -> Result<(), Failure> {
    let switches = ctx.store.switches()?;
    let Some(pause) = switches.set.iter().find(|switch| {
        switch.kind == SwitchKind::Pause && switch.reason.starts_with("an edit of state.yaml was refused")
    }) else {
        return Ok(());
    };
    let kept = pause.reason.rsplit("see ").next().unwrap_or_default().trim().to_owned();
    let edited = std::fs::read(&kept).unwrap_or_default();
    let now = std::fs::read(ctx.store.layout().state()).unwrap_or_default();
    let diff = difference(&String::from_utf8_lossy(&now), &String::from_utf8_lossy(&edited));
    found.push(Finding::new(
        format!("{}\n{diff}", pause.reason),
        "somebody changed what only liza may change; the board goes on without that change",
        "make the change with liza's commands, then `liza resume`",
        false,
    ));
    Ok(())
}

fn difference(good: &str, edited: &str) -> String {
    let text = similar::TextDiff::from_lines(good, edited)
        .unified_diff()
        .context_radius(1)
        .header("state.yaml", "the edit")
        .to_string();
    const SHOWN: usize = 60;
    let mut lines: Vec<&str> = text.lines().take(SHOWN).collect();
    if text.lines().count() > SHOWN {
        lines.push("… (more in the kept file)");
    }
    lines.join("\n")
}

fn half_made_worktrees(ctx: &Context, fix: bool, found: &mut Vec<Finding>) -> Result<(), Failure> {
    let half_made: Vec<_> = crate::git::checkouts::list(&ctx.repo)?
        .into_iter()
        .filter(|checkout| checkout.is_half_made())
        .collect();
    if half_made.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = half_made.iter().map(|checkout| checkout.name.as_str()).collect();
    let mut finding = Finding::new(
        format!("half-made worktree records: {}", names.join(", ")),
        "git may fail in the whole repository while they are there",
        "those that are liza's go to .liza/trash",
        true,
    );
    if fix {
        let (home, trash) = (ctx.worktrees_dir(), ctx.store.layout().trash());
        let healed = Worktrees::new(&ctx.repo, &home, &trash).heal()?;
        finding.fixed = healed.len() == half_made.len();
    }
    found.push(finding);
    Ok(())
}

/// Tasks whose worktree is gone or unusable.
fn worktrees(ctx: &Context, found: &mut Vec<Finding>) -> Result<(), Failure> {
    let snapshot = ctx.store.read(&Needs::Everything)?;
    for task in snapshot.board.tasks.iter().filter(|task| !task.status.is_terminal()) {
        let Some(attempt) = task.body().attempt() else { continue };
        if let Err(fault) = crate::git::checkouts::check_sound(&ctx.repo, &ctx.root().join(&attempt.worktree))
        {
            found.push(Finding::new(
                format!("the worktree of {}: {fault}", task.id),
                "its agent cannot go on there; what was committed is on its branch",
                format!(
                    "`liza task release {0}`, then claim it again: a new worktree starts at the branch `{1}`",
                    task.id, attempt.branch
                ),
                false,
            ));
        }
    }
    Ok(())
}

/// What `verify` says about log and branches; the board itself was looked at above.
fn story(ctx: &Context, found: &mut Vec<Finding>) -> Result<(), Failure> {
    for check in super::verify::verify(ctx)? {
        if check.ok || check.name == "invariants" || check.name == "board file" {
            continue;
        }
        let remedy = match check.name {
            "integration" => {
                "look at what was put there; `liza integration advance` with that branch and a --reason accepts it"
            }
            "merged work" => "look at the branch with `git log`; the merges are kept under refs/liza/merges",
            _ => "restore log.yaml from a backup; the board itself goes on working",
        };
        found.push(Finding::new(
            format!("{}: {}", check.name, check.detail),
            "board, log and repository tell different stories",
            remedy,
            false,
        ));
    }
    Ok(())
}

fn intents(ctx: &Context, fix: bool, found: &mut Vec<Finding>) -> Result<(), Failure> {
    let snapshot = ctx.store.read(&Needs::Nothing)?;
    for intent in snapshot.board.rest.intents.iter().filter(|intent| !crate::host::lives(&intent.owner)) {
        let task = intent.task.as_ref().map_or(String::new(), |task| format!(" of {task}"));
        found.push(Finding::new(
            format!(
                "a {}{task} was left half done by process {}, which is dead",
                intent.work.verb(),
                intent.owner.pid
            ),
            "the task waits until it is ended",
            "finished if its effect is there, undone if not",
            true,
        ));
    }
    if fix && recover::recover(ctx)? > 0 {
        found
            .iter_mut()
            .filter(|finding| finding.what.contains("left half done"))
            .for_each(|finding| finding.fixed = true);
    }
    Ok(())
}

fn invariants(ctx: &Context, found: &mut Vec<Finding>) -> Result<(), Failure> {
    let snapshot = ctx.store.read(&Needs::Everything)?;
    for violation in violations(&snapshot.board) {
        found.push(Finding::new(
            violation.to_string(),
            "the board contradicts itself",
            "a person repairs it with liza's commands; they refuse only what would make it worse",
            false,
        ));
    }
    Ok(())
}
