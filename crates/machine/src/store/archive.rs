//! The archive: finished tasks that left the board, one file each, named by the task's id.
//!
//! liza writes and syncs the file before the commit that removes the task from the board. Between the two both
//! have the task, and the board wins: an archive file of a task that is still on the board is ignored and
//! overwritten.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::board::call::Archived;
use crate::board::{Board, Task, TaskId, Wall, World};
use crate::host::crash;
use crate::wire::archive::{archive_text, archived_head};
use crate::wire::flat::read_task;

use super::error::{IoContext, StoreError};
use super::files::{beside, make_private_dir, names_in, read_whole, replace, sync_all_files, write_unsynced};
use super::handle::Store;

/// Any task that fits on a board can be archived and read again.
const LARGEST_TASK: u64 = super::read::LARGEST_STATE;
/// More replacements in a row than any plan has; a damaged archive is not followed further.
const MOST_ASKED: usize = 10_000;
/// From this many files on, one sync of the whole file system is cheaper than one sync per file.
const MANY: usize = 16;

impl Store {
    /// The archived task with this id, compared ignoring case; the returned task has the original spelling.
    pub fn archived_task(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        let Some(bytes) = self.archive_bytes(id)? else { return Ok(None) };
        read_task(&bytes).map(Some).map_err(|error| self.broken(id, &error.to_string()))
    }

    /// The archived task with exactly this id; none if the board has the task, because the board wins.
    pub fn archived_beside(&self, board: &Board, id: &TaskId) -> Result<Option<Task>, StoreError> {
        if board.task_alike(id).is_some() {
            return Ok(None);
        }
        Ok(self.archived_task(id)?.filter(|task| &task.id == id))
    }

    /// Every archived task that is not on the board, ordered by file name. Files that cannot be read are
    /// skipped and returned by name.
    pub fn all_archived(&self, board: &Board) -> Result<(Vec<Task>, Vec<String>), StoreError> {
        if board.rest.archived == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        self.read_archive(&board.tasks.iter().map(|task| task.id.folded()).collect())
    }

