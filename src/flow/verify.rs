//! Whether board, log and repository still tell the same story.

use serde::Serialize;

use crate::board::{Needs, Status, violations};
use crate::store::rebuild::step;
use crate::wire::log::read_chain;
use crate::wire::state::Decoded;

use super::context::Context;
use super::failure::Failure;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
}

/// All checks, in order; the first that fails is the first broken link.
pub fn verify(ctx: &Context) -> Result<Vec<Check>, Failure> {
    let snapshot = ctx.read(&Needs::Everything)?;
    let board = &snapshot.board;
    let mut checks = Vec::new();
    let mut add = |name: &'static str, result: Result<String, String>| {
        let ok = result.is_ok();
        checks.push(Check { name, ok, detail: result.unwrap_or_else(|detail| detail) });
    };
    add(
        "board file",
        match &snapshot.warning {
            None => Ok(format!("revision {}, written by liza", board.revision)),
            Some(warning) => Err(warning.clone()),
        },
    );
    let found = violations(board);
    add(
        "invariants",
        match found.first() {
            None => Ok(format!("revision {}, {} tasks", board.revision, board.tasks.len())),
            Some(first) => Err(format!("{first} (and {} more)", found.len() - 1)),
        },
    );
    let records =
        ctx.store.read_log_text(board.journal.length).map_err(|error| error.to_string()).and_then(|text| {
            let last = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
            if crate::wire::state::hash(&text.as_bytes()[last..]) != board.journal.hash {
                return Err(format!("record {} is not the one the board was made by", board.revision));
            }
            read_chain(&text, String::new()).map_err(|error| error.to_string())
        });
    add(
        "log chain",
        match &records {
            Ok(records) if records.len() as u64 == board.revision => {
                Ok(format!("{} records, each following the one before", records.len()))
            }
            Ok(records) => Err(format!("{} records for revision {}", records.len(), board.revision)),
            Err(error) => Err(error.clone()),
        },
    );
    if let Ok(records) = &records {
        add("replay", replay(ctx, records, board.revision));
    }
    add("merged work", merged_work(ctx, board));
    add("integration", integration(ctx, board));
    Ok(checks)
}

/// Plays the log from every kept image to the next one, and to the board.
fn replay(ctx: &Context, records: &[crate::wire::log::Record], revision: u64) -> Result<String, String> {
    let images = ctx.store.image_revisions();
    let Some(oldest) = images.first().copied() else { return Err("no image is kept".to_owned()) };
    let load = |revision: u64| -> Result<Decoded, String> {
        let path = ctx.store.layout().image(revision);
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Decoded::new(bytes).map_err(|error| format!("image {revision}: {error}"))
    };
    let mut at = load(oldest)?;
    for record in records.iter().filter(|record| record.revision > oldest && record.revision <= revision) {
        at = step(at, record)?;
        if images.contains(&record.revision) && load(record.revision)?.content_hash != at.content_hash {
            return Err(format!("the image of revision {} is not what the log makes", record.revision));
        }
    }
    let now = ctx.store.read(&Needs::Nothing).map_err(|error| error.to_string())?;
    if now.board.revision == at.board.revision && now.text != at.text() && now.warning.is_none() {
        return Err(format!("the board of revision {revision} is not what the log makes"));
    }
    Ok(format!("revisions {oldest} to {} made again from the log", at.board.revision))
}

fn merged_work(ctx: &Context, board: &crate::board::Board) -> Result<String, String> {
    let query = ctx.query().map_err(|failure| failure.message)?;
    let branch = &board.config().integration_branch;
    let head = query
        .head_of_branch(branch)
        .map_err(|error| error.to_string())?
        .ok_or_else(|| format!("the branch `{branch}` is gone"))?;
    let mut count = 0;
    for task in board.tasks.iter().filter(|task| task.status == Status::Merged) {
        let body = task.body();
        let Some(merge) = &body.merge else {
            return Err(format!("{} is MERGED without a merge commit", task.id));
        };
        for commit in [Some(&merge.commit), body.approval.as_ref().map(|approval| &approval.commit)]
            .into_iter()
            .flatten()
        {
            let there = query.has_commit(commit)
                && query.is_ancestor(commit, &head).map_err(|error| error.to_string())?;
            if !there {
                return Err(format!("{} is MERGED, but `{branch}` does not contain {commit}", task.id));
            }
        }
        count += 1;
    }
    Ok(format!("{count} merged tasks are in `{branch}`"))
}

fn integration(ctx: &Context, board: &crate::board::Board) -> Result<String, String> {
    let query = ctx.query().map_err(|failure| failure.message)?;
    let branch = &board.config().integration_branch;
    let head = query.head_of_branch(branch).map_err(|error| error.to_string())?;
    match (&board.rest.integration.head, head) {
        (Some(known), Some(head)) if *known == head => {
            Ok(format!("`{branch}` is at {}, where liza put it", head.short()))
        }
        // A move that an open intent names is liza's own, not yet on record.
        (_, Some(head))
            if board
                .rest
                .intents
                .iter()
                .any(|intent| intent.work.step().is_some_and(|step| step.new == head)) =>
        {
            Ok(format!("`{branch}` is at {}, as a merge under way put it", head.short()))
        }
        (Some(known), Some(head)) => Err(format!(
            "`{branch}` is at {}, but liza left it at {}: somebody moved it (`liza integration advance {branch} --reason …` accepts it)",
            head.short(),
            known.short()
        )),
        (_, None) => Err(format!("the branch `{branch}` is gone")),
        (None, Some(_)) => Ok(format!("`{branch}` has not been moved by liza yet")),
    }
}
