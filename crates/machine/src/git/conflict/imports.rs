//! Import lines: an unordered set, as long as neither side changes or removes one and no name is bound twice.

use super::{Sides, language::Language};

/// What an import line does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    /// The names it binds.
    pub(super) names: Vec<String>,
    /// It does more than bind listed names: a glob, or a module loaded for its effect.
    pub(super) opaque: bool,
}

/// Resolves a hunk made of import lines only; none if it has other lines too.
pub(super) fn merge(language: Language, sides: &Sides<'_>, before: &str) -> Option<Result<String, String>> {
    let in_imports = || in_go_import_block(before) || sides.ours.trim_start().starts_with("import ");
    if language == Language::Go && !in_imports() {
        return None;
    }
    let base = import_lines(language, sides.base)?;
    let ours = import_lines(language, sides.ours)?;
    let theirs = import_lines(language, sides.theirs)?;
    if ours.is_empty() && theirs.is_empty() {
        return None;
    }
    Some(union(language, sides, &base, &ours, &theirs))
}

type Lines<'a> = Vec<(&'a str, Import)>;

fn union(
    language: Language,
    sides: &Sides<'_>,
    base: &Lines<'_>,
    ours: &Lines<'_>,
    theirs: &Lines<'_>,
) -> Result<String, String> {
    if base.iter().any(|(line, _)| !has(ours, line) || !has(theirs, line)) {
        return Err("an import was changed or removed".to_owned());
    }
    let (new_ours, new_theirs) = (beyond(ours, base), beyond(theirs, base));
    // An existing glob stays as it was; a module loaded for its effect must not even change its position.
    let judged: Vec<&Import> = match language {
        Language::Rust => new_ours.iter().chain(&new_theirs).map(|(_, import)| import).collect(),
        _ => ours.iter().chain(theirs).map(|(_, import)| import).collect(),
    };
    if judged.iter().any(|import| import.opaque) {
        return Err("an import brings in more than names".to_owned());
    }
    for (line, import) in &new_theirs {
        let clash = new_ours.iter().find(|(other, theirs)| {
            other != line && theirs.names.iter().any(|name| import.names.contains(name))
        });
        if let Some((other, _)) = clash {
            return Err(format!("`{}` and `{}` bring in the same name", other.trim(), line.trim()));
        }
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let first = ours.first().or(theirs.first()).map_or(0, |(line, _)| indent(line));
    if ours.iter().chain(theirs).any(|(line, _)| indent(line) != first) {
        return Err("imports are indented differently".to_owned());
    }
    let mut added: Vec<&str> =
        new_theirs.iter().map(|(line, _)| *line).filter(|line| !has(ours, line)).collect();
    added.dedup();
    let sorted = |lines: &Lines<'_>| lines.is_sorted_by_key(|(line, _)| *line);
    let has_groups =
        [sides.ours, sides.theirs].iter().any(|text| text.lines().any(|line| line.trim().is_empty()));
    let mut lines: Vec<&str> = sides.ours.split_inclusive('\n').collect();
    let theirs_with_ends = sides.theirs.split_inclusive('\n');
    lines.extend(theirs_with_ends.filter(|line| added.contains(&line.trim_end())));
    if sorted(ours) && sorted(theirs) && !has_groups {
        lines.sort_by_key(|line| line.trim_end());
    }
    Ok(lines.concat())
}

fn has(lines: &Lines<'_>, line: &str) -> bool {
    lines.iter().any(|(other, _)| *other == line)
}

/// The lines that are not in the base.
fn beyond<'a>(lines: &Lines<'a>, base: &Lines<'_>) -> Lines<'a> {
    lines.iter().filter(|(line, _)| !has(base, line)).cloned().collect()
}

/// The import lines of a text, or none if there is a line that is not one.
fn import_lines(language: Language, text: &str) -> Option<Lines<'_>> {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.map(|line| parse(language, line).map(|import| (line, import))).collect()
}

/// Reads a line that is one whole import and nothing else.
pub(super) fn parse(language: Language, line: &str) -> Option<Import> {
    let line = line.trim();
    match language {
        Language::Rust => rust(line),
        Language::Python => python(line),
        Language::Script => script(line),
        Language::Go => go(line),
        _ => None,
    }
}

