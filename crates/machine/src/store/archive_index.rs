//! All archived tasks in one file, for commands that only show them.
//!
//! The index is derived and disposable: the archive's files are the truth, and every decision reads those. The
//! index has the layout of a board, so its last line shows whether it is complete. It lists the files it was
//! made from, each with size and times; an index that is missing, torn, edited or older than the archive is
//! made again. While a file of the archive cannot be read, no index is written: the file may be restored at any
//! time.

use std::collections::BTreeSet;

use crate::board::state::JournalMark;
use crate::board::{Board, Needs, Task};
use crate::wire::state::{Decoded, hash};

use super::error::StoreError;
use super::files::{FileIdentity, read_whole, replace_disposable};
use super::handle::Store;
use crate::host::file_clock;

/// More than any archive that can be shown.
const LARGEST_INDEX: u64 = 1 << 30;

/// What the index must list to be up to date.
struct Key {
    hash: String,
    /// Any later change of a file is sure to change the hash.
    settled: bool,
}

impl Store {
    /// As [`Store::all_archived`], with one read where the index is up to date. Only for display, never for a
    /// decision.
    pub fn archived_for_views(&self, board: &Board) -> Result<(Vec<Task>, Vec<String>), StoreError> {
        if board.rest.archived == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let key = self.archive_key()?;
        let (mut tasks, unreadable) = match self.read_index(&key) {
            Some(tasks) => (tasks, Vec::new()),
            None => {
                let (tasks, unreadable) = self.read_archive(&BTreeSet::new())?;
                if key.settled && unreadable.is_empty() {
                    self.write_index(&tasks, key);
                }
                (tasks, unreadable)
            }
        };
        let on_board: BTreeSet<String> = board.tasks.iter().map(|task| task.id.folded()).collect();
        tasks.retain(|task| !on_board.contains(&task.id.folded()));
        Ok((tasks, unreadable))
    }

    fn archive_key(&self) -> Result<Key, StoreError> {
        let now = file_clock();
        let (mut text, mut settled) = (format!("liza {}\n", env!("CARGO_PKG_VERSION")), true);
        for id in self.archive_ids()? {
            let identity = FileIdentity::at(&self.layout().archived(&id)).ok();
            settled &= identity.as_ref().is_some_and(|identity| identity.is_settled(now));
            text.push_str(&format!("{id} {identity:?}\n"));
        }
        Ok(Key { hash: hash(text.as_bytes()), settled })
    }

    fn read_index(&self, key: &Key) -> Option<Vec<Task>> {
        let (bytes, _) = read_whole(&self.layout().archive_index(), LARGEST_INDEX).ok()?;
        let mut decoded = Decoded::new(bytes).ok().filter(|index| index.board.journal.hash == key.hash)?;
        decoded.load(&Needs::Everything).ok()?;
        Some(decoded.into_board().tasks)
    }

