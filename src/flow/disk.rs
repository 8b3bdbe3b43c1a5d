//! Detects a full disk before work starts, not in the middle of it.

use super::prelude::*;

impl Context {
    /// The free space there and the required space, if it is too little.
    pub fn room_missing(&self, path: &Path) -> Result<Option<(u64, u64)>> {
        let Some(room) = crate::host::room(path) else { return Ok(None) };
        let threshold = self.project_config()?.disk.threshold(room.total);
        Ok((room.free < threshold).then_some((room.free, threshold)))
    }

    /// Refuses to start new work while the disk is nearly full. Saving work does not check.
    pub fn check_disk(&self) -> Result<()> {
        let Some((free, threshold)) = self.room_missing(self.machine.home())? else { return Ok(()) };
        Err(failure!(ErrorCode::IoDiskLow, "the disk of the board has only {} free, and new work needs at least {}",
                bytes(free),
                bytes(threshold))
        .hint("`liza gc --dry-run` lists what can be removed; `disk.min_free_bytes` in liza.yaml sets the limit")
        .detail("free_bytes", free)
        .detail("min_free_bytes", threshold))
    }
}
