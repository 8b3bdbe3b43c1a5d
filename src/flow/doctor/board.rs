//! The board file, edits of it that were refused, and whether the story it tells holds.

use crate::board::{Needs, violations};
use crate::store::StoreError;
use crate::store::read::LARGEST_STATE;

use super::{Finding, Scene};
use crate::flow::failure::Failure;
use crate::flow::verify;

/// Cut off, flipped, rolled back, replaced or gone.
pub fn file(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let store = &scene.ctx.store;
    let broken = match store.read(&Needs::Everything) {
        Ok(snapshot) => match snapshot.warning {
            None => return Ok(Vec::new()),
            Some(warning) => warning,
        },
        Err(StoreError::Invalid { message, .. }) => message,
        Err(error) => return Err(error.into()),
    };
    if broken.contains("edited by hand; the next command") {
        let remedy = "a person's next command adopts it, or refuses it and keeps it";
        let why = "what was typed into the file is not on record yet";
        return Ok(vec![Finding::new("board.edited", broken, why, remedy)]);
    }
    let why = "no command can trust the board";
    Ok(vec![match store.rebuild(None) {
        Err(error) => Finding::new("board.broken", broken, why, error.to_string()),
        Ok(rebuilt) => {
            let remedy = format!(
                "the board of revision {} is made again from image and log; the present file is kept under .liza/edits",
                rebuilt.board.revision
            );
            Finding::new("board.broken", broken, why, remedy).mended_by(move |ctx| {
                let kept = ctx.store.restore(&rebuilt, LARGEST_STATE, &ctx.now)?;
                Ok(kept.map(|kept| format!("as {}", kept.display())))
            })
        }
    }])
}

/// An edit that was refused stays a finding until a person goes on with `liza resume`, having seen it.
pub fn refused_edits(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let store = &scene.ctx.store;
    // What stands there may be anything, a pipe too.
    let text = |path: &std::path::Path| {
        let read = crate::store::files::read_whole(path, LARGEST_STATE);
        read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    };
    let now = text(&store.layout().state());
    let found = store.refused_edits().into_iter().map(|kept| {
        let diff = difference(&now, &text(&kept));
        Finding::new(
            "edit.refused",
            format!("an edit of state.yaml was refused; see {}\n{diff}", kept.display()),
            "somebody changed what only liza may change; the board goes on without that change",
            "make the change with liza's commands, then `liza resume`",
        )
    });
    Ok(found.collect())
}

fn difference(good: &str, edited: &str) -> String {
    let text = similar::TextDiff::from_lines(good, edited)
        .unified_diff()
        .context_radius(1)
        .header("state.yaml", "the edit")
        .to_string();
    const SHOWN: usize = 60;
    const LONGEST: usize = 200;
    let cut = |line: &str| match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    };
    let mut lines: Vec<String> = text.lines().take(SHOWN).map(cut).collect();
    if text.lines().count() > SHOWN {
        lines.push("… (more in the kept file)".to_owned());
    }
    lines.join("\n")
}

/// What `verify` says about log and branches, and what the board itself contradicts.
pub fn story(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for check in verify::verify(scene.ctx)? {
        // Those have examinations of their own.
        if check.ok || ["invariants", "board file", "refs", "worktrees"].contains(&check.name) {
            continue;
        }
        let (code, remedy) = match check.name {
            "integration" => {
                ("story.integration", "look at what was put there with `git log`, then do as said above")
            }
            "merged work" => (
                "story.merged_work",
                "the merges are kept under refs/liza/merges; `liza integration advance` with the newest of them and a --reason brings the work back",
            ),
            "branches" => (
                "story.branch",
                "bring it back with `git branch` from refs/liza/attempts, refs/liza/submitted or the reflog; or release the task",
            ),
            "archive" => ("story.archive", "restore that file from a backup, or move it away"),
            _ => ("story.log", "restore log.yaml from a backup; the board itself goes on working"),
        };
        found.push(Finding::new(
            code,
            format!("{}: {}", check.name, check.detail),
            "board, log and repository tell different stories",
            remedy,
        ));
    }
    for violation in violations(board) {
        found.push(Finding::new(
            "board.invariant",
            violation.to_string(),
            "the board contradicts itself",
            "a person repairs it with liza's commands; they refuse only what would make it worse",
        ));
    }
    Ok(found)
}
