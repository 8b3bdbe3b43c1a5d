use crate::board::state::VERSION;
use crate::board::violations;
use crate::cli::prelude::*;
use crate::flow::verify;
use crate::store::Snapshot;
use crate::store::edits::Judged;
use crate::store::read::EDITED_BY_HAND;
use crate::store::read::{LARGEST_STATE, invalid};
use crate::wire::state::{Decoded, StateError};

/// Check schema and invariants of the board or of a file
///
/// Names each invalid field. Exit 6 if anything is wrong.
///
/// Example: liza validate
#[derive(Args)]
pub struct ValidateArgs {
    /// File to check instead of the board
    #[arg(value_hint = ValueHint::AnyPath)]
    pub file: Option<String>,
}

impl OnBoard for ValidateArgs {
    const ACCESS: Access = Access::ReadsAnyVersion;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let mut edited = false;
        let (board, whose) = match &self.file {
            None => match session.ctx.store.read(&Needs::Everything)? {
                Snapshot { warning: Some(warning), version, .. }
                    if version == u64::from(VERSION) && !warning.starts_with(EDITED_BY_HAND) =>
                {
                    return Err(Failure::new(ErrorCode::BoardInvalid, warning).hint(
                        "`liza doctor` explains the problem, `liza doctor --fix` restores the newest board",
                    ));
                }
                snapshot if snapshot.version == u64::from(VERSION) => {
                    if let Some(warning) = &snapshot.warning {
                        check_edit(session)?;
                        session.ctx.narrate(warning);
                    }
                    edited = snapshot.warning.is_some();
                    (snapshot.board, "the board".to_owned())
                }
                other => {
                    if let Some(warning) = &other.warning {
                        session.ctx.narrate(warning);
                    }
                    return other_version(&other);
                }
            },
            Some(file) => (read_file(session, file)?, file.clone()),
        };
        let found = violations(&board);
        if found.is_empty() {
            if self.file.is_none() && !edited {
                check_story(session)?;
            }
            let tasks = plural(board.tasks.len(), "task");
            let text = format!("{whose} is valid: revision {}, {tasks}", board.revision);
            return Ok(Answer::new(json!({ "valid": true, "violations": [] }), text).at(board.revision));
        }
        let list: Vec<_> = found
        .iter()
        .map(|violation| json!({ "invariant": violation.invariant, "place": violation.place, "message": violation.message }))
        .collect();
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        Err(Failure::new(
            ErrorCode::BoardViolations,
            format!("{whose} breaks {}:\n{}", plural(found.len(), "rule"), lines.join("\n")),
        )
        .hint("fix it with liza's commands; they refuse only what would break more rules")
        .detail("violations", list))
    }
}

/// A person may edit some fields; any other difference from the last board that liza wrote is invalid: a cut history,
/// another epoch, incarnation or verdict.
fn check_edit(session: &Session) -> Result<(), Failure> {
    match session.ctx.store.judge_edit(&session.ctx.now)? {
        Judged::Adoptable(_) => Ok(()),
        Judged::Refused(why) => Err(Failure::new(
            ErrorCode::BoardEdited,
            format!("state.yaml was edited in fields that only liza may write: {why}"),
        )
        .hint("`liza doctor` shows the difference and what may be edited, `liza doctor --fix` restores the last board")),
    }
}

/// Checks the board against journal, images and copies.
fn check_story(session: &Session) -> Result<(), Failure> {
    let checks = verify::board_story(&session.ctx)?;
    let Some(first) = checks.iter().find(|check| !check.ok) else { return Ok(()) };
    Err(Failure::new(
        ErrorCode::BoardVerify,
        format!("the board is not what liza wrote ({}): {}", first.name, first.detail),
    )
    .hint("`liza verify` checks everything, `liza doctor --fix` restores the board from its copies")
    .detail("checks", json!(checks)))
}

/// An old board is valid if it can be read; this version cannot check a newer one.
fn other_version(snapshot: &Snapshot) -> Result<Answer, Failure> {
    let version = snapshot.version;
    if version > u64::from(VERSION) {
        return Err(invalid(&StateError::Newer(version)).into());
    }
    let tasks = snapshot.board.tasks.len();
    let text = format!(
        "the board of version {version} can be read: {}; `liza doctor` shows how `liza doctor --fix` would convert it",
        plural(tasks, "task")
    );
    Ok(Answer::new(json!({ "valid": true, "violations": [], "version": version, "read_only": true }), text))
}

fn read_file(session: &Session, file: &str) -> Result<Board, Failure> {
    let (bytes, _) =
        crate::store::files::read_whole(std::path::Path::new(file), LARGEST_STATE).map_err(|error| {
            Failure::new(ErrorCode::BoardInvalid, format!("{file} cannot be a board: {error}"))
                .hint("name a file with a board")
        })?;
    match Decoded::new(bytes.clone()) {
        Ok(mut decoded) => {
            decoded.load(&Needs::Everything).map_err(|why| invalid(&why))?;
            Ok(decoded.into_board())
        }
        // A file without liza's checksum is parsed strictly, so that the error names the line.
        Err(StateError::Edited | StateError::Former | StateError::Truncated) => {
            crate::wire::flat::read_edited(&bytes, &session.ctx.now).map_err(|error| {
                Failure::new(ErrorCode::BoardInvalid, format!("{file}: {error}"))
                    .hint("fix that line of the file")
            })
        }
        Err(why) => Err(invalid(&why).into()),
    }
}
