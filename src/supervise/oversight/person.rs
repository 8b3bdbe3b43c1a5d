//! Telling a person: a file that waits, a line among the alerts, and the command that people have told of alerts.

use super::super::notifier::{Notifier, Told};
use super::super::prelude::*;

/// What a command that is told may hold up the end of this process for.
const FAREWELL: Duration = Duration::from_secs(10);

pub struct Person {
    notifier: Option<Notifier>,
    trouble: Sender<String>,
    troubles: Receiver<String>,
}

impl Default for Person {
    fn default() -> Self {
        let (trouble, troubles) = channel();
        Self { notifier: None, trouble, troubles }
    }
}

impl Person {
    /// Tells it, whoever listens. `waiting` is what a person finds in `.liza/ESCALATION`, if it is to wait there. The line
    /// among the alerts comes last: whoever dies before it tells again rather than never.
    pub fn tell(
        &mut self,
        ctx: &Context,
        alert: &Alert,
        waiting: Option<&str>,
        command: Option<&str>,
    ) -> Result<(), String> {
        if let Some(text) = waiting {
            ctx.store.escalate(text).map_err(|error| error.to_string())?;
        }
        let told = Told { time: ctx.now.wall, alert: alert.clone() };
        if let Some(command) = command {
            let notifier = self.notifier.get_or_insert_with(|| {
                let trouble = self.trouble.clone();
                Notifier::new(ctx.root(), move |text| {
                    let _ = trouble.send(text);
                })
            });
            notifier.tell(command, &told)?;
        }
        ctx.store.append_alert(&to_json_line(&told)).map_err(|error| error.to_string())
    }

    /// What went wrong with telling since this was last asked.
    pub fn troubles(&self) -> Vec<String> {
        self.troubles.try_iter().collect()
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if let Some(notifier) = &mut self.notifier {
            notifier.finish(FAREWELL);
        }
    }
}
