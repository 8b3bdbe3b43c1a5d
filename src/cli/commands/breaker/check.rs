use crate::cli::prelude::*;
use crate::policy::breaker::{Gauge, Story, threshold};

/// Show how far each pattern is from tripping the breaker
///
/// Example: liza breaker check
#[derive(Args)]
pub struct CheckArgs {}

impl OnBoard for CheckArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let (gauges, revision) = breaker::check(&session.ctx)?;
        let enabled = session.ctx.project_config()?.breaker.enabled;
        let width = gauges.iter().map(|gauge| gauge.pattern.as_str().len()).max().unwrap_or(0);
        let mut text = String::new();
        if !enabled {
            text.line("the breaker is switched off (`breaker.enabled` in liza.yaml): it does not trip");
        }
        for gauge in &gauges {
            text.line(format!("{}  {}", pad_to(gauge.pattern.as_str(), width), words(gauge)));
        }
        let would = commas(
            gauges.iter().filter(|gauge| enabled && would_trip(gauge)).map(|gauge| gauge.pattern.as_str()),
        );
        if !would.is_empty() {
            text.line(format!("{would} would trip now: `liza watch --once` trips it"));
        }
        let row = |gauge: &Gauge| {
            let mut row = json!(gauge);
            row["trips"] = json!(enabled && would_trip(gauge));
            row["setting"] = json!(threshold(gauge.pattern));
            row
        };
        let rows: Vec<Value> = gauges.iter().map(row).collect();
        Ok(Answer::new(json!({ "enabled": enabled, "patterns": rows }), text).at(revision))
    }
}

fn would_trip(gauge: &Gauge) -> bool {
    gauge.response.is_some()
        && gauge.open.is_none()
        && gauge.nearest.as_ref().is_some_and(|story| story.trips())
}

fn words(gauge: &Gauge) -> String {
    let response = gauge.response.map_or("off", |response| response.as_str());
    let Some(story) = &gauge.nearest else { return format!("{response}; no evidence") };
    let open = gauge.open.as_ref().map_or(String::new(), |trip| format!(", {trip} is open for it"));
    let Story { count, needed, unit, summary, evidence, .. } = story;
    let records = plural(evidence.len(), "record");
    format!("{response}; {count} of {needed} {unit}{open}: {summary} ({records})")
}
