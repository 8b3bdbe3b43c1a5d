//! A quick look at a worktree, however large its files: a file that would take long to read is identified by size and
//! time.

use std::os::unix::{ffi::OsStringExt, fs::MetadataExt};

use super::super::prelude::*;
use super::{Objects, Scratch};

/// A larger file is not read.
const LARGEST_READ: u64 = 1024 * 1024;
/// Above this many bytes, or files, no file is read.
const MOST_READ: u64 = 20 * 1024 * 1024;
const MOST_FILES: usize = 2000;

/// The content of a worktree to which an agent may be writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// Identifies all present content: a git tree, unless some files were not read.
    pub mark: String,
    /// Paths that differ from `base`, committed or not.
    pub changed: Vec<String>,
}

/// Reads the content of the worktree and its difference from a commit, leaving no trace.
pub fn present(worktree: &Path, base: &CommitId) -> Result<Present, GitError> {
    let scratch = Scratch::new(worktree, Objects::Throwaway)?;
    let tracked = Found::among(worktree, &touched(&scratch)?);
    let untracked = Found::among(worktree, &untracked(&scratch)?);
    let (none_of_all, none_of_new) = (tracked.is_too_much(), untracked.is_too_much());
    // Identified by size and time alone.
    let mut unread: Vec<&Outside> = Vec::new();
    unread.extend(untracked.unread(none_of_all || none_of_new));
    unread.extend(tracked.unread(none_of_all));
    if !none_of_all {
        let how = if none_of_new { "-u" } else { "-A" };
        let without = untracked.unread(false).filter(|_| !none_of_new).chain(tracked.unread(false));
        // A file that disappears while liza looks at it counts as missing.
        let output = scratch
            .git("add")
            .args([how, "--sparse", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"])
            .stdin(everything_but(without))
            .output()?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(failed("add", &output));
        }
    }
    let bytes = scratch
        .git("diff-index")
        .args(["--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules=none"])
        .end_of_options()
        .arg(base.as_str())
        .run()?;
    let mut changed: BTreeSet<String> = records(&bytes).map(lossy).collect();
    changed.extend(unread.iter().map(|file| lossy(file.path.as_bytes())));
    Ok(Present { mark: mark(&scratch.write_tree()?, &unread), changed: changed.into_iter().collect() })
}

/// Tracked files whose size or time differs from the index. Reads none of them.
fn touched(scratch: &Scratch<'_>) -> Result<Vec<u8>, GitError> {
    scratch.git("diff-files").args(["--name-only", "-z", "--no-renames", "--ignore-submodules=dirty"]).run()
}

fn untracked(scratch: &Scratch<'_>) -> Result<Vec<u8>, GitError> {
    scratch.git("ls-files").args(["--others", "--exclude-standard", "-z"]).run()
}

/// A file and what is known without reading it.
#[derive(Debug, Clone)]
struct Outside {
    path: OsString,
    size: u64,
    /// Size, time and kind as text; none if the file is gone.
    stat: String,
}

struct Found(Vec<Outside>);

impl Found {
    fn among(worktree: &Path, listing: &[u8]) -> Self {
        let files = records(listing).map(|path| {
            let meta = worktree.join(OsStr::from_bytes(path)).symlink_metadata().ok();
            // A directory here is a nested repository, of which git keeps only a commit id.
            let size = meta.as_ref().filter(|meta| meta.is_file()).map_or(0, std::fs::Metadata::len);
            let stat = meta.map_or(String::new(), |meta| {
                format!("{} {} {} {}", meta.len(), meta.mtime(), meta.mtime_nsec(), meta.mode())
            });
            Outside { path: OsString::from_vec(path.to_vec()), size, stat }
        });
        Self(files.collect())
    }

    fn is_too_much(&self) -> bool {
        let small = self.0.iter().map(|file| file.size).filter(|size| *size <= LARGEST_READ);
        self.0.len() > MOST_FILES || small.sum::<u64>() > MOST_READ
    }

    /// The files that are not read: all, or the large ones.
    fn unread(&self, all: bool) -> impl Iterator<Item = &Outside> {
        self.0.iter().filter(move |file| all || file.size > LARGEST_READ)
    }
}

/// In git's format for patterns in a file.
fn everything_but<'a>(without: impl Iterator<Item = &'a Outside>) -> Vec<u8> {
    let mut patterns = b".\0".to_vec();
    for file in without {
        patterns.extend_from_slice(b":(exclude,top,literal)");
        patterns.extend_from_slice(file.path.as_bytes());
        patterns.push(0);
    }
    patterns
}

