//! NOTICING: waiting for files to change, by notification with a slow poll behind it.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use notify::{RecursiveMode, Watcher};

/// How long a change may go unseen where notification fails.
const SLOW_POLL: Duration = Duration::from_secs(2);

/// A directory that is watched. An event is only a hint: whoever waited looks at the files again.
pub struct DirectoryWatch {
    events: Receiver<()>,
    // Dropping it ends the notification.
    _watcher: Option<notify::RecommendedWatcher>,
}

impl DirectoryWatch {
    /// Watches the directory rather than a file in it: files are replaced, and a watch on a replaced file sees nothing.
    pub fn new(dir: &Path) -> Self {
        let (sender, events) = channel();
        let watcher = notify::recommended_watcher(move |_| {
            let _ = sender.send(());
        })
        .and_then(|mut watcher| watcher.watch(dir, RecursiveMode::NonRecursive).map(|()| watcher));
        Self { events, _watcher: watcher.ok() }
    }

    /// Returns when something changed, when the slow poll is due, or when `left` is over.
    pub fn wait(&mut self, left: Duration) {
        let pause = left.min(SLOW_POLL);
        if self._watcher.is_none() {
            std::thread::sleep(pause.min(Duration::from_millis(200)));
            return;
        }
        if self.events.recv_timeout(pause).is_ok() {
            while self.events.try_recv().is_ok() {}
        }
    }
}
