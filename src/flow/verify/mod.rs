//! Whether board, log and repository still tell the same story.

mod history;
mod patch;

use serde::Serialize;

use crate::board::{Board, Needs, violations};
use crate::store::rebuild::step;
use crate::wire::log::{Record, read_chain};
use crate::wire::state::Decoded;

use super::accounts::{self, Accounts, OUR_REFS, TASK_BRANCHES};
use super::context::Context;
use super::failure::Failure;
use super::moved;

pub use history::Story;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
}

/// All checks, in order; the first that fails is the first broken link.
pub fn verify(ctx: &Context) -> Result<Vec<Check>, Failure> {
    // What there is to warn of is a check of its own.
    let snapshot = ctx.store.read(&Needs::Everything)?;
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
            Ok(records) => chain(records, board.revision),
            Err(error) => Err(error.clone()),
        },
    );
    if let Ok(records) = &records {
        add("replay", replay(ctx, records, board.revision));
    }
    let archive = accounts::archive(ctx).map_err(|failure| failure.message);
    let archived = archive.as_deref().unwrap_or_default();
    add("archive", archive.as_ref().map(|all| format!("{} tasks", all.len())).map_err(Clone::clone));
    let story = |records: &Vec<Record>| Story::of(records, &board.config().integration_branch);
    let start = records.as_ref().ok().and_then(|records| story(records).start);
    add("merged work", history::merged_work(ctx, board, archived, start.as_ref()));
    add("integration", integration(ctx, board, records.as_deref().ok()));
    add("branches", branches(ctx, board));
    let known = Accounts::of(board, archived);
    add("refs", strange_refs(ctx, &known).map_err(|failure| failure.message).and_then(none_strange("refs")));
    let worktrees = strange_worktrees(ctx, &known).map_err(|failure| failure.message);
    add("worktrees", worktrees.and_then(none_strange("worktrees")));
    Ok(checks)
}

/// One record for every revision since the first, which is 1 unless the log was refounded.
fn chain(records: &[Record], revision: u64) -> Result<String, String> {
    let refounded = records.first().and_then(|first| Some((first.revision, first.refounds()?)));
    let began = refounded.as_ref().map_or(1, |(began, _)| *began);
    let count = records.len() as u64;
    if began + count != revision + 1 {
        return Err(format!("{count} records for revisions {began} to {revision}"));
    }
    let mut told = format!("{count} records, each following the one before");
    if let Some((began, refound)) = refounded {
        let rests = match &refound.kept {
            Some(kept) => format!("what happened before rests on .liza/{kept}"),
            None => "of what happened before no record is left".to_owned(),
        };
        told.push_str(&format!("; the log was refounded at revision {began} ({}): {rests}", refound.reason));
    }
    Ok(told)
}

/// Plays the log from every kept image to the next one, and to the board.
fn replay(ctx: &Context, records: &[Record], revision: u64) -> Result<String, String> {
    let mut images = ctx.store.image_revisions();
    // Between an older image and a refounded log there are no records.
    let began = records.first().map_or(1, |first| first.revision);
    images.retain(|image| image + 1 >= began);
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

/// Whether the integration branch holds something that came there without being on record. Where the log cannot be
/// read, that cannot be told.
pub fn integration_is_accounted_for(ctx: &Context, board: &Board) -> bool {
    match ctx.store.read_log(board.journal.length) {
        Ok(records) => history::line(ctx, board, &records).is_ok(),
        Err(_) => true,
    }
}

/// With the log, every move since the beginning is looked at; without it, where the branch is now.
fn integration(ctx: &Context, board: &Board, records: Option<&[Record]>) -> Result<String, String> {
    if let Some(records) = records {
        return history::line(ctx, board, records);
    }
    match moved::integration_was_moved(ctx, board) {
        Ok(None) => Ok(format!("`{}` is where liza put it", board.config().integration_branch)),
        Ok(Some(evidence)) => Err(evidence.told()),
        Err(failure) => Err(failure.message),
    }
}

/// The branch of every task that is under way, and the commit it was handed in with, are there.
fn branches(ctx: &Context, board: &Board) -> Result<String, String> {
    let query = ctx.query().map_err(|failure| failure.message)?;
    let mut count = 0;
    for task in board.tasks.iter().filter(|task| !task.status.is_terminal()) {
        let Some(attempt) = task.body().attempt() else { continue };
        // A claim that is under way, or whose process died, may not have come that far.
        if board.intent_of(&task.id).is_some() {
            continue;
        }
        if query.head_of_branch(&attempt.branch).map_err(|error| error.to_string())?.is_none() {
            return Err(format!("the branch `{}` of {} ({}) is gone", attempt.branch, task.id, task.status));
        }
        if let Some(commit) = task.review_commit.as_ref().filter(|commit| !query.has_commit(commit)) {
            return Err(format!("the commit {commit} that {} was handed in with is gone", task.id));
        }
        count += 1;
    }
    Ok(format!("{count} tasks under way have theirs"))
}

/// Refs in liza's name that belong to nothing on the board, in the archive or under way.
pub fn strange_refs(ctx: &Context, known: &Accounts) -> Result<Vec<String>, Failure> {
    let query = ctx.query()?;
    let mut all = query.refs_below(TASK_BRANCHES)?;
    let ours = query.refs_below(OUR_REFS)?;
    let known = known.clone().beside(&ours);
    all.extend(ours);
    Ok(all.into_iter().filter(|name| !known.knows_ref(name)).collect())
}

/// The same for worktrees. A record that is half-made is what a crash leaves, no story of its own, and one without
/// liza's mark is of a worktree the user made.
pub fn strange_worktrees(ctx: &Context, known: &Accounts) -> Result<Vec<String>, Failure> {
    let places = accounts::places(ctx)?;
    let strange = places.into_iter().filter(|place| {
        let half_made = place.record.as_ref().is_some_and(crate::git::Checkout::is_half_made);
        !half_made && !place.is_unmarked() && !known.knows_worktree(&place.name)
    });
    Ok(strange.map(|place| format!(".worktrees/{}", place.name.display())).collect())
}

fn none_strange(what: &'static str) -> impl Fn(Vec<String>) -> Result<String, String> {
    move |strange| match &strange[..] {
        [] => Ok("every one belongs to a task".to_owned()),
        [one] => Err(format!("nothing accounts for {one}")),
        [first, rest @ ..] => Err(format!("nothing accounts for {first} (and {} more {what})", rest.len())),
    }
}
