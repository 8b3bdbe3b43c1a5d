//! A handle on one board.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::layout::Layout;

/// How long a command waits for the lock unless `LIZA_LOCK_TIMEOUT` says otherwise.
const PATIENCE_SECONDS: u64 = 10;

#[derive(Debug, Clone)]
pub struct Store {
    layout: Layout,
    patience: Duration,
    /// Whether boards of other versions are read, as far as that goes.
    any_version: bool,
}

impl Store {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        let seconds = std::env::var("LIZA_LOCK_TIMEOUT")
            .ok()
            .and_then(|text| text.parse::<f64>().ok())
            .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
            .map_or(Duration::from_secs(PATIENCE_SECONDS), |seconds| {
                Duration::from_secs_f64(seconds.min(3600.0))
            });
        Self { layout: Layout::new(dir), patience: seconds, any_version: false }
    }

    /// For commands that only read: boards of older and newer versions are shown as well. Writing stays impossible.
    pub fn read_any_version(&mut self) {
        self.any_version = true;
    }

    pub(super) fn reads_any_version(&self) -> bool {
        self.any_version
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn dir(&self) -> &Path {
        self.layout.dir()
    }

    pub fn patience(&self) -> Duration {
        self.patience
    }
}
