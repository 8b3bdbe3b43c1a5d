//! Reports to a person: the file `.liza/ESCALATION`, a line in the alerts, and the command `watch.notify`.

use super::super::notifier::{Notifier, TimedAlert};
use super::super::prelude::*;

/// How long `watch.notify` may delay the end of this process.
const NOTIFY_AT_END: Duration = Duration::from_secs(10);

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
    /// Reports an alert. `waiting` is the text for `.liza/ESCALATION`, if any. The line in the alerts is written last: if the
    /// process dies before that, liza reports twice rather than never.
    pub fn report(
        &mut self,
        ctx: &Context,
        alert: &Alert,
        waiting: Option<&str>,
        command: Option<&str>,
    ) -> Result<(), String> {
        if let Some(text) = waiting {
            ctx.store.escalate(text).map_err(|error| error.to_string())?;
        }
        let timed = TimedAlert { time: ctx.now.wall, alert: alert.clone() };
        if let Some(command) = command {
            let notifier = self.notifier.get_or_insert_with(|| {
                let trouble = self.trouble.clone();
                Notifier::new(ctx.root(), move |text| {
                    let _ = trouble.send(text);
                })
            });
            notifier.notify(command, &timed)?;
        }
        ctx.store.append_alert(&to_json_line(&timed)).map_err(|error| error.to_string())
    }

    /// Failures to report since the last call.
    pub fn troubles(&self) -> Vec<String> {
        self.troubles.try_iter().collect()
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if let Some(notifier) = &mut self.notifier {
            notifier.finish(NOTIFY_AT_END);
        }
    }
}
