//! Checks that need only the bundle.

use super::lines::count;
use super::{Bundle, Kind, MOST_HUNKS, MOST_PATCHES, Patch, Problem, VERSION, base64, other_version};
use crate::text::is_unseen;
use crate::wire::prelude::*;

const LONGEST_TEXT: usize = 64 * 1024;
const LONGEST_NAME: usize = 200;
const LONGEST_ID: usize = 56;
const MOST_ITEMS: usize = 1_000;
/// The most problems that are reported.
const MOST_PROBLEMS: usize = 100;

/// Whether a text can be the id of a bundle: it becomes the name of a file and of a ref.
pub fn is_id(text: &str) -> bool {
    AgentId::new(text).is_ok()
}

/// All problems of a bundle.
pub fn check(bundle: &Bundle) -> Vec<Problem> {
    if bundle.version != VERSION {
        return vec![Problem::new(Kind::Format, other_version(&bundle.version.to_string()))];
    }
    let hunks: usize = bundle.patches.iter().map(|patch| patch.hunks.len()).sum();
    for (what, number, most) in
        [("patches", bundle.patches.len(), MOST_PATCHES), ("hunks", hunks, MOST_HUNKS)]
    {
        if number > most {
            return vec![Problem::new(
                Kind::Limit,
                format!("it has {number} {what}; at most {most} are allowed"),
            )];
        }
    }
    let mut problems = about(bundle);
    if bundle.patches.is_empty() {
        problems.push(Problem::new(Kind::Format, "it changes nothing: there is no patch"));
    }
    for patch in &bundle.patches {
        of_patch(patch, &mut problems);
    }
    among(bundle, &mut problems);
    undeclared(bundle, &mut problems);
    problems.truncate(MOST_PROBLEMS);
    problems
}

/// Whether a file is in a module: below that path, or below a directory of that name.
pub fn is_in_module(file: &str, module: &str) -> bool {
    let module = module.trim_end_matches('/');
    let below =
        |path: &str| path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below(file) || (!module.contains('/') && file.split('/').rev().skip(1).any(|part| part == module))
}

/// Files outside the declared modules. A list of the greatest length may be truncated, so it is not checked.
fn undeclared(bundle: &Bundle, problems: &mut Vec<Problem>) {
    let declared = &bundle.metadata.touched_modules;
    if declared.is_empty() || declared.len() >= MOST_ITEMS {
        return;
    }
    for file in
        bundle.patches.iter().flat_map(|patch| std::iter::once(&patch.file).chain(&patch.renamed_from))
    {
        if !declared.iter().any(|module| is_in_module(file, module)) {
            let what = format!(
                "it is in none of the declared touched_modules ({})",
                clipped(&declared.join(", "), 200)
            );
            problems.push(Problem::of(Kind::Module, file, what));
        }
    }
}

/// Checks author, reason and checklist.
fn about(bundle: &Bundle) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut wrong = |what: String| problems.push(Problem::new(Kind::Format, what));
    let metadata = &bundle.metadata;
    // A number may follow the id if another commit has the name.
    if !is_id(&metadata.id) || metadata.id.len() > LONGEST_ID {
        wrong(format!(
            "its id {} is not 1 to {LONGEST_ID} letters, digits, `-` and `_`",
            quoted(&metadata.id)
        ));
    }
    let is_name =
        |name: &String| !name.trim().is_empty() && name.len() <= LONGEST_NAME && !name.chars().any(is_unseen);
    if !is_name(&metadata.author) {
        wrong(format!("its author is not a name of 1 to {LONGEST_NAME} visible characters"));
    }
    if !bundle.implementers.iter().all(is_name) {
        wrong(format!("one of its implementers is not a name of 1 to {LONGEST_NAME} visible characters"));
    }
    if metadata.intent.trim().is_empty() || metadata.intent.len() > LONGEST_TEXT {
        wrong(format!("its intent is not a text of 1 to {LONGEST_TEXT} bytes"));
    }
    let lists = [
        ("touched_modules", &metadata.touched_modules),
        ("implementers", &bundle.implementers),
        ("reviewer_checklist", &bundle.reviewer_checklist),
        ("expected_checks.gates", &bundle.expected_checks.gates),
    ];
    for (name, list) in lists {
        if list.len() > MOST_ITEMS || list.iter().any(|item| item.len() > LONGEST_TEXT) {
            wrong(format!(
                "{name} has more than {MOST_ITEMS} items, or one longer than {LONGEST_TEXT} bytes"
            ));
        }
    }
    if bundle.reviewer_checklist.iter().any(|item| item.trim().is_empty()) {
        wrong("an item of reviewer_checklist is empty".to_owned());
    }
    problems
}

