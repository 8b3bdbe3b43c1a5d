//! The results of tasks that deliver JSON, one file for each delivery, with a copy below the git directory.
//!
//! The bytes are on disk under their digest before the board names them, and get the name of their task when it does. So a
//! result that was refused, or whose command died, never stands where an accepted one is looked for.

use std::fs;
use std::path::PathBuf;

use crate::board::result::TaskResult;
use crate::board::{Board, Task, TaskId};
use crate::director::digest;
use crate::director::reading::LARGEST_RESULT;

use super::error::{IoContext, StoreError};
use super::files::{make_private_dir, names_in, read_whole, replace};
use super::handle::Store;

/// The directory of the results, and of their copies.
const RESULTS: &str = "results";

/// `<task>.<epoch>.json`; the id as its task writes it.
fn file_name(task: &TaskId, epoch: u64) -> String {
    format!("{task}.{epoch}.json")
}

fn staged_name(digest: &str) -> String {
    format!(".{digest}.json")
}

impl Store {
    /// Puts the bytes of a result on disk, before the board names them. Returns their digest.
    pub fn stage_result(&self, bytes: &[u8]) -> Result<String, StoreError> {
        let digest = digest(bytes);
        let dir = self.layout().results();
        make_private_dir(&dir)?;
        replace(&dir.join(staged_name(&digest)), bytes)?;
        Ok(digest)
    }

    /// Gives a staged result the name of its task; the board already names it. Returns its file.
    pub fn publish_result(&self, task: &TaskId, epoch: u64, digest: &str) -> Result<PathBuf, StoreError> {
        let dir = self.layout().results();
        let (from, to) = (dir.join(staged_name(digest)), dir.join(file_name(task, epoch)));
        fs::rename(&from, &to).doing("rename", &from)?;
        if let Ok((bytes, _)) = read_whole(&to, LARGEST_RESULT as u64) {
            self.keep_copy(RESULTS, &file_name(task, epoch), &bytes);
        }
        Ok(to)
    }

    /// The path of a task's result.
    pub fn result_file(&self, task: &TaskId, epoch: u64) -> PathBuf {
        self.layout().results().join(file_name(task, epoch))
    }

    /// The bytes of a result, from its file, from its staged file, or from its copy; none if all are missing.
    pub fn result_bytes(&self, task: &TaskId, result: &TaskResult) -> Option<Vec<u8>> {
        let (dir, name) = (self.layout().results(), file_name(task, result.epoch));
        let whole = |bytes: &Vec<u8>| digest(bytes) == result.digest;
        let read =
            |name: &str| read_whole(&dir.join(name), LARGEST_RESULT as u64).ok().map(|(bytes, _)| bytes);
        read(&name)
            .filter(whole)
            .or_else(|| read(&staged_name(&result.digest)).filter(whole))
            .or_else(|| self.copy_of(RESULTS, &name).filter(whole))
    }

    /// Results of tasks on the board whose files are missing or changed.
    pub fn lost_results(&self, board: &Board) -> Vec<(TaskId, TaskResult)> {
        let dir = self.layout().results();
        let is_there = |task: &Task, result: &TaskResult| {
            let path = dir.join(file_name(&task.id, result.epoch));
            read_whole(&path, LARGEST_RESULT as u64).is_ok_and(|(bytes, _)| digest(&bytes) == result.digest)
        };
        let results = board.tasks.iter().filter_map(|task| Some((task, task.result.as_ref()?)));
        results
            .filter(|(task, result)| !is_there(task, result))
            .map(|(task, result)| (task.id.clone(), result.clone()))
            .collect()
    }

    /// Restores results whose bytes are kept, and the copies of others whose files are missing.
    pub fn restore_lost_results(&self, board: &Board) -> Result<usize, StoreError> {
        let mut count = 0;
        for (task, result) in self.lost_results(board) {
            let Some(bytes) = self.result_bytes(&task, &result) else { continue };
            self.put_result(&file_name(&task, result.epoch), &bytes)?;
            count += 1;
        }
        count += self.restore_result_copies()?;
        Ok(count)
    }

    /// Restores results whose files are missing: also those of archived tasks and of former attempts.
    pub(super) fn restore_result_copies(&self) -> Result<usize, StoreError> {
        let Some(witness) = &self.witness else { return Ok(0) };
        let mut count = 0;
        for name in names_in(&witness.dir.join(RESULTS)).unwrap_or_default() {
            let gone = fs::symlink_metadata(self.layout().results().join(&name)).is_err();
            if name.starts_with('.') || !gone {
                continue;
            }
            let Some(bytes) = self.copy_of(RESULTS, &name) else { continue };
            self.put_result(&name, &bytes)?;
            count += 1;
        }
        Ok(count)
    }

    fn put_result(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let dir = self.layout().results();
        make_private_dir(&dir)?;
        let path = dir.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            fs::remove_file(&path).doing("remove", &path)?;
        }
        replace(&path, bytes)
    }
}
