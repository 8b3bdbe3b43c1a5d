//! A full disk is met before work begins, not in the middle of it.

use crate::text::bytes;

use super::context::Context;
use super::failure::Failure;

impl Context {
    /// Refuses to begin anything new while the disk is nearly full. Saving work never asks.
    pub fn check_disk(&self) -> Result<(), Failure> {
        let Ok(disk) = rustix::fs::statvfs(self.store.dir()) else { return Ok(()) };
        let (free, total) =
            (disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_blocks.saturating_mul(disk.f_frsize));
        let threshold = self.project_config()?.disk.threshold(total);
        if free >= threshold {
            return Ok(());
        }
        Err(Failure::new(
            "io.disk_low",
            format!(
                "only {} are free where the board is, and less than {} is too little to begin anything new",
                bytes(free),
                bytes(threshold)
            ),
        )
        .hint("`liza gc --dry-run` says what can be collected; `disk.min_free_bytes` in liza.yaml sets the limit")
        .detail("free_bytes", free)
        .detail("min_free_bytes", threshold))
    }
}
