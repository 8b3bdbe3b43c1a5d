//! What a run may cost: where it began to count, and a word when a cap is nearly used.

use super::super::prelude::*;
use super::TeamRun;
use crate::board::rules::BeginRun;
use crate::policy::spend::near;

/// A run with a cap counts from here on.
pub(super) fn begin_run(ctx: &Context, caps: &mut KnownCaps) -> Result<(), Failure> {
    if !caps.look(ctx).run.is_none() {
        ctx.commit_step(BeginRun { owner: crate::host::this_process() })?;
    }
    Ok(())
}

impl TeamRun<'_> {
    pub(super) fn warn_of_spending(&mut self, board: &Board) {
        let found = near(board, &self.team.caps);
        // What was raised since is news when it is near again.
        self.caps_told.retain(|(setting, subject, _)| {
            found.iter().any(|cap| cap.setting == *setting && &cap.subject == subject)
        });
        for cap in found {
            let reached = cap.is_reached();
            if self.caps_told.insert((cap.setting, cap.subject.clone(), reached)) {
                let what = if reached { "liza starts no more work for it" } else { "nearly used up" };
                self.tell(Event::new(Kind::Spend, format!("{}; {what}", cap.describe())));
            }
        }
    }
}
