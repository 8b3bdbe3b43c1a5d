//! How the lines of files moved between two commits, so that a finding about a line can be followed.

use git2::{Diff, DiffFindOptions, DiffOptions, Patch};

use super::{Query, QueryError};
use crate::board::CommitId;
use crate::board::convergence::{Drift, FileDrift, Hunk};

/// Kept in the log with its verdict.
const MOST_CHANGED: usize = 100;
/// A file with more changes than this counts as completely rewritten.
const MOST_HUNKS: usize = 300;
/// Renames are searched among at most this many files.
const RENAMES: usize = 200;
/// More lines than any file has.
const WHOLE: u32 = 1_000_000_000;

impl Query {
    /// The changes from one commit to another, line by line for the named files, following renames.
    pub fn drift(&self, from: &CommitId, to: &CommitId, about: &[&str]) -> Result<Drift, QueryError> {
        let failed = || QueryError::read(format!("the difference between {from} and {to}"));
        let (old, new) = (self.tree_object(from)?, self.tree_object(to)?);
        let mut options = DiffOptions::new();
        // No attribute decides what counts as a line.
        options.context_lines(0).interhunk_lines(0).force_text(true);
        let mut diff =
            self.objects.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options)).map_err(failed())?;
        let mut renames = DiffFindOptions::new();
        renames.renames(true).rename_limit(RENAMES);
        diff.find_similar(Some(&mut renames)).map_err(failed())?;
        let mut drift = Drift { since: from.clone(), changed: Vec::new(), files: Vec::new() };
        for (at, delta) in diff.deltas().enumerate() {
            let name = |file: git2::DiffFile<'_>| {
                file.path_bytes().map(|path| String::from_utf8_lossy(path).into_owned())
            };
            let (Some(before), Some(now)) = (name(delta.old_file()), name(delta.new_file())) else {
                continue;
            };
            if drift.changed.len() < MOST_CHANGED {
                drift.changed.push(now.clone());
            }
            if !about.contains(&before.as_str()) && !about.contains(&now.as_str()) {
                continue;
            }
            let gone = delta.status() == git2::Delta::Deleted;
            let hunks = if gone { Vec::new() } else { hunks(&diff, at).map_err(failed())? };
            // A new file has no origin, even if another file had its name before.
            let from = if delta.status() == git2::Delta::Added { String::new() } else { before };
            drift.files.push(FileDrift { from, to: (!gone).then_some(now), hunks });
        }
        Ok(drift)
    }
}

fn hunks(diff: &Diff<'_>, at: usize) -> Result<Vec<Hunk>, git2::Error> {
    let whole = || vec![Hunk { old_start: 1, old_lines: WHOLE, new_start: 1, new_lines: WHOLE }];
    // A file without lines counts as replaced as soon as it differs.
    let Some(patch) = Patch::from_diff(diff, at)? else { return Ok(whole()) };
    let count = patch.num_hunks();
    if count > MOST_HUNKS {
        return Ok(whole());
    }
    (0..count)
        .map(|number| {
            let (hunk, _) = patch.hunk(number)?;
            Ok(Hunk {
                old_start: hunk.old_start(),
                old_lines: hunk.old_lines(),
                new_start: hunk.new_start(),
                new_lines: hunk.new_lines(),
            })
        })
        .collect()
}
