//! Turns signals and changes of the board into messages to a loop.

use super::prelude::*;
use super::signals;
use crate::store::Store;
use crate::watch::DirectoryWatch;

/// Sends a message for each signal, and for each change until the returned value is dropped.
pub fn listen<W: Send + 'static>(
    dir: &Path,
    tx: &Sender<W>,
    signal: fn(i32) -> W,
    change: fn() -> W,
) -> Result<Notification, Failure> {
    let (signals_to, changes_to) = (tx.clone(), tx.clone());
    signals::forward(move |number| {
        let _ = signals_to.send(signal(number));
    })
    .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("cannot handle signals: {error}")))?;
    DirectoryWatch::notify_to(dir, Store::is_news, move || {
        let _ = changes_to.send(change());
    })
    .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("cannot watch the board: {error}")))
}

/// The notice for file systems without change notification.
pub fn polling(watch: &Notification) -> Option<Event> {
    let why = watch.is_polling()?;
    Some(Event::notice(format!("liza checks the board for changes at intervals: {why}")))
}
