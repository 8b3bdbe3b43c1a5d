//! The board file, edits of it that were refused, and whether the story it tells holds.

use crate::board::{Needs, SwitchKind, violations};
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
    if broken.contains("newer liza") || broken.contains("older program") {
        let remedy = "use the liza that wrote it";
        return Ok(vec![Finding::new("board.version", broken, "this liza must not write it", remedy)]);
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

/// An edit that was refused stays here until a person has looked at it: the PAUSE it set says so.
pub fn refused_edits(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let store = &scene.ctx.store;
    let switches = store.switches()?;
    let Some(pause) = switches.set.iter().find(|switch| {
        switch.kind == SwitchKind::Pause && switch.reason.starts_with("an edit of state.yaml was refused")
    }) else {
        return Ok(Vec::new());
    };
    let kept = pause.reason.rsplit("see ").next().unwrap_or_default().trim().to_owned();
    let edited = std::fs::read(&kept).unwrap_or_default();
    let now = std::fs::read(store.layout().state()).unwrap_or_default();
    let diff = difference(&String::from_utf8_lossy(&now), &String::from_utf8_lossy(&edited));
    Ok(vec![Finding::new(
        "edit.refused",
        format!("{}\n{diff}", pause.reason),
        "somebody changed what only liza may change; the board goes on without that change",
        "make the change with liza's commands, then `liza resume`",
    )])
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

/// What `verify` says about log and branches, and what the board itself contradicts.
pub fn story(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for check in verify::verify(scene.ctx)? {
        if check.ok || check.name == "invariants" || check.name == "board file" {
            continue;
        }
        let (code, remedy) = match check.name {
            "integration" => (
                "story.integration",
                "look at what was put there; `liza integration advance` with that branch and a --reason accepts it",
            ),
            "merged work" => (
                "story.merged_work",
                "look at the branch with `git log`; the merges are kept under refs/liza/merges",
            ),
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
