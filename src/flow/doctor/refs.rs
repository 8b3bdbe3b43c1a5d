//! Refs in liza's namespace that belong to no task. Never deleted: they may be the only name of a person's work.

use super::{Finding, Scene};
use crate::flow::ownership::{KnownOwners, OUR_REFS, TASK_BRANCHES};
use crate::flow::prelude::*;
use crate::flow::verify::{links, strange_refs};
use crate::git::refs as git_refs;

/// Links where git writes refs of liza and their logs. Found again after each fix: a link may hide others.
pub fn linked(scene: &Scene) -> Result<Vec<Finding>> {
    let found = links(scene.ctx, scene.board()).into_iter().map(|link| {
        let target = fs::read_link(&link).unwrap_or_default();
        let what = format!("{} is a link to {}", link.display(), target.display());
        let why = "git would write there, so liza refuses to write refs";
        let remedy = "put a directory or file of its own there; what the link leads to stays as it is";
        if link.ends_with("worktrees") {
            let remedy =
                "put the directory itself there; liza does not guess which records of worktrees are yours";
            return Finding::new("ref.linked", what, why, remedy);
        }
        Finding::new("ref.linked", what, why, remedy).fixed_by(move |ctx| {
            git_refs::unlink(&ctx.repo, &link)?;
            Ok(None)
        })
    });
    Ok(found.collect())
}

/// The integration branch, or a ref of liza, that leads to another ref.
pub fn not_plain(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let refname = git_refs::of_branch(&board.config().integration_branch)?;
    let Some(target) = git_refs::leads_to(&scene.ctx.repo.common_dir, &refname) else {
        return Ok(Vec::new());
    };
    let what = format!("`{refname}` is not a plain ref: it leads to `{target}`");
    let why = "a merge would move the target instead, so liza refuses every merge";
    let Some(head) = board.rest.integration.head.clone() else {
        return Ok(vec![Finding::new(
            "ref.symbolic",
            what,
            why,
            "remove it with `git symbolic-ref --delete`",
        )]);
    };
    let remedy =
        format!("makes it a plain ref at {head}, its last recorded commit; `{target}` stays as it is");
    Ok(vec![Finding::new("ref.symbolic", what, why, remedy).fixed_by(move |ctx| {
        git_refs::make_plain(&ctx.repo, &refname, &head)?;
        Ok(None)
    })])
}

/// Refs of liza whose objects are gone: with one of them git can neither collect garbage nor repack.
pub fn broken(scene: &Scene) -> Result<Vec<Finding>> {
    let query = scene.ctx.query()?;
    let mut found = Vec::new();
    for (refname, at) in query.targets_below(OUR_REFS)? {
        if query.is_whole(&at) {
            continue;
        }
        let what = format!("`{refname}` leads to {at}, of which objects are missing");
        let why = "`git gc` fails as long as it is there";
        let remedy = "removes the ref: its content is gone already";
        let fix = move |ctx: &Context| {
            git_refs::delete_if_at(&ctx.repo, &refname, &at)?;
            Ok(None)
        };
        found.push(Finding::new("ref.broken", what, why, remedy).fixed_by(fix));
    }
    Ok(found)
}

pub fn unaccounted(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let archive = scene.archive().as_ref().map_err(Clone::clone)?;
    let known = KnownOwners::of(board, archive);
    let found = strange_refs(scene.ctx, &known)?.into_iter().map(|name| {
        let short = name.strip_prefix("refs/heads/").unwrap_or(&name);
        let (code, why, yours) = if name.starts_with(TASK_BRANCHES) {
            let yours = "give it a name outside task/ with `git branch -m`";
            ("ref.orphan_branch", "`liza verify` does not know which task it belongs to", yours)
        } else {
            let why = "liza keeps work under such names, and this one belongs to no task";
            ("ref.orphan", why, "keep it as a branch of your own")
        };
        let remedy = format!("look at it (`git log {name}`); if it is yours, {yours}");
        Finding::new(code, format!("no task accounts for {short}"), why, remedy)
    });
    Ok(found.collect())
}
