//! What is wrong, why it matters, and what mending it would do. Mends only when asked to, and keeps what it replaces.
//!
//! Looking and mending are apart: an examination only reads, and a finding carries its mend along as something that
//! can be done later. So a look, a dry run and an agent's look cannot change anything.

mod agents;
mod board;
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

use serde::Serialize;

use crate::board::{Board, Needs};
use crate::store::StoreError;

use super::context::Context;
use super::failure::Failure;

pub use providers::{Listed, listing};

/// Puts one thing right; says what there is to tell beyond the remedy.
type Mend = Box<dyn FnOnce(&Context) -> Result<Option<String>, Failure>>;

#[derive(Serialize)]
pub struct Finding {
    /// Stable, for programs.
    pub code: &'static str,
    pub what: String,
    pub why: String,
    /// What `--fix` does about it, or what a person has to do.
    pub remedy: String,
    pub fixable: bool,
    pub fixed: bool,
    #[serde(skip)]
    mend: Option<Mend>,
}

impl Finding {
    /// Something a person has to see to.
    pub(super) fn new(
        code: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            code,
            what: what.into(),
            why: why.into(),
            remedy: remedy.into(),
            fixable: false,
            fixed: false,
            mend: None,
        }
    }

    /// Something `--fix` sees to, as the remedy says.
    fn mended_by(mut self, mend: impl FnOnce(&Context) -> Result<Option<String>, Failure> + 'static) -> Self {
        self.fixable = true;
        self.mend = Some(Box::new(mend));
        self
    }

    /// A mend that fails leaves the finding standing and says why.
    fn treat(&mut self, ctx: &Context) {
        let Some(mend) = self.mend.take() else { return };
        match mend(ctx) {
            Ok(told) => {
                self.fixed = true;
                if let Some(told) = told {
                    self.remedy.push_str(&format!(" ({told})"));
                }
            }
            Err(failure) => self.remedy.push_str(&format!(" (tried, and failed: {})", failure.message)),
        }
    }
}

/// What an examination looks at.
struct Scene<'c> {
    ctx: &'c Context,
    board: OnceCell<Option<Board>>,
}

impl Scene<'_> {
    /// The whole board; none while it cannot be trusted, which is a finding of its own.
    fn board(&self) -> Option<&Board> {
        let read = || self.ctx.store.read(&Needs::Everything).ok().map(|snapshot| snapshot.board);
        self.board.get_or_init(read).as_ref()
    }
}

/// The name says what could not be looked at, should it fail.
type Examination = (&'static str, fn(&Scene) -> Result<Vec<Finding>, Failure>);

/// In this order: what later ones rely on is mended first.
const EXAMINATIONS: [Examination; 25] = [
    ("who may read and write the board", rights::permissions),
    ("the kinds of liza's files", rights::odd_files),
    ("the board", board::file),
    ("the log", board::log),
    ("refused edits", board::refused_edits),
    ("locks of other programs", locks::foreign),
    ("git's records of worktrees", worktrees::half_made),
    ("git's locks", locks::of_git),
    ("the git program and its settings", settings::git),
    ("work left half done", intents::left_half_done),
    ("the worktrees of tasks", worktrees::of_tasks),
    ("what is below .worktrees", worktrees::of_nobody),
    ("refs in liza's name", refs::unaccounted),
    ("temporary files", leftovers::temporary_files),
    ("switches", leftovers::switches),
    ("tokens", agents::tokens),
    ("what git tracks of liza's", settings::excludes),
    ("the pages agents read", agents::pages),
    ("git hooks", hooks::firing),
    ("the story of board, log and repository", board::story),
    ("the machine", machine::file_system),
    ("the clock", machine::clock),
    ("the agent commands in use", providers::in_use),
    ("the role registry", registry::senseless),
    ("who may review", reviewers::enough),
];

/// Looks at everything; mends what can be mended if `fix` says so.
pub fn examine(ctx: &Context, fix: bool) -> Result<Vec<Finding>, Failure> {
    if let Err(error @ StoreError::Missing(_)) = ctx.store.read(&Needs::Nothing) {
        return Err(error.into());
    }
    let mut all = Vec::new();
    // Nothing else can be said of a board that this liza does not write.
    if let Some(finding) = super::migrate::examine(ctx, fix)? {
        let migrated = finding.fixed;
        all.push(finding);
        if !migrated {
            return Ok(all);
        }
    }
    let mut scene = Scene { ctx, board: OnceCell::new() };
    for (name, look) in EXAMINATIONS {
        let mut found = look(&scene).unwrap_or_else(|failure| {
            vec![Finding::new(
                "doctor.not_examined",
                format!("{name} could not be looked at: {}", failure.message),
                "what is wrong there stays unseen",
                failure.hint.unwrap_or_else(|| "mend the cause, then run `liza doctor` again".to_owned()),
            )]
        });
        if fix && found.iter().any(|finding| finding.fixable) {
            found.iter_mut().for_each(|finding| finding.treat(ctx));
            scene = Scene { ctx, board: OnceCell::new() };
        }
        all.append(&mut found);
    }
    Ok(all)
}
