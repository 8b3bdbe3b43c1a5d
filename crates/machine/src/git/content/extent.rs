//! Limits on what is read from a worktree: a file above them is named instead of hashed, which would take minutes.

use super::Scratch;
use crate::git::prelude::*;

/// Larger files are neither hashed nor saved; hosting services refuse them too.
pub const LARGEST_SAVED: u64 = 100 * 1024 * 1024;
/// At most this many bytes of changed files are read; the largest files are left out first.
const MOST_READ: u64 = 2 * 1024 * 1024 * 1024;
/// At most this many ignored files are saved, and at most this many bytes of them.
const MOST_IGNORED: usize = 1_000;
const MOST_IGNORED_BYTES: u64 = 256 * 1024 * 1024;

/// A changed or new file that is too large to read.
pub(super) struct Large {
    path: OsString,
    bytes: u64,
    /// The time of the last write, in nanoseconds.
    written: i128,
}

impl Large {
    /// The pathspec that excludes it.
    pub fn excluded(&self) -> OsString {
        excluded(&self.path)
    }
}

/// The pathspec that excludes a path and everything below it.
pub(super) fn excluded(path: &OsStr) -> OsString {
    let mut spec = OsString::from(":(top,exclude,literal)");
    spec.push(path);
    spec
}

pub(super) fn too_large(large: &Large) -> String {
    let (path, bytes) = (large.path.to_string_lossy(), large.bytes);
    match bytes > LARGEST_SAVED {
        true => format!("`{path}` has {bytes} bytes; files above {LARGEST_SAVED} are not saved"),
        false => format!("`{path}` ({bytes} bytes): no more than {MOST_READ} bytes of changes are saved"),
    }
}

impl Scratch<'_> {
    /// The paths that git does not ignore: git treats a pathspec for an ignored path as an error.
    pub(super) fn not_ignored(&self, paths: &[String]) -> Result<Vec<String>, GitError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let listed: Vec<u8> = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        let git = self.git("check-ignore").args(["-z", "--stdin"]).stdin(listed);
        let output = git.output()?;
        // 1: none is ignored.
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(failed("check-ignore", &output));
        }
        let ignored: BTreeSet<String> = records(&output.stdout).map(lossy).collect();
        Ok(paths.iter().filter(|path| !ignored.contains(*path)).cloned().collect())
    }

    /// Changed and new files that are too large to read.
    pub(super) fn large_files(&self, but: &[String]) -> Result<Vec<Large>, GitError> {
        let git = self.git("ls-files").args(["-z", "--others", "--modified", "--exclude-standard"]);
        let but = but.iter().map(|path| excluded(path.trim_end_matches('/').as_ref()));
        let listed = git.args(["--", "."]).args(but).run()?;
        let files = records(&listed).filter_map(|path| {
            use std::os::unix::fs::MetadataExt;
            let path = OsStr::from_bytes(path);
            let meta = self.worktree.join(path).symlink_metadata().ok()?;
            let written = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
            meta.is_file().then(|| Large { path: path.to_owned(), bytes: meta.len(), written })
        });
        let mut files: Vec<Large> = files.collect();
        files.sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| one.path.cmp(&other.path)));
        files.dedup_by(|one, other| one.path == other.path);
        let mut left: u64 = files.iter().map(|file| file.bytes).fold(0, u64::saturating_add);
        let large = files.iter().take_while(|file| {
            let too_much = file.bytes > LARGEST_SAVED || left > MOST_READ;
            left = left.saturating_sub(file.bytes);
            too_much
        });
        let count = large.count();
        files.truncate(count);
        Ok(files)
    }

    /// Adds size and time of large files in place of their content, so that a change of them still shows.
    pub(super) fn add_stand_ins(&self, large: &[Large]) -> Result<(), GitError> {
        let mut entries = Vec::new();
        for one in large {
            let text = format!("large {} {}", one.bytes, one.written);
            let git = self.git("hash-object").args(["-w", "--stdin"]).stdin(text.into_bytes());
            entries.extend(format!("100644 {}\t", git.run_line()?).into_bytes());
            entries.extend(one.path.as_bytes());
            entries.push(0);
        }
        if !entries.is_empty() {
            self.git("update-index").args(["-z", "--index-info"]).stdin(entries).run()?;
        }
        Ok(())
    }

    /// Adds ignored files; returns what was left out.
    pub(super) fn add_ignored(&self, paths: &[String]) -> Result<Vec<String>, GitError> {
        let mut left_out = Vec::new();
        let mut listed = Vec::new();
        let mut total = 0_u64;
        for path in &paths[..paths.len().min(MOST_IGNORED)] {
            let bytes = self.worktree.join(path).symlink_metadata().map_or(0, |meta| meta.len());
            total = total.saturating_add(bytes);
            if bytes > LARGEST_SAVED || total > MOST_IGNORED_BYTES {
                total = total.saturating_sub(bytes);
                left_out.push(format!("the ignored file `{path}` ({bytes} bytes) is too large to be saved"));
            } else {
                listed.extend(path.as_bytes());
                listed.push(0);
            }
        }
        if paths.len() > MOST_IGNORED {
            left_out.push(format!("{} more ignored files", paths.len() - MOST_IGNORED));
        }
        if !listed.is_empty() {
            let git = self.git("add").env("GIT_LITERAL_PATHSPECS", "1").stdin(listed);
            let git = git.args(["-f", "--sparse", "--ignore-errors"]);
            let output = git.args(["--pathspec-from-file=-", "--pathspec-file-nul"]).output()?;
            if !output.status.success() {
                left_out.push(String::from_utf8_lossy(&output.stderr).trim().to_owned());
            }
        }
        Ok(left_out)
    }
}
