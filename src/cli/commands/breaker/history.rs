use super::as_json;
use crate::cli::prelude::*;

/// List all trips and their outcomes, the last first
///
/// Example: liza breaker history
#[derive(Args)]
pub struct HistoryArgs {}

impl OnBoard for HistoryArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let trips = &board.rest.circuit_breaker.trips;
        let data = json!({ "trips": trips.iter().rev().map(|trip| as_json(session, &board, trip)).collect::<Vec<_>>() });
        let mut text = String::new();
        for trip in trips.iter().rev() {
            let end = match &trip.resolved {
                None => "open".to_owned(),
                Some(resolution) => {
                    format!("resolved {} by {}: {}", resolution.time, resolution.by, resolution.note)
                }
            };
            let (pattern, response) = (trip.pattern.as_str(), trip.response.as_str());
            text.line(format!("{} {} {pattern} {response}: {}\n  {end}", trip.time, trip.id, trip.summary));
        }
        if trips.is_empty() {
            text.line("the breaker has never tripped");
        }
        Ok(Answer::new(data, text).at(board.revision))
    }
}
