//! Ends a gate early: on a signal to this process, or on the ABORT switch.

use crate::flow::interruption::{self, Interruption};
use crate::flow::prelude::*;

pub struct Attention<'a> {
    ctx: &'a Context,
    task: Option<&'a TaskId>,
    _we_decide: Interruption,
}

impl<'a> Attention<'a> {
    pub fn new(ctx: &'a Context, task: Option<&'a TaskId>) -> Self {
        Self { ctx, task, _we_decide: Interruption::listen() }
    }

    pub fn check(&self) -> Result<()> {
        if interruption::signal().is_some() {
            return Err(interruption::failure("while the gates ran; their results are unknown"));
        }
        let Some(reason) = self.aborted() else { return Ok(()) };
        let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        Err(failure!(Code::Switched, "ABORT is set{because}; the gates were ended")
            .hint("a person clears it with `liza resume`")
            .detail("switch", SwitchKind::Abort.as_str()))
    }

    /// Whether the gate must end now.
    pub fn is_called(&self) -> bool {
        interruption::signal().is_some() || self.aborted().is_some()
    }

    /// A pause lets a gate finish; an abort does not. An unreadable board stops nothing.
    fn aborted(&self) -> Option<String> {
        let switches = self.ctx.store.switches().ok()?;
        let concerns = |subject: &Option<String>| match subject {
            None => true,
            Some(subject) => self.task.is_some_and(|task| subject.eq_ignore_ascii_case(task.as_str())),
        };
        let set = switches.set.into_iter();
        set.filter(|switch| switch.kind == SwitchKind::Abort && concerns(&switch.subject))
            .map(|switch| switch.reason)
            .next()
    }
}
