//! Every rule, and who asks them.

use super::outside::{Outside, Problem};
use super::{alert::Report, outside, rubber_stamp, situation::Situation, stalled, tasks, whole};
use crate::policy::prelude::*;

/// Everything there is to tell of a board that can be read.
pub fn of_board(situation: &Situation) -> Report {
    let mut report = Report::default();
    for rule in OF_OUTSIDE {
        rule(situation.outside, situation.now, &mut report);
    }
    for rule in OF_BOARD {
        rule(situation, &mut report);
    }
    report
}

/// Alerts that are possible while the board itself cannot be trusted.
pub fn of_damage(problem: &Problem, outside: &Outside, now: &Stamp) -> Report {
    let mut report = Report { blind: true, ..Report::default() };
    for rule in OF_OUTSIDE {
        rule(outside, now, &mut report);
    }
    outside::invalid_board(problem, &mut report);
    report
}

type OutsideRule = fn(&Outside, &Stamp, &mut Report);
type BoardRule = fn(&Situation, &mut Report);

/// What needs no board.
const OF_OUTSIDE: [OutsideRule; 3] = [outside::switch_set, outside::checkpoint_stale, outside::disk_low];

/// One function a kind.
const OF_BOARD: [BoardRule; 20] = [
    whole::rolled_back,
    whole::integration_moved,
    whole::integration_red,
    tasks::hypothesis_exhausted,
    tasks::blocked,
    tasks::integration_failed,
    tasks::lease_expired,
    tasks::orphaned_rejected,
    tasks::review_loop,
    tasks::near_limit,
    tasks::reassigned,
    tasks::stale_draft,
    tasks::plan_waiting,
    whole::immediate_discovery,
    whole::approval_rate,
    whole::answer_overdue,
    rubber_stamp::rubber_stamp,
    whole::spend,
    stalled::stalled,
    whole::breaker_open,
];
