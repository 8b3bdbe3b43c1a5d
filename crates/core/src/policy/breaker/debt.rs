//! Debt: agents record more debts than they merge tasks.

use super::{case::Case, evidence::of_anomaly, story::Story};
use crate::policy::prelude::*;

/// `debt_created` of a trade-off is free text; these values mean that there is none.
const NO_DEBT: [&str; 8] = ["", "no", "none", "nothing", "false", "0", "-", "n/a"];

fn makes_debt(anomaly: &Anomaly) -> bool {
    let is_debt = |debt: &String| !NO_DEBT.contains(&debt.trim().to_lowercase().as_str());
    anomaly.kind == AnomalyKind::DebtCreated || anomaly.details.get("debt_created").is_some_and(is_debt)
}

pub fn debt_accumulation(case: &Case) -> Vec<Story> {
    let pattern = Pattern::DebtAccumulation;
    let records: Vec<TripEvidence> = case
        .anomalies(&[AnomalyKind::TradeOff, AnomalyKind::DebtCreated])
        .filter(|anomaly| makes_debt(anomaly))
        .map(|anomaly| of_anomaly(anomaly, anomaly.details.get("what").map_or("", String::as_str)))
        .collect();
    let records = case.unsettled(pattern, "", records);
    if records.is_empty() {
        return Vec::new();
    }
    let merged = case.merged();
    // Saturates if a person configured an extreme number.
    let allowed = (merged as f64 * case.config.debt_per_merged.max(0.0)).floor() as u32;
    let needed = case.config.debt_records.max(allowed.saturating_add(1));
    let summary = format!("{} debts and trade-offs against {merged} merged tasks", records.len());
    vec![Story::new(pattern, "", records.len(), needed, "debts").summary(summary).evidence(records)]
}
