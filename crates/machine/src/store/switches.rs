//! The kill switches: files that count by existing, whatever they hold.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::PoisonError;

use crate::board::{Switch, SwitchKind, Switches, Wall};

use super::error::{IoContext, StoreError};
use super::handle::Store;
use super::lock::open_no_follow;

/// Where liza writes below the board's directory. `templates` is a person's, who may keep a link there.
const DIRECTORIES: [&str; 19] = [
    "archive",
    "asks",
    "bundles",
    "edits",
    "gates",
    "git",
    "graphs",
    "hooks",
    "images",
    "locks",
    "overseer",
    "reports",
    "results",
    "runs",
    "schema",
    "spec_texts",
    "specs",
    "tokens",
    "trash",
];

impl Store {
    pub fn switch_path(&self, kind: SwitchKind, subject: Option<&str>) -> PathBuf {
        let name = match subject {
            None => kind.as_str().to_owned(),
            Some(subject) => format!("{}-{subject}", kind.as_str()),
        };
        self.dir().join(name)
    }

    /// The switches that are set now. A directory or a dangling link counts like a file.
    pub fn switches(&self) -> Result<Switches, StoreError> {
        Ok(self.look()?.0)
    }

    /// The same for a command that is about to write. A link in the place of one of liza's directories would lead its files
    /// elsewhere.
    pub(super) fn switches_to_write(&self) -> Result<Switches, StoreError> {
        match self.look()? {
            (switches, None) => Ok(switches),
            (_, Some(name)) => Err(StoreError::Invalid {
                message: format!("`{}` is a link, and liza follows none", self.dir().join(name).display()),
                hint: "put the directory itself there; liza does not guess its target".to_owned(),
            }),
        }
    }

    /// Also names one of liza's directories that is a link.
    fn look(&self) -> Result<(Switches, Option<&'static str>), StoreError> {
        let mut switches = Switches::default();
        let mut link = None;
        let entries = loop {
            match fs::read_dir(self.dir()) {
                // Unlike opening a file, reading a directory is not retried by the standard library.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => break other.doing("list", self.dir())?,
            }
        };
        for entry in entries {
            let entry = entry.doing("list", self.dir())?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                link = link.or(DIRECTORIES.into_iter().find(|dir| *dir == name));
            }
            for kind in SwitchKind::ALL {
                let subject = match name.strip_prefix(kind.as_str()) {
                    Some("") => None,
                    Some(rest) => match rest.strip_prefix('-') {
                        Some(subject) if !subject.is_empty() => Some(subject.to_owned()),
                        _ => continue,
                    },
                    None => continue,
                };
                let reason = self.reason(kind, subject.as_deref());
                switches.set.insert(Switch { kind, subject, reason });
            }
        }
        let checkpoint = |switch: &Switch| switch.kind == SwitchKind::Checkpoint && switch.subject.is_none();
        *self.checkpoint_seen.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(switches.set.iter().any(checkpoint));
        Ok((switches, link))
    }

    /// Whether the team-wide CHECKPOINT switch is set: as this process last read it, or as it is now if it has
    /// not read it.
    pub fn has_seen_checkpoint(&self) -> bool {
        let seen = *self.checkpoint_seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.unwrap_or_else(|| self.switch_path(SwitchKind::Checkpoint, None).symlink_metadata().is_ok())
    }

    /// The text of the switch file, if readable.
    fn reason(&self, kind: SwitchKind, subject: Option<&str>) -> String {
        let mut text = Vec::new();
        let read = open_no_follow(&self.switch_path(kind, subject), fs::OpenOptions::new().read(true))
            .and_then(|file| file.take(500).read_to_end(&mut text));
        if read.is_err() {
            return String::new();
        }
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    /// Sets a switch; one that is already set keeps its reason.
    pub fn set_switch(
        &self,
        kind: SwitchKind,
        subject: Option<&str>,
        reason: &str,
    ) -> Result<bool, StoreError> {
        // Written completely before it is visible: a process that notices the switch finds its reason in it.
        super::files::publish_new(&self.switch_path(kind, subject), format!("{reason}\n").as_bytes())
    }

    /// Clears a switch. Moves the file to the trash instead of removing it, in case it holds more than a
    /// marker. Clearing a switch that is not set is no error.
    pub fn clear_switch(&self, kind: SwitchKind, subject: Option<&str>) -> Result<(), StoreError> {
        let path = self.switch_path(kind, subject);
        let trash = self.layout().trash();
        super::files::make_private_dir(&trash)?;
        let stamp = crate::host::now().monotonic;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match fs::rename(&path, trash.join(format!("{name}.{stamp}"))) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).doing("remove", &path),
            Ok(()) => super::files::sync_parent(&path),
        }
    }

    /// Identifies one setting of a switch, with the time it was set; none if it is not set.
    ///
    /// A switch that is touched or rewritten is still the same one. Where the file system knows when a file was
    /// made, that time identifies it; elsewhere the last change must serve.
    pub fn switch_identity(&self, kind: SwitchKind, subject: Option<&str>) -> Option<(String, Wall)> {
        let meta = fs::symlink_metadata(self.switch_path(kind, subject)).ok()?;
        let made = meta.created().or_else(|_| meta.modified()).ok()?;
        let since = made.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let wall = Wall(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        Some((format!("{:x}.{:x}", meta.ino(), since.as_nanos()), wall))
    }

    /// For how many seconds a switch has been set; none if it is not set.
    pub fn switch_age(&self, kind: SwitchKind, subject: Option<&str>) -> Result<Option<u64>, StoreError> {
        let path = self.switch_path(kind, subject);
        match fs::symlink_metadata(&path) {
            Ok(meta) => {
                let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
                Ok(Some(age.map_or(0, |age| age.as_secs())))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing("look at", &path),
        }
    }
}
