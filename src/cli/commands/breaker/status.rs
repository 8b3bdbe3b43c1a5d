use super::as_json;
use crate::board::breaker::Trip;
use crate::cli::prelude::*;
use crate::policy::breaker::{decisions, meaning};

/// Show open trips with evidence, report and next command
///
/// Example: liza breaker status --json
#[derive(Args)]
pub struct StatusArgs {}

impl OnBoard for StatusArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let open: Vec<&Trip> = board.rest.circuit_breaker.open().collect();
        let switches: Vec<&str> =
            breaker::switches_of(&session.ctx)?.iter().map(|switch| switch.kind.as_str()).collect();
        let data = json!({
            "open": open.iter().map(|trip| as_json(session, &board, trip)).collect::<Vec<_>>(), "switches": switches,
        });
        let mut text = String::new();
        if open.is_empty() {
            text.line("the breaker is closed: no pattern is open");
            for switch in &switches {
                text.line(format!("!! {switch} is still set by a resolved trip: `liza resume` removes it"));
            }
        }
        for trip in open {
            let (pattern, response) = (trip.pattern.as_str(), trip.response.as_str());
            text.line(format!("{} {pattern}, {response}, since {}", trip.id, trip.time));
            text.line(format!("  {}\n  {}", trip.summary, meaning(trip.pattern)));
            for record in &trip.evidence {
                let task = record.task_id.as_ref().map_or("-", |task| task.as_str());
                text.line(format!(
                    "  · {} {} {task} {}: {}",
                    record.time, record.agent, record.source, record.text
                ));
            }
            text.line(format!("  report: {}", breaker::report_path(&session.ctx, &trip.id).display()));
            for decision in decisions(trip, &board) {
                text.line(format!("  [ ] {decision}"));
            }
        }
        Ok(Answer::new(data, text).at(board.revision))
    }
}
