//! Sides that differ in nothing but whitespace.

use super::{Sides, language::Language};

/// The merged text if at least one side changed only whitespace.
///
/// If one side changed only whitespace, the other side's change is the whole change; if both made the same change and
/// differ in whitespace only, ours is as good as theirs.
pub(super) fn merge<'a>(language: Language, sides: &Sides<'a>) -> Option<&'a str> {
    let ours = meaning(language, sides.ours)?;
    let theirs = meaning(language, sides.theirs)?;
    if ours == theirs {
        return Some(sides.ours);
    }
    let base = meaning(language, sides.base)?;
    if ours == base {
        Some(sides.theirs)
    } else if theirs == base {
        Some(sides.ours)
    } else {
        None
    }
}

/// The lines without meaningless whitespace; none if all whitespace may have a meaning.
fn meaning(language: Language, text: &str) -> Option<Vec<String>> {
    use Language::{Python, Shell, Toml, Yaml};
    let lines = text.lines();
    if language.has_free_layout() {
        return Some(lines.filter(|line| !line.trim().is_empty()).map(free_layout).collect());
    }
    match language {
        Python | Yaml | Toml | Shell => Some(lines.map(|line| without_end(line).to_owned()).collect()),
        // Two blanks at the end of a Markdown line are a line break.
        _ => None,
    }
}

/// A line without indentation and with runs of blanks collapsed; inside quotes every blank counts.
fn free_layout(line: &str) -> String {
    if line.contains('`') {
        return line.to_owned();
    }
    let line = without_end(line).trim_start();
    let is_plain = !line.contains(['"', '\'']);
    if is_plain { line.split_whitespace().collect::<Vec<_>>().join(" ") } else { line.to_owned() }
}

/// A line without trailing blanks, unless they follow a backslash, whose meaning they change.
fn without_end(line: &str) -> &str {
    let trimmed = line.trim_end();
    if trimmed.ends_with('\\') && trimmed.len() < line.trim_end_matches('\r').len() { line } else { trimmed }
}
