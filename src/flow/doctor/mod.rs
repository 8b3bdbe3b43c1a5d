//! Finds problems, why they matter, and how to fix them. Fixes only on request, and keeps what it replaces.
//!
//! Examining and fixing are separate: an examination only reads, and a finding carries its fix as something to run
//! later. So an examination, a dry run and an agent's call change nothing.

mod agents;
mod board;
mod copies;
mod finding;
mod hooks;
mod intents;
mod leftovers;
mod locks;
mod machine;
mod providers;
mod refs;
mod registry;
mod reviewers;
mod rights;
mod settings;
mod worktrees;

use std::cell::OnceCell;

use crate::flow::ownership::{self, ArchivedTask};
use crate::flow::prelude::*;
use crate::store::Snapshot;
use crate::store::refound::LogDamage;

pub use finding::Finding;
pub use providers::{Listed, listing};

/// What an examination reads.
struct Scene<'c> {
    ctx: &'c Context,
    read: OnceCell<Result<Snapshot, StoreError>>,
    archive: OnceCell<Result<Vec<ArchivedTask>>>,
    log_damage: OnceCell<Option<LogDamage>>,
}

impl<'c> Scene<'c> {
    fn new(ctx: &'c Context) -> Self {
        Self { ctx, read: OnceCell::new(), archive: OnceCell::new(), log_damage: OnceCell::new() }
    }

    /// The whole board, read once.
    fn read(&self) -> &Result<Snapshot, StoreError> {
        self.read.get_or_init(|| self.ctx.store.read(&Needs::Everything))
    }

    /// None while it cannot be read, which has its own finding.
    fn board(&self) -> Option<&Board> {
        self.read().as_ref().ok().map(|snapshot| &snapshot.board)
    }

    /// Every archived task, read once.
    fn archive(&self) -> &Result<Vec<ArchivedTask>> {
        self.archive.get_or_init(|| ownership::archive(self.ctx))
    }

    /// What is wrong with the log of this board.
    fn log_damage(&self, board: &Board) -> Result<Option<&LogDamage>> {
        if self.log_damage.get().is_none() {
            let _ = self.log_damage.set(self.ctx.store.log_damage(board)?);
        }
        Ok(self.log_damage.get().and_then(Option::as_ref))
    }
}

/// An examination, with the name that a failure reports.
type Examination = (&'static str, fn(&Scene) -> Result<Vec<Finding>>);

/// In this order: later ones rely on the fixes of earlier ones.
const EXAMINATIONS: [Examination; 36] = [
    ("who may read and write the board", rights::permissions),
    ("the kinds of liza's files", rights::odd_files),
    ("the copies below .git", copies::ahead),
    ("the board", board::file),
    ("the log", board::log),
    ("the archive", copies::lost_archived),
    ("edits that wait", board::pending_edits),
    ("texts of specs", copies::lost_spec_texts),
    ("results of tasks", copies::lost_results),
    ("refused edits", board::refused_edits),
    ("locks of other programs", locks::foreign),
    ("git's records of worktrees", worktrees::half_made),
    ("git's locks", locks::of_git),
    ("the git program and its settings", settings::git),
    ("links where git keeps refs", refs::linked),
    ("refs that lead to other refs", refs::not_plain),
    ("refs to missing objects", refs::broken),
    ("unfinished work", intents::left_half_done),
    ("paths in git's records of worktrees", worktrees::moved),
    ("the worktrees of tasks", worktrees::of_tasks),
    ("entries below .worktrees", worktrees::without_owner),
    ("refs in liza's name", refs::unaccounted),
    ("directories that could not be deleted", leftovers::not_emptied),
    ("temporary files", leftovers::temporary_files),
    ("switches", leftovers::switches),
    ("tokens", agents::tokens),
    ("liza's files that git tracks", settings::excludes),
    ("the pages agents read", agents::pages),
    ("git hooks", hooks::firing),
    ("settings of git that were accepted", settings::accepted),
    ("agreement of board, log and repository", board::story),
    ("the machine", machine::file_system),
    ("the clock", machine::clock),
    ("the agent commands in use", providers::in_use),
    ("the role registry", registry::senseless),
    ("who may review", reviewers::enough),
];

/// Examines everything; with `fix`, fixes what can be fixed.
pub fn examine(ctx: &Context, fix: bool) -> Result<Vec<Finding>> {
    if let Err(error @ StoreError::Missing(_)) = ctx.store.read(&Needs::Nothing) {
        return Err(error.into());
    }
    let mut all = Vec::new();
    // Without a board nothing else can be examined.
    if let Some(mut finding) = copies::removed_board(ctx) {
        if fix {
            finding.treat(ctx);
        }
        let restored = finding.fixed;
        all.push(finding);
        if !restored {
            return Ok(all);
        }
    }
    // A board of another version cannot be examined further.
    if let Some(finding) = super::migrate::examine(ctx, fix)? {
        let migrated = finding.fixed;
        all.push(finding);
        if !migrated {
            return Ok(all);
        }
    }
    let mut scene = Scene::new(ctx);
    for (name, look) in EXAMINATIONS {
        let mut found = look(&scene).unwrap_or_else(|failure| {
            vec![Finding::new(
                "doctor.not_examined",
                format!("{name} could not be examined: {}", failure.message),
                "problems of this kind are not reported",
                failure.hint.unwrap_or_else(|| "fix the cause, then run `liza doctor` again".to_owned()),
            )]
        });
        if fix && found.iter().any(|finding| finding.fixable) {
            found.iter_mut().for_each(|finding| finding.treat(ctx));
            scene = Scene::new(ctx);
            // Only what a second examination no longer finds counts as fixed.
            if found.iter().any(|finding| finding.fixed) {
                let left = look(&scene);
                found.iter_mut().for_each(|finding| finding.verify(&left));
            }
        }
        all.append(&mut found);
    }
    Ok(all)
}