fn mark(tree: &CommitId, unread: &[&Outside]) -> String {
    if unread.is_empty() {
        return tree.to_string();
    }
    let mut known: Vec<(&[u8], &str)> =
        unread.iter().map(|file| (file.path.as_bytes(), file.stat.as_str())).collect();
    known.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    hasher.update(tree.as_str().as_bytes());
    for (path, stat) in known {
        for part in [path, stat.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hasher.finalize().to_hex().as_str()[..40].to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::super::testing::{Fixture, write_in};
    use super::super::fingerprint;
    use super::*;

    fn sparse(path: &Path, size: u64) {
        fs::File::create(path).expect("a file").set_len(size).expect("its size");
    }

    #[test]
    fn small_files_are_read_and_mark_is_the_tree() {
        let fixture = Fixture::new();
        let base = fixture.id("HEAD");
        write_in(&fixture.root, "new", "x");
        write_in(&fixture.root, "base.txt", "other\n");
        let found = present(&fixture.root, &base).expect("a look");
        assert_eq!(found.mark, fingerprint(&fixture.root, &[]).expect("a fingerprint").tree.to_string());
        assert_eq!(found.changed, ["base.txt", "new"]);
        fs::remove_file(fixture.root.join("base.txt")).expect("removed");
        assert_eq!(present(&fixture.root, &base).expect("a look").changed, ["base.txt", "new"]);
    }

    #[test]
    fn large_file_is_marked_by_size_and_time() {
        let fixture = Fixture::new();
        fixture.write("big.bin", "x".repeat(2 * 1024 * 1024));
        fixture.commit("big");
        let base = fixture.id("HEAD");
        let clean = present(&fixture.root, &base).expect("a look");
        assert_eq!(clean.changed, Vec::<String>::new());
        // Larger than the disk: if it were read, this test would not end.
        let huge = fixture.root.join(":(top)huge *.bin");
        sparse(&huge, 1 << 42);
        write_in(&fixture.root, "small", "x");
        let first = present(&fixture.root, &base).expect("a look");
        assert_eq!(first.changed, [":(top)huge *.bin", "small"]);
        assert_eq!(present(&fixture.root, &base).expect("a look"), first, "nothing happened");
        sparse(&huge, (1 << 42) + 1);
        let second = present(&fixture.root, &base).expect("a look");
        assert_ne!(second.mark, first.mark, "it grew");
        write_in(&fixture.root, "small", "y");
        let third = present(&fixture.root, &base).expect("a look");
        assert_ne!(third.mark, second.mark, "what is beside it is still read");
        sparse(&fixture.root.join("big.bin"), 1 << 42);
        let fourth = present(&fixture.root, &base).expect("a look");
        assert_ne!(fourth.mark, third.mark);
        assert_eq!(fourth.changed, [":(top)huge *.bin", "big.bin", "small"]);
        fs::remove_file(&huge).expect("removed");
        fs::remove_file(fixture.root.join("small")).expect("removed");
        fixture.git(&["checkout", "-q", "--", "big.bin"]);
        assert_eq!(present(&fixture.root, &base).expect("a look"), clean);
    }

    #[test]
    fn too_many_files_are_marked_but_not_read() {
        let fixture = Fixture::new();
        let base = fixture.id("HEAD");
        for number in 0..=MOST_FILES {
            write_in(&fixture.root, &format!("new/{number}"), "x");
        }
        let first = present(&fixture.root, &base).expect("a look");
        assert_eq!(first.changed.len(), MOST_FILES + 1);
        write_in(&fixture.root, "new/7", "xy");
        write_in(&fixture.root, "base.txt", "other\n");
        let second = present(&fixture.root, &base).expect("a look");
        assert_ne!(second.mark, first.mark);
        assert_eq!(second.changed.len(), MOST_FILES + 2, "tracked files are still read");
    }

    #[test]
    fn nested_repository_without_commit_hides_nothing() {
        let fixture = Fixture::new();
        let base = fixture.id("HEAD");
        Fixture::git_in(&fixture.root, &["init", "-q", "fixture"]);
        let before = present(&fixture.root, &base).expect("a look");
        write_in(&fixture.root, "base.txt", "other\n");
        assert_ne!(present(&fixture.root, &base).expect("a look").mark, before.mark);
    }
}
