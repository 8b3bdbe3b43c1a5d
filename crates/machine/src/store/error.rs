//! Errors below `.liza`, by their meaning for the caller.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::board::{Refusal, Violation};

#[derive(Debug, Error)]
pub enum StoreError {
    /// A rule refused the change; nothing changed.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The lock was not released in time.
    #[error("{what} is locked by {holder}")]
    Busy { what: String, holder: String, waited_seconds: u64 },
    /// There is no board here.
    #[error("there is no board in {0}")]
    Missing(PathBuf),
    /// The files cannot be trusted; this command changed nothing.
    #[error("{message}")]
    Invalid { message: String, hint: String },
    /// Another program wrote the board, or replaced its lock, while this command ran; this command changed
    /// nothing.
    #[error("state.yaml or its lock was changed by another program while this command ran")]
    Changed { again: bool },
    /// Written by another version: this version reads it and never writes it.
    #[error("{message}")]
    OtherVersion { newer: bool, message: String, hint: String },
    /// Nothing changed.
    #[error("cannot {doing} {path}: {source}", path = path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// The change is made; whether it survives a power cut is unknown.
    #[error("the change is committed as revision {revision}, but syncing {path} failed: {source}", path = path.display())]
    DurabilityUnknown { revision: u64, path: PathBuf, source: io::Error },
    /// The rules allowed a change that breaks the board: a bug in liza. Nothing was written.
    #[error("this change would break the board: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Bug(Vec<Violation>),
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// Adds to an error what liza was doing to which file.
pub trait IoContext<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, StoreError>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Io { doing, path: path.to_owned(), source })
    }
}

impl<T> IoContext<T> for rustix::io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Io { doing, path: path.to_owned(), source: source.into() })
    }
}

impl StoreError {
    /// An older board was restored together with its journal and its lock.
    pub(super) fn put_back(revision: u64, above: u64) -> Self {
        Self::Invalid {
            message: format!(
                "state.yaml and log.yaml are at revision {revision}, but revision {above} was published: an older board was put in place"
            ),
            hint: format!(
                "`liza doctor --fix` restores revision {above} from its copy below .git and keeps the present files"
            ),
        }
    }
}
