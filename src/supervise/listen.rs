//! What wakes a loop from outside: signals, and changes of the board.

use std::path::Path;
use std::sync::mpsc::Sender;

use crate::flow::Failure;
use crate::watch::{DirectoryWatch, Notification};

use super::signals;

/// Sends each of them, until what is returned is dropped (signals go on). Where changes can only be looked for, says why.
pub fn listen<W: Send + 'static>(
    dir: &Path,
    tx: &Sender<W>,
    signal: fn(i32) -> W,
    change: fn() -> W,
) -> Result<(Notification, Option<String>), Failure> {
    let (signals_to, changes_to) = (tx.clone(), tx.clone());
    signals::forward(move |number| {
        let _ = signals_to.send(signal(number));
    })
    .map_err(|error| Failure::new("io.failed", format!("signals cannot be caught: {error}")))?;
    let watch = DirectoryWatch::notify_to(dir, move || {
        let _ = changes_to.send(change());
    });
    let polls =
        watch.is_polling().map(|why| format!("changes of the board are looked for from time to time: {why}"));
    Ok((watch, polls))
}
