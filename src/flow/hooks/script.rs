//! The text of a hook: a marked block of plain shell that runs `liza hooks run`, before anything else in the file.
//! Pure.

use super::{DEFAULT_TIMEOUT, Hook, PROBE, PROBED, TIMEOUT};

const BEGIN: &str =
    "# >>> liza hooks >>> put here by `liza hooks install`; `liza hooks uninstall` takes it away";
const END: &str = "# <<< liza hooks <<<";
const SHEBANG: &str = "#!/bin/sh\n";
/// Suffix of a kept hook that cannot contain the block itself.
pub const KEPT: &str = ".before-liza";
/// Where a kept link has its own name again: programs that many hooks link to recognize the hook by that name.
pub const ALIASES: &str = "before-liza";

/// The script that runs after the block, in addition to the rest of its file.
#[derive(Debug, Clone, Copy)]
pub enum Then {
    Rest,
    Kept,
}

/// The values in the block, for the case that liza cannot be run.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The program to run, absolute.
    pub program: &'a str,
    pub integration_branch: &'a str,
}

/// Whether this text contains the block.
pub fn has_block(text: &str) -> bool {
    text.lines().any(|line| line == BEGIN)
}

/// The file with the block first, or none if this is no shell script that could hold it.
///
/// After the first line, so that an early `exit` or `exec` of the owner cannot skip it. All other text stays, byte
/// for byte.
pub fn with_block(text: &str, hook: Hook, facts: &Facts, then: Then) -> Option<String> {
    let clean = without_block(text);
    let (first, rest) = match clean.split_once('\n') {
        Some((first, rest)) if first.starts_with("#!") => {
            if !is_shell(first) {
                return None;
            }
            (format!("{first}\n"), rest)
        }
        // Without a newline at its end the line could not be separated from the block again.
        None if clean.starts_with("#!") => return None,
        // Git runs a file without an interpreter line with `sh`.
        _ => (String::new(), clean.as_str()),
    };
    // It only starts as shell: the rest is another language, which would fail on the block.
    if rest.lines().take(10).any(|line| line.contains("exec") && line.contains("$0")) {
        return None;
    }
    Some(format!("{first}{}{rest}", block(hook, facts, then)))
}

/// A file of liza's own.
pub fn whole(hook: Hook, facts: &Facts) -> String {
    format!("{SHEBANG}{}", block(hook, facts, Then::Rest))
}

/// A file of liza's own that continues with the kept one.
pub fn whole_before_kept(hook: Hook, facts: &Facts) -> String {
    format!("{SHEBANG}{}", block(hook, facts, Then::Kept))
}

/// The text without the block: the original.
pub fn without_block(text: &str) -> String {
    let Some(start) = text.find(BEGIN) else { return text.to_owned() };
    let Some(length) = text[start..].find(END) else { return text.to_owned() };
    let end = start + length + END.len();
    let end = if text[end..].starts_with('\n') { end + 1 } else { end };
    format!("{}{}", &text[..start], &text[end..])
}

/// Whether only text of [`whole`] is left of a file.
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

/// A text, quoted as one shell word.
fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn block(hook: Hook, facts: &Facts, then: Then) -> String {
    let name = hook.name();
    let program = word(facts.program);
    let reference = format!("refs/heads/{}", facts.integration_branch);
    let about = match hook {
        Hook::ReferenceTransaction => format!(" --branch {}", word(facts.integration_branch)),
        _ => String::new(),
    };
    // Safe under `set -e`, `-u` and pipefail, because the owner's interpreter line may ask for them.
    let head = format!(
        r#"{BEGIN}
if [ -n "${{{PROBE}:-}}" ]; then echo {name} >>"${PROBE}"; exit {PROBED}; fi
liza_program={program}
[ -x "$liza_program" ] || liza_program=$(command -v liza 2>/dev/null) || liza_program=
liza_ask() {{
  [ -n "$liza_program" ] || return 127
  case ${{{TIMEOUT}:-}} in [1-9]|[1-9][0-9]) liza_limit=${TIMEOUT} ;; *) liza_limit={DEFAULT_TIMEOUT} ;; esac
  if command -v timeout >/dev/null 2>&1; then
    timeout -k 1 "$liza_limit" "$liza_program" hooks run {name} --hook "$0"{about} -- "$@"
  else
    "$liza_program" hooks run {name} --hook "$0"{about} -- "$@"
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
        Hook::ReferenceTransaction => {
            guard(&word(&reference), &word(&format!(" {reference}")), refused, feed_on)
        }
    };
    let tail = match then {
        Then::Rest => String::new(),
        Then::Kept => format!(
            r#"if [ -x "${{0%/*}}/{ALIASES}/{name}" ]; then exec "${{0%/*}}/{ALIASES}/{name}" "$@"; fi
if [ -x "$0{KEPT}" ]; then exec "$0{KEPT}" "$@"; fi
"#
        ),
    };
    format!("{head}{body}{tail}{END}\n")
}

