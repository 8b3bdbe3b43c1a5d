//! What the watcher writes: the alert log, the list of alerts already sent, and the escalation file.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::error::{IoContext, StoreError};
use super::files::{read_whole, replace};
use super::handle::Store;
use super::lock::open_no_follow;

/// At this size the log starts again; the previous file is kept until the next start.
const LARGEST_LOG: u64 = 1024 * 1024;
const LARGEST_MEMORY: u64 = 4 * 1024 * 1024;
/// More than a person reads; at this size the escalation file says so and stops growing.
const LARGEST_ESCALATION: u64 = 256 * 1024;
const LARGEST_KEPT: u64 = 16 * LARGEST_ESCALATION;
const MORE_WAITS: &str =
    "This file is full: `liza overseer` shows the rest, and .liza/alerts.log has every line.\n";

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
        // One write per line, so that a concurrent reader finds whole lines.
        file.write_all(format!("{line}\n").as_bytes()).doing("write", &path)
    }

    /// Whether the log holds a recent alert with this key.
    pub fn was_alerted(&self, key: &str) -> bool {
        let log = self.layout().alerts_log();
        let wanted = format!("\"key\":\"{key}\"");
        [log.with_file_name("alerts.log.1"), log].iter().any(|path| {
            read_whole(path, 2 * LARGEST_LOG)
                .is_ok_and(|(bytes, _)| memchr::memmem::find(&bytes, wanted.as_bytes()).is_some())
        })
    }

    /// The list of alerts already sent; empty if it cannot be read.
    pub fn reported_alerts(&self) -> String {
        let read = read_whole(&self.layout().reported_alerts(), LARGEST_MEMORY);
        read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    pub fn remember_alerts(&self, text: &str) -> Result<(), StoreError> {
        replace(&self.layout().reported_alerts(), text.as_bytes())
    }

    /// Adds a text to the escalation file, unless the file already holds it. Returns the path of the file.
    pub fn escalate(&self, text: &str) -> Result<PathBuf, StoreError> {
        let path = self.layout().escalation();
        let stands = match read_whole(&path, LARGEST_KEPT) {
            Ok((bytes, _)) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            // Larger than liza writes, so another program's file: liza leaves it alone, the alert log has the line.
            Err(error) if error.kind() == ErrorKind::FileTooLarge => return Ok(path),
            Err(error) => return Err(error).doing("read", &path),
        };
        let stands_there = |text: &str| memchr::memmem::find(&stands, text.as_bytes()).is_some();
        if stands_there(text) || stands.ends_with(MORE_WAITS.as_bytes()) {
            return Ok(path);
        }
        let fits = stands.len() as u64 + text.len() as u64 <= LARGEST_ESCALATION;
        let more = if fits { text } else { MORE_WAITS };
        let between: &[u8] = if stands.is_empty() { b"" } else { b"\n" };
        replace(&path, &[&stands, between, more.as_bytes()].concat())?;
        Ok(path)
    }

    /// What waits for a person; empty if it cannot be read.
    pub fn escalation(&self) -> String {
        let read = read_whole(&self.layout().escalation(), LARGEST_KEPT);
        read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// A person has acted. The escalation file moves to the trash, in case it holds more than liza's lines.
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
    fn alert_log_is_private_and_bounded() {
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
    fn each_escalation_is_written_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::new(dir.path());
        for text in ["one\n", "two\n", "one\n"] {
            store.escalate(text).expect("written");
        }
        let read = || fs::read_to_string(store.layout().escalation()).expect("a file");
        assert_eq!(read(), "one\n\ntwo\n");
        // Nothing that waits for a person is lost, and the file stays bounded.
        fs::write(store.layout().escalation(), [0xff, b'\n']).expect("written");
        store.escalate("three\n").expect("written");
        assert_eq!(fs::read(store.layout().escalation()).expect("read"), b"\xff\n\nthree\n");
        let long = "x".repeat(300 * 1024);
        fs::write(store.layout().escalation(), &long).expect("written");
        store.escalate("four\n").expect("written");
        store.escalate("five\n").expect("written");
        assert_eq!(read(), format!("{long}\n{MORE_WAITS}"), "that more waits is said once");
    }

    #[test]
    fn sent_alert_is_recognized() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::new(dir.path());
        assert!(!store.was_alerted("overseer:coder-1:intervention-1"));
        store.append_alert("{\"key\":\"overseer:coder-1:intervention-1\"}").expect("appended");
        assert!(store.was_alerted("overseer:coder-1:intervention-1"));
        assert!(!store.was_alerted("overseer:coder-1:intervention-11"));
    }

    #[test]
    fn link_instead_of_log_is_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::new(dir.path());
        fs::write(dir.path().join("elsewhere"), "mine").expect("written");
        std::os::unix::fs::symlink("elsewhere", store.layout().alerts_log()).expect("a link");
        assert!(store.append_alert("line").is_err());
        assert_eq!(fs::read_to_string(dir.path().join("elsewhere")).expect("read"), "mine");
    }
}
