//! Files for people and other programs: reports, bundles, and views of the board.

use std::path::PathBuf;

use super::error::StoreError;
use super::files::{make_private_dir, make_private_dirs, publish_new, replace};
use super::handle::Store;

impl Store {
    pub fn report_file(&self, name: &str) -> PathBuf {
        self.layout().reports().join(name)
    }

    /// The directory of the reports, for messages.
    pub fn reports_shown(&self) -> String {
        self.layout().reports().display().to_string()
    }

    /// Writes a report, replacing one of that name.
    pub fn write_report(&self, name: &str, text: &str) -> Result<PathBuf, StoreError> {
        make_private_dir(&self.layout().reports())?;
        let path = self.report_file(name);
        replace(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Writes a report unless one of that name exists. Returns whether it is new.
    pub fn publish_report(&self, name: &str, text: &str) -> Result<(PathBuf, bool), StoreError> {
        make_private_dir(&self.layout().reports())?;
        let path = self.report_file(name);
        let new = publish_new(&path, text.as_bytes())?;
        Ok((path, new))
    }

    pub fn has_bundle(&self, name: &str) -> bool {
        self.layout().bundles().join(name).symlink_metadata().is_ok()
    }

    /// Keeps a bundle or a review of one; none if that name is taken.
    pub fn publish_bundle(&self, name: &str, bytes: &[u8]) -> Result<Option<PathBuf>, StoreError> {
        let dir = self.layout().bundles();
        make_private_dirs(self.dir(), &dir)?;
        let path = dir.join(name);
        Ok(publish_new(&path, bytes)?.then_some(path))
    }
}
