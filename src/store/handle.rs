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
        Self { layout: Layout::new(dir), patience: seconds }
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
