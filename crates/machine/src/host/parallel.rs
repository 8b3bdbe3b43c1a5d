//! Processing many items at once.

use std::sync::{Mutex, PoisonError};

/// More threads gain nothing: the work waits for the disk and for other programs.
const MOST_THREADS: usize = 8;

/// Starts a thread. If the machine has no thread left, that is an error to handle, never a panic.
pub fn start_thread<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<T>> {
    std::thread::Builder::new()
        .spawn(act)
        .map_err(|error| std::io::Error::new(error.kind(), format!("no thread can be started: {error}")))
}

/// Processes every item, several at a time, in no particular order. This thread takes part, so everything is
/// processed even if no further thread can be started.
pub fn for_each<T: Send>(items: &mut [T], act: impl Fn(&mut T) + Sync) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let helpers = cores.min(MOST_THREADS).min(items.len()).saturating_sub(1);
    let queue = Mutex::new(items.iter_mut());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(item) = next() {
            act(item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

/// Does two things at once, or one after the other if no thread can be started.
pub fn both<A, B: Send>(here: impl FnOnce() -> A, elsewhere: impl Fn() -> B + Sync) -> (A, B) {
    let (done, other) = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, &elsewhere);
        let done = here();
        (done, thread.ok().and_then(|thread| thread.join().ok()))
    });
    (done, other.unwrap_or_else(elsewhere))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_results_are_returned() {
        let other = std::thread::current().id();
        let (here, elsewhere) = both(|| std::thread::current().id() == other, || 7);
        assert!(here && elsewhere == 7);
    }

    #[test]
    fn every_item_is_processed_once() {
        for count in [0, 1, 2, 1000] {
            let mut items = vec![0; count];
            for_each(&mut items, |item| *item += 1);
            assert_eq!(items, vec![1; count]);
        }
    }
}
