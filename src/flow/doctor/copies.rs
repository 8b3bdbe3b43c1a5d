//! Copies of board, journal and archive below the common git directory.

use super::{Finding, Scene};
use crate::flow::init::install_texts;
use crate::flow::prelude::*;

/// The board's directory is gone, and its copies are left.
pub fn removed_board(ctx: &Context) -> Option<Finding> {
    if ctx.store.exists() {
        return None;
    }
    let revision = ctx.store.witnessed_revision()?;
    let what = format!(
        "{} was removed (`git clean -fdx` does that); revision {revision} of the board is kept below .git",
        ctx.store.display()
    );
    let why = "no command can work without the board";
    let remedy =
        "restores board, journal and archive; agents must register again, because their tokens are gone";
    Some(Finding::new("board.removed", what, why, remedy).fixed_by(restore_all))
}

/// Restores board, journal and archive, and makes the other files of the board's directory.
pub fn restore_all(ctx: &Context) -> Result<Option<String>> {
    let remark = restore(ctx)?;
    ctx.machine.make_directories()?;
    install_texts(ctx)?;
    Ok(Some(remark))
}

/// An older board was restored together with its journal and lock.
pub fn ahead(scene: &Scene) -> Result<Vec<Finding>> {
    let Some((revision, above)) = scene.ctx.store.is_behind_witness() else { return Ok(Vec::new()) };
    let what = format!("the board is an older one: revision {revision}, but revision {above} was published");
    let why = "everything since is missing from the board: verdicts, merges, questions";
    let remedy = format!(
        "restores revision {above} from its copy below .git and keeps the present board and journal under .liza/edits"
    );
    Ok(vec![Finding::new("board.put_back", what, why, remedy).fixed_by(|ctx| Ok(Some(restore(ctx)?)))])
}

/// Missing files of archived tasks.
pub fn lost_archived(scene: &Scene) -> Result<Vec<Finding>> {
    let lost = scene.ctx.store.lost_archived();
    let on_board = |name: &String| {
        let id = name.strip_suffix(".yaml");
        scene.board().is_some_and(|board| board.tasks.iter().any(|task| id == Some(&task.id.folded())))
    };
    let lost: Vec<&String> = lost.iter().filter(|name| !on_board(name)).collect();
    let Some(first) = lost.first() else { return Ok(Vec::new()) };
    let more = if lost.len() > 1 { format!(" and {} more", lost.len() - 1) } else { String::new() };
    let what = format!(".liza/archive/{first}{more} is gone");
    let why = "dependent tasks, reports and metrics need its file";
    Ok(vec![Finding::new("archive.lost", what, why, "restores the file from its copy below .git").fixed_by(
        |ctx| Ok(Some(format!("{} restored", plural(ctx.store.restore_lost_archived()?, "file")))),
    )])
}

/// Missing texts of specs that tasks are pinned to.
pub fn lost_spec_texts(scene: &Scene) -> Result<Vec<Finding>> {
    let lost = scene.ctx.store.lost_spec_texts();
    let Some(first) = lost.first() else { return Ok(Vec::new()) };
    let more = if lost.len() > 1 { format!(" and {} more", lost.len() - 1) } else { String::new() };
    let what = format!(".liza/spec_texts/{first}{more} is gone or changed");
    let why = "prompts show the text of a spec as of the planning of the task";
    Ok(vec![Finding::new("specs.lost", what, why, "restores the text from its copy below .git").fixed_by(
        |ctx| Ok(Some(format!("{} restored", plural(ctx.store.restore_lost_spec_texts()?, "text")))),
    )])
}

/// Results of tasks whose files are gone.
pub fn lost_results(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let lost = scene.ctx.store.lost_results(board);
    let Some((task, result)) = lost.first() else { return Ok(Vec::new()) };
    let more = if lost.len() > 1 { format!(" and {} more", lost.len() - 1) } else { String::new() };
    let what = format!(".liza/results/{task}.{}.json{more} is gone or changed", result.epoch);
    let why = "it is the output of a task, and the prompts of dependent tasks show it";
    Ok(vec![
        Finding::new("results.lost", what, why, "restores the result from its copy below .git").fixed_by(
            |ctx| {
                let board = ctx.read(&Needs::Nothing)?.board;
                Ok(Some(format!("{} restored", plural(ctx.store.restore_lost_results(&board)?, "result"))))
            },
        ),
    ])
}

fn restore(ctx: &Context) -> Result<String> {
    let restored = ctx.store.restore_from_witness(&ctx.now)?;
    let kept: Vec<String> = restored.kept.iter().map(|path| path.display().to_string()).collect();
    let kept = if kept.is_empty() { String::new() } else { format!("; kept: {}", kept.join(", ")) };
    let archived = plural(restored.archived, "archived task");
    Ok(format!("revision {} and {archived} restored{kept}", restored.revision))
}
