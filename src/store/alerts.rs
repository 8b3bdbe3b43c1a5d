//! What the watcher writes: the alerts, which of them were told, and the escalation.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;

use super::error::{IoContext, StoreError};
use super::files::{read_whole, replace};
use super::handle::Store;
use super::lock::open_no_follow;

/// Then the log is begun anew, and the former one kept until the next time: weeks of alerts, and a bound.
const LARGEST_LOG: u64 = 1024 * 1024;
const LARGEST_MEMORY: u64 = 4 * 1024 * 1024;
/// More than a person reads; then it is begun anew.
const LARGEST_ESCALATION: u64 = 256 * 1024;

impl Store {
    /// Adds one line to the alerts.
    pub fn append_alert(&self, line: &str) -> Result<(), StoreError> {
        let path = self.layout().alerts_log();
        let size = fs::symlink_metadata(&path).map_or(0, |meta| meta.len());
        if size > 0 && size + line.len() as u64 >= LARGEST_LOG {
            fs::rename(&path, path.with_file_name("alerts.log.1")).doing("rename", &path)?;
        }
        let mut file = open_no_follow(&path, OpenOptions::new().append(true).create(true).mode(0o600))
            .doing("open", &path)?;
        // In one piece, so that whoever reads along finds whole lines.
        file.write_all(format!("{line}\n").as_bytes()).doing("write", &path)
    }

    /// Whether an alert with this key was told lately, as far as the log says.
    pub fn was_alerted(&self, key: &str) -> bool {
        let log = self.layout().alerts_log();
        let wanted = format!("\"key\":\"{key}\"");
        [log.with_file_name("alerts.log.1"), log].iter().any(|path| {
            read_whole(path, 2 * LARGEST_LOG)
                .is_ok_and(|(bytes, _)| memchr::memmem::find(&bytes, wanted.as_bytes()).is_some())
        })
    }

    /// What was remembered of the alerts; nothing, if it cannot be read.
    pub fn alerts_told(&self) -> String {
        let read = read_whole(&self.layout().alerts_told(), LARGEST_MEMORY);
        read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    pub fn remember_alerts(&self, text: &str) -> Result<(), StoreError> {
        replace(&self.layout().alerts_told(), text.as_bytes())
    }

    /// Adds to what waits for a person; what stands there already is not said twice.
    pub fn escalate(&self, text: &str) -> Result<(), StoreError> {
        let path = self.layout().escalation();
        let stands = match read_whole(&path, LARGEST_ESCALATION) {
            Ok((bytes, _)) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => String::new(),
        };
        if stands.contains(text) {
            return Ok(());
        }
        let between = if stands.is_empty() { "" } else { "\n" };
        replace(&path, format!("{stands}{between}{text}").as_bytes())
    }

    /// A person has come. What stood there is moved to the trash, in case it is more than ours.
    pub fn end_escalation(&self, stamp: u64) -> Result<(), StoreError> {
        let (path, trash) = (self.layout().escalation(), self.layout().trash());
        if fs::symlink_metadata(&path).is_err() {
            return Ok(());
        }
        super::files::make_private_dir(&trash)?;
        match fs::rename(&path, trash.join(format!("ESCALATION.{stamp}"))) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error).doing("remove", &path),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_log_is_private_and_bounded() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::new(dir.path());
        let line = "x".repeat(100_000);
        for _ in 0..35 {
            store.append_alert(&line).expect("appended");
        }
        let sizes: Vec<u64> = ["alerts.log", "alerts.log.1"]
            .iter()
            .map(|name| fs::metadata(dir.path().join(name)).expect("a file").len())
            .collect();
        assert!(sizes.iter().all(|size| *size > 0 && *size <= LARGEST_LOG), "{sizes:?}");
        let mode = fs::metadata(store.layout().alerts_log()).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn several_things_wait_for_a_person_and_each_is_said_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::new(dir.path());
        for text in ["one\n", "two\n", "one\n"] {
            store.escalate(text).expect("written");
        }
        let read = || fs::read_to_string(store.layout().escalation()).expect("a file");
        assert_eq!(read(), "one\n\ntwo\n");
        fs::write(store.layout().escalation(), "x".repeat(300 * 1024)).expect("written");
        store.escalate("three\n").expect("written");
        assert_eq!(read(), "three\n", "what nobody reads is begun anew");
    }

    #[test]
    fn what_was_alerted_is_known_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::new(dir.path());
        assert!(!store.was_alerted("overseer:coder-1:intervention-1"));
        store.append_alert("{\"key\":\"overseer:coder-1:intervention-1\"}").expect("appended");
        assert!(store.was_alerted("overseer:coder-1:intervention-1"));
        assert!(!store.was_alerted("overseer:coder-1:intervention-11"));
    }

    #[test]
    fn a_link_in_place_of_the_log_is_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::new(dir.path());
        fs::write(dir.path().join("elsewhere"), "mine").expect("written");
        std::os::unix::fs::symlink("elsewhere", store.layout().alerts_log()).expect("a link");
        assert!(store.append_alert("line").is_err());
        assert_eq!(fs::read_to_string(dir.path().join("elsewhere")).expect("read"), "mine");
    }
}
