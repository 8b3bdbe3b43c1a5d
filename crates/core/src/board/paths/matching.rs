//! Whether a path fits a pattern.
//!
//! On both levels, names in a pattern and characters in a name, a gap (`**`, `*`) first covers nothing. If the rest does
//! not fit, only the last gap covers one thing more: what an earlier gap could cover instead, the last one can cover
//! too. So no number of stars makes it slow.

/// Whether `path` fits the canonical text of a pattern; case counts.
pub(super) fn fits(pattern: &str, path: &str) -> bool {
    // `**/NAME/` and `**/NAME`, which most settings are made of, ask about one name.
    if let Some(rest) = pattern.strip_prefix("**/") {
        match rest.strip_suffix('/') {
            Some(directory) if !directory.contains(['/', '*', '?']) => return is_below(directory, path),
            None if !rest.contains('/') => return name_fits(rest, path.rsplit('/').next().unwrap_or(path)),
            _ => {}
        }
    }
    // Below a directory there is at least one more name; the directory itself is no file.
    let (names, below) = match pattern.strip_suffix('/') {
        Some(directory) => (directory, &["**", "*"][..]),
        None => (pattern, &[][..]),
    };
    let names = names.split('/').chain(below.iter().copied());
    row_fits(names, path.split('/'), |name| *name == "**", |name, of| name_fits(name, of))
}

/// Whether one of the directories that the path leads through has this name.
fn is_below(directory: &str, path: &str) -> bool {
    let mut names = path.split('/');
    names.next_back();
    names.any(|name| name == directory)
}

fn name_fits(pattern: &str, name: &str) -> bool {
    // Most names already differ at their ends.
    let is_wild = |c| c == '*' || c == '?';
    let head = pattern.split(is_wild).next().unwrap_or_default();
    let tail = pattern.rsplit(is_wild).next().unwrap_or_default();
    if !name.starts_with(head) || !name.ends_with(tail) {
        return false;
    }
    row_fits(pattern.chars(), name.chars(), |c| *c == '*', |c, of| *c == '?' || c == of)
}

/// Whether the things fit the row: a gap stands for any number of them, every other piece for exactly one.
fn row_fits<P, T>(
    mut row: impl Iterator<Item = P> + Clone,
    mut things: impl Iterator<Item = T> + Clone,
    is_gap: impl Fn(&P) -> bool,
    fits: impl Fn(&P, &T) -> bool,
) -> bool {
    // The row after the last gap, and the first thing that the gap does not cover.
    let mut last_gap = None;
    loop {
        let fitted = match row.next() {
            Some(piece) if is_gap(&piece) => {
                last_gap = Some((row.clone(), things.clone()));
                true
            }
            Some(piece) => things.next().is_some_and(|thing| fits(&piece, &thing)),
            None if things.clone().next().is_none() => return true,
            None => false,
        };
        if !fitted {
            let Some((after, from)) = &mut last_gap else { return false };
            if from.next().is_none() {
                return false;
            }
            (row, things) = (after.clone(), from.clone());
        }
    }
}
