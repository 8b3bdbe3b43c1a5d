use clap::Args;
use serde_json::json;

use crate::flow::Failure;
use crate::supervise::signals::exit_code;
use crate::supervise::watcher::{self, Ended, Told};
use crate::text::shown_line;
use crate::wire::to_json_line;

use super::super::Session;
use super::super::ui::Answer;
use super::people_only;

/// Watch the board, and say what needs a person (people)
///
/// Tells each thing once: here, in .liza/alerts.log, and to the command `watch.notify` of liza.yaml. A board that cannot be
/// trusted halts everybody (PAUSE); a checkpoint made by `touch` gets its report. One at a time for a board; a second one
/// exits 3. Nothing depends on it running. Ends at a signal, or with exit 6 when the board is gone.
///
/// Example: liza watch --once
#[derive(Args)]
pub struct WatchArgs {
    /// Look once, tell what is new, and end: for cron
    #[arg(long)]
    pub once: bool,
}

pub fn run(session: &mut Session, args: &WatchArgs) -> Result<Answer, Failure> {
    people_only(session, "watch the board")?;
    let ui = session.ui;
    let line = |told: &Told| shown_line(&told.line()).into_owned();
    if args.once {
        let told = watcher::once(&mut session.ctx)?;
        let text: String = told.iter().map(|told| line(told) + "\n").collect();
        return Ok(Answer::new(json!({ "alerts": told }), text));
    }
    session.ctx.narrate("watching; alerts go to .liza/alerts.log, Ctrl-C ends it");
    let show = |told: &Told| ui.stream(&if ui.json { to_json_line(told) } else { line(told) });
    let ended = watcher::watch(&mut session.ctx, &show)?;
    let mut answer = Answer::new(json!({ "ended": "nobody listens" }), String::new());
    if let Ended::Signal(signal) = ended {
        answer.data = json!({ "ended": format!("signal {signal}") });
        answer.exit = exit_code(signal);
    }
    Ok(answer)
}