    /// If the index cannot be written, the next command reads the files again.
    fn write_index(&self, tasks: &[Task], key: Key) {
        let board = Board { tasks: tasks.to_vec(), ..Board::nothing() };
        let mark = JournalMark { length: 0, hash: key.hash };
        let written = Decoded::unwritten(board).content().and_then(|content| content.under(0, &mark));
        if let Ok(index) = written {
            let _ = replace_disposable(&self.layout().archive_index(), index.text().as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::board::Wall;
    use crate::board::testing::{Bench, id};

    /// An archive with these tasks, beside a board that no longer has them.
    struct Archive {
        _dir: tempfile::TempDir,
        store: Store,
        whole: Board,
        board: Board,
    }

    impl Archive {
        fn with(names: &[&str]) -> Self {
            let mut bench = Bench::with_tasks(&["t1", "t2", "t3"]);
            for name in ["t1", "t2", "t3"] {
                bench.ok("planner-1", bench.abandon(name));
            }
            let dir = tempfile::tempdir().expect("a directory");
            let store = Store::new(dir.path());
            let mut board = bench.board.clone();
            board.tasks.clear();
            board.rest.archived = 1;
            let archive = Self { _dir: dir, store, whole: bench.board, board };
            archive.add(names);
            archive
        }

        fn add(&self, names: &[&str]) {
            let tasks: Vec<&Task> = names.iter().filter_map(|name| self.whole.task(&id(name))).collect();
            self.store.write_archive(&tasks, Wall(0)).expect("written");
        }

        fn file(&self, name: &str) -> PathBuf {
            self.store.layout().archived(&id(name))
        }

        /// What views show once the file clock has ticked; reading the files themselves must give the same.
        fn shown(&self) -> (Vec<String>, usize) {
            let start = std::time::Instant::now();
            while !self.store.archive_key().expect("a key").settled {
                assert!(start.elapsed().as_secs() < 30, "the clock for files does not tick");
                std::thread::yield_now();
            }
            let (tasks, unreadable) = self.store.archived_for_views(&self.board).expect("read");
            let (files, _) = self.store.all_archived(&self.board).expect("read");
            assert_eq!(tasks, files);
            (tasks.iter().map(|task| task.id.to_string()).collect(), unreadable.len())
        }

        fn is_indexed(&self) -> bool {
            self.store.read_index(&self.store.archive_key().expect("a key")).is_some()
        }
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn missing_index_is_made_and_used() {
        let archive = Archive::with(&["t1", "t2"]);
        assert!(!archive.is_indexed());
        assert_eq!(archive.shown(), (names(&["t1", "t2"]), 0));
        assert!(archive.is_indexed());
        assert_eq!(archive.shown(), (names(&["t1", "t2"]), 0));
    }

    #[test]
    fn corrupt_index_is_made_again() {
        let archive = Archive::with(&["t1", "t2"]);
        archive.shown();
        let path = archive.store.layout().archive_index();
        let good = fs::read(&path).expect("an index");
        let mut edited = good.clone();
        let at = edited.windows(5).position(|five| five == b"title").expect("a title");
        edited[at + 8] ^= 1;
        let another = Archive::with(&["t1"]);
        another.shown();
        let foreign = fs::read(another.store.layout().archive_index()).expect("an index");
        for bad in [&good[..good.len() / 2], &[], &edited, &foreign, b"not a board"] {
            fs::write(&path, bad).expect("written");
            assert!(!archive.is_indexed());
            assert_eq!(archive.shown(), (names(&["t1", "t2"]), 0));
            assert_eq!(fs::read(&path).expect("an index"), good);
        }
    }

    #[test]
    fn stale_index_is_made_again() {
        let archive = Archive::with(&["t1", "t2"]);
        archive.shown();
        archive.add(&["t3"]);
        assert!(!archive.is_indexed());
        assert_eq!(archive.shown(), (names(&["t1", "t2", "t3"]), 0));
        fs::remove_file(archive.file("t1")).expect("removed");
        assert_eq!(archive.shown(), (names(&["t2", "t3"]), 0));
        // Edited in place, which the directory's times do not show.
        let text = fs::read_to_string(archive.file("t2")).expect("a file");
        fs::write(archive.file("t2"), text.replace("priority: 0", "priority: 7")).expect("written");
        assert!(!archive.is_indexed());
        archive.shown();
        assert!(archive.is_indexed());
    }

    #[test]
    fn restored_task_is_shown_by_the_board_alone() {
        let mut archive = Archive::with(&["t1", "t2"]);
        archive.shown();
        archive.board.tasks.extend(archive.whole.task(&id("t1")).cloned());
        assert_eq!(archive.shown(), (names(&["t2"]), 0));
        assert!(archive.is_indexed(), "it is of the archive, whatever the board has");
    }

    #[test]
    fn unreadable_file_is_named_until_it_is_restored() {
        let archive = Archive::with(&["t1", "t2"]);
        let good = fs::read(archive.file("t1")).expect("a file");
        fs::write(archive.file("t1"), "status: [").expect("written");
        assert_eq!(archive.shown(), (names(&["t2"]), 1));
        assert!(!archive.is_indexed());
        assert_eq!(archive.shown(), (names(&["t2"]), 1));
        fs::write(archive.file("t1"), good).expect("written");
        assert_eq!(archive.shown(), (names(&["t1", "t2"]), 0));
    }
}