fn rust(line: &str) -> Option<Import> {
    let mut rest = line;
    if let Some(after) = rest.strip_prefix("pub") {
        rest = match after.strip_prefix('(') {
            Some(inner) => inner.split_once(')')?.1,
            None => after,
        };
        rest = rest.strip_prefix(' ')?;
    }
    let path = rest.strip_prefix("use ")?.strip_suffix(';')?.trim();
    if path.contains([';', '/', '"', '#']) {
        return None;
    }
    let mut import = Import { names: Vec::new(), opaque: false };
    rust_names(path, "", &mut import)?;
    Some(import)
}

/// Collects the names of a use tree such as `a::{b as c, d::{self, e}}`.
fn rust_names(tree: &str, parent: &str, import: &mut Import) -> Option<()> {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let inner = tree[open + 1..].strip_suffix('}')?;
        let prefix = tree[..open].trim().trim_end_matches("::");
        let parent = prefix.rsplit("::").next().unwrap_or(parent);
        for part in split_outside_braces(inner)? {
            rust_names(part, parent, import)?;
        }
        return Some(());
    }
    let (path, alias) =
        tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
    let last = path.trim().rsplit("::").next().unwrap_or(path).trim();
    match (alias, last) {
        (Some("_"), _) => {}
        (Some(alias), _) => import.names.push(alias.to_owned()),
        (None, "*") => import.opaque = true,
        (None, "self") => import.names.push(parent.to_owned()),
        (None, name) => import.names.push(name.to_owned()),
    }
    Some(())
}

fn split_outside_braces(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.trim().is_empty());
    (depth == 0).then_some(parts)
}

fn python(line: &str) -> Option<Import> {
    if line.contains(['#', ';', '\\', '"', '\'']) {
        return None;
    }
    let (list, opaque) = if let Some(rest) = line.strip_prefix("from ") {
        let (module, list) = rest.split_once(" import ")?;
        let list = list.trim();
        let list = match list.strip_prefix('(') {
            Some(inner) => inner.strip_suffix(')')?,
            None => list,
        };
        (list, module.trim() == "__future__" || list.trim() == "*")
    } else {
        (line.strip_prefix("import ")?, false)
    };
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(renamed).collect();
    Some(Import { names, opaque })
}

fn script(line: &str) -> Option<Import> {
    let rest = line.strip_prefix("import ")?.trim_end_matches(';').trim();
    if rest.starts_with(['"', '\'']) && rest.ends_with(['"', '\'']) {
        return Some(Import { names: Vec::new(), opaque: true });
    }
    let (what, module) = rest.rsplit_once(" from ")?;
    let module = module.trim();
    let quoted = |mark: char| module.len() > 2 && module.starts_with(mark) && module.ends_with(mark);
    if !quoted('"') && !quoted('\'') || module[1..module.len() - 1].contains(['"', '\'']) {
        return None;
    }
    let what = what.trim();
    let what = what.strip_prefix("type ").unwrap_or(what);
    let (default, list) = match what.split_once('{') {
        Some((default, list)) => (default, list.trim().strip_suffix('}')?),
        None => (what, ""),
    };
    let names = default.split(',').chain(list.split(',')).map(str::trim).filter(|name| !name.is_empty());
    let names = names.map(|name| renamed(name.strip_prefix("type ").unwrap_or(name))).collect();
    Some(Import { names, opaque: false })
}

fn go(line: &str) -> Option<Import> {
    let spec = line.strip_prefix("import ").unwrap_or(line).trim();
    let (alias, path) = match spec.split_once(' ') {
        Some((alias, path)) => (Some(alias), path.trim()),
        None => (None, spec),
    };
    let path = path.strip_prefix('"')?.strip_suffix('"')?;
    if path.is_empty() || path.contains(['"', ' ', '\\']) {
        return None;
    }
    let names = match alias {
        Some("_") => Vec::new(),
        Some(".") => return Some(Import { names: Vec::new(), opaque: true }),
        Some(alias) => vec![alias.to_owned()],
        None => vec![path.rsplit('/').next().unwrap_or(path).to_owned()],
    };
    Some(Import { names, opaque: false })
}

/// The name that `x as y` or `x` binds.
fn renamed(text: &str) -> String {
    text.rsplit(" as ").next().unwrap_or(text).trim().to_owned()
}

/// Whether the text ends inside of `import ( … )`.
fn in_go_import_block(before: &str) -> bool {
    let edge = before.lines().map(str::trim).rev().find(|line| *line == "import (" || line.starts_with(')'));
    edge == Some("import (")
}
