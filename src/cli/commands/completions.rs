use std::path::PathBuf;
use std::rc::Rc;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::board::Needs;
use crate::flow::Failure;
use crate::flow::context::{Caller, Context};
use crate::text::shown_line;

use super::super::complete::{Offer, named_board, offer};
use super::super::ui::Answer;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Print a script that makes your shell complete commands, flags, and the tasks and agents on the board
///
/// The script asks `liza` itself at every TAB, so it knows what is on the board then and never grows stale. Where there
/// is no board it is silent. Load it in your shell's start-up file, or put it where your shell looks for completions.
///
/// Example: eval "$(liza completions bash)"
///
/// Example: liza completions zsh > ~/_liza
///
/// Example: liza completions fish
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// What could be typed next, one a line: the word, a tab, and something about it
#[derive(Args)]
pub struct CompleteArgs {
    /// What stands behind the program's name, up to the cursor
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// Tells a script that files are wanted there.
pub const FILES_WANTED: u8 = 3;

// All three run the `liza` that is found on the path, never the word that was typed: a TAB must not run a program that
// happens to lie in the current directory.

const BASH: &str = r#"# liza: completion for bash
_liza() {
    local answer value about code
    COMPREPLY=()
    answer=$(command liza __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    code=$?
    while IFS=$'\t' read -r value about; do
        [ -n "$value" ] && COMPREPLY+=("$value")
    done <<< "$answer"
    if [ "$code" -eq 3 ]; then
        compopt -o default 2>/dev/null
    else
        compopt +o default 2>/dev/null
    fi
    return 0
}
complete -o nosort -o default -F _liza liza 2>/dev/null || complete -o default -F _liza liza
"#;

const ZSH: &str = r#"#compdef liza
# liza: completion for zsh
_liza() {
    local answer line code
    local -a candidates
    answer=$(command liza __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    code=$?
    for line in "${(@f)answer}"; do
        [[ -n "$line" ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( code == 3 )); then
        _files
    elif (( ${#candidates} )); then
        _describe -V liza candidates
    fi
}
if [[ "${funcstack[1]}" == "_liza" ]]; then
    _liza "$@"
else
    compdef _liza liza
fi
"#;

const FISH: &str = r#"# liza: completion for fish
function __liza_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    set -l answer (command liza __complete -- $words "$current" 2>/dev/null)
    if test $status -eq 3
        __fish_complete_path "$current"
    else
        printf '%s\n' $answer
    end
end
complete -c liza -f -a '(__liza_complete)'
"#;

pub fn run(args: &CompletionsArgs) -> Answer {
    let script = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    };
    Answer::new(json!({ "script": script }), script)
}

/// Never fails and never tells: whoever pressed TAB asked for nothing else.
pub fn complete(args: &CompleteArgs) -> Result<Answer, Failure> {
    let mut root = super::super::command_line();
    // Flags of the whole program belong to every command once it is built.
    root.build();
    match offer(&root, &args.words, || board(&args.words)) {
        Offer::Files => {
            let mut answer = Answer::new(json!({ "files": true }), "");
            answer.exit = FILES_WANTED;
            Ok(answer)
        }
        Offer::Candidates(found) => {
            let lines: Vec<String> = found
                .iter()
                .map(|candidate| {
                    format!("{}\t{}", shown_line(&candidate.value), shown_line(&candidate.about))
                })
                .collect();
            let data =
                json!({ "candidates": found.iter().map(|candidate| &candidate.value).collect::<Vec<_>>() });
            Ok(Answer::new(data, lines.join("\n")))
        }
    }
}

/// The board as it stands, read without a lock; none is no error. Whose call it is makes no difference.
fn board(words: &[String]) -> Option<crate::board::Board> {
    let named = named_board(words).map(PathBuf::from);
    let board_dir =
        named.or_else(|| std::env::var_os("LIZA_DIR").filter(|dir| !dir.is_empty()).map(Into::into));
    let caller = Caller { board_dir, ..Caller::default() };
    let mut ctx = Context::open(&std::env::current_dir().ok()?, &caller, Rc::new(|_| {})).ok()?;
    ctx.store.read_any_version();
    ctx.store.read(&Needs::Nothing).ok().map(|snapshot| snapshot.board)
}