/// Guards the branch. Without an answer only updates that leave the branch unchanged may pass, so that git's own
/// housekeeping works: the same rule as the board's, in shell.
fn guard(reference: &str, at_end: &str, refused: &str, feed_on: &str) -> String {
    format!(
        r#"liza_stays() {{
  while read -r liza_old liza_new liza_ref; do
    [ "$liza_ref" = {reference} ] || continue
    liza_now=$(git rev-parse -q --verify "$liza_ref") || return 1
    [ "$liza_new" != "$liza_now" ] || continue
    case $liza_new in *[!0]*) return 1 ;; esac
    [ "$liza_old" = "$liza_now" ] || return 1
    [ ! -e "${{0%/*}}/../packed-refs.lock" ] || return 1
    grep -qxF "$liza_now $liza_ref" "${{0%/*}}/../packed-refs" 2>/dev/null || return 1
  done
}}
if [ "${{1:-}}" = prepared ]; then
  liza_input=$(cat)
  liza_line='
'
  case "$liza_input$liza_line" in
  *{at_end}"$liza_line"*)
    printf '%s\n' "$liza_input" | liza_ask "$@" || liza_answer=$?
    case $liza_answer in
    0) ;;
{refused}    *)
      if liza_stays <<LIZA_INPUT
$liza_input
LIZA_INPUT
      then :; else
        echo "liza: liza could not be run (exit $liza_answer), so the integration branch does not move" >&2
        echo "liza: check $liza_program; install liza again, or remove the marked block from $0" >&2
        liza_taken=$(find "${{0%/*}}/../logs/refs/.tmp-renamed-log" -cmin -1 -exec tail -n 1 {{}} \; 2>/dev/null | cut -d ' ' -f 2) || liza_taken=
        [ -z "$liza_taken" ] || echo "liza: git has removed a branch that it was renaming; 'git branch NAME $liza_taken' restores it" >&2
        exit 1
      fi
      ;;
    esac
    ;;
  esac
{feed_on}fi
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts<'static> = Facts { program: "/opt/it's here/liza", integration_branch: "integration" };

    #[test]
    fn original_hook_is_restored_byte_for_byte() {
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
                let with = with_block(text, hook, &FACTS, Then::Rest).expect(text);
                assert!(has_block(&with) && !has_block(text));
                assert_eq!(without_block(&with), text);
                assert_eq!(
                    with_block(&with, hook, &FACTS, Then::Rest).as_ref(),
                    Some(&with),
                    "twice is once"
                );
                let other = Facts { integration_branch: "trunk", ..FACTS };
                assert_eq!(
                    without_block(&with_block(&with, hook, &other, Then::Rest).unwrap()),
                    text,
                    "and renewed"
                );
            }
        }
        for hook in Hook::ALL {
            assert!(is_only_ours(&without_block(&whole(hook, &FACTS))));
            assert!(is_only_ours(&without_block(&whole_before_kept(hook, &FACTS))));
        }
    }

    #[test]
    fn only_a_shell_script_can_hold_the_block() {
        for text in [
            "#!/usr/bin/env python3\nprint()\n",
            "#!/usr/bin/node\n",
            "#!/bin/sh",
            "#!/usr/bin/env perl\n",
            "#!/bin/sh\n'''exec' python3 \"$0\" \"$@\"\n",
        ] {
            assert_eq!(with_block(text, Hook::PreCommit, &FACTS, Then::Rest), None, "{text}");
        }
        for first in ["#!/bin/sh", "#! /bin/bash -e", "#!/usr/bin/env zsh", "#!/usr/bin/env -S LANG=C dash"] {
            assert!(
                with_block(&format!("{first}\n"), Hook::PrePush, &FACTS, Then::Rest).is_some(),
                "{first}"
            );
        }
    }

    #[test]
    fn damaged_block_is_left_alone() {
        let with = with_block("#!/bin/sh\nmine\n", Hook::PreCommit, &FACTS, Then::Rest).unwrap();
        let cut = with.replace(END, "");
        assert_eq!(without_block(&cut), cut);
    }
}
