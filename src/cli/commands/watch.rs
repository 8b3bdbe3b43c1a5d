use crate::cli::prelude::*;
use crate::supervise::notifier::TimedAlert;
use crate::supervise::watcher;
use crate::supervise::watcher::Ended;

/// Watch the board and report what needs a person
///
/// People only. Reports each problem once: here, in .liza/alerts.log, and to the command `watch.notify` of liza.yaml.
/// If the board cannot be trusted, the watcher sets PAUSE, which halts all agents; it writes the summary of a
/// CHECKPOINT switch that was set with `touch`. One watcher per board; a second one exits 3. liza works the same
/// without a watcher. Ends at a signal, or with exit 6 when the board is gone.
///
/// Example: liza watch --once
#[derive(Args)]
pub struct WatchArgs {
    /// Look once, report what is new, and end (for cron)
    #[arg(long)]
    pub once: bool,
}

impl OnBoard for WatchArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("watch the board")?;
        // From here on, manual edits wait for the next command of a person.
        session.ctx.settle_edits()?;
        session.ctx.store.supervise();
        let ui = session.ui;
        let line = |alert: &TimedAlert| shown_line(&alert.line()).into_owned();
        if self.once {
            let alerts = watcher::once(&mut session.ctx)?;
            let text: String = alerts.iter().map(|alert| line(alert) + "\n").collect();
            return Ok(Answer::new(json!({ "alerts": alerts }), text));
        }
        session.ctx.narrate("watching; alerts go to .liza/alerts.log, Ctrl-C ends it");
        let for_people = |alert: &TimedAlert| crate::cli::times::for_people(&line(alert)).into_owned();
        let show =
            |alert: &TimedAlert| ui.stream(&if ui.json { to_json_line(alert) } else { for_people(alert) });
        Ok(match watcher::watch(&mut session.ctx, &show)? {
            Ended::Signal(signal) => {
                let stopped = Failure::new(ErrorCode::of_signal(signal), "stopped by a signal");
                let ended = json!({ "ended": format!("signal {signal}") });
                Answer::new(ended, "").failed(stopped).exit(exit_code(signal))
            }
            Ended::OutputClosed => Answer::new(json!({ "ended": "nobody listens" }), ""),
        })
    }
}
