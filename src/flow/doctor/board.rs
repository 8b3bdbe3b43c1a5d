//! The board file, refused edits of it, and whether board, log and branches agree.

use super::{Finding, Scene};
use crate::board::edit::EDITABLE;
use crate::flow::edits::difference;
use crate::flow::prelude::*;
use crate::flow::verify;
use crate::store::Snapshot;
use crate::store::edits::Judged;
use crate::store::read::LARGEST_STATE;
use crate::wire::state::Decoded;

/// Truncated, corrupted, rolled back, replaced or missing.
pub fn file(scene: &Scene) -> Result<Vec<Finding>> {
    let store = &scene.ctx.store;
    let broken = match scene.read() {
        Ok(Snapshot { warning: None, .. }) => return Ok(Vec::new()),
        Ok(Snapshot { warning: Some(warning), .. }) => warning.clone(),
        Err(StoreError::Invalid { message, .. }) => message.clone(),
        Err(_) => return Ok(store.read(&Needs::Nothing).map(|_| Vec::new())?),
    };
    if broken.starts_with(EDITED_BY_HAND) {
        return Ok(vec![unsettled_edit(scene)]);
    }
    if store.is_of_earlier_build() {
        let why = "no command can read or change the board until its journal is started again";
        let remedy = "keeps the old journal under .liza/edits and starts a new one from this board with the record `refound_log`";
        return Ok(vec![Finding::new("board.earlier_build", broken, why, remedy).fixed_by(refound)]);
    }
    let why = "no command can trust the board";
    Ok(vec![match store.rebuild_published() {
        // The files in the board's directory are not enough to rebuild the board, but its copies below .git are.
        Err(_)
            if store.contradicting_copy().is_none()
                && let Some(revision) = store.witnessed_revision() =>
        {
            let remedy = format!(
                "restores board, journal and archive of revision {revision} from their copies below .git"
            );
            Finding::new("board.broken", broken, why, remedy).fixed_by(super::copies::restore_all)
        }
        Err(error) => {
            let failure = Failure::from(error);
            let remedy = match failure.hint {
                Some(hint) => format!("{}: {hint}", failure.message),
                None => failure.message,
            };
            Finding::new("board.broken", broken, why, remedy)
        }
        Ok(rebuilt) => rebuilding(broken, rebuilt),
    }])
}

fn rebuilding(broken: String, rebuilt: Decoded) -> Finding {
    let remedy = format!(
        "rebuilds the board of revision {} from image and log, and keeps the present file under .liza/edits",
        rebuilt.board.revision
    );
    Finding::new("board.broken", broken, "no command can trust the board", remedy).fixed_by(move |ctx| {
        let kept = ctx.store.restore(&rebuilt, LARGEST_STATE, &ctx.now)?;
        Ok(kept.map(|kept| format!("as {}", kept.display())))
    })
}

/// What a person's next command will do with the edit.
fn unsettled_edit(scene: &Scene) -> Finding {
    let finding = |remedy: String| {
        let what = "state.yaml was edited by hand";
        Finding::new("board.edited", what, "the edit is not in the journal yet", remedy)
    };
    match scene.ctx.store.judge_edit(&scene.ctx.now) {
        Ok(Judged::Adoptable(edit)) if edit.is_empty() => {
            finding("only layout or comments differ; a person's next command restores the layout".to_owned())
                .fixed_by(settle_edit)
        }
        Ok(Judged::Adoptable(edit)) => {
            finding(format!("a person's next command adopts it: {}", edit.summary().join(", ")))
                .fixed_by(settle_edit)
        }
        Ok(Judged::Refused(why)) => finding(format!(
            "a person's next command refuses it, keeps the file and sets PAUSE: {why}; fix that part of the file, or undo the edit (a person may edit {EDITABLE})"
        )),
        Err(error) => {
            let failure = Failure::from(error);
            finding(format!(
                "it can be neither adopted nor refused: {}; undo the edit, or {}",
                failure.message,
                failure.hint.unwrap_or_default()
            ))
        }
    }
}

fn settle_edit(ctx: &Context) -> Result<Option<String>> {
    ctx.store.settle_edits(&ctx.credentials, &host::now())?;
    let messages = ctx.store.take_messages();
    Ok((!messages.is_empty()).then(|| messages.join("\n")))
}

/// Edits that were set aside wait for a person.
pub fn pending_edits(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let mut found: Vec<Finding> = Vec::new();
    for edit in &board.rest.pending_edits {
        let what = format!("an edit of state.yaml waits for a person: {}", edit.file);
        let remedy = "a person's next command applies or refuses it";
        let why = "the edit is not on the board; a command of an agent or a runner found it";
        found.push(Finding::new("edit.pending", what, why, remedy).fixed_by(settle_edit));
    }
    for stray in scene.ctx.store.stray_edits(board) {
        let what = format!("{} was not set aside by liza, or is settled", stray.display());
        let remedy = "moves it out of edits/pending; liza never applies it";
        found.push(
            Finding::new(
                "edit.stray",
                what,
                "only what liza itself found in state.yaml counts as an edit",
                remedy,
            )
            .fixed_by(|ctx| {
                let board = ctx.store.read(&Needs::Nothing)?.board;
                ctx.store.move_stray_edits(&board)?;
                Ok(None)
            }),
        );
    }
    Ok(found)
}

