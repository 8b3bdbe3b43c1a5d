//! When an agent that died is started again, and when not any more.

use std::time::Duration;

/// So many crashes within the window end a runner.
pub const CRASHES: usize = 3;
pub const WINDOW: Duration = Duration::from_secs(300);
/// The first pause; each further crash in the window doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCrash {
    /// Start it again after this long.
    Restart(Duration),
    GiveUp,
}

/// The crashes of one agent, by the moment they happened (any clock that only goes forward).
#[derive(Debug, Default)]
pub struct Crashes {
    at: Vec<Duration>,
}

impl Crashes {
    /// One more crash at this moment.
    pub fn note(&mut self, now: Duration) -> AfterCrash {
        self.at.retain(|at| now.saturating_sub(*at) < WINDOW);
        self.at.push(now);
        if self.at.len() >= CRASHES {
            return AfterCrash::GiveUp;
        }
        let doublings = u32::try_from(self.at.len() - 1).unwrap_or(u32::MAX).min(8);
        AfterCrash::Restart(FIRST_PAUSE * 2u32.pow(doublings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_third_crash_in_five_minutes_is_the_last() {
        let mut crashes = Crashes::default();
        assert_eq!(crashes.note(at(0)), AfterCrash::Restart(at(1)));
        assert_eq!(crashes.note(at(100)), AfterCrash::Restart(at(2)));
        assert_eq!(crashes.note(at(299)), AfterCrash::GiveUp);
    }

    #[test]
    fn old_crashes_are_forgotten() {
        let mut crashes = Crashes::default();
        for start in [0, 300, 600, 900] {
            assert_eq!(crashes.note(at(start)), AfterCrash::Restart(at(1)));
        }
        assert_eq!(crashes.note(at(901)), AfterCrash::Restart(at(2)));
        assert_eq!(crashes.note(at(1199)), AfterCrash::GiveUp);
    }
}
