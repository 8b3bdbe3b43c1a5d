//! The text of a hook: a marked block of plain shell that asks `liza hooks run`, and stands before whatever else the file
//! holds. Pure.

use super::{DEFAULT_TIMEOUT, Hook, PROBE, PROBED, TIMEOUT};

const BEGIN: &str =
    "# >>> liza hooks >>> put here by `liza hooks install`; `liza hooks uninstall` takes it away";
const END: &str = "# <<< liza hooks <<<";
const SHEBANG: &str = "#!/bin/sh\n";
/// Where a hook that cannot hold the block itself is kept, beside it.
pub const KEPT: &str = ".before-liza";

/// What the block needs to know when liza itself cannot be asked.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The program to ask, absolute.
    pub program: &'a str,
    pub integration_branch: &'a str,
}

/// Whether the block stands in this text.
pub fn has_block(text: &str) -> bool {
    text.lines().any(|line| line == BEGIN)
}

/// The file with the block as its first act, or none if this is no shell script that could hold it.
///
/// After the first line, so that an early `exit` or `exec` of the owner's cannot skip it. Whatever stood there stays, byte
/// for byte.
pub fn with_block(text: &str, hook: Hook, facts: &Facts) -> Option<String> {
    let clean = without_block(text);
    let (first, rest) = match clean.split_once('\n') {
        Some((first, rest)) if first.starts_with("#!") => {
            if !is_shell(first) {
                return None;
            }
            (format!("{first}\n"), rest)
        }
        // Without a newline at its end the line could not be told apart from the block again.
        None if clean.starts_with("#!") => return None,
        // Git runs a file without an interpreter line with `sh`.
        _ => (String::new(), clean.as_str()),
    };
    Some(format!("{first}{}{rest}", block(hook, facts, false)))
}

/// A file of our own.
pub fn whole(hook: Hook, facts: &Facts) -> String {
    format!("{SHEBANG}{}", block(hook, facts, false))
}

/// A file of our own that goes on to the one kept beside it.
pub fn whole_before_kept(hook: Hook, facts: &Facts) -> String {
    format!("{SHEBANG}{}", block(hook, facts, true))
}

/// The text without the block: what stood there before.
pub fn without_block(text: &str) -> String {
    let Some(start) = text.find(BEGIN) else { return text.to_owned() };
    let Some(length) = text[start..].find(END) else { return text.to_owned() };
    let end = start + length + END.len();
    let end = if text[end..].starts_with('\n') { end + 1 } else { end };
    format!("{}{}", &text[..start], &text[end..])
}

/// Whether nothing is left of a file but what [`whole`] brought.
pub fn is_only_ours(without_block: &str) -> bool {
    without_block == SHEBANG
}

fn is_shell(shebang: &str) -> bool {
    let words: Vec<&str> = shebang.trim_start_matches("#!").split_whitespace().collect();
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let program = match words.split_first() {
        Some((first, rest)) if name(first) == "env" => {
            rest.iter().find(|word| !word.starts_with('-') && !word.contains('=')).map(|word| name(word))
        }
        Some((first, _)) => Some(name(first)),
        None => None,
    };
    program.is_some_and(|program| ["sh", "bash", "dash", "ksh", "zsh", "ash"].contains(&program.as_str()))
}

