//! What wakes a loop from outside: signals, and changes of the board.

use super::prelude::*;
use super::signals;
use crate::store::Store;
use crate::watch::DirectoryWatch;

/// Sends each of them, until what is returned is dropped (signals go on).
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
    .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("signals cannot be caught: {error}")))?;
    DirectoryWatch::notify_to(dir, Store::is_news, move || {
        let _ = changes_to.send(change());
    })
    .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("the board cannot be watched: {error}")))
}

/// Said where changes can only be looked for.
pub fn polling(watch: &Notification) -> Option<Event> {
    let why = watch.is_polling()?;
    Some(Event::notice(format!("changes of the board are looked for from time to time: {why}")))
}
