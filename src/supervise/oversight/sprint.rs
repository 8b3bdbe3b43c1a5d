//! The end of the sprint: its deadline sets CHECKPOINT, once.

use crate::flow::sprint;

use super::super::prelude::*;
use super::Looked;

/// The longest wait before a look at the deadline: the wall clock may be set, and the machine may sleep.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct SprintEnd {
    /// The deadline that waits, as of a revision.
    seen: Option<(u64, Option<Wall>)>,
}

impl SprintEnd {
    pub fn look(&mut self, ctx: &Context, revision: u64) -> Looked {
        let mut looked = Looked::default();
        if self.seen.is_none_or(|(seen, _)| seen != revision) {
            match ctx.read(&Needs::Nothing) {
                Ok(snapshot) => self.seen = Some((revision, sprint::due(&snapshot.board))),
                // Commands that show the board report its faults.
                Err(_) => return looked,
            }
        }
        let Some(deadline) = self.seen.and_then(|(_, due)| due) else { return looked };
        let left = u64::try_from(deadline.since(ctx.now.wall)).unwrap_or(0);
        if left > 0 {
            looked.again_in = Some(Duration::from_secs(left).min(LOOK_AGAIN));
            return looked;
        }
        match sprint::handle_deadline(ctx) {
            Ok(done) => {
                looked.done.extend(done);
                self.seen = None;
            }
            Err(failure) => {
                looked.troubles.push(format!("the deadline of the sprint: {}", failure.message));
                looked.again_in = Some(LOOK_AGAIN);
            }
        }
        looked
    }
}