/// A text as one word of the shell.
fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn block(hook: Hook, facts: &Facts, then_kept: bool) -> String {
    let name = hook.name();
    let program = word(facts.program);
    let branch = facts.integration_branch;
    // Safe under `set -e`, `-u` and pipefail, because the owner's interpreter line may ask for them.
    let head = format!(
        r#"{BEGIN}
if [ -n "${{{PROBE}:-}}" ]; then echo {name} >>"${PROBE}"; exit {PROBED}; fi
liza_program={program}
[ -x "$liza_program" ] || liza_program=$(command -v liza 2>/dev/null) || liza_program=
liza_ask() {{
  [ -n "$liza_program" ] || return 127
  if command -v timeout >/dev/null 2>&1; then
    timeout -k 1 "${{{TIMEOUT}:-{DEFAULT_TIMEOUT}}}" "$liza_program" hooks run {name} --hook "$0" -- "$@"
  else
    "$liza_program" hooks run {name} --hook "$0" -- "$@"
  fi
}}
liza_answer=0
"#
    );
    let refused = "    1|3|6) exit 1 ;;\n";
    let unanswered = format!(
        r#"    *) echo "liza: {name} could not be checked (exit $liza_answer); submit and merge check it again" >&2 ;;
"#
    );
    let feed_on = "  exec <<LIZA_INPUT\n$liza_input\nLIZA_INPUT\n";
    let body = match hook {
        Hook::PreCommit | Hook::CommitMsg => format!(
            r#"liza_ask "$@" </dev/null || liza_answer=$?
case $liza_answer in
    0) ;;
{refused}{unanswered}esac
"#
        ),
        Hook::PrePush => format!(
            r#"liza_input=$(cat)
if [ -n "$liza_input" ]; then
  printf '%s\n' "$liza_input" | liza_ask "$@" || liza_answer=$?
  case $liza_answer in
    0) ;;
{refused}{unanswered}  esac
{feed_on}fi
"#
        ),
        Hook::ReferenceTransaction => format!(
            r#"if [ "${{1:-}}" = prepared ]; then
  liza_input=$(cat)
  liza_line='
'
  case "$liza_input$liza_line" in
  *{reference}"$liza_line"*)
    printf '%s\n' "$liza_input" | liza_ask "$@" || liza_answer=$?
    case $liza_answer in
    0) ;;
{refused}    *)
      echo "liza: could not be asked (exit $liza_answer), so the integration branch stays where it is" >&2
      echo "liza: is $liza_program still there? install liza again, or take the marked block out of $0" >&2
      exit 1
      ;;
    esac
    ;;
  esac
{feed_on}fi
"#,
            reference = word(&format!(" refs/heads/{branch}")),
        ),
    };
    let tail = if then_kept {
        format!("if [ -x \"$0{KEPT}\" ]; then exec \"$0{KEPT}\" \"$@\"; fi\n")
    } else {
        String::new()
    };
    format!("{head}{body}{tail}{END}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts<'static> = Facts { program: "/opt/it's here/liza", integration_branch: "integration" };

    #[test]
    fn what_stood_there_comes_back_byte_for_byte() {
        for text in [
            "#!/bin/sh\necho mine\n",
            "#!/bin/sh\necho mine",
            "#!/usr/bin/env bash\nset -eu\n\nexit 0\n",
            "#!/usr/bin/env -S bash -e\n\r\n",
            "echo no interpreter line\n",
            "\n\n# only comments",
            "#!/bin/sh\n",
        ] {
            for hook in Hook::ALL {
                let with = with_block(text, hook, &FACTS).expect(text);
                assert!(has_block(&with) && !has_block(text));
                assert_eq!(without_block(&with), text);
                assert_eq!(with_block(&with, hook, &FACTS).as_ref(), Some(&with), "twice is once");
                let other = Facts { integration_branch: "trunk", ..FACTS };
                assert_eq!(without_block(&with_block(&with, hook, &other).unwrap()), text, "and renewed");
            }
        }
        for hook in Hook::ALL {
            assert!(is_only_ours(&without_block(&whole(hook, &FACTS))));
            assert!(is_only_ours(&without_block(&whole_before_kept(hook, &FACTS))));
        }
    }

    #[test]
    fn only_a_shell_script_can_hold_the_block() {
        for text in
            ["#!/usr/bin/env python3\nprint()\n", "#!/usr/bin/node\n", "#!/bin/sh", "#!/usr/bin/env perl\n"]
        {
            assert_eq!(with_block(text, Hook::PreCommit, &FACTS), None, "{text}");
        }
        for first in ["#!/bin/sh", "#! /bin/bash -e", "#!/usr/bin/env zsh", "#!/usr/bin/env -S LANG=C dash"] {
            assert!(with_block(&format!("{first}\n"), Hook::PrePush, &FACTS).is_some(), "{first}");
        }
    }

    #[test]
    fn a_cut_block_is_left_alone() {
        let with = with_block("#!/bin/sh\nmine\n", Hook::PreCommit, &FACTS).unwrap();
        let cut = with.replace(END, "");
        assert_eq!(without_block(&cut), cut);
    }
}
