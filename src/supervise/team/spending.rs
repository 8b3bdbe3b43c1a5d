//! The spend caps of a run: the start of its counting, and warnings when a cap is nearly used.

use super::super::prelude::*;
use super::TeamRun;
use crate::board::rules::BeginRun;
use crate::policy::spend::near;

/// Starts counting for a run with a cap.
pub(super) fn begin_run(ctx: &Context, caps: &mut KnownCaps) -> Result<(), Failure> {
    if !caps.look(ctx).run.is_none() {
        ctx.commit_step(BeginRun { owner: crate::host::this_process() })?;
    }
    Ok(())
}

impl TeamRun<'_> {
    pub(super) fn warn_of_spending(&mut self, board: &Board) {
        let found = near(board, &self.team.caps);
        // A raised cap is reported again when it is nearly used.
        self.caps_reported.retain(|(setting, subject, _)| {
            found.iter().any(|cap| cap.setting == *setting && &cap.subject == subject)
        });
        for cap in found {
            let reached = cap.is_reached();
            if self.caps_reported.insert((cap.setting, cap.subject.clone(), reached)) {
                let what = if reached { "liza starts no more work for it" } else { "nearly used up" };
                self.emit(Event::new(Kind::Spend, format!("{}; {what}", cap.describe())));
            }
        }
    }
}
