//! What wakes a loop from outside: signals, and changes of the board.

use std::path::Path;

use crate::flow::Failure;
use crate::watch::{DirectoryWatch, Notification};

use super::signals;

/// Calls back for each, until what is returned is dropped (signals go on). Where changes can only be looked for, says why.
pub fn listen(
    dir: &Path,
    on_signal: impl Fn(i32) + Send + Clone + 'static,
    on_change: impl Fn() + Send + 'static,
) -> Result<(Notification, Option<String>), Failure> {
    signals::forward(on_signal)
        .map_err(|error| Failure::new("io.failed", format!("signals cannot be caught: {error}")))?;
    let watch = DirectoryWatch::notify_to(dir, on_change);
    let polls =
        watch.is_polling().map(|why| format!("changes of the board are looked for from time to time: {why}"));
    Ok((watch, polls))
}
