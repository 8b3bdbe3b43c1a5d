//! How near one alarm is, in the number by which it is raised.

use crate::policy::prelude::*;

/// A detector reports exactly if its measure has reached the alarm, so these numbers show what the detectors decide by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measure {
    pub behaviour: Behaviour,
    /// The counted unit, or why nothing is counted.
    pub what: &'static str,
    pub now: u64,
    /// The detector reports from this number on; none without a limit.
    pub alarm: Option<u64>,
}

impl Measure {
    pub(super) fn new(behaviour: Behaviour, what: &'static str, now: u64, alarm: u64) -> Self {
        // Zero never reaches an alarm.
        Self { behaviour, what, now, alarm: Some(alarm.max(1)) }
    }

    pub fn reached(&self) -> bool {
        self.alarm.is_some_and(|alarm| self.now >= alarm)
    }
}
