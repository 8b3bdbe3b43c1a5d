//! The machine: file system, disk space, clock.

use super::{Finding, Scene};
use crate::flow::prelude::*;

/// Clocks are often corrected by a few seconds.
const CLOCK_SLACK: i64 = 120;
/// The first commit of this program is younger than this.
const CLOCK_UNSET: i64 = 1_577_836_800;

pub fn file_system(scene: &Scene) -> Result<Vec<Finding>> {
    let dir = scene.ctx.machine.home();
    let mut found = Vec::new();
    for path in [dir, &scene.ctx.repo.common_dir] {
        if let Some(kind) = host::network_file_system(path) {
            found.push(Finding::new(
                "machine.network_fs",
                format!("{} is on a network file system ({kind})", path.display()),
                "file locks may not work between machines there",
                "keep the repository on a local disk, or let only one machine use it",
            ));
        }
        if let Some((free, least)) = scene.ctx.room_missing(path)? {
            found.push(Finding::new(
                "machine.disk",
                format!("{} has {} left, less than {}", path.display(), bytes(free), bytes(least)),
                "no new work is started, and a full disk stops every command; what is on record stays",
                "`liza gc --dry-run` lists what can be removed; `disk.min_free_bytes` in liza.yaml sets the limit",
            ));
            break;
        }
    }
    Ok(found)
}

/// The log has the time of the last change; a clock before that went backwards.
pub fn clock(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let now = scene.ctx.now.wall;
    let why = "leases do not depend on it, but times in the log, in commits and on leases shown to people are wrong";
    let remedy = "set the clock; records with wrong times stay as they are";
    let wrong = |what: String| Ok(vec![Finding::new("machine.clock", what, why, remedy)]);
    if now.0 < CLOCK_UNSET {
        return wrong(format!("the clock says {now}"));
    }
    let Ok(text) = scene.ctx.store.read_log_text(board.journal.length) else { return Ok(Vec::new()) };
    let last = text.trim_end().rsplit('\n').next().unwrap_or_default();
    let Ok(record) = crate::wire::log::Record::parse(last, board.revision) else { return Ok(Vec::new()) };
    let written: Wall = record.at.wall;
    if written.0 <= now.0.saturating_add(CLOCK_SLACK) {
        return Ok(Vec::new());
    }
    wrong(format!("the last change is dated {written}, but the clock says {now}"))
}
