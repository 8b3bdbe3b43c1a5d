//! Makes a patch from a file before and after a change.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::lines::{Lines, hunk};
use super::{Binary, Hunk, NoFinalNewline, Patch, base64, checksum};

/// With more lines than this, besides equal ones at both ends, the change is one hunk: finding the smallest change
/// could take minutes.
const MOST_COMPARED: usize = 6_000;

/// One state of a file.
#[derive(Debug, Clone, Copy)]
pub struct Side<'b> {
    pub bytes: &'b [u8],
    pub executable: bool,
}

/// The patch from one state to the other; none stands for a missing file.
pub fn patch(file: &str, renamed_from: Option<&str>, old: Option<Side<'_>>, new: Option<Side<'_>>) -> Patch {
    let mut patch = Patch {
        file: file.to_owned(),
        renamed_from: renamed_from.map(str::to_owned),
        new_file: old.is_none(),
        deleted: new.is_none(),
        old_blake3: old.map(|side| checksum(side.bytes)),
        new_blake3: new.map(|side| checksum(side.bytes)),
        ..Patch::default()
    };
    match (old, new) {
        (Some(old), Some(new)) if old.executable != new.executable => {
            patch.old_mode = Some(mode(old.executable));
            patch.mode = Some(mode(new.executable));
        }
        (None, Some(new)) if new.executable => patch.mode = Some(mode(true)),
        _ => {}
    }
    let bytes = |side: Option<Side<'_>>| side.map_or(&b""[..], |side| side.bytes).to_owned();
    let (before, after) = (bytes(old), bytes(new));
    if before == after {
        return patch;
    }
    match (Lines::of_bytes(&before), Lines::of_bytes(&after)) {
        (Some(before), Some(after)) => {
            patch.hunks = hunks(&before.lines, &after.lines);
            if before.unfinished || after.unfinished {
                patch.no_final_newline =
                    Some(NoFinalNewline { old: before.unfinished, new: after.unfinished });
            }
        }
        _ => {
            let whole = |side: Option<Side<'_>>| side.map(|side| base64::encode(side.bytes));
            patch.binary = Some(Binary { old: whole(old), new: whole(new) });
        }
    }
    patch
}

pub fn mode(executable: bool) -> String {
    if executable { "100755" } else { "100644" }.to_owned()
}

fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let alike = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let head = alike(&mut old.iter().zip(new));
    let tail = alike(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let (a, b) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if a.is_empty() && b.is_empty() {
        return Vec::new();
    }
    if a.len() + b.len() > MOST_COMPARED {
        return vec![hunk(head, a, b)];
    }
    let mut found = Vec::new();
    // Where the current run of changes began on both sides.
    let mut open: Option<(usize, usize)> = None;
    let mut ends = (0, 0);
    for op in capture_diff_slices(Algorithm::Myers, a, b) {
        let (old_range, new_range) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            if let Some((from_old, from_new)) = open.take() {
                found.push(hunk(head + from_old, &a[from_old..ends.0], &b[from_new..ends.1]));
            }
        } else {
            open.get_or_insert((ends.0, ends.1));
        }
        ends = (ends.0.max(old_range.end), ends.1.max(new_range.end));
    }
    if let Some((from_old, from_new)) = open {
        found.push(hunk(head + from_old, &a[from_old..], &b[from_new..]));
    }
    found
}
