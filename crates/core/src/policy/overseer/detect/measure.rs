//! How near one alarm is, in the number by which it is raised.

use crate::policy::prelude::*;

/// A detector reports exactly if its measure has reached the alarm, so a view that shows these numbers shows what the
/// detectors see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measure {
    pub behaviour: Behaviour,
    /// What is counted, or why nothing is.
    pub what: &'static str,
    pub now: u64,
    /// The detector reports from this number on; none, where there is no limit.
    pub alarm: Option<u64>,
}

impl Measure {
    pub(super) fn new(behaviour: Behaviour, what: &'static str, now: u64, alarm: u64) -> Self {
        // Nothing at all is never too much.
        Self { behaviour, what, now, alarm: Some(alarm.max(1)) }
    }

    pub fn reached(&self) -> bool {
        self.alarm.is_some_and(|alarm| self.now >= alarm)
    }
}
