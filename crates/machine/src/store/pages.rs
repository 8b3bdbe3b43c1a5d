//! What agents read: the protocol pages, the prompt templates, the schemas, and the board itself.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::error::{IoContext, StoreError};
use super::files::{make_private_dirs, replace};
use super::handle::Store;

impl Store {
    /// The path that agents get as BLACKBOARD.
    pub fn blackboard(&self) -> PathBuf {
        self.layout().state()
    }

    /// The path that agents get as SPECS_LOCATION.
    pub fn specs_location(&self) -> PathBuf {
        self.layout().specs()
    }

    /// Where a project keeps its own templates.
    pub fn templates_location(&self) -> PathBuf {
        self.layout().templates()
    }

    /// Writes one of the pages that agents read.
    pub fn install_page(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.layout().specs().join(name);
        if let Some(parent) = path.parent() {
            make_private_dirs(parent)?;
        }
        replace(&path, text.as_bytes())
    }

    /// The current text of a page; none if it does not exist.
    pub fn page(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.layout().specs().join(name);
        match crate::host::read_plain(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing("read", &path),
        }
    }

    pub fn install_schema(&self, name: &str, text: &str) -> Result<(), StoreError> {
        replace(&self.layout().schema().join(format!("{name}.schema.json")), text.as_bytes())
    }
}
