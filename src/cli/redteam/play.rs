//! Plays several attacks in parallel.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

use super::world::World;
use super::{Attack, Verdict};
use crate::cli::prelude::*;

/// An attack that was tried, and its verdict.
#[derive(Debug, Serialize)]
pub struct Tried {
    pub id: &'static str,
    pub promise: &'static str,
    pub attack: &'static str,
    #[serde(flatten)]
    pub verdict: Verdict,
    pub seconds: f64,
}

/// Counts the verdicts, in words: `38 refused, 3 noticed`.
pub fn count(tried: &[Tried]) -> String {
    let words = ["refused", "noticed", "NOT refused", "not tried", "skipped"];
    let counted = words.iter().filter_map(|word| {
        let count = tried.iter().filter(|tried| tried.verdict.words().0 == *word).count();
        (count > 0).then(|| format!("{count} {word}"))
    });
    commas(counted)
}

/// Plays these attacks below `dir`, a few at a time, and reports each as it ends. Returns them in the given order.
pub fn play_all(
    attacks: &[&'static Attack],
    dir: &Path,
    signal: &AtomicI32,
    won: bool,
    report: &(dyn Fn(&Tried) + Sync),
) -> Vec<Tried> {
    let queue: Mutex<VecDeque<(usize, &'static Attack)>> =
        Mutex::new(attacks.iter().copied().enumerate().collect());
    let done: Mutex<Vec<(usize, Tried)>> = Mutex::new(Vec::new());
    // Most of an attack is waiting for the disk and for processes to start.
    let at_once = std::thread::available_parallelism().map_or(2, |cores| cores.get()).clamp(2, 4) * 2;
    let work = || {
        loop {
            let next = queue.lock().ok().and_then(|mut queue| queue.pop_front());
            let Some((number, attack)) = next.filter(|_| signal.load(Ordering::Relaxed) == 0) else { return };
            let began = Instant::now();
            let verdict = match World::build(attack, dir.join(attack.id), signal) {
                Ok(world) => world.play(won),
                Err(error) => Verdict::NotTried(format!("could not make a folder: {error}")),
            };
            let (id, promise, attack) = (attack.id, attack.promise(), attack.attempt());
            let tried = Tried { id, promise, attack, verdict, seconds: began.elapsed().as_secs_f64() };
            report(&tried);
            if let Ok(mut done) = done.lock() {
                done.push((number, tried));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..at_once {
            // If no thread can be started, fewer attacks run at once.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, tried)| tried).collect()
}
