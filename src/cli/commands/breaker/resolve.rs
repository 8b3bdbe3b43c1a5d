use crate::board::TripId;
use crate::cli::prelude::*;

/// Record a decision about open trips (people only)
///
/// The breaker then ignores earlier events and trips only for later ones. A switch that it set stays until
/// `liza resume`.
///
/// Example: liza breaker resolve trip-1 --note "the registry is back"
#[derive(Args)]
pub struct ResolveArgs {
    /// Id of the trip (default: all open trips)
    #[arg(value_name = "TRIP")]
    pub trip: Option<TripId>,
    /// The decision, for the record
    #[arg(long)]
    pub note: String,
}

impl OnBoard for ResolveArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let note = session.input.text(&self.note)?;
        session.seal_request()?;
        let (resolved, revision) = breaker::resolve(&session.ctx, self.trip.as_ref(), &note)?;
        let mut text = format!("resolved: {}", resolved.resolved.join(", "));
        let set = breaker::switches_of(&session.ctx)?;
        let switches: Vec<&str> = set.iter().map(|switch| switch.kind.as_str()).collect();
        if !switches.is_empty() {
            text.push_str(&format!("; {} is still set: `liza resume` removes it", switches.join(" and ")));
        }
        let data = json!({ "resolved": resolved.resolved, "switches": switches });
        Ok(Answer::new(data, text).at(revision))
    }
}
