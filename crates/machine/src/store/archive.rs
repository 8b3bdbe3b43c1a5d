//! The archive: finished tasks that left the board, one file each, found by its name.
//!
//! A file is written and synced before the commit that takes its task off the board. Between the two both have it,
//! and the board wins: a file of a task that still stands on the board counts for nothing and is written over.

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

/// Whatever stands on a board can be archived and read again.
const LARGEST_TASK: u64 = super::read::LARGEST_STATE;
/// More than any plan replaces in a row; a damaged archive is not walked beyond it.
const MOST_ASKED: usize = 10_000;
/// From so many on, one sync of the whole file system is cheaper than one a file.
const MANY: usize = 16;

impl Store {
    /// What the archive has under this id, in whatever case: its own id says in which.
    pub fn archived_task(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        let Some(bytes) = self.archive_bytes(id)? else { return Ok(None) };
        read_task(&bytes).map(Some).map_err(|error| self.broken(id, &error.to_string()))
    }

    /// A task of this very id that is archived and not on the board, which would win.
    pub fn archived_beside(&self, board: &Board, id: &TaskId) -> Result<Option<Task>, StoreError> {
        if board.task_alike(id).is_some() {
            return Ok(None);
        }
        Ok(self.archived_task(id)?.filter(|task| &task.id == id))
    }

    /// Every archived task that is not on the board, in the order of their names. What cannot be read is passed over and
    /// named: whoever looks at all of them can do nothing about one.
    pub fn all_archived(&self, board: &Board) -> Result<(Vec<Task>, Vec<String>), StoreError> {
        if board.rest.archived == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        self.read_archive(&board.tasks.iter().map(|task| task.id.folded()).collect())
    }

    /// The tasks of all files of the archive but those that are to be left out, and what cannot be read.
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

    /// The ids that the names of its files say.
    pub(super) fn archive_ids(&self) -> Result<BTreeSet<TaskId>, StoreError> {
        let dir = self.layout().archive();
        let names = names_in(&dir).doing("look into", &dir)?;
        Ok(names.iter().filter_map(|name| TaskId::new(name.strip_suffix(".yaml")?).ok()).collect())
    }

    /// Where the archive has or would have this task, for messages.
    pub fn archived_file(&self, id: &TaskId) -> PathBuf {
        self.layout().archived(id)
    }

    /// The files of the archive, by name, each read when its turn comes.
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

    /// An id whose file cannot be read is taken all the same: guessing would free it or strand whoever waits for it.
    fn broken(&self, id: &TaskId, why: &str) -> StoreError {
        StoreError::Invalid {
            message: format!("{} cannot be read: {why}", self.layout().archived(id).display()),
            hint: "restore that file from a backup; `liza log --task` has what happened to the task"
                .to_owned(),
        }
    }

    /// What the archive knows of these tasks and of whatever replaced them, however long the chain. Those on the board
    /// are not asked for: the board wins.
    pub fn archived_among(
        &self,
        board: &Board,
        asked: Vec<TaskId>,
    ) -> Result<BTreeMap<TaskId, Archived>, StoreError> {
        let mut found = BTreeMap::new();
        // A claim asks for a few, a plan for thousands.
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

    /// What stands around a board for whoever looks at all of it: the switches, and the archived tasks that unfinished
    /// ones wait for.
    pub fn surroundings(&self, board: &Board) -> Result<World, StoreError> {
        Ok(World { switches: self.switches()?, archived: self.archived_around(board)? })
    }

    /// What tasks of the board wait for, or were replaced by, and is in the archive.
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

    /// Writes these tasks into the archive, so that they survive whatever follows. Their bodies must be loaded.
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
        // The text is on disk before a name leads to it, and the names before anybody relies on them.
        sync_all_files(&dir)?;
        for (temp, path) in &moved {
            std::fs::rename(temp, path).doing("replace", path)?;
            self.witness_archived(path);
        }
        sync_all_files(&dir)
    }
}
