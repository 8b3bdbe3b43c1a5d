use crate::cli::complete::{Offer, named_board, offer};
use crate::cli::prelude::*;

/// What could be typed next, one a line: the word, a tab, and something about it
#[derive(Args)]
pub struct CompleteArgs {
    /// What stands behind the program's name, up to the cursor
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// Tells a script that files are wanted there.
pub const FILES_WANTED: u8 = 3;

impl Execute for CompleteArgs {
    /// Never fails and never tells: whoever pressed TAB asked for nothing else.
    fn execute(&self, _: &Invocation) -> Result<Answer, Failure> {
        let mut root = crate::cli::command_line();
        // Flags of the whole program belong to every command once it is built.
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

/// The board as it stands, read without a lock; none is no error. Whose call it is makes no difference.
fn board(words: &[String]) -> Option<Board> {
    let named = named_board(words).map(PathBuf::from);
    let board_dir =
        named.or_else(|| std::env::var_os("LIZA_DIR").filter(|dir| !dir.is_empty()).map(Into::into));
    let caller = Caller { board_dir, ..Caller::default() };
    let mut ctx = Context::open(&std::env::current_dir().ok()?, &caller, Rc::new(|_| {})).ok()?;
    ctx.store.read_any_version();
    ctx.store.read(&Needs::Nothing).ok().map(|snapshot| snapshot.board)
}
