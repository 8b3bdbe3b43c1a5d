use crate::cli::complete::{Offer, named_board, offer};
use crate::cli::prelude::*;

/// Print candidates for the next word: one per line, with a tab and a description
#[derive(Args)]
pub struct CompleteArgs {
    /// The words after the program's name, up to the cursor
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// The exit code that asks the shell to complete file names.
pub const FILES_WANTED: u8 = 3;

impl Execute for CompleteArgs {
    /// Never fails and prints nothing else: a person has only pressed TAB.
    fn execute(&self, _: &Invocation) -> Result<Answer, Failure> {
        let mut root = crate::cli::command_line();
        // Building the tree gives every command the global flags.
        root.build();
        match offer(&root, &self.words, || board(&self.words)) {
            Offer::Files => Ok(Answer::new(json!({ "files": true }), "").exit(FILES_WANTED)),
            Offer::Candidates(found) => {
                let lines: Vec<String> = found
                    .iter()
                    .map(|candidate| {
                        format!("{}\t{}", shown_line(&candidate.value), shown_line(&candidate.about))
                    })
                    .collect();
                let data = json!({ "candidates": found.iter().map(|candidate| &candidate.value).collect::<Vec<_>>() });
                Ok(Answer::new(data, lines.join("\n")).verbatim())
            }
        }
    }
}

/// The present board, read without a lock; `None` without a board. The caller is not authenticated.
fn board(words: &[String]) -> Option<Board> {
    let named = named_board(words).map(PathBuf::from);
    let board_dir =
        named.or_else(|| std::env::var_os("LIZA_DIR").filter(|dir| !dir.is_empty()).map(Into::into));
    let caller = Caller { board_dir, ..Caller::default() };
    let mut ctx = Context::open(&std::env::current_dir().ok()?, &caller, Rc::new(|_| {})).ok()?;
    ctx.store.read_any_version();
    ctx.store.read(&Needs::Nothing).ok().map(|snapshot| snapshot.board)
}