fn of_patch(patch: &Patch, problems: &mut Vec<Problem>) {
    for path in std::iter::once(&patch.file).chain(&patch.renamed_from) {
        if let Err(why) = is_path(path) {
            problems.push(Problem::of(Kind::Path, path, why));
        }
    }
    let mut wrong = |kind: Kind, what: &str| problems.push(Problem::of(kind, &patch.file, what));
    for mode in patch.mode.iter().chain(&patch.old_mode) {
        match mode.as_str() {
            "100644" | "100755" => {}
            "120000" => wrong(Kind::Path, "mode 120000: a bundle may not contain symbolic links"),
            "160000" => wrong(Kind::Path, "mode 160000: a bundle may not contain submodules"),
            other => wrong(Kind::Format, &format!("mode {} is neither 100644 nor 100755", quoted(other))),
        }
    }
    let sides = [patch.new_file, patch.deleted, patch.renamed_from.is_some()];
    if sides.iter().filter(|side| **side).count() > 1 {
        wrong(Kind::Format, "only one of new_file, deleted and renamed_from can be true of a file");
    }
    if patch.new_file && (patch.old_mode.is_some() || patch.old_blake3.is_some()) {
        wrong(Kind::Format, "a new file has neither old_mode nor old_blake3");
    }
    if patch.deleted && (patch.mode.is_some() || patch.new_blake3.is_some()) {
        wrong(Kind::Format, "a deleted file has neither mode nor new_blake3");
    }
    for sum in patch.old_blake3.iter().chain(&patch.new_blake3) {
        if sum.len() != 64 || !sum.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f')) {
            wrong(Kind::Format, "a checksum is not 64 lower-case hexadecimal digits");
        }
    }
    of_content(patch, &mut wrong);
    of_hunks(patch, &mut wrong);
}

fn of_content(patch: &Patch, wrong: &mut impl FnMut(Kind, &str)) {
    if let Some(binary) = &patch.binary {
        if !patch.hunks.is_empty() || patch.no_final_newline.is_some() {
            wrong(Kind::Format, "a binary file has no hunks and no final newline");
        }
        if binary.old.iter().chain(&binary.new).any(|text| base64::decode(text).is_none()) {
            wrong(Kind::Format, "its binary content is not base64");
        }
        if patch.new_file && binary.old.is_some() || patch.deleted && binary.new.is_some() {
            wrong(Kind::Format, "its binary content has `old` for a new file or `new` for a deleted one");
        }
        if !patch.deleted && binary.new.is_none() {
            wrong(Kind::Format, "its binary content lacks `new`");
        }
    }
    let says_old = !patch.hunks.is_empty()
        || patch.old_blake3.is_some()
        || patch.binary.as_ref().is_some_and(|binary| binary.old.is_some());
    if patch.deleted && !says_old {
        wrong(Kind::Format, "it deletes the file without its old content: hunks or old_blake3");
    }
    if patch.binary.is_some() && !patch.new_file && !says_old {
        wrong(Kind::Format, "it replaces the file without its old content: binary.old or old_blake3");
    }
    let changes = patch.new_file
        || patch.deleted
        || patch.renamed_from.is_some()
        || patch.mode.is_some()
        || patch.binary.is_some()
        || !patch.hunks.is_empty()
        || patch.no_final_newline.is_some_and(|line| line.old != line.new);
    if !changes {
        wrong(Kind::Format, "the patch changes nothing");
    }
}

fn of_hunks(patch: &Patch, wrong: &mut impl FnMut(Kind, &str)) {
    let (mut end, mut inserted_at) = (0, None);
    for (number, hunk) in patch.hunks.iter().enumerate() {
        let number = number + 1;
        let old = count(&hunk.old_text, hunk.old_lines);
        let new = count(&hunk.new_text, hunk.new_lines);
        let (Some(old), Some(new)) = (old, new) else {
            wrong(
                Kind::Format,
                &format!("hunk {number}: old_lines or new_lines is not the number of its lines"),
            );
            return;
        };
        if hunk.start_line == 0 {
            wrong(Kind::Format, &format!("hunk {number}: start_line is 0; lines are counted from 1"));
            return;
        }
        if old == 0 && new == 0 || hunk.old_text == hunk.new_text && old == new {
            wrong(Kind::Format, &format!("hunk {number} changes nothing"));
        }
        // Two insertions at one line would have no certain order.
        if hunk.start_line < end || old == 0 && inserted_at == Some(hunk.start_line) {
            let before = number - 1;
            wrong(
                Kind::Format,
                &format!(
                    "hunk {number} overlaps hunk {before} or comes before it; hunks must be in order and apart"
                ),
            );
            return;
        }
        inserted_at = (old == 0).then_some(hunk.start_line);
        end = hunk.start_line.saturating_add(old as u64);
    }
}

/// Checks for names that exclude each other, or are given twice.
fn among(bundle: &Bundle, problems: &mut Vec<Problem>) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for patch in &bundle.patches {
        for path in std::iter::once(&patch.file).chain(&patch.renamed_from) {
            if !seen.insert(path) {
                problems.push(Problem::of(Kind::Format, path, "it is named twice"));
            }
        }
    }
    let stays: BTreeSet<&str> =
        bundle.patches.iter().filter(|patch| !patch.deleted).map(|patch| patch.file.as_str()).collect();
    let mut folded: BTreeMap<String, &str> = BTreeMap::new();
    for path in &stays {
        if let Some(twin) = folded.insert(path.to_lowercase(), path) {
            let what =
                format!("it differs from {} only in case, which many file systems ignore", quoted(twin));
            problems.push(Problem::of(Kind::Path, path, what));
        }
        for (at, _) in path.match_indices('/') {
            if stays.contains(&path[..at]) {
                problems.push(Problem::of(
                    Kind::Format,
                    path,
                    format!("{} would be both a file and a directory", quoted(&path[..at])),
                ));
            }
        }
    }
}

fn is_path(text: &str) -> Result<(), String> {
    match RepoPath::new(text) {
        Ok(path) if path.as_str() == text => Ok(()),
        Ok(path) => Err(format!("a bundle names it {}", quoted(path.as_str()))),
        Err(why) => Err(why.to_string()),
    }
}