/// The log of a board that is itself intact.
pub fn log(scene: &Scene) -> Result<Vec<Finding>> {
    // A board that is damaged, or not the newest, has its own finding.
    let Ok(snapshot @ Snapshot { warning: None, .. }) = scene.read() else { return Ok(Vec::new()) };
    let Some(damage) = scene.log_damage(&snapshot.board)? else { return Ok(Vec::new()) };
    let revision = snapshot.board.revision;
    if let Some(rebuilt) = scene.ctx.store.proven_otherwise(revision, &snapshot.origin.board_hash()) {
        let broken = format!(
            "state.yaml was replaced: the journal and its copy below .git prove another board of revision {revision}"
        );
        return Ok(vec![rebuilding(broken, rebuilt)]);
    }
    let code = if damage.lost { "log.lost" } else { "log.broken" };
    let why = if damage.stops {
        "no command can change the board until the log is repaired; reading still works"
    } else {
        "commands still work, but the history cannot be proved, and not all former boards can be rebuilt"
    };
    let remedy = format!(
        "best: restore a backup of log.yaml that has every record up to revision {}; otherwise --fix keeps the rest of the log under .liza/edits and starts a new log with the record `refound_log` at revision {}",
        snapshot.board.revision,
        snapshot.board.revision + 1
    );
    if scene.ctx.store.witness_has_log_of(&snapshot.board) {
        let remedy = "restores log.yaml from its copy below .git and keeps the present one under .liza/edits";
        return Ok(vec![Finding::new(code, damage.what.clone(), why, remedy).fixed_by(|ctx| {
            let kept = ctx.store.restore_log(&ctx.now)?;
            Ok(kept.map(|kept| format!("as {}", kept.display())))
        })]);
    }
    Ok(vec![Finding::new(code, damage.what.clone(), why, remedy).fixed_by(refound)])
}

fn refound(ctx: &Context) -> Result<Option<String>> {
    Ok(ctx.store.refound_log(&ctx.now)?.map(|refounded| match refounded.kept {
        Some(kept) => {
            format!("refounded at revision {}; the old log is {}", refounded.revision, kept.display())
        }
        None => format!("refounded at revision {}; nothing was left of the old log", refounded.revision),
    }))
}

/// A refused edit stays a finding until a person runs `liza resume`, having seen it.
pub fn refused_edits(scene: &Scene) -> Result<Vec<Finding>> {
    let store = &scene.ctx.store;
    // The kept file may be anything, even a pipe.
    let text = |path: &Path| {
        let read = read_whole(path, LARGEST_STATE);
        read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    };
    let found = store.refused_edits().into_iter().map(|kept| {
        let edited = text(&kept);
        let good = store.origin_of_edit(&edited).unwrap_or_else(|| store.file_text());
        let diff = difference(&good, &edited);
        Finding::new(
            "edit.refused",
            format!("an edit of state.yaml was refused; see {}\n{diff}", kept.display()),
            "it changed a field that only liza may change, or set an invalid value; the board does not contain the edit",
            format!("make the change with liza's commands, or by hand (a person may edit {EDITABLE}); then `liza resume`"),
        )
    });
    Ok(found.collect())
}

/// What `verify` reports about log and branches, and contradictions on the board itself.
pub fn story(scene: &Scene) -> Result<Vec<Finding>> {
    // Branches that moved since the board was read would contradict it.
    let fresh;
    let scene = match scene.board() {
        None => return Ok(Vec::new()),
        Some(board) if board.revision == scene.ctx.store.published_revision() => scene,
        Some(_) => {
            fresh = Scene::new(scene.ctx);
            &fresh
        }
    };
    let Ok(snapshot) = scene.read() else { return Ok(Vec::new()) };
    let board = &snapshot.board;
    let mut found = Vec::new();
    let log_damaged = matches!(scene.log_damage(board), Ok(Some(_)));
    for check in verify::verify_board(scene.ctx, snapshot, scene.archive()) {
        // Those have their own examinations.
        let elsewhere = match check.name {
            "invariants" | "board file" | "refs" | "worktrees" => true,
            "log chain" | "replay" => log_damaged,
            "copies" => {
                let store = &scene.ctx.store;
                log_damaged || store.is_behind_witness().is_some() || !store.lost_archived().is_empty()
            }
            _ => false,
        };
        if check.ok || elsewhere {
            continue;
        }
        let (code, remedy) = match check.name {
            "integration" => {
                ("story.integration", "look at those commits with `git log`, then follow the advice above")
            }
            "merged work" => (
                "story.merged_work",
                "the merges are kept under refs/liza/merges; `liza integration advance` with the newest of them and a --reason restores the work",
            ),
            "branches" => (
                "story.branch",
                "restore it with `git branch` from refs/liza/attempts, refs/liza/submitted or the reflog; or release the task",
            ),
            "copies" => (
                "story.copies",
                "one of the two files was changed: compare them; if it is the copy, which is named last, move it away, otherwise restore .liza from a backup",
            ),
            "archive" => ("story.archive", "restore that file from a backup, or move it away"),
            _ => (
                "story.log",
                "commands still work, but not every former board can be rebuilt; restore log.yaml and images from a backup",
            ),
        };
        found.push(Finding::new(
            code,
            format!("{}: {}", check.name, check.detail),
            "board, log and repository disagree",
            remedy,
        ));
    }
    for violation in violations(board) {
        found.push(Finding::new(
            "board.invariant",
            violation.to_string(),
            "the board contradicts itself",
            "a person fixes it with liza's commands; they refuse only changes that would make it worse",
        ));
    }
    Ok(found)
}
