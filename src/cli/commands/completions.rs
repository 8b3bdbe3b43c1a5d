use crate::cli::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Print a completion script for your shell
///
/// Completes commands, flags, and the tasks and agents on the board: the script asks `liza` at every TAB, so its
/// answers are always current. Without a board it completes commands and flags. Load it in your shell's start-up
/// file, or save it in the directory that your shell searches for completions.
///
/// Example: eval "$(liza completions bash)"
///
/// Example: liza completions zsh > ~/_liza
///
/// Example: liza completions fish
#[derive(Args)]
pub struct CompletionsArgs {
    /// Name of the shell
    #[arg(value_enum)]
    pub shell: Shell,
}

// All three scripts run the `liza` on the PATH, never the typed word: a TAB must not run a program in the current directory.

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

impl Execute for CompletionsArgs {
    fn execute(&self, _: &Invocation) -> Result<Answer, Failure> {
        let script = match self.shell {
            Shell::Bash => BASH,
            Shell::Zsh => ZSH,
            Shell::Fish => FISH,
        };
        Ok(Answer::new(json!({ "script": script }), script).verbatim())
    }
}