    /// The tasks of all archive files except the excluded ones, and the files that cannot be read.
    pub(super) fn read_archive(
        &self,
        left_out: &BTreeSet<String>,
    ) -> Result<(Vec<Task>, Vec<String>), StoreError> {
        let (mut tasks, mut unreadable) = (Vec::new(), Vec::new());
        for id in self.archive_ids()?.into_iter().filter(|id| !left_out.contains(&id.folded())) {
            match self.archived_task(&id) {
                Ok(found) => tasks.extend(found),
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        Ok((tasks, unreadable))
    }

    /// The task ids, taken from the file names.
    pub(super) fn archive_ids(&self) -> Result<BTreeSet<TaskId>, StoreError> {
        let dir = self.layout().archive();
        let names = names_in(&dir).doing("look into", &dir)?;
        Ok(names.iter().filter_map(|name| TaskId::new(name.strip_suffix(".yaml")?).ok()).collect())
    }

    /// The path at which the archive has or would have this task, for messages.
    pub fn archived_file(&self, id: &TaskId) -> PathBuf {
        self.layout().archived(id)
    }

    /// The archive files by name; each is read when the iterator reaches it.
    pub fn archive_files(
        &self,
    ) -> Result<impl Iterator<Item = Result<(PathBuf, Vec<u8>), StoreError>>, StoreError> {
        let dir = self.layout().archive();
        let is_task = |name: &String| !name.starts_with('.') && name.ends_with(".yaml");
        let names = names_in(&dir).doing("list", &dir)?.into_iter().filter(is_task);
        Ok(names.map(move |name| {
            let path = dir.join(name);
            let (bytes, _) = read_whole(&path, LARGEST_TASK).doing("read", &path)?;
            Ok((path, bytes))
        }))
    }

    fn archive_bytes(&self, id: &TaskId) -> Result<Option<Vec<u8>>, StoreError> {
        match read_whole(&self.layout().archived(id), LARGEST_TASK) {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.broken(id, &error.to_string())),
        }
    }

    /// An unreadable file still occupies its id: guessing could free the id, or block the tasks that wait for
    /// it.
    fn broken(&self, id: &TaskId, why: &str) -> StoreError {
        StoreError::Invalid {
            message: format!("{} cannot be read: {why}", self.layout().archived(id).display()),
            hint: format!("restore that file from a backup; `liza log --task {id}` has what happened to it"),
        }
    }

    /// What the archive knows of these tasks and of their replacements, however long the chain. Tasks on the
    /// board are not looked up: the board wins.
    pub fn archived_among(
        &self,
        board: &Board,
        asked: Vec<TaskId>,
    ) -> Result<BTreeMap<TaskId, Archived>, StoreError> {
        let mut found = BTreeMap::new();
        // A claim looks up a few tasks, a plan thousands.
        let by_id = || board.tasks.iter().rev().map(|task| (task.id.folded(), task)).collect();
        let by_id: Option<HashMap<String, &Task>> = (asked.len() > MANY).then(by_id);
        let on_board = |id: &TaskId| match &by_id {
            Some(by_id) => by_id.get(&id.folded()).copied(),
            None => board.task_alike(id),
        };
        let mut seen = BTreeSet::new();
        let mut open = asked;
        while let Some(id) = open.pop() {
            if seen.len() >= MOST_ASKED || !seen.insert(id.clone()) {
                continue;
            }
            if let Some(task) = on_board(&id) {
                open.extend(task.superseded_by.iter().cloned());
                continue;
            }
            let Some(bytes) = self.archive_bytes(&id)? else { continue };
            let head = archived_head(&bytes).map_err(|error| self.broken(&id, &error.to_string()))?;
            open.extend(head.superseded_by.iter().cloned());
            found.insert(head.id, Archived { status: head.status, superseded_by: head.superseded_by });
        }
        Ok(found)
    }

    /// Everything beside the board that a command needs to judge the whole board: the switches, and the
    /// archived tasks that unfinished tasks wait for.
    pub fn surroundings(&self, board: &Board) -> Result<World, StoreError> {
        Ok(World { switches: self.switches()?, archived: self.archived_around(board)? })
    }

    /// The archived tasks that tasks of the board wait for or were replaced by.
    pub fn archived_around(&self, board: &Board) -> Result<BTreeMap<TaskId, Archived>, StoreError> {
        let mut asked = Vec::new();
        if board.rest.archived > 0 {
            let here: BTreeSet<&TaskId> = board.tasks.iter().map(|task| &task.id).collect();
            let waiting = board.tasks.iter().filter(|task| !task.status.is_terminal());
            let named = waiting
                .flat_map(|task| &task.depends_on)
                .chain(board.tasks.iter().flat_map(|task| &task.superseded_by));
            asked.extend(named.filter(|id| !here.contains(id)).cloned());
        }
        if asked.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.archived_among(board, asked)
    }

    /// Writes these tasks durably into the archive. Their bodies must be loaded.
    pub fn write_archive(&self, tasks: &[&Task], now: Wall) -> Result<(), StoreError> {
        let dir = self.layout().archive();
        make_private_dir(&dir)?;
        let mut moved = Vec::new();
        for task in tasks {
            let path = self.layout().archived(&task.id);
            let text = archive_text(task, now).map_err(|error| StoreError::Invalid {
                message: format!("task {} cannot be written: {error}", task.id),
                hint: "nothing was changed; please report this".to_owned(),
            })?;
            if tasks.len() < MANY {
                replace(&path, text.as_bytes())?;
            } else {
                let temp = beside(&path);
                let _ = std::fs::remove_file(&temp);
                write_unsynced(&temp, text.as_bytes())?;
                moved.push((temp, path));
            }
            crash::point("archive.written");
        }
        if moved.is_empty() {
            tasks.iter().for_each(|task| self.witness_archived(&self.layout().archived(&task.id)));
            return Ok(());
        }
        // The text is on disk before its name exists, and the names before the commit relies on them.
        sync_all_files(&dir)?;
        for (temp, path) in &moved {
            std::fs::rename(temp, path).doing("replace", path)?;
            self.witness_archived(path);
        }
        sync_all_files(&dir)
    }
}
